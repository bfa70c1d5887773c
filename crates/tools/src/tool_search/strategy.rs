//! Who finds tools, and what came of it: one of our rankings, or whatever an embedder puts in their place.

use std::{collections::BTreeSet, fmt, sync::Arc};

use async_trait::async_trait;
use serde::Serialize;
use serde_json::Value;

use super::{ToolIndex, ToolRanking, rank::MAX_RESULTS};

/// Finds tools in another way than ours: by embeddings, by a model, by a service.
#[async_trait]
pub trait ToolSearchFn: Send + Sync + 'static {
    /// The names of the tools that fit, best first: `{"tool_names": [..], "diagnostic": ".."}`, the same
    /// below `result`, a plain list, or one of these as a JSON string. An error is told to the model,
    /// which may try again.
    async fn search(&self, query: &str, tools: &ToolIndex) -> Result<Value, String>;
}

/// Who finds tools.
#[derive(Clone)]
pub enum ToolSearchStrategy {
    /// One of ours.
    Ranked(ToolRanking),
    /// Somebody else's.
    Custom {
        /// What to call it; `custom` without one.
        name: Option<String>,
        /// Finds them.
        search: Arc<dyn ToolSearchFn>,
    },
}

impl Default for ToolSearchStrategy {
    fn default() -> Self {
        Self::Ranked(ToolRanking::default())
    }
}

impl fmt::Debug for ToolSearchStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolSearchStrategy")
            .field(&self.label())
            .finish()
    }
}

impl ToolSearchStrategy {
    /// What it is called where searches are told.
    #[must_use]
    pub fn label(&self) -> &str {
        match self {
            Self::Ranked(ranking) => ranking.name(),
            Self::Custom { name, .. } => name.as_deref().unwrap_or("custom"),
        }
    }

    /// Finds tools. What goes wrong is told in the outcome, and the search goes on with the next query.
    pub async fn search(&self, tools: &Arc<ToolIndex>, query: &str) -> ToolSearchOutcome {
        match self {
            Self::Ranked(ranking) => {
                let (ranking, tools, query) = (*ranking, tools.clone(), query.to_owned());
                // A pattern takes as long as it takes, so not on this thread.
                let found = tokio::task::spawn_blocking(move || tools.rank(ranking, &query));
                let interrupted = |_| ToolSearchOutcome::nothing("the search was interrupted");
                found.await.unwrap_or_else(interrupted)
            }
            Self::Custom { .. } if query.trim().is_empty() => ToolSearchOutcome::blank_query(),
            Self::Custom { search, .. } => {
                let answer = search.search(query, tools).await;
                match answer.and_then(|answer| read_answer(answer, true)) {
                    Ok(outcome) => outcome.known_to(tools),
                    Err(error) => ToolSearchOutcome::nothing(format!("the search failed: {error}")),
                }
            }
        }
    }
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolSearchOutcome {
    /// Tools, best first; at most twenty.
    pub tool_names: Vec<String>,
    /// A word to the model, such as why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnostic: Option<String>,
}

impl ToolSearchOutcome {
    /// No tools, and why.
    pub(super) fn nothing(diagnostic: impl Into<String>) -> Self {
        Self {
            tool_names: Vec::new(),
            diagnostic: Some(diagnostic.into()),
        }
    }

    pub(super) fn blank_query() -> Self {
        Self::nothing("the query is blank; say in a few words what the tool should do")
    }

    /// Names that are there, each once, as many as are taken.
    fn known_to(mut self, tools: &ToolIndex) -> Self {
        let mut seen = BTreeSet::new();
        self.tool_names
            .retain(|name| tools.find(name).is_some_and(|tool| seen.insert(tool)));
        self.tool_names.truncate(MAX_RESULTS);
        self
    }
}

/// What an answer says. It may be wrapped, or be text, once.
fn read_answer(answer: Value, outermost: bool) -> Result<ToolSearchOutcome, String> {
    match answer {
        Value::Array(names) => Ok(ToolSearchOutcome {
            tool_names: read_names(names)?,
            diagnostic: None,
        }),
        Value::String(text) if outermost => match serde_json::from_str(&text) {
            Ok(answer) => read_answer(answer, false),
            Err(error) => Err(format!("its text is no JSON: {error}")),
        },
        Value::Object(mut members) => {
            let diagnostic = match members.remove("diagnostic") {
                Some(Value::String(text)) => Some(text),
                _ => None,
            };
            match (members.remove("tool_names"), members.remove("result")) {
                (Some(Value::Array(names)), _) => Ok(ToolSearchOutcome {
                    tool_names: read_names(names)?,
                    diagnostic,
                }),
                (None, Some(Value::Object(result))) if result.contains_key("tool_names") => {
                    let inner = read_answer(Value::Object(result), false)?;
                    Ok(ToolSearchOutcome {
                        diagnostic: inner.diagnostic.or(diagnostic),
                        ..inner
                    })
                }
                _ => Err("its answer must have a list tool_names".to_owned()),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err("its answer must be a list of names or an object with tool_names".to_owned())
        }
    }
}

fn read_names(names: Vec<Value>) -> Result<Vec<String>, String> {
    let names = names.into_iter().map(|name| match name {
        Value::String(name) => Ok(name),
        _ => Err("every tool name must be a string".to_owned()),
    });
    names.collect()
}
