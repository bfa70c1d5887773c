//! Tool search of one session: the tools that a model sees, and the tool that finds the others.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use harn_model::{
    AgentEvent, ErrorCategory, SideEffectLevel, ToolAnnotations, ToolContent, ToolExecutor,
    ToolKind, ToolSearchQuery, ToolSearchResult, ToolSource, ToolSpec,
};
use harn_runtime::{ToolError, ToolOutput, TurnContext};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    ToolIndex, ToolPromotions, ToolSearchError, ToolSearchMode, ToolSearchOptions,
    ToolSearchOutcome, ToolSearchSwitch, catalogue_tokens, is_search_needed, tool_tokens,
};
use crate::lock::lock;

/// The `mode` in events: this process performs the search.
const MODE: &str = "client";

/// The tool search of a session.
#[derive(Debug)]
pub struct ToolSearch {
    options: ToolSearchOptions,
    state: Mutex<ToolSearchState>,
}

#[derive(Debug)]
struct ToolSearchState {
    /// The index of the deferred tools; `None` while tool search is off.
    index: Option<Arc<ToolIndex>>,
    /// The sizes of the deferred tools.
    tokens: BTreeMap<String, u64>,
    promotions: ToolPromotions,
}

/// The part of a catalogue that a model sees.
#[derive(Clone, Debug, PartialEq)]
pub struct VisibleTools<'a> {
    /// Tools that the model sees, in their original order.
    pub loaded: Vec<&'a ToolSpec>,
    /// Tools that the model must find first.
    pub deferred: Vec<&'a ToolSpec>,
}

/// The arguments of the search tool.
#[derive(Deserialize)]
struct ToolSearchArgs {
    query: String,
}

impl ToolSearch {
    /// Creates a tool search, off until [`set_catalogue`](Self::set_catalogue) is called.
    pub fn new(options: ToolSearchOptions) -> Self {
        let state = ToolSearchState {
            index: None,
            tokens: BTreeMap::new(),
            promotions: ToolPromotions::new(options.budget_tokens),
        };
        Self {
            options,
            state: Mutex::new(state),
        }
    }

    /// Replaces the catalogue and the size of the model's context, and decides whether to search. After an error
    /// tool search is off, and every tool is visible. Takes milliseconds for a thousand tools: call it when they
    /// change.
    pub fn set_catalogue(
        &self,
        tools: &[ToolSpec],
        context_tokens: u64,
    ) -> Result<(), ToolSearchError> {
        let index = self.build_index(tools, context_tokens);
        let mut state = lock(&self.state);
        state.tokens.clear();
        state.index = None;
        let Some(index) = index? else {
            return Ok(());
        };
        let deferred = tools.iter().filter(|tool| self.defers(tool));
        let sizes = deferred.map(|tool| (tool.name.clone(), tool_tokens(tool)));
        state.tokens.extend(sizes);
        let ToolSearchState {
            tokens, promotions, ..
        } = &mut *state;
        promotions.retain(|name| tokens.contains_key(name));
        state.index = Some(index);
        Ok(())
    }

    fn build_index(
        &self,
        tools: &[ToolSpec],
        context_tokens: u64,
    ) -> Result<Option<Arc<ToolIndex>>, ToolSearchError> {
        match self.options.mode {
            ToolSearchMode::Auto | ToolSearchMode::Client => {}
            ToolSearchMode::Native => return Err(ToolSearchError::Native),
        }
        let wanted = match self.options.switch {
            ToolSearchSwitch::On => true,
            ToolSearchSwitch::Off => false,
            ToolSearchSwitch::Auto => is_search_needed(catalogue_tokens(tools), context_tokens),
        };
        let (deferred, loaded): (Vec<_>, Vec<_>) = tools.iter().partition(|tool| self.defers(tool));
        if !wanted || deferred.is_empty() {
            return Ok(None);
        }
        if loaded.is_empty() {
            return Err(ToolSearchError::AllDeferred);
        }
        if tools.iter().any(|tool| tool.name == self.options.name) {
            return Err(ToolSearchError::NameTaken(self.options.name.clone()));
        }
        Ok(Some(Arc::new(ToolIndex::new(deferred))))
    }

    /// Returns whether a tool may be deferred. Built-in tools are few, the provider's cannot be hidden, and a
    /// skill's belong to an active skill.
    fn defers(&self, tool: &ToolSpec) -> bool {
        match &tool.source {
            ToolSource::Host | ToolSource::Mcp(_) => {
                !self.options.always_loaded.contains(&tool.name)
            }
            ToolSource::Builtin | ToolSource::Skill(_) | ToolSource::Provider => false,
        }
    }

