//! Parses steps from text, one per line: events that an agent emits, in the encoding of the journal, seams that it
//! passes, questions that it asks, and changes of its equipment.

use harn_model::{AgentEvent, Decision, McpServerStatus, Seam, ToolCall, ToolsChange};
use harn_runtime::EquipmentChange;
use serde::Deserialize;

use super::{StoryQuestion, StoryStep, rule_calls::question};
use crate::must;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoryLine {
    /// A comment about the next lines.
    Note(String),
    Emit(AgentEvent),
    Pass(Seam),
    /// A question with the usual answers.
    Ask {
        tool_call: Box<ToolCall>,
        #[serde(default)]
        through: Vec<String>,
        decision: Option<Decision>,
    },
    Servers(Vec<McpServerStatus>),
    Tools(ToolsChange),
}

/// Parses the steps of a text.
pub(super) fn steps(text: &str) -> Vec<StoryStep> {
    let lines = text.lines();
    let lines = lines.map(|line| must(serde_json::from_str(line), line));
    let steps = lines.filter_map(|line| match line {
        StoryLine::Note(_about) => None,
        StoryLine::Emit(event) => Some(StoryStep::Emit(event)),
        StoryLine::Pass(seam) => Some(StoryStep::Pass(seam)),
        StoryLine::Ask {
            tool_call,
            through,
            decision,
        } => Some(StoryStep::Ask(Box::new(StoryQuestion {
            question: question(*tool_call),
            through,
            decision,
        }))),
        StoryLine::Servers(servers) => Some(StoryStep::Equip(EquipmentChange::Servers(servers))),
        StoryLine::Tools(tools) => Some(StoryStep::Equip(EquipmentChange::Tools(tools))),
    });
    steps.collect()
}
