//! Entries of a transcript as lines of a width: what is drawn, and what scrolling counts.

use agent_client_protocol::v1::schema::ToolKind;
use harn_model::ToolCallStatus;
use ratatui::{
    style::{self, Color, Modifier},
    text::{Line, Span},
};

use super::{
    measure::{tame, tame_line, width, wrap},
    transcript::{Call, Entry, Mark, Said, Transcript, Who},
};
use crate::{
    paint::Style,
    reading::{
        activity::{Job, JobState},
        call::symbol,
        plan::plan_mark,
    },
    text,
};

/// Of what a tool shows, so many lines while it is folded.
const FOLDED_OUTPUT: usize = 3;
const FOLDED_DIFF: usize = 12;

impl From<Style> for style::Style {
    fn from(style: Style) -> Self {
        match style {
            Style::Plain => Self::new(),
            Style::Dim => Modifier::DIM.into(),
            Style::Bold => Modifier::BOLD.into(),
            Style::Green => Color::Green.into(),
            Style::Red => Color::Red.into(),
            Style::Yellow => Color::Yellow.into(),
            Style::Cyan => Color::Cyan.into(),
        }
    }
}

/// The lines of an entry, with the blank one before it where it stands apart.
pub(super) fn of_entry(
    transcript: &Transcript,
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
                "… {} earlier entries are no longer kept here; `harn-serve sessions show` has all",
                transcript.first
            );
            lines.hang(Style::Dim, "", &gone);
            lines.lines.push(Line::default());
        }
        Some(before) if entry.stands_apart(before) => lines.lines.push(Line::default()),
        _ => {}
    }
    match entry {
        Entry::Said(words) => lines.said(words),
        Entry::Call(it) => lines.call(it, unfolded),
        Entry::Plan(steps) => {
            for step in steps {
                let (look, mark) = plan_mark(&step.status);
                lines.hang(look, mark, &tame_line(&step.content));
            }
        }
        Entry::Job(it) => lines.job(it),
        Entry::Note(Mark::Note, text) => lines.hang(Style::Dim, "· ", &tame_line(text)),
        Entry::Note(Mark::Warning, text) => lines.hang(Style::Yellow, "! ", &tame_line(text)),
    }
    lines.lines
}

/// The lines of an entry while they are made.
struct EntryLines {
    lines: Vec<Line<'static>>,
    columns: usize,
}

impl EntryLines {
    /// A text behind a sign, its further lines under its first.
    fn hang(&mut self, look: Style, sign: &str, text: &str) {
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

    fn indented(&mut self, look: Style, text: &str) {
        self.hang(look, "  ", &tame(text));
    }

    /// Puts spans behind the last line if they fit there; gives them back if not.
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

    fn said(&mut self, said: &Said) {
        // The blank lines around a message are ours to set.
        let text = match said.goes_on {
            true => said.text.trim_end_matches('\n'),
            false => said.text.trim_matches('\n'),
        };
        let text = tame(text);
        match &said.who {
            Who::Person(by) => {
                let sign = if said.goes_on { "  " } else { "> " };
                self.hang(Style::Bold, sign, &text);
                if let (Some(by), false) = (by, said.goes_on) {
                    let by = format!("  ({})", tame_line(by));
                    self.append([Span::styled(by, Style::Dim)]);
                }
            }
            Who::Agent => self.hang(Style::Plain, "", &text),
            Who::Thought => {
                let from = self.lines.len();
                self.hang(Style::Dim, "", &text);
                for line in &mut self.lines[from..] {
                    *line = std::mem::take(line).patch_style(Modifier::ITALIC);
                }
            }
        }
    }

    fn call(&mut self, call: &Call, unfolded: bool) {
        let failed = call.status == ToolCallStatus::Failed;
        let executes = call.kind == ToolKind::Execute;
        let (look, mark) = match call.status {
            ToolCallStatus::Completed => (Style::Green, "  ✓"),
            ToolCallStatus::Failed => (Style::Red, "  ✗"),
            ToolCallStatus::InProgress => (Style::Yellow, "  …"),
            ToolCallStatus::Pending => (Style::Dim, "  waits"),
        };
        self.hang(Style::Plain, symbol(call.kind), &tame_line(&call.title));
        let took = call.took.map(|took| text::duration(took.into()));
        let took = took.map(|took| format!(" {took}")).unwrap_or_default();
        let end = [Span::styled(mark, look), Span::styled(took, Style::Dim)];
        // What became of it is told, however long its name.
        if let Some(end) = self.append(end) {
            self.lines.push(Line::from(end.to_vec()));
        }
        if unfolded && !call.input.is_empty() {
            self.indented(Style::Dim, &call.input);
        }
        let shown = if unfolded { usize::MAX } else { FOLDED_DIFF };
        for (look, line) in call.diff.iter().take(shown) {
            self.indented(*look, line);
        }
        self.more(call.diff.len().saturating_sub(shown), "more lines");
        let output: Vec<_> = call.output.lines().collect();
        let shown = match unfolded {
            true => output.len(),
            false if executes => FOLDED_OUTPUT,
            false if failed => 1,
            false => 0,
        };
        let above = output.len().saturating_sub(shown);
        // What a command printed last is what there is to see; why another failed is said first.
        let part = match executes {
            true => &output[above..],
            false => &output[..shown.min(output.len())],
        };
        if executes {
            self.more(above, "lines above");
        }
        let look = if failed { Style::Red } else { Style::Dim };
        part.iter().for_each(|line| self.indented(look, line));
        if let (true, true, Some(error)) = (failed, output.is_empty(), &call.error) {
            self.indented(Style::Red, error);
        }
    }

    /// Says that there is more, and how to see it.
    fn more(&mut self, count: usize, what: &str) {
        if count > 0 {
            let more = format!("… {count} {what}, Ctrl-O shows them");
            self.hang(Style::Dim, "  ", &more);
        }
    }

    fn job(&mut self, job: &Job) {
        let (look, mark, words) = match &job.state {
            JobState::Running => (Style::Yellow, "  …", ""),
            JobState::Done(words) => (Style::Green, "  ✓ ", *words),
            JobState::Cancelled => (Style::Red, "  ✗ ", "cancelled"),
            JobState::Failed(reason) => (Style::Red, "  ✗ ", reason.as_str()),
        };
        self.hang(Style::Plain, "» ", &tame_line(&job.title()));
        let took = job.took.map(|took| text::duration(took.into()));
        let words = took.into_iter().chain([tame_line(words)]);
        let words: Vec<_> = words.filter(|it| !it.is_empty()).collect();
        let end = format!("{mark}{}", words.join("  ")).trim_end().to_owned();
        if let Some([end]) = self.append([Span::styled(end, look)]) {
            self.hang(look, "  ", end.content.trim_start());
        }
    }
}
