//! Skills: instructions for an agent that lie in files, or come from a host, and are used when they fit.
//!
//! [`SkillLibrary`] finds them in the layers of a workspace; [`SessionSkills`] is what a session has of them: which
//! are active, what they allow, and the slash commands they are. Nothing here knows a wire.

mod card;
mod decode;
mod disk;
mod error;
mod front;
mod glob;
mod library;
mod lookout;
mod manifest;
mod places;
mod problem;
mod rank;
mod registry;
mod session;
mod substitute;
mod walk;

pub use card::{Card, Hook, Layer, Origin, Skill};
pub use error::SkillError;
pub use library::{Refreshed, SkillLibrary, Skills};
pub use places::{SkillPlaces, workspace_root};
pub use problem::{Problem, Severity};
pub use registry::{Registry, Shadow};
pub use session::{
    LOAD_SKILL, NewSessionSkills, SessionSkills, SkillMatching, SkillServers, SkillTrust, Strategy,
    TOOL_SEARCH,
};
