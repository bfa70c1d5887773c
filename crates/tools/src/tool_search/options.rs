//! What a configuration says of tool search: `true`, `false`, the name of a ranking, or a table.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::{ToolRanking, ToolSearchStrategy};

/// What the search tool is called unless somebody says otherwise.
pub const DEFAULT_NAME: &str = "__harn_tool_search";

/// Whether tools are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolSearchSwitch {
    /// When they would fill more than a tenth of the context.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// Who searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolSearchMode {
    /// The provider where it can, else we.
    #[default]
    Auto,
    /// The provider.
    Native,
    /// We.
    Client,
}

/// Whether and how tools are searched.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub struct ToolSearchOptions {
    /// Whether.
    pub switch: ToolSearchSwitch,
    /// Who searches.
    pub mode: ToolSearchMode,
    /// How we do.
    pub strategy: ToolSearchStrategy,
    /// Tools that are never left to be found.
    pub always_loaded: BTreeSet<String>,
    /// How many tokens the tools that were found may take together; any number without one.
    pub budget_tokens: Option<u64>,
    /// What the search tool is called.
    pub name: String,
    /// Whether the search tool lists the names of what there is to find.
    pub include_stub_listing: bool,
}

/// Tool search cannot be had as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolSearchError {
    /// Not one of the forms.
    #[error("tool_search must be true, false, \"bm25\", \"regex\", \"hybrid\" or a table, not {0}")]
    Form(&'static str),
    /// No ranking of this name.
    #[error("there is no tool search {0:?}; there are bm25, regex and hybrid")]
    Ranking(String),
    /// A table that does not fit.
    #[error("tool_search: {0}")]
    Table(String),
    /// A blank name.
    #[error("tool_search.name is blank; leave it out for {DEFAULT_NAME}")]
    BlankName,
    /// A tool has the name already.
    #[error("a tool is called {0:?}; give the search tool another name with tool_search.name")]
    NameTaken(String),
    /// Nothing would be left to call.
    #[error(
        "tool search would leave no tool to call; name at least one in tool_search.always_loaded"
    )]
    AllDeferred,
    /// The provider would have to search.
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

/// The table. A table is there to have it, so it also switches it on.
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
                strategy: ranking(&name)?,
                ..switched(ToolSearchSwitch::On)
            }),
            table @ Value::Object(_) => {
                let table = ToolSearchTable::deserialize(table);
                table
                    .map_err(|e| ToolSearchError::Table(e.to_string()))?
                    .options()
            }
            Value::Number(_) => Err(ToolSearchError::Form("a number")),
            Value::Array(_) => Err(ToolSearchError::Form("a list")),
        }
    }
}

impl ToolSearchTable {
    fn options(self) -> Result<ToolSearchOptions, ToolSearchError> {
        let name = self.name.unwrap_or_else(|| DEFAULT_NAME.to_owned());
        if name.trim().is_empty() {
            return Err(ToolSearchError::BlankName);
        }
        // The variant is what a provider would be asked for; ours follows it unless told otherwise.
        let strategy = match self.strategy.or(self.variant) {
            Some(name) => ranking(&name)?,
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

fn ranking(name: &str) -> Result<ToolSearchStrategy, ToolSearchError> {
    let ranking = ToolRanking::named(name);
    let ranking = ranking.ok_or_else(|| ToolSearchError::Ranking(name.to_owned()))?;
    Ok(ToolSearchStrategy::Ranked(ranking))
}
