//! The latest part of a conversation, folded from updates: a window that drops its oldest entries when it
//! grows too large, and counts them.

mod calls;
mod entry;

use std::{
    collections::{HashMap, VecDeque},
    path::PathBuf,
};

use agent_client_protocol::v1::schema::PlanEntry;
use harn_model::{AgentEvent, HitlOutcome, OpenItems, ToolCallStatus};
use serde_json::Value;

pub(super) use self::entry::{
    MessageAuthor, MessageEntry, NoteLevel, ToolCallEntry, TranscriptEntry,
};
use crate::agent_messages::{
    activity::{AgentActivity, Job},
    plan::is_same_plan,
};

#[derive(Debug, Default)]
pub(super) struct TranscriptWindow {
    entries: VecDeque<TranscriptEntry>,
    /// The number of the first stored entry; numbers count from the beginning of the session.
    pub(super) first: u64,
    bytes: usize,
    bounds: TranscriptLimits,
    /// Open calls and questions, each tagged with the number of its entry.
    fold: harn_model::Transcript<u64>,
    /// Workers and compositions, each with the number of its entry.
    jobs: HashMap<String, u64>,
    plan: Option<u64>,
    /// The directory to which shown paths are relative.
    pub(super) cwd: PathBuf,
}

#[derive(Clone, Copy, Debug)]
struct TranscriptLimits {
    entries: usize,
    bytes: usize,
}

impl Default for TranscriptLimits {
    fn default() -> Self {
        // A few hundred screens.
        Self {
            entries: 4000,
            bytes: 4 * 1024 * 1024,
        }
    }
}

/// The approximate size of a stored piece of a message, so that drawing a part of it costs no more than that.
const PIECE: usize = 8 * 1024;

impl TranscriptWindow {
    /// Returns the number after the last entry.
    pub(super) fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// Returns an entry by its number, unless it was dropped.
    pub(super) fn entry(&self, number: u64) -> Option<&TranscriptEntry> {
        self.entries.get(self.index(number)?)
    }

    fn index(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }

    fn push(&mut self, entry: TranscriptEntry) -> u64 {
        self.bytes += entry.bytes();
        self.entries.push_back(entry);
        self.drop_oldest();
        self.end() - 1
    }

    /// Changes an entry, if it is still stored.
    fn change(&mut self, number: u64, change: impl FnOnce(&mut TranscriptEntry)) {
        let Some(entry) = self
            .index(number)
            .and_then(|index| self.entries.get_mut(index))
        else {
            return;
        };
        let before = entry.bytes();
        change(entry);
        self.bytes = self.bytes - before + entry.bytes();
        self.drop_oldest();
    }

    fn drop_oldest(&mut self) {
        while self.entries.len() > self.bounds.entries
            || (self.bytes > self.bounds.bytes && self.entries.len() > 1)
        {
            let Some(entry) = self.entries.pop_front() else {
                return;
            };
            self.bytes -= entry.bytes();
            self.first += 1;
        }
        // Otherwise every call that was never ended would stay in memory.
        let OpenItems {
            calls, questions, ..
        } = &mut self.fold.open;
        if calls.len() + questions.len() + self.jobs.len() > self.bounds.entries {
            calls.retain(|_, call| call.tag >= self.first);
            questions.retain(|_, question| question.tag >= self.first);
            self.jobs.retain(|_, number| *number >= self.first);
        }
    }

    /// Adds text; it continues the last entry if that belongs to the same message.
    pub(super) fn add_text(&mut self, who: MessageAuthor, message: Option<&str>, text: &str) {
        let mut rest = text;
        // A person's message arrives in blocks, each a paragraph.
        let joint = if matches!(who, MessageAuthor::Person(_)) {
            "\n"
        } else {
            ""
        };
        let last = self.end().saturating_sub(1);
        let mut goes_on = false;
        if let Some(TranscriptEntry::Said(said)) = self.entry(last)
            && said.who == who
            && said.message.as_deref() == message
        {
            let (now, later) = split(&said.text, rest);
            if !now.is_empty() {
                self.change(last, |entry| {
                    if let TranscriptEntry::Said(said) = entry {
                        said.text.push_str(joint);
                        said.text.push_str(now);
                    }
                });
            }
            rest = later;
            goes_on = true;
        }
        while !rest.is_empty() {
            let (now, later) = split("", rest);
            self.push(TranscriptEntry::Said(MessageEntry {
                who: who.clone(),
                message: message.map(str::to_owned),
                text: now.to_owned(),
                goes_on,
            }));
            rest = later;
            goes_on = true;
        }
    }

