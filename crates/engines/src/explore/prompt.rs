//! Parses a prompt into a request. Pure.

use std::fmt::Write;

use harn_model::ContentBlock;

use super::{attachment::PromptAttachment, skills};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExploreCommand {
    pub(super) name: &'static str,
    /// The arguments after the name; empty if the command takes none.
    pub(super) hint: &'static str,
    pub(super) description: &'static str,
}

/// All commands, in the order they are shown.
pub(super) const COMMANDS: &[ExploreCommand] = &[
    ExploreCommand {
        name: "find",
        hint: "WORDS",
        description: "Search the workspace for words, best places first",
    },
    ExploreCommand {
        name: "explore-all",
        hint: "WORDS",
        description: "Search every top-level folder at once, a worker each, and merge the best places",
    },
    ExploreCommand {
        name: "grep",
        hint: "REGEX",
        description: "List the lines that match a regular expression",
    },
    ExploreCommand {
        name: "read",
        hint: "PATH[:LINE]",
        description: "Show a file, or the lines around one line of it",
    },
    ExploreCommand {
        name: "write",
        hint: "PATH TEXT",
        description: "Write a file, after showing the change and asking",
    },
    ExploreCommand {
        name: "run",
        hint: "COMMAND",
        description: "Run a shell command in the workspace, after asking",
    },
    ExploreCommand {
        name: "tools",
        hint: "",
        description: "List all tools of this session",
    },
    ExploreCommand {
        name: "tool",
        hint: "NAME {json}",
        description: "Call a tool with these arguments, after asking if the rules require it",
    },
    ExploreCommand {
        name: "skills",
        hint: "[use ID | drop ID]",
        description: "List the skills of this session, or activate or end one",
    },
    ExploreCommand {
        name: "shells",
        hint: "[ID]",
        description: "List the available shells, or choose one",
    },
    ExploreCommand {
        name: "watch",
        hint: "GLOB",
        description: "Watch files and report their changes, such as `src/**/*.rs`",
    },
    ExploreCommand {
        name: "unwatch",
        hint: "",
        description: "End a watch",
    },
    ExploreCommand {
        name: "help",
        hint: "",
        description: "Show what this agent can do",
    },
];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExploreRequest<'a> {
    Find(&'a str),
    ExploreAll(&'a str),
    Grep(&'a str),
    Read(&'a str),
    Write {
        path: &'a str,
        text: &'a str,
    },
    Run(&'a str),
    Tools,
    Skills(skills::SkillRequest<'a>),
    /// The id of the shell to choose, or empty to list the shells.
    Shells(&'a str),
    Tool {
        name: &'a str,
        /// The arguments as the user typed them; may be empty.
        arguments: &'a str,
    },
    Watch(&'a str),
    Unwatch,
    Help,
    /// A command whose required argument is missing.
    Incomplete(&'static ExploreCommand),
    Unknown(&'a str),
    Question(&'a str),
}

/// The text and the attachments of a prompt.
#[derive(Debug)]
pub(super) struct Prompt {
    text: String,
    pub(super) attached: Vec<PromptAttachment>,
}

impl Prompt {
    pub(super) fn new(blocks: &[ContentBlock]) -> Self {
        let mut text = String::new();
        let mut attached = Vec::new();
        for block in blocks {
            match block {
                ContentBlock::Text { text: more } => text.push_str(more),
                ContentBlock::Resource(resource) => {
                    attached.push(PromptAttachment::from_resource(resource))
                }
                ContentBlock::ResourceLink(link) => {
                    attached.push(PromptAttachment::from_link(link))
                }
                // The runtime rejects these by the agent's profile before the turn begins.
                ContentBlock::Image { .. } | ContentBlock::Audio { .. } => {}
            }
        }
        Self { text, attached }
    }

    pub(super) fn request(&self) -> ExploreRequest<'_> {
        let text = self.text.trim_start();
        match text.strip_prefix('/') {
            Some(command) => parse(command),
            None => ExploreRequest::Question(text.trim_end()),
        }
    }
}

fn parse(command: &str) -> ExploreRequest<'_> {
    let (name, rest) = split_word(command);
    let Some(spec) = COMMANDS.iter().find(|spec| spec.name == name) else {
        return ExploreRequest::Unknown(name);
    };
    // The text of `/write` keeps its trailing spaces.
    let (rest, trimmed) = (rest.trim_start(), rest.trim());
    let optional = spec.hint.is_empty() || spec.hint.starts_with('[');
    if trimmed.is_empty() && !optional {
        return ExploreRequest::Incomplete(spec);
    }
    match spec.name {
        "find" => ExploreRequest::Find(trimmed),
        "explore-all" => ExploreRequest::ExploreAll(trimmed),
        "grep" => ExploreRequest::Grep(trimmed),
        "read" => ExploreRequest::Read(unquote(trimmed)),
        "run" => ExploreRequest::Run(trimmed),
        "tools" => ExploreRequest::Tools,
        "skills" => match skills::SkillRequest::parse(trimmed) {
            Some(wanted) => ExploreRequest::Skills(wanted),
            None => ExploreRequest::Incomplete(spec),
        },
        "shells" => ExploreRequest::Shells(trimmed),
        "tool" => {
            let (name, arguments) = split_word(trimmed);
            let arguments = arguments.trim_start();
            ExploreRequest::Tool { name, arguments }
        }
        "watch" => ExploreRequest::Watch(unquote(trimmed)),
        "unwatch" => ExploreRequest::Unwatch,
        "write" => match split_path(rest) {
            Some((path, text)) => ExploreRequest::Write { path, text },
            None => ExploreRequest::Incomplete(spec),
        },
        _ => ExploreRequest::Help,
    }
}

/// Splits a path, quoted if it has spaces, from the text after one space or line break.
fn split_path(rest: &str) -> Option<(&str, &str)> {
    let (path, text) = match rest.strip_prefix('"') {
        Some(quoted) => {
            let (path, after) = quoted.split_once('"')?;
            (path, after.strip_prefix(char::is_whitespace)?)
        }
        None => rest.split_once(char::is_whitespace)?,
    };
    (!text.is_empty()).then_some((path, text))
}

fn split_word(text: &str) -> (&str, &str) {
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

fn unquote(text: &str) -> &str {
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    inner.unwrap_or(text)
}

/// Returns the help text.
pub(super) fn help() -> String {
    let mut out = "Ask a question about this workspace in plain words, such as *where is the \
                   configuration read?* The answer comes from a text search, not from a model: it names \
                   files and lines and shows their text.\n\nOr type a command:\n\n"
        .to_owned();
    out.push_str(&list());
    out
}

/// Returns the usage of one command.
pub(super) fn usage(spec: &ExploreCommand) -> String {
    format!(
        "`/{}` needs an argument: `/{} {}`. {}.",
        spec.name, spec.name, spec.hint, spec.description
    )
}

/// Returns the reply to an unknown command.
pub(super) fn describe_unknown(name: &str) -> String {
    let given = super::markdown::code(&format!("/{name}"));
    format!("Unknown command {given}. The commands are:\n\n{}", list())
}

fn list() -> String {
    let mut out = String::new();
    for spec in COMMANDS {
        let usage = format!("/{} {}", spec.name, spec.hint);
        // Writing into a string cannot fail.
        let _ = writeln!(out, "- `{}`: {}", usage.trim_end(), spec.description);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &ExploreRequest<'_>) {
        let prompt = Prompt::new(&[ContentBlock::text(text)]);
        assert_eq!(prompt.request(), *expected, "{text:?}");
    }

    #[test]
    fn prompt_is_parsed_as_command_or_question() {
        check("  where is it? ", &ExploreRequest::Question("where is it?"));
        check("/find session task ", &ExploreRequest::Find("session task"));
        check("/explore-all a b ", &ExploreRequest::ExploreAll("a b"));
        check("/grep fn \\w+", &ExploreRequest::Grep("fn \\w+"));
        check("/read src/lib.rs:3", &ExploreRequest::Read("src/lib.rs:3"));
        check("/read \"a b.txt\"", &ExploreRequest::Read("a b.txt"));
        check("/run  echo 'a  b'", &ExploreRequest::Run("echo 'a  b'"));
        check("/tools", &ExploreRequest::Tools);
        check(
            "/skills",
            &ExploreRequest::Skills(skills::SkillRequest::List),
        );
        check(
            "/skills use deploy",
            &ExploreRequest::Skills(skills::SkillRequest::Use("deploy")),
        );
        check(
            "/skills drop deploy ",
            &ExploreRequest::Skills(skills::SkillRequest::Drop("deploy")),
        );
        check("/shells", &ExploreRequest::Shells(""));
        check("/shells zsh ", &ExploreRequest::Shells("zsh"));
        let tool = |name, arguments| ExploreRequest::Tool { name, arguments };
        check("/tool glob", &tool("glob", ""));
        check("/tool a.b \n {\"c\": 1} ", &tool("a.b", "{\"c\": 1}"));
        check("/watch src/** ", &ExploreRequest::Watch("src/**"));
        check("/watch \"a b/*\"", &ExploreRequest::Watch("a b/*"));
        check("/unwatch", &ExploreRequest::Unwatch);
        check("/help", &ExploreRequest::Help);
        check("/help me", &ExploreRequest::Help);
        check("/frobnicate x", &ExploreRequest::Unknown("frobnicate"));
        check("/", &ExploreRequest::Unknown(""));
        for command in [
            "/find",
            "/explore-all",
            "/grep ",
            "/read",
            "/run\n",
            "/tool",
            "/watch",
            "/skills use",
            "/skills deploy",
            "/write",
        ] {
            let prompt = Prompt::new(&[ContentBlock::text(command)]);
            assert!(
                matches!(prompt.request(), ExploreRequest::Incomplete(_)),
                "{command}"
            );
        }
    }

    #[test]
    fn write_keeps_its_text_unchanged() {
        let write = |path, text| ExploreRequest::Write { path, text };
        check("/write a.txt hello  ", &write("a.txt", "hello  "));
        check(
            "/write a.txt\nline 1\nline 2\n",
            &write("a.txt", "line 1\nline 2\n"),
        );
        check("/write a.txt  indented", &write("a.txt", " indented"));
        check("/write \"a b.txt\" text", &write("a b.txt", "text"));
        for text in [
            "/write a.txt",
            "/write a.txt ",
            "/write \"a b.txt\"x",
            "/write \"a",
        ] {
            let prompt = Prompt::new(&[ContentBlock::text(text)]);
            assert!(
                matches!(prompt.request(), ExploreRequest::Incomplete(_)),
                "{text}"
            );
        }
    }

    #[test]
    fn help_names_every_command() {
        for spec in COMMANDS {
            assert!(help().contains(&format!("`/{}", spec.name)));
            assert!(describe_unknown("x").contains(&format!("`/{}", spec.name)));
        }
        assert!(usage(&COMMANDS[0]).contains("/find WORDS"));
    }
}
