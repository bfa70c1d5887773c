//! Steps out of text, one a line: what an agent emits, in the encoding of the journal, passes and asks, and how its
//! equipment changes.

use harn_model::{AgentEvent, Decision, McpServerStatus, Seam, ToolCall, ToolsChange};
use harn_runtime::EquipmentChange;
use serde::Deserialize;

use super::{StoryQuestion, StoryStep, judged::question};
use crate::must;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoryLine {
    /// About the lines behind it.
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

/// The steps that a text tells.
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
