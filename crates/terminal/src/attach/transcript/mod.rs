//! What was said and done, folded from updates, the latest part of it: a window that forgets its beginning
//! when it grows too large, and says how much.

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
use crate::reading::{
    activity::{AgentActivity, Job},
    plan::is_same_plan,
};

#[derive(Debug, Default)]
pub(super) struct TranscriptWindow {
    entries: VecDeque<TranscriptEntry>,
    /// The number of the first entry that is kept; they are counted from the beginning.
    pub(super) first: u64,
    bytes: usize,
    bounds: TranscriptLimits,
    /// Calls and questions that are open, each tagged with the number of its entry.
    fold: harn_model::Transcript<u64>,
    /// Workers and compositions, each with the number of its entry.
    jobs: HashMap<String, u64>,
    plan: Option<u64>,
    /// Where paths are shown from.
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

/// Words are kept in pieces of about this size, so that showing some of them costs no more than that.
const PIECE: usize = 8 * 1024;

impl TranscriptWindow {
    /// The number behind the last entry.
    pub(super) fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// An entry by its number, unless it was forgotten.
    pub(super) fn entry(&self, number: u64) -> Option<&TranscriptEntry> {
        self.entries.get(self.index(number)?)
    }

    fn index(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }

    fn push(&mut self, entry: TranscriptEntry) -> u64 {
        self.bytes += entry.bytes();
        self.entries.push_back(entry);
        self.forget();
        self.end() - 1
    }

    /// Changes an entry that is still kept.
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
        self.forget();
    }

    fn forget(&mut self) {
        while self.entries.len() > self.bounds.entries
            || (self.bytes > self.bounds.bytes && self.entries.len() > 1)
        {
            let Some(entry) = self.entries.pop_front() else {
                return;
            };
            self.bytes -= entry.bytes();
            self.first += 1;
        }
        // Else every call ever left open would be remembered.
        let OpenItems {
            calls, questions, ..
        } = &mut self.fold.open;
        if calls.len() + questions.len() + self.jobs.len() > self.bounds.entries {
            calls.retain(|_, call| call.tag >= self.first);
            questions.retain(|_, question| question.tag >= self.first);
            self.jobs.retain(|_, number| *number >= self.first);
        }
    }

    /// Words, which go on with the last ones when they are of the same message.
    pub(super) fn said(&mut self, who: MessageAuthor, message: Option<&str>, text: &str) {
        let mut rest = text;
        // What a person says comes in blocks, each a paragraph.
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

    /// Whether the words of a message are among the last that were said.
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

    /// A plan: the one that is shown, as it stands now, or another one.
    pub(super) fn plan(&mut self, steps: Vec<PlanEntry>) {
        let is_same = |number: &u64| match self.entry(*number) {
            Some(TranscriptEntry::Plan(shown)) => is_same_plan(shown, &steps),
            _ => false,
        };
        match self.plan.filter(is_same) {
            Some(number) => self.change(number, |entry| *entry = TranscriptEntry::Plan(steps)),
            None => self.plan = Some(self.push(TranscriptEntry::Plan(steps))),
        }
    }

    /// The next plan stands where it comes, also when it is the same.
    pub(super) fn next_plan(&mut self) {
        self.plan = None;
    }

    /// Whether a call waits to be allowed.
    pub(super) fn call_waits(&self) -> bool {
        let mut calls = self.fold.open.calls.values();
        calls.any(|call| call.status == ToolCallStatus::Pending && call.tag >= self.first)
    }

    pub(super) fn note(&mut self, mark: NoteLevel, text: impl Into<String>) {
        self.push(TranscriptEntry::Note(mark, text.into()));
    }

    /// The last line says that a person is asked, under this id.
    pub(super) fn asked(&mut self, id: &str) {
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

    /// What was asked under this id is settled so.
    pub(super) fn settled(&mut self, id: &str, outcome: HitlOutcome) {
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

    /// What the agent does beside talking and calling tools.
    pub(super) fn activity(&mut self, activity: AgentActivity) {
        match activity {
            AgentActivity::Job(job) => self.job(job),
            AgentActivity::Note(words) => self.note(NoteLevel::Note, words),
            AgentActivity::Warning(words) => self.note(NoteLevel::Warning, words),
            // The status line says it.
            AgentActivity::Idle => {}
        }
    }

    fn job(&mut self, job: Job) {
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

/// Splits text that is to go on behind what is `held` in a piece: the piece ends with the first line that
/// makes it full, or in the middle of a line where that is very long.
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
