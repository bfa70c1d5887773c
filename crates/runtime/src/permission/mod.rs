//! Decides whether a call may run: its facts, the judgement, the question, and the permit for its host.

mod act;
mod command;
mod ground;
mod judge;
mod options;
mod permit;
mod rules;

pub(crate) use act::{DeclaredCommand, ProposedCall};
pub(crate) use command::{PermissionsCommand, is_permissions_command, with_command};
pub(crate) use ground::locate;
pub(crate) use judge::{CallJudgement, judge, judge_read};
pub(crate) use options::options;
pub(crate) use permit::CallPermit;
pub use rules::{NoDisk, NoRules, RuleBook};