    /// Returns whether one of the latest entries belongs to a message.
    pub(super) fn has_message(&self, message: &str) -> bool {
        const RECENT: usize = 64;
        let recent = self.entries.iter().rev().take(RECENT);
        recent
            .filter_map(|entry| match entry {
                TranscriptEntry::Said(said) => said.message.as_deref(),
                _ => None,
            })
            .any(|id| id == message)
    }

    /// Updates the shown plan if the steps are the same, else adds a plan.
    pub(super) fn set_plan(&mut self, steps: Vec<PlanEntry>) {
        let is_same = |number: &u64| match self.entry(*number) {
            Some(TranscriptEntry::Plan(shown)) => is_same_plan(shown, &steps),
            _ => false,
        };
        match self.plan.filter(is_same) {
            Some(number) => self.change(number, |entry| *entry = TranscriptEntry::Plan(steps)),
            None => self.plan = Some(self.push(TranscriptEntry::Plan(steps))),
        }
    }

    /// Shows the next plan as a new entry, even if it has the same steps.
    pub(super) fn start_new_plan(&mut self) {
        self.plan = None;
    }

    /// Returns whether a call waits for permission.
    pub(super) fn has_pending_call(&self) -> bool {
        let mut calls = self.fold.open.calls.values();
        calls.any(|call| call.status == ToolCallStatus::Pending && call.tag >= self.first)
    }

    pub(super) fn add_note(&mut self, mark: NoteLevel, text: impl Into<String>) {
        self.push(TranscriptEntry::Note(mark, text.into()));
    }

    /// Records that the last entry is the question with this id.
    pub(super) fn mark_question(&mut self, id: &str) {
        let number = self.end().saturating_sub(1);
        self.fold.apply(&AgentEvent::HitlRequested {
            request_id: id.to_owned(),
            kind: String::new(),
            payload: Value::Null,
        });
        if let Some(question) = self.fold.open.questions.get_mut(id) {
            question.tag = number;
        }
    }

    /// Adds the outcome to the question with this id.
    pub(super) fn settle_question(&mut self, id: &str, outcome: HitlOutcome) {
        let how = match outcome {
            HitlOutcome::Answered => "answered",
            HitlOutcome::Timeout => "timeout",
            HitlOutcome::Cancelled => "cancelled",
        };
        let closed = self.fold.apply(&AgentEvent::HitlResolved {
            request_id: id.to_owned(),
            kind: String::new(),
            outcome,
        });
        if let Some(question) = closed.question {
            self.change(question.tag, |entry| {
                if let TranscriptEntry::Note(mark, text) = entry {
                    *mark = NoteLevel::Note;
                    text.push_str(&format!(" ({how})"));
                }
            });
        }
    }

    /// Shows agent activity other than messages and tool calls.
    pub(super) fn add_activity(&mut self, activity: AgentActivity) {
        match activity {
            AgentActivity::Job(job) => self.set_job(job),
            AgentActivity::Note(words) => self.add_note(NoteLevel::Note, words),
            AgentActivity::Warning(words) => self.add_note(NoteLevel::Warning, words),
            // The status line shows it.
            AgentActivity::Idle => {}
        }
    }

    fn set_job(&mut self, job: Job) {
        let id = job.id.clone();
        match self.jobs.get(&id).copied() {
            Some(number) if number >= self.first => {
                self.change(number, |entry| *entry = TranscriptEntry::Job(job));
            }
            _ => {
                let number = self.push(TranscriptEntry::Job(job));
                self.jobs.insert(id, number);
            }
        }
    }
}

/// Splits text that continues a piece with the content `held`: the piece ends after the first line that
/// makes it full, or inside a line that is very long.
fn split<'a>(held: &str, text: &'a str) -> (&'a str, &'a str) {
    const LONGEST: usize = 4 * PIECE;
    if held.len() + text.len() <= PIECE {
        return (text, "");
    }
    if held.len() >= PIECE && held.ends_with('\n') {
        return ("", text);
    }
    let boundary = |at| {
        let mut places = (0..=at).rev();
        places.find(|at| text.is_char_boundary(*at)).unwrap_or(0)
    };
    let full = boundary(PIECE.saturating_sub(held.len() + 1));
    let line = text[full..].find('\n').map(|at| full + at + 1);
    let longest = LONGEST.saturating_sub(held.len());
    match line {
        Some(line) if line <= longest => text.split_at(line),
        _ if text.len() <= longest => (text, ""),
        _ => text.split_at(boundary(longest)),
    }
}

#[cfg(test)]
mod tests;
