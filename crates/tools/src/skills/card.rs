//! A skill as it is known without its text: the card, where it lies and in which layer.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use harn_model::McpServerSpec;

/// A skill that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// `<namespace>/<name>`, or the name alone. No other skill of a registry has it.
    pub id: String,
    /// What it says of itself.
    pub card: SkillCard,
    /// Who brought it.
    pub layer: SkillLayer,
    /// Where its text is.
    pub origin: SkillOrigin,
}

impl Skill {
    /// What it is for, as rankers read it.
    #[must_use]
    pub fn about(&self) -> &str {
        match self.card.description.is_empty() {
            true => &self.card.short,
            false => &self.card.description,
        }
    }

    /// Whether it restricts the tools in reach.
    #[must_use]
    pub fn restricts_tools(&self) -> bool {
        let allowed = &self.card.allowed_tools;
        !allowed.is_empty() && !allowed.iter().any(|entry| entry == ANY_TOOL)
    }

    /// Its slash command: the id, in which a slash would end the command's name for some clients.
    #[must_use]
    pub fn command(&self) -> String {
        self.id.replace('/', ":")
    }

    /// The folder it lies in.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match &self.origin {
            SkillOrigin::File(path) => path.parent(),
            SkillOrigin::Host { .. } => None,
        }
    }
}

/// Every tool, in `allowed_tools`.
pub(super) const ANY_TOOL: &str = "*";

/// What a skill says of itself: the front matter of its file, or a host's manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillCard {
    /// Its name.
    pub name: String,
    /// One line for menus.
    pub short: String,
    /// What it is for, for rankers; may be empty.
    pub description: String,
    /// When it helps; may be empty.
    pub when_to_use: String,
    /// Whether only people use it: never activated by itself, never loaded by a model.
    pub disable_model_invocation: bool,
    /// The tools it needs: names, `namespace:<tag>` or `*`. None means all.
    pub allowed_tools: Vec<String>,
    /// Whether it is a slash command.
    pub user_invocable: bool,
    /// Globs of the files it is about.
    pub paths: Vec<String>,
    /// `fork` for a context of its own.
    pub context: Option<String>,
    /// The agent it is meant for.
    pub agent: Option<String>,
    /// The model it wants.
    pub model: Option<String>,
    /// How hard to think.
    pub effort: Option<String>,
    /// The shell its commands are written for.
    pub shell: Option<String>,
    /// What follows its slash command, for people.
    pub argument_hint: Option<String>,
    /// Commands to run when something happens to it.
    pub hooks: Vec<SkillHook>,
    /// Whether it may be used only where somebody vouches for it.
    pub require_signature: bool,
    /// Who may.
    pub trusted_signers: Vec<String>,
    /// Servers to have while it is active.
    pub mcp_servers: Vec<McpServerSpec>,
}

impl SkillCard {
    /// A card that says nothing but a name.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            user_invocable: true,
            ..Self::default()
        }
    }
}

/// A command to run when something happens to a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillHook {
    /// What has to happen.
    pub event: String,
    /// The line for the shell.
    pub command: String,
}

/// Where a skill's text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillOrigin {
    /// In this file.
    File(PathBuf),
    /// With the host.
    Host {
        /// What it is fetched by.
        id: String,
        /// Where the host has it from.
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

/// Who brings skills, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkillLayer {
    /// The command line.
    Cli,
    /// The environment.
    Env,
    /// `.harn/skills` of the workspace.
    Project,
    /// `harn.toml` of the workspace.
    Manifest,
    /// `~/.harn/skills`.
    User,
    /// Packages in the workspace.
    Package,
    /// This machine's.
    System,
    /// The host, over its bridge.
    Host,
}

impl SkillLayer {
    /// All of them, the strongest first.
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

    /// Its name.
    #[must_use]
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

    /// The layer of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.as_str() == name)
    }

    /// Whether it comes with the workspace, so that whoever wrote the workspace wrote it.
    #[must_use]
    pub fn is_the_workspaces(self) -> bool {
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

/// Whether a name can be typed as a slash command; says what is wrong otherwise.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let ok = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let wrong = match name.chars().next() {
        None => "it is empty".to_owned(),
        Some(first) if !first.is_alphanumeric() => format!("it begins with {first:?}"),
        Some(_) => match name.chars().find(|c| !ok(*c)) {
            Some(c) => format!("it holds {c:?}"),
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

/// The same for an id: names with slashes between them.
pub(super) fn check_id(id: &str) -> Result<(), String> {
    id.split('/').try_for_each(check_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_typed() {
        for name in ["deploy", "code-review_2", "v1.2", "größe", "日本"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for (name, why) in [
            ("", "it is empty"),
            ("a b", "it holds ' '"),
            ("a/b", "it holds '/'"),
            ("a:b", "it holds ':'"),
            ("-a", "it begins with '-'"),
            (".a", "it begins with '.'"),
            ("a\n", "it holds '\\n'"),
            ("a\u{202e}", "it holds '\\u{202e}'"),
            (&"x".repeat(65), "it is longer than 64 characters"),
        ] {
            let error = check_name(name).unwrap_err();
            assert!(error.contains(why), "{name:?}: {error}");
        }
        assert_eq!(check_id("acme/ops/review"), Ok(()));
        assert!(check_id("acme//review").is_err());
    }

    #[test]
    fn layers_have_names() {
        for layer in SkillLayer::ALL {
            assert_eq!(SkillLayer::of(layer.as_str()), Some(layer));
        }
        assert_eq!(SkillLayer::of("project "), None);
        assert!(SkillLayer::ALL.is_sorted());
    }
}
