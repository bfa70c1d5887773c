//! The declared effects of a call: the facts on which a permission decision is based.

use std::borrow::Cow;

use harn_model::{SideEffectLevel, ToolAnnotations, ToolCall, ToolKind};
use harn_policy::{CommandAccess, quote_words, visible_line, visible_lines};
use serde_json::Value;

use crate::{
    host::{EXEC, quote_line},
    session::{SharedSession, lock},
};

/// The command that a call declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeclaredCommand<'a> {
    Line(Cow<'a, str>),
    Unreadable,
}

#[derive(Clone, Debug)]
pub(crate) struct ProposedCall {
    pub(crate) tool: String,
    pub(crate) kind: Option<ToolKind>,
    pub(crate) annotations: Option<ToolAnnotations>,
    pub(crate) input: Value,
    /// Paths it declares in addition to those in its arguments.
    pub(crate) declared: Vec<String>,
    /// Whether the client runs its command, which is then not confined.
    pub(crate) by_client: bool,
}

impl From<&ToolCall> for ProposedCall {
    /// Takes the facts from the call itself, without annotations.
    fn from(call: &ToolCall) -> Self {
        Self {
            tool: call.tool_name.clone(),
            kind: call.kind,
            annotations: None,
            input: call.raw_input.clone(),
            declared: Vec::new(),
            by_client: false,
        }
    }
}

impl ProposedCall {
    /// Returns the facts of a file read without a tool call.
    pub(crate) fn for_read() -> Self {
        Self {
            tool: "read_file".to_owned(),
            kind: Some(ToolKind::Read),
            annotations: None,
            input: Value::Null,
            declared: Vec::new(),
            by_client: false,
        }
    }

    /// Returns the facts of a read-only request to a host without a tool call.
    pub(crate) fn for_inquiry(operation: &str, args: Value) -> Self {
        Self {
            tool: operation.to_owned(),
            input: args,
            ..Self::for_read()
        }
    }

    /// Returns the kind of the tool: its own, unless its annotations state a stronger one.
    pub(crate) fn kind(&self) -> Option<ToolKind> {
        let annotated = self.annotations.as_ref().map(|known| known.kind);
        match (self.kind, annotated) {
            (Some(own), Some(known)) if own.is_read_only() && !known.is_read_only() => Some(known),
            (own, known) => own.or(known),
        }
    }

    fn runs_commands(&self) -> bool {
        let annotations = self.annotations.as_ref();
        self.kind() == Some(ToolKind::Execute)
            || annotations.is_some_and(|it| it.side_effect_level == SideEffectLevel::ProcessExec)
    }

