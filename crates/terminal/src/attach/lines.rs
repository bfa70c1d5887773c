//! Transcript entries as lines of a given width, for drawing and for scrolling.

use agent_client_protocol::v1::schema::ToolKind;
use harn_model::ToolCallStatus;
use ratatui::{
    style::{self, Color, Modifier},
    text::{Line, Span},
};

use super::{
    screen_text::{escape_line, escape_text, width, wrap},
    transcript::{
        MessageAuthor, MessageEntry, NoteLevel, ToolCallEntry, TranscriptEntry, TranscriptWindow,
    },
};
use crate::{
    agent_messages::{
        activity::{Job, JobState},
        call_text::symbol,
        plan::plan_mark,
    },
    paint::PaintStyle,
    text,
};

/// The number of output lines of a folded tool call.
const FOLDED_OUTPUT: usize = 3;
const FOLDED_DIFF: usize = 12;

impl From<PaintStyle> for style::Style {
    fn from(style: PaintStyle) -> Self {
        match style {
            PaintStyle::Plain => Self::new(),
            PaintStyle::Dim => Modifier::DIM.into(),
            PaintStyle::Bold => Modifier::BOLD.into(),
            PaintStyle::Green => Color::Green.into(),
            PaintStyle::Red => Color::Red.into(),
            PaintStyle::Yellow => Color::Yellow.into(),
            PaintStyle::Cyan => Color::Cyan.into(),
        }
    }
}

/// Returns the lines of an entry, with a blank line before it if it needs one.
pub(super) fn entry_lines(
    transcript: &TranscriptWindow,
    number: u64,
    columns: usize,
    unfolded: bool,
) -> Vec<Line<'static>> {
    let Some(entry) = transcript.entry(number) else {
        return Vec::new();
    };
    let mut lines = EntryLines {
        lines: Vec::new(),
        columns,
    };
    let before = number.checked_sub(1).and_then(|it| transcript.entry(it));
    match before {
        None if transcript.first > 0 => {
            let gone = format!(
                "… {} earlier entries are not shown here; `harn-serve sessions show` prints all",
                transcript.first
            );
            lines.push_hanging(PaintStyle::Dim, "", &gone);
            lines.lines.push(Line::default());
        }
        Some(before) if entry.needs_blank_line(before) => lines.lines.push(Line::default()),
        _ => {}
    }
    match entry {
        TranscriptEntry::Said(words) => lines.push_message(words),
        TranscriptEntry::Call(it) => lines.push_call(it, unfolded),
        TranscriptEntry::Plan(steps) => {
            for step in steps {
                let (look, mark) = plan_mark(&step.status);
                lines.push_hanging(look, mark, &escape_line(&step.content));
            }
        }
        TranscriptEntry::Job(it) => lines.push_job(it),
        TranscriptEntry::Note(NoteLevel::Note, text) => {
            lines.push_hanging(PaintStyle::Dim, "· ", &escape_line(text))
        }
        TranscriptEntry::Note(NoteLevel::Warning, text) => {
            lines.push_hanging(PaintStyle::Yellow, "! ", &escape_line(text))
        }
    }
    lines.lines
}

/// A builder for the lines of an entry.
struct EntryLines {
    lines: Vec<Line<'static>>,
    columns: usize,
}

impl EntryLines {
    /// Adds a text after a sign, with a hanging indent.
    fn push_hanging(&mut self, look: PaintStyle, sign: &str, text: &str) {
        let indent = width(sign);
        let lines = wrap(text, self.columns.saturating_sub(indent));
        for (at, line) in lines.into_iter().enumerate() {
            let sign = match at {
                0 => sign.to_owned(),
                _ => " ".repeat(indent),
            };
            let spans = vec![Span::styled(sign, look), Span::styled(line, look)];
            self.lines.push(Line::from(spans));
        }
    }

    fn push_indented(&mut self, look: PaintStyle, text: &str) {
        self.push_hanging(look, "  ", &escape_text(text));
    }

