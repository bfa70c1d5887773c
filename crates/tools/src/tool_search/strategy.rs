//! Search strategies and their outcome: a built-in ranking, or a search of the embedder.

use std::{collections::BTreeSet, fmt, sync::Arc};

use async_trait::async_trait;
use serde::Serialize;
use serde_json::Value;

use super::{ToolIndex, ToolRanking, rank::MAX_RESULTS};

/// A custom tool search: by embeddings, by a model, by a service.
#[async_trait]
pub trait ToolSearchFn: Send + Sync + 'static {
    /// Returns the names of the matching tools, best first: `{"tool_names": [..], "diagnostic": ".."}`, the same
    /// below `result`, a plain list, or one of these as a JSON string. The model receives an error and may try
    /// again.
    async fn search(&self, query: &str, tools: &ToolIndex) -> Result<Value, String>;
}

/// The strategy that finds tools.
#[derive(Clone)]
pub enum ToolSearchStrategy {
    /// A built-in ranking.
    Ranked(ToolRanking),
    /// A search of the embedder.
    Custom {
        /// The label in events; `custom` if absent.
        name: Option<String>,
        /// The search function.
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
    /// Returns the label of the strategy in events.
    pub fn label(&self) -> &str {
        match self {
            Self::Ranked(ranking) => ranking.name(),
            Self::Custom { name, .. } => name.as_deref().unwrap_or("custom"),
        }
    }

    /// Searches for tools. An error becomes the diagnostic of the outcome; later searches still work.
    pub async fn search(&self, tools: &Arc<ToolIndex>, query: &str) -> ToolSearchOutcome {
        match self {
            Self::Ranked(ranking) => {
                let (ranking, tools, query) = (*ranking, tools.clone(), query.to_owned());
                // A pattern may take long, so it runs on another thread.
                let found = tokio::task::spawn_blocking(move || tools.rank(ranking, &query));
                let interrupted =
                    |_| ToolSearchOutcome::without_results("the search was interrupted");
                found.await.unwrap_or_else(interrupted)
            }
            Self::Custom { .. } if query.trim().is_empty() => ToolSearchOutcome::blank_query(),
            Self::Custom { search, .. } => {
                let answer = search.search(query, tools).await;
                match answer.and_then(|answer| read_answer(answer, true)) {
                    Ok(outcome) => outcome.retain_known(tools),
                    Err(error) => {
                        ToolSearchOutcome::without_results(format!("the search failed: {error}"))
                    }
                }
            }
        }
    }
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolSearchOutcome {
    /// The names of the tools, best first; at most twenty.
    pub tool_names: Vec<String>,
    /// A note for the model, such as why there are no results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnostic: Option<String>,
}

impl ToolSearchOutcome {
    /// Creates an outcome without tools and with a reason.
    pub(super) fn without_results(diagnostic: impl Into<String>) -> Self {
        Self {
            tool_names: Vec::new(),
            diagnostic: Some(diagnostic.into()),
        }
    }

    pub(super) fn blank_query() -> Self {
        Self::without_results("the query is blank; describe in a few words what the tool should do")
    }

    /// Removes unknown and repeated names, and truncates the list.
    fn retain_known(mut self, tools: &ToolIndex) -> Self {
        let mut seen = BTreeSet::new();
        self.tool_names
            .retain(|name| tools.find(name).is_some_and(|tool| seen.insert(tool)));
        self.tool_names.truncate(MAX_RESULTS);
        self
    }
}

/// Parses an answer. It may be below `result` or in a string, once.
fn read_answer(answer: Value, outermost: bool) -> Result<ToolSearchOutcome, String> {
    match answer {
        Value::Array(names) => Ok(ToolSearchOutcome {
            tool_names: read_names(names)?,
            diagnostic: None,
        }),
        Value::String(text) if outermost => match serde_json::from_str(&text) {
            Ok(answer) => read_answer(answer, false),
            Err(error) => Err(format!("its text is not JSON: {error}")),
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