    /// Returns every declared path: the arguments that its annotations name, or `path` if they name none, and
    /// the separately declared paths.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = self.declared.clone();
        for name in self.path_params() {
            match self.input.get(name) {
                Some(Value::String(path)) => paths.push(path.clone()),
                Some(Value::Array(several)) => {
                    let several = several.iter().filter_map(Value::as_str);
                    paths.extend(several.map(str::to_owned));
                }
                _ => {}
            }
        }
        paths
    }

    fn path_params(&self) -> Vec<&str> {
        let annotations = self.annotations.as_ref();
        let schema = annotations.and_then(|known| known.arg_schema.as_ref());
        match schema.and_then(|schema| schema.get("path_params")) {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(name)) => vec![name],
            _ => vec!["path"],
        }
    }

    /// Returns the line it would run: the argument `command` of a tool that runs commands, as a line or as
    /// words. Any other value is unreadable.
    pub(crate) fn command(&self) -> Option<DeclaredCommand<'_>> {
        let command = self.input.get("command").filter(|_| self.runs_commands())?;
        Some(match command {
            Value::String(line) => DeclaredCommand::Line(Cow::Borrowed(line)),
            Value::Array(words) => {
                let words: Option<Vec<_>> = words.iter().map(Value::as_str).collect();
                let line = words.map(|words| quote_line(words.into_iter()));
                line.map_or(DeclaredCommand::Unreadable, |line| {
                    DeclaredCommand::Line(Cow::Owned(line))
                })
            }
            _ => DeclaredCommand::Unreadable,
        })
    }

    /// Whether it runs a command on this machine rather than on the client.
    pub(crate) fn is_local_command(&self, session: &SharedSession) -> bool {
        let offers = || lock(&session.root().host).offers();
        let by_client = || {
            let offers = offers();
            self.by_client || offers.terminal || (self.tool == EXEC && offers.tools)
        };
        self.command().is_some() && !by_client()
    }

    /// Returns the access that its command requests, in words for a person.
    fn shown_access(&self) -> Option<&'static str> {
        self.command()?;
        CommandAccess::from_arguments(&self.input).describe()
    }

    /// Returns the title of a call that runs a line, with the access that it requests: a person must not miss it.
    pub(crate) fn command_title(&self, line: &str) -> String {
        match self.shown_access() {
            Some(access) => format!("{line} ({access})"),
            None => line.to_owned(),
        }
    }

    /// Returns the command for display, with the access that it requests on a line of its own.
    pub(crate) fn shown_command(&self) -> Option<String> {
        let mut shown = self.shown_line()?;
        if let Some(access) = self.shown_access() {
            shown.push_str("\n# ");
            shown.push_str(access);
        }
        Some(shown)
    }

    /// Returns the command for display: words quoted, and no characters that hide or reorder text. An
    /// unreadable command is shown as JSON.
    fn shown_line(&self) -> Option<String> {
        let command = self.input.get("command").filter(|_| self.runs_commands())?;
        let words = |words: &Vec<Value>| -> Option<Vec<String>> {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned));
            words.collect()
        };
        Some(match command {
            Value::String(line) => visible_lines(line),
            Value::Array(given) => match words(given) {
                Some(words) => quote_words(&words),
                None => visible_line(&command.to_string()),
            },
            _ => visible_line(&command.to_string()),
        })
    }

    /// Returns the required capabilities as `capability.operation`, sorted, each once.
    pub(crate) fn capabilities(&self) -> Vec<String> {
        let annotations = self.annotations.iter();
        let mut all: Vec<_> = annotations
            .flat_map(|known| &known.capabilities)
            .flat_map(|(capability, operations)| {
                operations
                    .iter()
                    .map(move |operation| format!("{capability}.{operation}"))
            })
            .collect();
        all.sort();
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn proposed_call(input: Value) -> ProposedCall {
        ProposedCall {
            tool: "t".to_owned(),
            kind: None,
            annotations: None,
            input,
            declared: Vec::new(),
            by_client: false,
        }
    }

    #[test]
    fn access_beyond_the_sandbox_is_shown_with_the_command() {
        let mut act = proposed_call(json!({"command": "ls", "network": true}));
        act.kind = Some(ToolKind::Execute);
        let shown = act.shown_command();
        assert_eq!(shown.as_deref(), Some("ls\n# with network access"));
        act.input = json!({"command": ["ls"], "sandbox": false, "network": true});
        let shown = act.shown_command();
        assert_eq!(shown.as_deref(), Some("ls\n# outside the sandbox"));
    }

    #[test]
    fn annotations_determine_the_paths() {
        assert_eq!(
            proposed_call(json!({"path": "a", "to": "b"})).paths(),
            ["a"]
        );
        let mut annotated = proposed_call(json!({"path": "a", "to": "b", "all": ["c", 1, "d"]}));
        annotated.annotations = Some(ToolAnnotations {
            arg_schema: Some(json!({"path_params": ["to", "all", "missing"]})),
            ..ToolAnnotations::default()
        });
        assert_eq!(annotated.paths(), ["b", "c", "d"]);
        annotated.declared = vec!["e".to_owned()];
        assert_eq!(annotated.paths(), ["e", "b", "c", "d"]);
        assert!(proposed_call(json!(["path"])).paths().is_empty());
    }

    #[test]
    fn only_a_tool_that_runs_commands_has_a_command() {
        let mut act = proposed_call(json!({"command": "ls"}));
        assert_eq!(act.command(), None);
        act.kind = Some(ToolKind::Execute);
        assert_eq!(act.command(), Some(DeclaredCommand::Line("ls".into())));
        act.input = json!({"command": ["ls", "a b"]});
        assert_eq!(
            act.command(),
            Some(DeclaredCommand::Line("ls 'a b'".into()))
        );
        for unreadable in [json!(["ls", 1]), json!({}), json!(null)] {
            act.input = json!({ "command": unreadable });
            assert_eq!(act.command(), Some(DeclaredCommand::Unreadable));
        }
        act.input = json!({"argv": ["ls"]});
        assert_eq!(act.command(), None);
    }

    #[test]
    fn a_command_is_shown_as_it_was_judged() {
        let table = [
            (json!("ls -l"), "ls -l"),
            (json!("cat <<E\n\ta\nE"), "cat <<E\n\ta\nE"),
            (
                json!("ls\r\u{202e}x\u{1b}[2J"),
                "ls\\u{d}\\u{202e}x\\u{1b}[2J",
            ),
            (json!(["ls", "a b", "", "it's"]), r"ls 'a b' '' 'it'\''s'"),
            (
                json!(["ls", "a\nb", "\u{202e}c", r"\n"]),
                r"ls $'a\nb' $'\u{202e}c' '\n'",
            ),
            (json!(["A=1", "b=2", ";", "*"]), "'A=1' b=2 ';' '*'"),
            (json!(["ls", 1]), r#"["ls",1]"#),
            (json!(7), "7"),
        ];
        for (command, shown) in table {
            let mut act = proposed_call(json!({ "command": command }));
            assert_eq!(act.shown_command(), None);
            act.kind = Some(ToolKind::Execute);
            assert_eq!(act.shown_command().as_deref(), Some(shown), "{command}");
        }
    }

    #[test]
    fn stronger_annotations_override_the_kind() {
        let mut act = proposed_call(json!({"command": "rm x"}));
        act.kind = Some(ToolKind::Read);
        act.annotations = Some(ToolAnnotations {
            kind: ToolKind::Execute,
            ..ToolAnnotations::default()
        });
        assert_eq!(act.kind(), Some(ToolKind::Execute));
        assert_eq!(act.command(), Some(DeclaredCommand::Line("rm x".into())));
        act.kind = Some(ToolKind::Edit);
        assert_eq!(act.kind(), Some(ToolKind::Edit));
        act.annotations = Some(ToolAnnotations {
            side_effect_level: SideEffectLevel::ProcessExec,
            ..ToolAnnotations::default()
        });
        assert_eq!(act.command(), Some(DeclaredCommand::Line("rm x".into())));
    }

    #[test]
    fn capabilities_are_pairs() {
        let mut act = proposed_call(Value::Null);
        let operations = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        act.annotations = Some(ToolAnnotations {
            capabilities: [
                ("workspace".to_owned(), operations(&["write_text", "list"])),
                ("process".to_owned(), operations(&["exec", "exec"])),
            ]
            .into(),
            ..ToolAnnotations::default()
        });
        assert_eq!(
            act.capabilities(),
            ["process.exec", "workspace.list", "workspace.write_text"]
        );
    }
}
