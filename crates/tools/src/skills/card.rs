//! A skill without its text: its card, its origin and its layer.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use harn_model::McpServerSpec;

use crate::trust::ContentHash;

/// A skill, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// `<namespace>/<name>`, or the name alone. It is unique in a registry.
    pub id: String,
    /// Its metadata.
    pub card: SkillCard,
    /// The layer that provides it.
    pub layer: SkillLayer,
    /// The location of its text.
    pub origin: SkillOrigin,
    /// The hash of its file as it was read; none for a skill of the host.
    pub hash: Option<ContentHash>,
}

impl Skill {
    /// Returns its purpose, for ranking: the description, else the short line.
    pub fn purpose(&self) -> &str {
        match self.card.description.is_empty() {
            true => &self.card.short,
            false => &self.card.description,
        }
    }

    /// Whether it restricts the tools that the agent may use.
    pub fn restricts_tools(&self) -> bool {
        let allowed = &self.card.allowed_tools;
        !allowed.is_empty() && !allowed.iter().any(|entry| entry == ANY_TOOL)
    }

    /// Returns its slash command: the id with `:` for `/`, because a slash would end the command's name for some
    /// clients.
    pub fn command(&self) -> String {
        self.id.replace('/', ":")
    }

    /// Returns the folder of its file.
    pub fn folder(&self) -> Option<&Path> {
        match &self.origin {
            SkillOrigin::File(path) => path.parent(),
            SkillOrigin::Host { .. } => None,
        }
    }
}

/// The entry of `allowed_tools` that allows every tool.
pub(super) const ANY_TOOL: &str = "*";

/// The metadata of a skill: the front matter of its file, or a host's manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillCard {
    /// The name of the skill.
    pub name: String,
    /// One line for menus.
    pub short: String,
    /// Its purpose, for ranking; may be empty.
    pub description: String,
    /// When it helps; may be empty.
    pub when_to_use: String,
    /// Whether only people may use it: it never activates by itself, and no model may load it.
    pub disable_model_invocation: bool,
    /// The tools it needs: names, `namespace:<tag>` or `*`. An empty list means all.
    pub allowed_tools: Vec<String>,
    /// Whether it is a slash command.
    pub user_invocable: bool,
    /// Globs of the files it is about.
    pub paths: Vec<String>,
    /// `fork` for a separate context.
    pub context: Option<String>,
    /// The agent it is meant for.
    pub agent: Option<String>,
    /// The model it asks for.
    pub model: Option<String>,
    /// The reasoning effort it asks for.
    pub effort: Option<String>,
    /// The shell its commands are written for.
    pub shell: Option<String>,
    /// A hint for people about the arguments of its slash command.
    pub argument_hint: Option<String>,
    /// Commands to run on events of the skill.
    pub hooks: Vec<SkillHook>,
    /// Whether it needs a signature. Signatures are not verified, so such a skill is rejected.
    pub require_signature: bool,
    /// The signers it trusts.
    pub trusted_signers: Vec<String>,
    /// MCP servers to connect while it is active.
    pub mcp_servers: Vec<McpServerSpec>,
}

impl SkillCard {
    /// Creates a card with only a name, which users may invoke.
    #[must_use]
    pub fn with_name(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            user_invocable: true,
            ..Self::default()
        }
    }
}

/// A command to run on an event of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillHook {
    /// The name of the event, such as `activate`.
    pub event: String,
    /// The command line for the shell.
    pub command: String,
}

/// The location of a skill's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillOrigin {
    /// A file on this machine.
    File(PathBuf),
    /// The host.
    Host {
        /// The id to fetch it by.
        id: String,
        /// The source that the host names.
        source: String,
    },
}

impl fmt::Display for SkillOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Host { id, source } if source.is_empty() => write!(f, "host: {id}"),
            Self::Host { id, source } => write!(f, "host: {id} ({source})"),
        }
    }
}

/// The sources of skills, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkillLayer {
    /// Folders named on the command line.
    Cli,
    /// Folders named by the environment.
    Env,
    /// `.harn/skills` of the workspace.
    Project,
    /// Folders named in `harn.toml` of the workspace.
    Manifest,
    /// `~/.harn/skills`.
    User,
    /// Packages in the workspace.
    Package,
    /// Folders of this machine.
    System,
    /// The host, over its bridge.
    Host,
}

impl SkillLayer {
    /// All layers, the strongest first.
    pub const ALL: [Self; 8] = [
        Self::Cli,
        Self::Env,
        Self::Project,
        Self::Manifest,
        Self::User,
        Self::Package,
        Self::System,
        Self::Host,
    ];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Env => "env",
            Self::Project => "project",
            Self::Manifest => "manifest",
            Self::User => "user",
            Self::Package => "package",
            Self::System => "system",
            Self::Host => "host",
        }
    }

    /// Returns the layer with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.as_str() == name)
    }

    /// Whether its skills are part of the workspace, so that the author of the workspace wrote them.
    pub fn is_from_workspace(self) -> bool {
        match self {
            Self::Project | Self::Manifest | Self::Package => true,
            Self::Cli | Self::Env | Self::User | Self::System | Self::Host => false,
        }
    }
}

impl fmt::Display for SkillLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

const LONGEST_NAME: usize = 64;

/// Checks that a name can be typed as a slash command. Returns the reason if not.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let ok = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let wrong = match name.chars().next() {
        None => "it is empty".to_owned(),
        Some(first) if !first.is_alphanumeric() => format!("it begins with {first:?}"),
        Some(_) => match name.chars().find(|c| !ok(*c)) {
            Some(c) => format!("it contains {c:?}"),
            None if name.chars().count() > LONGEST_NAME => {
                format!("it is longer than {LONGEST_NAME} characters")
            }
            None => return Ok(()),
        },
    };
    Err(format!(
        "the name {name:?} cannot be a slash command: {wrong}; use letters, digits, `-`, `_` and `.`, \
         beginning with a letter or digit"
    ))
}

/// Checks an id: names separated by slashes.
pub(super) fn check_id(id: &str) -> Result<(), String> {
    id.split('/').try_for_each(check_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_typed_are_rejected() {
        for name in ["deploy", "code-review_2", "v1.2", "größe", "日本"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for (name, why) in [
            ("", "it is empty"),
            ("a b", "it contains ' '"),
            ("a/b", "it contains '/'"),
            ("a:b", "it contains ':'"),
            ("-a", "it begins with '-'"),
            (".a", "it begins with '.'"),
            ("a\n", "it contains '\\n'"),
            ("a\u{202e}", "it contains '\\u{202e}'"),
            (&"x".repeat(65), "it is longer than 64 characters"),
        ] {
            let error = check_name(name).unwrap_err();
            assert!(error.contains(why), "{name:?}: {error}");
        }
        assert_eq!(check_id("acme/ops/review"), Ok(()));
        assert!(check_id("acme//review").is_err());
    }

    #[test]
    fn layers_are_found_by_name() {
        for layer in SkillLayer::ALL {
            assert_eq!(SkillLayer::from_name(layer.as_str()), Some(layer));
        }
        assert_eq!(SkillLayer::from_name("project "), None);
        assert!(SkillLayer::ALL.is_sorted());
    }
}
