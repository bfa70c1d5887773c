//! The configuration of tool search: `true`, `false`, the name of a ranking, or a table.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::{ToolRanking, ToolSearchStrategy};

/// The default name of the search tool.
pub const DEFAULT_NAME: &str = "__harn_tool_search";

/// Whether tool search is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolSearchSwitch {
    /// If the tools would fill more than a tenth of the context.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// The side that performs the search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolSearchMode {
    /// The model's provider if it can, else this process.
    #[default]
    Auto,
    /// The model's provider.
    Native,
    /// This process.
    Client,
}

/// Whether and how tools are searched.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub struct ToolSearchOptions {
    /// Whether tool search is used.
    pub switch: ToolSearchSwitch,
    /// The side that performs the search.
    pub mode: ToolSearchMode,
    /// The strategy of a search in this process.
    pub strategy: ToolSearchStrategy,
    /// Tools that are never deferred.
    pub always_loaded: BTreeSet<String>,
    /// The most tokens for all promoted tools together; `None` means no limit.
    pub budget_tokens: Option<u64>,
    /// The name of the search tool.
    pub name: String,
    /// Whether the description of the search tool lists the names of the deferred tools.
    pub include_stub_listing: bool,
}

/// The reason why tool search cannot be used as configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolSearchError {
    /// The value has none of the valid types.
    #[error("tool_search must be true, false, \"bm25\", \"regex\", \"hybrid\" or a table, not {0}")]
    Form(&'static str),
    /// No ranking has this name.
    #[error("unknown tool search {0:?}; use bm25, regex or hybrid")]
    Ranking(String),
    /// The table is invalid.
    #[error("tool_search: {0}")]
    Table(String),
    /// The name is blank.
    #[error("tool_search.name is blank; leave it out for {DEFAULT_NAME}")]
    BlankName,
    /// A tool already has the name.
    #[error("a tool is called {0:?}; give the search tool another name with tool_search.name")]
    NameTaken(String),
    /// No tool would remain to call.
    #[error(
        "tool search would leave no tool to call; name at least one in tool_search.always_loaded"
    )]
    AllDeferred,
    /// The configuration requires a search by the provider.
    #[error("no provider searches tools here; set tool_search.mode to auto or client")]
    Native,
}

impl Default for ToolSearchOptions {
    fn default() -> Self {
        Self {
            switch: ToolSearchSwitch::default(),
            mode: ToolSearchMode::default(),
            strategy: ToolSearchStrategy::default(),
            always_loaded: BTreeSet::new(),
            budget_tokens: None,
            name: DEFAULT_NAME.to_owned(),
            include_stub_listing: false,
        }
    }
}

/// The configuration as a table. A table also switches tool search on.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ToolSearchTable {
    variant: Option<String>,
    mode: ToolSearchMode,
    strategy: Option<String>,
    always_loaded: BTreeSet<String>,
    budget_tokens: Option<u64>,
    name: Option<String>,
    include_stub_listing: bool,
}

impl TryFrom<Value> for ToolSearchOptions {
    type Error = ToolSearchError;

    fn try_from(config: Value) -> Result<Self, ToolSearchError> {
        let switched = |switch| Self {
            switch,
            ..Self::default()
        };
        match config {
            Value::Null => Ok(Self::default()),
            Value::Bool(true) => Ok(switched(ToolSearchSwitch::On)),
            Value::Bool(false) => Ok(switched(ToolSearchSwitch::Off)),
            Value::String(name) => Ok(Self {
                strategy: parse_ranking(&name)?,
                ..switched(ToolSearchSwitch::On)
            }),
            table @ Value::Object(_) => {
                let table = ToolSearchTable::deserialize(table);
                table
                    .map_err(|e| ToolSearchError::Table(e.to_string()))?
                    .into_options()
            }
            Value::Number(_) => Err(ToolSearchError::Form("a number")),
            Value::Array(_) => Err(ToolSearchError::Form("a list")),
        }
    }
}

impl ToolSearchTable {
    fn into_options(self) -> Result<ToolSearchOptions, ToolSearchError> {
        let name = self.name.unwrap_or_else(|| DEFAULT_NAME.to_owned());
        if name.trim().is_empty() {
            return Err(ToolSearchError::BlankName);
        }
        // `variant` is the provider's strategy; ours is the same unless `strategy` is set.
        let strategy = match self.strategy.or(self.variant) {
            Some(name) => parse_ranking(&name)?,
            None => ToolSearchStrategy::default(),
        };
        Ok(ToolSearchOptions {
            switch: ToolSearchSwitch::On,
            mode: self.mode,
            strategy,
            always_loaded: self.always_loaded,
            budget_tokens: self.budget_tokens,
            name,
            include_stub_listing: self.include_stub_listing,
        })
    }
}

fn parse_ranking(name: &str) -> Result<ToolSearchStrategy, ToolSearchError> {
    let ranking = ToolRanking::from_name(name);
    let ranking = ranking.ok_or_else(|| ToolSearchError::Ranking(name.to_owned()))?;
    Ok(ToolSearchStrategy::Ranked(ranking))
}
