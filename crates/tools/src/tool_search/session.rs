//! Tool search of one session: which tools a model sees, and the tool that finds the others.

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
    ToolSearchOutcome, ToolSearchSwitch, catalogue_tokens, needed, tool_tokens,
};
use crate::lock::lock;

/// Who searches here, as events tell it.
const MODE: &str = "client";

/// Tool search of a session.
#[derive(Debug)]
pub struct ToolSearch {
    options: ToolSearchOptions,
    state: Mutex<ToolSearchState>,
}

#[derive(Debug)]
struct ToolSearchState {
    /// Over the tools that are left to be found; none while it is off.
    index: Option<Arc<ToolIndex>>,
    /// How large they are.
    tokens: BTreeMap<String, u64>,
    promotions: ToolPromotions,
}

/// What a model sees of a catalogue.
#[derive(Clone, Debug, PartialEq)]
pub struct VisibleTools<'a> {
    /// Tools it is told of, in the order they came.
    pub loaded: Vec<&'a ToolSpec>,
    /// Tools it has to find first.
    pub deferred: Vec<&'a ToolSpec>,
}

/// The arguments of the search tool.
#[derive(Deserialize)]
struct ToolSearchArgs {
    query: String,
}

impl ToolSearch {
    /// Off until it has seen the tools.
    #[must_use]
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

    /// The catalogue is this now, and the model's context so large: decides whether to search. After an
    /// error it is off, and every tool is told of. Takes milliseconds for a thousand tools: call it when
    /// they change.
    pub fn set_catalogue(
        &self,
        tools: &[ToolSpec],
        context_tokens: u64,
    ) -> Result<(), ToolSearchError> {
        let index = self.indexed(tools, context_tokens);
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

    fn indexed(
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
            ToolSearchSwitch::Auto => needed(catalogue_tokens(tools), context_tokens),
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

    /// Whether a tool may be left to be found. Ours are few and the provider's are not ours to hide; a
    /// skill's come with a skill that is in use.
    fn defers(&self, tool: &ToolSpec) -> bool {
        match &tool.source {
            ToolSource::Host | ToolSource::Mcp(_) => {
                !self.options.always_loaded.contains(&tool.name)
            }
            ToolSource::Builtin | ToolSource::Skill(_) | ToolSource::Provider => false,
        }
    }

    /// A turn or an iteration begins: what was found is told of from now on.
    pub fn boundary(&self) {
        lock(&self.state).promotions.boundary();
    }

    /// What a model sees of these tools. The search tool itself is not among them.
    #[must_use]
    pub fn visible<'a>(&self, tools: &'a [ToolSpec]) -> VisibleTools<'a> {
        let state = lock(&self.state);
        let on = state.index.is_some();
        let (deferred, loaded) = tools
            .iter()
            .partition(|tool| on && self.defers(tool) && !state.promotions.in_effect(&tool.name));
        VisibleTools { loaded, deferred }
    }

    /// The search tool, while there is something to find.
    #[must_use]
    pub fn spec(&self) -> Option<ToolSpec> {
        let state = lock(&self.state);
        let index = state.index.as_ref()?;
        let mut description = format!(
            "Finds tools by what they do. {} more tools are there than you see; those it finds can be \
             called from the next step on.",
            index.names().len()
        );
        if self.options.include_stub_listing {
            let names = index.names();
            let hidden = names.filter(|name| !state.promotions.in_effect(name));
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

    /// Runs a call of the search tool: finds, promotes, and tells both as events.
    pub async fn run(
        &self,
        cx: &TurnContext,
        call_id: &str,
        args: Value,
    ) -> Result<ToolOutput, ToolError> {
        let Some(index) = lock(&self.state).index.clone() else {
            return Err(ToolError::new("every tool is there; none has to be found"));
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
        output(&outcome)
    }

    /// Promotes what was found and returns what is promoted now; what does not fit is told.
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

/// What a model is told: the outcome as it is.
fn output(outcome: &ToolSearchOutcome) -> Result<ToolOutput, ToolError> {
    let raw = serde_json::to_value(outcome).map_err(ToolError::new)?;
    Ok(ToolOutput {
        content: Some(vec![ToolContent::text(raw.to_string())]),
        raw: Some(raw),
        executor: Some(ToolExecutor::HarnBuiltin),
        ..ToolOutput::default()
    })
}

/// The schema of the arguments.
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
