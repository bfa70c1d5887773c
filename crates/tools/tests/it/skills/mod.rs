//! Skills on real disks and in real sessions: where they are found, when they are used, and their effects.

mod command_updates;
mod discovery;
mod effects;
mod hosts;
mod matching;
mod skill_use;
mod support;
mod unusable_skills;
