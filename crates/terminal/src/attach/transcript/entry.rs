//! What stands in a transcript: one thing that was said or done.

use agent_client_protocol::v1::schema::{PlanEntry, ToolKind};
use harn_model::ToolCallStatus;

use crate::{
    paint::PaintStyle,
    reading::activity::{Job, JobState},
};

#[derive(Debug)]
pub(in crate::attach) enum TranscriptEntry {
    Said(MessageEntry),
    Call(ToolCallEntry),
    /// A plan, as it stands now.
    Plan(Vec<PlanEntry>),
    Job(Job),
    /// Something worth a line.
    Note(NoteLevel, String),
}

/// Words, or a piece of many.
#[derive(Debug)]
pub(in crate::attach) struct MessageEntry {
    pub(in crate::attach) who: MessageAuthor,
    /// The message they are of.
    pub(super) message: Option<String>,
    pub(in crate::attach) text: String,
    /// Whether they go on with the entry before.
    pub(in crate::attach) goes_on: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::attach) enum MessageAuthor {
    /// A person, through the client of this name where it is known and another one.
    Person(Option<String>),
    Agent,
    Thought,
}

/// How a line is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::attach) enum NoteLevel {
    Note,
    /// It asks for attention.
    Warning,
}

#[derive(Debug)]
pub(in crate::attach) struct ToolCallEntry {
    pub(in crate::attach) kind: ToolKind,
    pub(in crate::attach) title: String,
    pub(in crate::attach) status: ToolCallStatus,
    pub(in crate::attach) took: Option<u64>,
    /// Why it failed, where that is known.
    pub(in crate::attach) error: Option<String>,
    /// What it was called with, as lines.
    pub(in crate::attach) input: String,
    /// What it shows, or the end of it.
    pub(in crate::attach) output: String,
    pub(in crate::attach) diff: Vec<(PaintStyle, String)>,
}

impl TranscriptEntry {
    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        const ITSELF: usize = 256;
        let text = match self {
            Self::Said(said) => said.text.len(),
            Self::Call(call) => {
                let diff = call.diff.iter().map(|(_, line)| line.len() + 32);
                let error = call.error.as_ref().map_or(0, String::len);
                let shown = call.input.len() + call.output.len() + diff.sum::<usize>();
                call.title.len() + error + shown
            }
            Self::Plan(steps) => steps.iter().map(|step| step.content.len() + 64).sum(),
            Self::Job(job) => {
                let reason = match &job.state {
                    JobState::Failed(reason) => reason.len(),
                    JobState::Running | JobState::Done(_) | JobState::Cancelled => 0,
                };
                job.title().len() + reason
            }
            Self::Note(_, text) => text.len(),
        };
        ITSELF + text
    }

    /// Whether a blank line stands between the two.
    pub(in crate::attach) fn stands_apart(&self, before: &Self) -> bool {
        match (before, self) {
            (_, Self::Said(said)) if said.goes_on => false,
            (Self::Said(_), _) | (_, Self::Said(_)) => true,
            _ => false,
        }
    }
}