    /// Begins a turn or an iteration: the model sees the found tools from now on.
    pub fn apply_promotions(&self) {
        lock(&self.state).promotions.apply_promotions();
    }

    /// Returns the part of these tools that a model sees. The search tool itself is not included.
    pub fn visible_tools<'a>(&self, tools: &'a [ToolSpec]) -> VisibleTools<'a> {
        let state = lock(&self.state);
        let on = state.index.is_some();
        let (deferred, loaded) = tools.iter().partition(|tool| {
            on && self.defers(tool) && !state.promotions.is_in_effect(&tool.name)
        });
        VisibleTools { loaded, deferred }
    }

    /// Returns the search tool, if any tool is deferred.
    pub fn spec(&self) -> Option<ToolSpec> {
        let state = lock(&self.state);
        let index = state.index.as_ref()?;
        let mut description = format!(
            "Finds tools by what they do. {} more tools exist than you see; you can call those it finds \
             from the next step on.",
            index.names().len()
        );
        if self.options.include_stub_listing {
            let names = index.names();
            let hidden = names.filter(|name| !state.promotions.is_in_effect(name));
            let hidden: Vec<_> = hidden.collect();
            description += " They are: ";
            description += &hidden.join(", ");
        }
        Some(ToolSpec {
            name: self.options.name.clone(),
            description,
            schema: Some(schema()),
            annotations: Some(ToolAnnotations {
                kind: ToolKind::Search,
                side_effect_level: SideEffectLevel::ReadOnly,
                ..ToolAnnotations::default()
            }),
            source: ToolSource::Builtin,
            deprecated: false,
        })
    }

    /// Runs a call of the search tool: searches, promotes, and emits an event for each.
    pub async fn run(
        &self,
        cx: &TurnContext,
        call_id: &str,
        args: Value,
    ) -> Result<ToolOutput, ToolError> {
        let Some(index) = lock(&self.state).index.clone() else {
            return Err(ToolError::new(
                "every tool is available already; no search is needed",
            ));
        };
        let misfit = |e: serde_json::Error| ToolError {
            message: format!("the arguments must be {{\"query\": \"…\"}}: {e}"),
            category: ErrorCategory::SchemaValidation,
        };
        let query = ToolSearchArgs::deserialize(&args).map_err(misfit)?.query;
        let strategy = self.options.strategy.label().to_owned();
        let asked = ToolSearchQuery {
            tool_use_id: call_id.to_owned(),
            name: format!("tool_search_tool_{strategy}"),
            query: args,
            strategy: strategy.clone(),
            mode: MODE.to_owned(),
        };
        cx.emit(AgentEvent::ToolSearchQuery(Box::new(asked)))
            .await
            .map_err(ToolError::new)?;
        let mut outcome = self.options.strategy.search(&index, &query).await;
        let promoted = self.promote(&mut outcome);
        let told = ToolSearchResult {
            tool_use_id: call_id.to_owned(),
            promoted,
            strategy,
            mode: MODE.to_owned(),
        };
        cx.emit(AgentEvent::ToolSearchResult(Box::new(told)))
            .await
            .map_err(ToolError::new)?;
        to_output(&outcome)
    }

    /// Promotes the found tools and returns the promoted ones; adds a diagnostic about those that do not fit.
    fn promote(&self, outcome: &mut ToolSearchOutcome) -> Vec<String> {
        let mut state = lock(&self.state);
        let ToolSearchState {
            tokens, promotions, ..
        } = &mut *state;
        let size = |name: &str| tokens.get(name).copied();
        let promoted = promotions.promote(&outcome.tool_names, size);
        let mut left = outcome.tool_names.clone();
        left.retain(|name| !promoted.contains(name));
        if !left.is_empty() {
            let left = left.join(", ");
            let why = format!("no room for {left}; search for less at a time");
            outcome.diagnostic = Some(match outcome.diagnostic.take() {
                Some(said) => format!("{said}; {why}"),
                None => why,
            });
        }
        promoted
    }
}

/// Returns the outcome as the output for the model.
fn to_output(outcome: &ToolSearchOutcome) -> Result<ToolOutput, ToolError> {
    let raw = serde_json::to_value(outcome).map_err(ToolError::new)?;
    Ok(ToolOutput {
        content: Some(vec![ToolContent::text(raw.to_string())]),
        raw: Some(raw),
        executor: Some(ToolExecutor::HarnBuiltin),
        ..ToolOutput::default()
    })
}

/// Returns the schema of the search tool's arguments.
fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "What the tool should do, in a few words; for the strategy regex, a pattern.",
            },
        },
        "required": ["query"],
        "additionalProperties": false,
    })
}
