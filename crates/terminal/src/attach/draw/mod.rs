//! Draws the screen from its state alone, at any size.

mod help;
mod picker;
mod question;
mod status;

use ratatui::{
    Frame,
    layout::{Position, Rect},
    text::{Line, Span},
};

pub(super) use self::{help::LINES as HELP_LINES, picker::draw_picker, question::QuestionView};
use super::{
    screen_text::{cut, escape_line, width},
    state::AttachScreen,
};
use crate::paint::PaintStyle;

/// The areas of the screen, from top to bottom. An area without space has no height.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LayoutAreas {
    pub(super) transcript: Rect,
    waiting: Rect,
    pub(super) question: Rect,
    notice: Rect,
    status: Rect,
    prompt: Rect,
    keys: Rect,
}

pub(super) fn question_view(screen: &AttachScreen) -> QuestionView {
    question::lay_out_question(screen, divide_screen(screen).question)
}

/// Divides the screen. The status and the prompt have priority, then the question, then the rest.
pub(super) fn divide_screen(screen: &AttachScreen) -> LayoutAreas {
    let (columns, rows) = screen.size;
    let mut left = rows;
    let mut take = |wanted: u16, spare: u16| {
        let taken = wanted.min(left.saturating_sub(spare));
        left -= taken;
        taken
    };
    let status = take(1, 0);
    let question = question::needed_height(screen, columns);
    let least = question::min_height(question);
    let typed = screen.prompt.wrapped_lines(prompt_columns(columns)).0.len();
    let tallest = if question > 0 && rows < ROOMY { 1 } else { 5 };
    let prompt = take(u16::try_from(typed).unwrap_or(u16::MAX).min(tallest), 1);
    let keys = take(1, least.max(2));
    let notice = take(u16::from(screen.notice.is_some()), least.max(1));
    let question = take(question, if rows < ROOMY { 0 } else { 3 });
    let waiting = screen.sent.len() + screen.waiting.len();
    let waiting = take(u16::try_from(waiting).unwrap_or(u16::MAX).min(3), 3);
    let mut y = 0;
    let mut place = |height: u16| {
        let area = Rect::new(0, y, columns, height);
        y += height;
        area
    };
    LayoutAreas {
        transcript: place(left),
        waiting: place(waiting),
        question: place(question),
        notice: place(notice),
        status: place(status),
        prompt: place(prompt),
        keys: place(keys),
    }
}

/// With fewer lines than this, a question may use all of the remaining space.
const ROOMY: u16 = 20;

const SIGN: &str = "> ";

fn prompt_columns(columns: u16) -> usize {
    usize::from(columns).saturating_sub(width(SIGN)).max(1)
}

pub(super) fn draw(frame: &mut Frame<'_>, screen: &AttachScreen) {
    let areas = divide_screen(screen);
    let transcript = match screen.help {
        Some(from) => {
            let lines = help::lines(areas.transcript, screen).into_iter();
            lines.skip(from).collect()
        }
        None => screen.visible_lines(usize::from(areas.transcript.height)),
    };
    draw_lines(frame, areas.transcript, transcript);
    draw_lines(frame, areas.waiting, waiting_lines(screen, areas.waiting));
    let question = question::lay_out_question(screen, areas.question).lines;
    draw_lines(frame, areas.question, question);
    if let Some(notice) = &screen.notice {
        let notice = cut(notice, usize::from(areas.notice.width));
        draw_lines(
            frame,
            areas.notice,
            vec![Line::styled(notice, PaintStyle::Yellow)],
        );
    }
    draw_lines(frame, areas.status, vec![status::line(screen)]);
    draw_prompt(frame, screen, areas.prompt);
    draw_lines(frame, areas.keys, vec![status::keys(screen)]);
}

/// Draws lines into an area, from its top.
fn draw_lines(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'static>>) {
    // The terminal may have been resized; the next frame has the new size.
    let area = area.intersection(frame.area());
    let buffer = frame.buffer_mut();
    for (line, row) in lines.iter().zip(area.rows()) {
        buffer.set_line(row.x, row.y, line, row.width);
    }
}

/// Returns lines for the messages that have not reached the agent.
fn waiting_lines(screen: &AttachScreen, area: Rect) -> Vec<Line<'static>> {
    let sent = screen.sent.iter().map(|(_, text)| ("sent", text.as_str()));
    let waiting = screen.waiting.iter().map(|waiting| {
        let how = match waiting.steer {
            // Its turn is over.
            _ if screen.turn.is_none() => "waits for the next prompt",
            true => "steers",
            false => "queued",
        };
        (how, waiting.text.as_str())
    });
    let all: Vec<_> = sent.chain(waiting).collect();
    let room = usize::from(area.height);
    let more = all.len().saturating_sub(room);
    let line = |(how, text): &(&str, &str)| {
        let line = format!("{how}: {}", escape_line(text));
        Line::styled(cut(&line, usize::from(area.width)), PaintStyle::Dim)
    };
    let mut lines: Vec<_> = all.iter().take(room).map(line).collect();
    if let (true, Some(last)) = (more > 0, lines.last_mut()) {
        let more = format!("… and {} more wait", more + 1);
        *last = Line::styled(more, PaintStyle::Dim);
    }
    lines
}

fn draw_prompt(frame: &mut Frame<'_>, screen: &AttachScreen, area: Rect) {
    let area = area.intersection(frame.area());
    if area.is_empty() {
        return;
    }
    let types = screen.is_controller() && screen.ended.is_none();
    let columns = prompt_columns(area.width);
    let (lines, (column, row)) = screen.prompt.wrapped_lines(columns);
    let height = usize::from(area.height);
    // The line with the cursor is visible.
    let from = (row + 1).saturating_sub(height);
    let sign = |at| if at == 0 { SIGN } else { "  " };
    let look = if types {
        PaintStyle::Cyan
    } else {
        PaintStyle::Dim
    };
    let mut shown: Vec<Line<'static>> = lines
        .into_iter()
        .enumerate()
        .skip(from)
        .map(|(at, line)| Line::from(vec![Span::styled(sign(at), look), Span::raw(line)]))
        .collect();
    if screen.prompt.is_empty() || !types {
        let hint = cut(&status::hint(screen), columns);
        let hint = Span::styled(hint, PaintStyle::Dim);
        shown = vec![Line::from(vec![Span::styled(SIGN, look), hint])];
    }
    draw_lines(frame, area, shown);
    if types && (!screen.answering || screen.types_answer()) {
        let x = area.x + u16::try_from(column + width(SIGN)).unwrap_or(u16::MAX);
        let y = area.y + u16::try_from(row - from).unwrap_or(u16::MAX);
        let last = area.right().saturating_sub(1);
        frame.set_cursor_position(Position::new(x.min(last), y));
    }
}

#[cfg(test)]
mod tests;
