//! Skills on real disks and in real sessions: where they are found, when they are used, and their effects.

mod broken;
mod discovery;
mod effects;
mod hosts;
mod live;
mod matching;
mod rig;
mod using;