    /// Appends spans to the last line if they fit; returns them if not.
    fn append<const N: usize>(&mut self, spans: [Span<'static>; N]) -> Option<[Span<'static>; N]> {
        let wide: usize = spans.iter().map(Span::width).sum();
        match self.lines.last_mut() {
            Some(last) if last.width() + wide <= self.columns => {
                last.spans.extend(spans);
                None
            }
            _ => Some(spans),
        }
    }

    fn push_message(&mut self, said: &MessageEntry) {
        // The blank line before an entry is added separately.
        let text = match said.goes_on {
            true => said.text.trim_end_matches('\n'),
            false => said.text.trim_matches('\n'),
        };
        let text = escape_text(text);
        match &said.who {
            MessageAuthor::Person(by) => {
                let sign = if said.goes_on { "  " } else { "> " };
                self.push_hanging(PaintStyle::Bold, sign, &text);
                if let (Some(by), false) = (by, said.goes_on) {
                    let by = format!("  ({})", escape_line(by));
                    self.append([Span::styled(by, PaintStyle::Dim)]);
                }
            }
            MessageAuthor::Agent => self.push_hanging(PaintStyle::Plain, "", &text),
            MessageAuthor::Thought => {
                let from = self.lines.len();
                self.push_hanging(PaintStyle::Dim, "", &text);
                for line in &mut self.lines[from..] {
                    *line = std::mem::take(line).patch_style(Modifier::ITALIC);
                }
            }
        }
    }

    fn push_call(&mut self, call: &ToolCallEntry, unfolded: bool) {
        let failed = call.status == ToolCallStatus::Failed;
        let executes = call.kind == ToolKind::Execute;
        let (look, mark) = match call.status {
            ToolCallStatus::Completed => (PaintStyle::Green, "  ✓"),
            ToolCallStatus::Failed => (PaintStyle::Red, "  ✗"),
            ToolCallStatus::InProgress => (PaintStyle::Yellow, "  …"),
            ToolCallStatus::Pending => (PaintStyle::Dim, "  waits"),
        };
        self.push_hanging(
            PaintStyle::Plain,
            symbol(call.kind),
            &escape_line(&call.title),
        );
        let took = call.took.map(|took| text::format_duration(took.into()));
        let took = took.map(|took| format!(" {took}")).unwrap_or_default();
        let end = [
            Span::styled(mark, look),
            Span::styled(took, PaintStyle::Dim),
        ];
        // The result of a call is shown, however long the title.
        if let Some(end) = self.append(end) {
            self.lines.push(Line::from(end.to_vec()));
        }
        if unfolded && !call.input.is_empty() {
            self.push_indented(PaintStyle::Dim, &call.input);
        }
        let shown = if unfolded { usize::MAX } else { FOLDED_DIFF };
        for (look, line) in call.diff.iter().take(shown) {
            self.push_indented(*look, line);
        }
        self.push_hidden_count(call.diff.len().saturating_sub(shown), "more lines");
        let output: Vec<_> = call.output.lines().collect();
        let shown = match unfolded {
            true => output.len(),
            false if executes => FOLDED_OUTPUT,
            false if failed => 1,
            false => 0,
        };
        let above = output.len().saturating_sub(shown);
        // For a command the last output matters, for a failed call the first line, which has the reason.
        let part = match executes {
            true => &output[above..],
            false => &output[..shown.min(output.len())],
        };
        if executes {
            self.push_hidden_count(above, "lines above");
        }
        let look = if failed {
            PaintStyle::Red
        } else {
            PaintStyle::Dim
        };
        part.iter().for_each(|line| self.push_indented(look, line));
        if let (true, true, Some(error)) = (failed, output.is_empty(), &call.error) {
            self.push_indented(PaintStyle::Red, error);
        }
    }

    /// Adds a line with the number of hidden lines and the key that shows them.
    fn push_hidden_count(&mut self, count: usize, what: &str) {
        if count > 0 {
            let more = format!("… {count} {what}, Ctrl-O shows them");
            self.push_hanging(PaintStyle::Dim, "  ", &more);
        }
    }

    fn push_job(&mut self, job: &Job) {
        let (look, mark, words) = match &job.state {
            JobState::Running => (PaintStyle::Yellow, "  …", ""),
            JobState::Done(words) => (PaintStyle::Green, "  ✓ ", *words),
            JobState::Cancelled => (PaintStyle::Red, "  ✗ ", "cancelled"),
            JobState::Failed(reason) => (PaintStyle::Red, "  ✗ ", reason.as_str()),
        };
        self.push_hanging(PaintStyle::Plain, "» ", &escape_line(&job.title()));
        let took = job.took.map(|took| text::format_duration(took.into()));
        let words = took.into_iter().chain([escape_line(words)]);
        let words: Vec<_> = words.filter(|it| !it.is_empty()).collect();
        let end = format!("{mark}{}", words.join("  ")).trim_end().to_owned();
        if let Some([end]) = self.append([Span::styled(end, look)]) {
            self.push_hanging(look, "  ", end.content.trim_start());
        }
    }
}
