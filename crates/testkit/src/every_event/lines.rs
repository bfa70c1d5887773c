//! Steps out of text, one a line: what an agent emits, in the encoding of the journal, passes and asks, and how its
//! equipment changes.

use harn_model::{AgentEvent, Decision, McpServerStatus, Seam, ToolCall, ToolsChange};
use harn_runtime::EquipmentChange;
use serde::Deserialize;

use super::{Ask, Step, judged::question};
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
pub(super) fn steps(text: &str) -> Vec<Step> {
    let lines = text.lines();
    let lines = lines.map(|line| must(serde_json::from_str(line), line));
    let steps = lines.filter_map(|line| match line {
        StoryLine::Note(_about) => None,
        StoryLine::Emit(event) => Some(Step::Emit(event)),
        StoryLine::Pass(seam) => Some(Step::Pass(seam)),
        StoryLine::Ask {
            tool_call,
            through,
            decision,
        } => Some(Step::Ask(Box::new(Ask {
            question: question(*tool_call),
            through,
            decision,
        }))),
        StoryLine::Servers(servers) => Some(Step::Equip(EquipmentChange::Servers(servers))),
        StoryLine::Tools(tools) => Some(Step::Equip(EquipmentChange::Tools(tools))),
    });
    steps.collect()
}
