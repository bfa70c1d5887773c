//! Decides whether a call may run: its facts, the judgement, the question, and the permit for its host.

mod command;
mod confinement;
mod judge;
mod locations;
mod options;
mod permit;
mod proposed_call;
mod rules;

pub(crate) use command::{PermissionsCommand, is_permissions_command, with_command};
pub use confinement::CommandConfinement;
pub(crate) use confinement::confine_command;
pub(crate) use judge::{CallJudgement, judge, judge_read};
pub(crate) use locations::{guarded_roots, locate};
pub(crate) use options::options;
pub(crate) use permit::CallPermit;
pub(crate) use proposed_call::{DeclaredCommand, ProposedCall};
pub use rules::{NoDisk, NoRules, RuleBook};
