//! Skills: instructions for an agent, from files or from a host, that are used when they fit.
//!
//! [`SkillLibrary`] finds them in the layers of a workspace; [`SessionSkills`] has those of a session: which are
//! active, the tools they allow, and their slash commands. Nothing here depends on a wire.

mod card;
mod decode;
mod disk;
mod error;
mod front_matter;
mod glob;
mod library;
mod manifest;
mod problem;
mod program_sources;
mod rank;
mod registry;
mod search_paths;
mod session;
mod substitute;
mod trust_scope;
mod walk;
mod watcher;

pub use card::{Skill, SkillCard, SkillHook, SkillLayer, SkillOrigin};
pub use error::SkillError;
pub use library::{SkillLibrary, SkillRefresh, SkillText, WorkspaceSkills};
pub(crate) use manifest::named_skill_folders;
pub use problem::{ProblemSeverity, SkillProblem};
pub use registry::{ShadowedSkill, SkillRegistry};
pub use search_paths::{SkillPlaces, workspace_root};
pub use session::{
    LOAD_SKILL, NewSessionSkills, SessionSkills, SkillMatchStrategy, SkillMatching, SkillServers,
    SkillTrust, TOOL_SEARCH,
};
pub use trust_scope::{TrustScope, TrustedSource};
