//! The tools that an agent may call in a session: a snapshot of all sources, with unique names.
//!
//! Immutable; a change creates a new one. It calls nothing, see [`Toolbox`](crate::Toolbox).

#[cfg_attr(not(feature = "argument-checks"), path = "arguments_absent.rs")]
mod arguments;
#[cfg(feature = "argument-checks")]
mod bounds;
mod length;

use std::{collections::HashMap, sync::Arc};

use harn_model::{ErrorCategory, ToolSource, ToolSpec, ToolsChange};
use harn_runtime::ToolError;
use serde_json::Value;

use arguments::ArgumentChecker;
pub(crate) use length::json_length;

/// The most suggestions for an unknown name.
const NEAR: usize = 3;
/// The least similarity of a suggestion, from 0 to 1.
const NEAR_ENOUGH: f64 = 0.5;

/// The most names of each kind in a change: the journal stores it permanently, and a server can make any number of
/// changes.
const NAMED: usize = 200;

/// The tools of a session, by name.
#[derive(Debug, Default)]
pub struct Catalogue {
    tools: Vec<Arc<CatalogueTool>>,
    by_name: HashMap<String, usize>,
    warnings: Vec<String>,
}

/// A tool and the checker of its arguments.
#[derive(Debug)]
struct CatalogueTool {
    spec: ToolSpec,
    arguments: ArgumentChecker,
}

impl Catalogue {
    /// Creates a catalogue of these tools in their order. Of two tools with one name, the first stays, and a
    /// warning names the other.
    pub fn new(specs: impl IntoIterator<Item = ToolSpec>) -> Self {
        Self::default().with_tools(specs)
    }

    /// Creates the next catalogue. Tools that are in both keep their compiled schemas.
    #[must_use]
    pub fn with_tools(&self, specs: impl IntoIterator<Item = ToolSpec>) -> Self {
        let mut new = Self::default();
        for spec in specs {
            if let Some(first) = new.get(&spec.name) {
                new.warnings.push(name_taken_warning(first, &spec));
                continue;
            }
            let same = self.find(&spec.name).filter(|tool| tool.spec == spec);
            let tool = same.cloned().unwrap_or_else(|| {
                let arguments = ArgumentChecker::default();
                Arc::new(CatalogueTool { spec, arguments })
            });
            new.by_name.insert(tool.spec.name.clone(), new.tools.len());
            new.tools.push(tool);
        }
        new
    }

    /// Returns the tools in their order.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &ToolSpec> {
        self.tools.iter().map(|tool| &tool.spec)
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns the tool with this name.
    pub fn get(&self, name: &str) -> Option<&ToolSpec> {
        self.find(name).map(|tool| &tool.spec)
    }

    /// Returns a warning for each tool that was left out, with the reason.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the difference from an earlier catalogue, or `None` if there is none. Each list has at most 200
    /// names.
    pub fn change_from(&self, earlier: &Self) -> Option<ToolsChange> {
        let mut change = ToolsChange {
            total: self.tools.len().try_into().unwrap_or(u64::MAX),
            ..ToolsChange::default()
        };
        for tool in self.tools() {
            match earlier.get(&tool.name) {
                None => change.added.push(tool.name.clone()),
                Some(before) if before != tool => change.changed.push(tool.name.clone()),
                Some(_) => {}
            }
        }
        let gone = earlier
            .tools()
            .filter(|tool| self.get(&tool.name).is_none());
        change.removed = gone.map(|tool| tool.name.clone()).collect();
        let lists = [&mut change.added, &mut change.removed, &mut change.changed];
        let mut same = true;
        for list in lists {
            list.sort_unstable();
            list.truncate(NAMED);
            same &= list.is_empty();
        }
        (!same).then_some(change)
    }

    /// Checks that the tool exists and accepts these arguments. The error states what a model or a person can do;
    /// it does not repeat the values.
    pub fn check(&self, name: &str, arguments: &Value) -> Result<(), ToolError> {
        let tool = self
            .find(name)
            .ok_or_else(|| self.unknown_tool_error(name))?;
        let checked = tool.arguments.check(tool.spec.schema.as_ref(), arguments);
        checked.map_err(|problem| {
            let message = format!("the arguments of {name} do not fit: {problem}");
            ToolError::with_category(ErrorCategory::SchemaValidation, message)
        })
    }

    /// Creates the error for a name that no tool has.
    pub fn unknown_tool_error(&self, name: &str) -> ToolError {
        let names: Vec<&str> = self.tools().map(|tool| tool.name.as_str()).collect();
        let near = similar_names(name, &names);
        let hint = match near[..] {
            [] => format!("{} other tools exist", names.len()),
            [one] => format!("did you mean {one}?"),
            _ => format!("similar names: {}", near.join(", ")),
        };
        ToolError::new(format_args!("unknown tool {name:?}; {hint}"))
    }

    fn find(&self, name: &str) -> Option<&Arc<CatalogueTool>> {
        self.by_name.get(name).and_then(|at| self.tools.get(*at))
    }
}

/// Returns the names most similar to one, best first.
fn similar_names<'a>(name: &str, names: &[&'a str]) -> Vec<&'a str> {
    let nearness = |other: &&'a str| (strsim::normalized_damerau_levenshtein(name, other), *other);
    let mut near: Vec<_> = names.iter().map(nearness).collect();
    near.retain(|(nearness, _)| *nearness >= NEAR_ENOUGH);
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().take(NEAR).map(|(_, name)| name).collect()
}

fn name_taken_warning(first: &ToolSpec, other: &ToolSpec) -> String {
    format!(
        "the tool {:?} of {} is left out: {} has one of this name",
        other.name,
        describe_source(&other.source),
        describe_source(&first.source)
    )
}

/// Describes the source of a tool, for use in a sentence.
pub(crate) fn describe_source(source: &ToolSource) -> String {
    match source {
        ToolSource::Builtin => "this agent".to_owned(),
        ToolSource::Host => "the host".to_owned(),
        ToolSource::Mcp(server) => format!("the MCP server {server:?}"),
        ToolSource::Skill(skill) => format!("the skill {skill:?}"),
        ToolSource::Provider => "the model's provider".to_owned(),
    }
}

#[cfg(test)]
mod tests;
