//! Entries of a transcript as lines of a width: what is drawn, and what scrolling counts.

use agent_client_protocol::v1::schema::{PlanEntry, PlanEntryStatus, ToolCallStatus, ToolKind};
use ratatui::{
    style::{Color, Modifier, Style},
    text::{Line, Span},
};

use super::{
    measure::{tame, tame_line, width, wrap},
    transcript::{Call, Entry, Job, JobState, Mark, Said, Transcript, Who},
};
use crate::{paint, reading::call::symbol, text};

/// Of what a tool shows, so many lines while it is folded.
const FOLDED_OUTPUT: usize = 3;
const FOLDED_DIFF: usize = 12;

/// How one of our styles looks here.
pub(super) fn style(style: paint::Style) -> Style {
    let colour = |colour| Style::new().fg(colour);
    match style {
        paint::Style::Plain => Style::new(),
        paint::Style::Dim => Style::new().add_modifier(Modifier::DIM),
        paint::Style::Bold => Style::new().add_modifier(Modifier::BOLD),
        paint::Style::Green => colour(Color::Green),
        paint::Style::Red => colour(Color::Red),
        paint::Style::Yellow => colour(Color::Yellow),
        paint::Style::Cyan => colour(Color::Cyan),
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
    let before = number.checked_sub(1).and_then(|it| transcript.entry(it));
    let mut lines = Vec::new();
    match before {
        None if transcript.first() > 0 => {
            let gone = format!(
                "… {} earlier entries are no longer kept here; `harn-serve sessions show` has all",
                transcript.first()
            );
            hang(&mut lines, paint::Style::Dim, "", &gone, columns);
            lines.push(Line::default());
        }
        Some(before) if entry.stands_apart(before) => lines.push(Line::default()),
        _ => {}
    }
    match entry {
        Entry::Said(words) => said(&mut lines, words, columns),
        Entry::Call(it) => call(&mut lines, it, columns, unfolded),
        Entry::Plan(steps) => steps.iter().for_each(|it| step(&mut lines, it, columns)),
        Entry::Job(it) => job(&mut lines, it, columns),
        Entry::Note(mark, text) => {
            let (look, sign) = match mark {
                Mark::Note => (paint::Style::Dim, "· "),
                Mark::Warning => (paint::Style::Yellow, "! "),
            };
            hang(&mut lines, look, sign, &tame_line(text), columns);
        }
    }
    lines
}

/// A text behind a sign, its further lines under its first.
fn hang(
    lines: &mut Vec<Line<'static>>,
    look: paint::Style,
    sign: &str,
    text: &str,
    columns: usize,
) {
    let indent = width(sign);
    for (at, line) in wrap(text, columns.saturating_sub(indent))
        .into_iter()
        .enumerate()
    {
        let sign = match at {
            0 => sign.to_owned(),
            _ => " ".repeat(indent),
        };
        lines.push(Line::from(vec![
            Span::styled(sign, style(look)),
            Span::styled(line, style(look)),
        ]));
    }
}

fn said(lines: &mut Vec<Line<'static>>, said: &Said, columns: usize) {
    // The blank lines around a message are ours to set.
    let text = match said.goes_on {
        true => said.text.trim_end_matches('\n'),
        false => said.text.trim_matches('\n'),
    };
    let text = tame(text);
    match &said.who {
        Who::Person(by) => {
            let sign = if said.goes_on { "  " } else { "> " };
            hang(lines, paint::Style::Bold, sign, &text, columns);
            if let (Some(by), false, Some(first)) = (by, said.goes_on, lines.last_mut()) {
                let by = format!("  ({})", tame_line(by));
                if first.width() + width(&by) <= columns {
                    first.push_span(Span::styled(by, style(paint::Style::Dim)));
                }
            }
        }
        Who::Agent => hang(lines, paint::Style::Plain, "", &text, columns),
        Who::Thought => {
            let from = lines.len();
            hang(lines, paint::Style::Dim, "", &text, columns);
            let italic = Style::new().add_modifier(Modifier::ITALIC);
            for line in &mut lines[from..] {
                *line = std::mem::take(line).patch_style(italic);
            }
        }
    }
}

fn call(lines: &mut Vec<Line<'static>>, call: &Call, columns: usize, unfolded: bool) {
    let failed = call.status == ToolCallStatus::Failed;
    let (look, mark) = match call.status {
        ToolCallStatus::Completed => (paint::Style::Green, "  ✓"),
        ToolCallStatus::Failed => (paint::Style::Red, "  ✗"),
        ToolCallStatus::InProgress => (paint::Style::Yellow, "  …"),
        _ => (paint::Style::Dim, "  waits"),
    };
    hang(
        lines,
        paint::Style::Plain,
        symbol(call.kind),
        &tame_line(&call.title),
        columns,
    );
    let took = call
        .took
        .map(|took| format!(" {}", text::duration(took.into())));
    let took = Span::styled(took.unwrap_or_default(), style(paint::Style::Dim));
    match lines.last_mut() {
        Some(last) if last.width() + width(mark) + took.width() <= columns => {
            last.push_span(Span::styled(mark, style(look)));
            last.push_span(took);
        }
        // What became of it is told, however long its name.
        _ => lines.push(Line::from(vec![Span::styled(mark, style(look)), took])),
    }
    let indented = |lines: &mut Vec<_>, look, text: &str| {
        hang(lines, look, "  ", &tame(text), columns);
    };
    if unfolded && !call.input.is_empty() {
        indented(lines, paint::Style::Dim, &call.input);
    }
    let shown = if unfolded {
        call.diff.len()
    } else {
        FOLDED_DIFF
    };
    for (look, line) in call.diff.iter().take(shown) {
        indented(lines, *look, line);
    }
    more(
        lines,
        call.diff.len().saturating_sub(shown),
        "more lines",
        columns,
    );
    let output: Vec<_> = call.output.lines().collect();
    let shown = match unfolded {
        true => output.len(),
        false if call.kind == ToolKind::Execute => FOLDED_OUTPUT,
        false if failed => 1,
        false => 0,
    };
    let above = output.len().saturating_sub(shown);
    // What a command printed last is what there is to see; why another failed is said first.
    let part = match call.kind {
        ToolKind::Execute => &output[above..],
        _ => &output[..shown.min(output.len())],
    };
    if call.kind == ToolKind::Execute {
        more(lines, above, "lines above", columns);
    }
    let look = if failed {
        paint::Style::Red
    } else {
        paint::Style::Dim
    };
    part.iter().for_each(|line| indented(lines, look, line));
    if let (true, true, Some(error)) = (failed, output.is_empty(), &call.error) {
        indented(lines, paint::Style::Red, error);
    }
}

/// Says that there is more, and how to see it.
fn more(lines: &mut Vec<Line<'static>>, count: usize, what: &str, columns: usize) {
    if count > 0 {
        let more = format!("… {count} {what}, Ctrl-O shows them");
        hang(lines, paint::Style::Dim, "  ", &more, columns);
    }
}

fn step(lines: &mut Vec<Line<'static>>, step: &PlanEntry, columns: usize) {
    let (look, mark) = match step.status {
        PlanEntryStatus::Completed => (paint::Style::Dim, "[x] "),
        PlanEntryStatus::InProgress => (paint::Style::Bold, "[>] "),
        _ => (paint::Style::Plain, "[ ] "),
    };
    hang(lines, look, mark, &tame_line(&step.content), columns);
}

fn job(lines: &mut Vec<Line<'static>>, job: &Job, columns: usize) {
    let (look, mark, words) = match &job.state {
        JobState::Running => (paint::Style::Yellow, "  …", ""),
        JobState::Done(words) => (paint::Style::Green, "  ✓ ", *words),
        JobState::Failed(reason) => (paint::Style::Red, "  ✗ ", reason.as_str()),
    };
    hang(
        lines,
        paint::Style::Plain,
        "» ",
        &tame_line(&job.title),
        columns,
    );
    let took = job.took.map(|took| text::duration(took.into()));
    let words = took.into_iter().chain([tame_line(words)]);
    let words: Vec<_> = words.filter(|it| !it.is_empty()).collect();
    let end = format!("{mark}{}", words.join("  ")).trim_end().to_owned();
    match lines.last_mut() {
        Some(last) if last.width() + width(&end) <= columns => {
            last.push_span(Span::styled(end, style(look)));
        }
        _ => hang(lines, look, "  ", end.trim_start(), columns),
    }
}
