//! The entries of a transcript.

use agent_client_protocol::v1::schema::{PlanEntry, ToolKind};
use harn_model::ToolCallStatus;

use crate::{
    agent_messages::activity::{Job, JobState},
    paint::PaintStyle,
};

#[derive(Debug)]
pub(in crate::attach) enum TranscriptEntry {
    Said(MessageEntry),
    Call(ToolCallEntry),
    /// A plan, in its current state.
    Plan(Vec<PlanEntry>),
    Job(Job),
    Note(NoteLevel, String),
}

/// A message, or a part of a long one.
#[derive(Debug)]
pub(in crate::attach) struct MessageEntry {
    pub(in crate::attach) who: MessageAuthor,
    /// The id of the message.
    pub(super) message: Option<String>,
    pub(in crate::attach) text: String,
    /// Whether the text continues the previous entry.
    pub(in crate::attach) goes_on: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::attach) enum MessageAuthor {
    /// A person, with the name of the client if it is known and not ours.
    Person(Option<String>),
    Agent,
    Thought,
}

/// The importance of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::attach) enum NoteLevel {
    Note,
    /// A note that needs attention.
    Warning,
}

#[derive(Debug)]
pub(in crate::attach) struct ToolCallEntry {
    pub(in crate::attach) kind: ToolKind,
    pub(in crate::attach) title: String,
    pub(in crate::attach) status: ToolCallStatus,
    pub(in crate::attach) took: Option<u64>,
    /// The reason of a failure, if it is known.
    pub(in crate::attach) error: Option<String>,
    /// The arguments, as lines.
    pub(in crate::attach) input: String,
    /// The text content, or the end of it.
    pub(in crate::attach) output: String,
    pub(in crate::attach) diff: Vec<(PaintStyle, String)>,
}

impl TranscriptEntry {
    /// Returns the approximate memory use.
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

    /// Returns whether a blank line separates the two.
    pub(in crate::attach) fn needs_blank_line(&self, before: &Self) -> bool {
        match (before, self) {
            (_, Self::Said(said)) if said.goes_on => false,
            (Self::Said(_), _) | (_, Self::Said(_)) => true,
            _ => false,
        }
    }
}
