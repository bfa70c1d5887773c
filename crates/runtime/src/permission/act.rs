//! What a call would do, as far as it says so: the facts a decision is made from.

use harn_model::{ToolAnnotations, ToolKind};
use serde_json::Value;

/// The facts of a call.
#[derive(Clone, Debug)]
pub(crate) struct Act {
    pub(crate) tool: String,
    pub(crate) kind: Option<ToolKind>,
    pub(crate) annotations: Option<ToolAnnotations>,
    pub(crate) input: Value,
    /// Paths it declares beside those in its arguments.
    pub(crate) declared: Vec<String>,
}

impl Act {
    /// Reading one file.
    pub(crate) fn read(path: String) -> Self {
        Self {
            tool: "read_file".to_owned(),
            kind: Some(ToolKind::Read),
            annotations: None,
            input: Value::Null,
            declared: vec![path],
        }
    }

    /// What sort of tool: its own word first, then that of its annotations.
    pub(crate) fn kind(&self) -> Option<ToolKind> {
        let annotated = self.annotations.as_ref().map(|known| known.kind);
        self.kind.or(annotated)
    }

    /// Every path it declares: the arguments that its annotations name, `path` where they name none, and
    /// what was declared beside them.
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

    /// The line it would run: the argument `command` of a tool that runs commands.
    pub(crate) fn command(&self) -> Option<&str> {
        match self.kind() {
            Some(ToolKind::Execute) => self.input.get("command").and_then(Value::as_str),
            _ => None,
        }
    }

    /// What it needs, as `capability.operation`, sorted, each once.
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

    fn act(input: Value) -> Act {
        Act {
            tool: "t".to_owned(),
            kind: None,
            annotations: None,
            input,
            declared: Vec::new(),
        }
    }

    #[test]
    fn paths_are_what_the_annotations_say() {
        assert_eq!(act(json!({"path": "a", "to": "b"})).paths(), ["a"]);
        let mut annotated = act(json!({"path": "a", "to": "b", "all": ["c", 1, "d"]}));
        annotated.annotations = Some(ToolAnnotations {
            arg_schema: Some(json!({"path_params": ["to", "all", "missing"]})),
            ..ToolAnnotations::default()
        });
        assert_eq!(annotated.paths(), ["b", "c", "d"]);
        annotated.declared = vec!["e".to_owned()];
        assert_eq!(annotated.paths(), ["e", "b", "c", "d"]);
        assert!(act(json!(["path"])).paths().is_empty());
    }

    #[test]
    fn only_what_runs_commands_has_one() {
        let mut act = act(json!({"command": "ls"}));
        assert_eq!(act.command(), None);
        act.kind = Some(ToolKind::Execute);
        assert_eq!(act.command(), Some("ls"));
        act.input = json!({"command": ["ls"]});
        assert_eq!(act.command(), None);
    }

    #[test]
    fn capabilities_are_pairs() {
        let mut act = act(Value::Null);
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
