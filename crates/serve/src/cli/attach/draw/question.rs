//! The question that stands: what would be done, to the letter, and the answers.

use std::time::Duration;

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use crate::cli::{
    attach::{
        lines::style,
        measure::{cut, tame, width, wrap},
        question::Question,
        state::Screen,
    },
    paint::Style,
    text,
};

/// How many lines the question would like to have.
pub(super) fn height(screen: &Screen, columns: u16) -> u16 {
    let Some((question, _)) = screen.question() else {
        return 0;
    };
    let columns = usize::from(columns);
    let lines = body(question, columns).len() + 1 + options(question, false, columns).len();
    u16::try_from(lines).unwrap_or(u16::MAX)
}

/// What would be done, in lines.
fn body(question: &Question, columns: usize) -> Vec<Line<'static>> {
    let columns = columns.saturating_sub(2);
    // A title that does not fit into its line is told whole.
    let whole = (width(&question.title) > columns).then(|| (Style::Bold, question.title.clone()));
    let lines = whole.iter().chain(&question.body).flat_map(|(look, text)| {
        let look = style(*look);
        let line = move |line| Line::from(vec![Span::raw("  "), Span::styled(line, look)]);
        wrap(&tame(text), columns).into_iter().map(line)
    });
    lines.collect()
}

/// The question in an area. Answers are always in sight; a body that is too long is shown in part, and says so.
pub(super) fn lines(screen: &Screen, area: Rect) -> Vec<Line<'static>> {
    let Some((question, answerable)) = screen.question() else {
        return Vec::new();
    };
    let columns = usize::from(area.width);
    let body = body(question, columns);
    let mut options = options(question, answerable, columns);
    let room = usize::from(area.height).saturating_sub(1 + options.len());
    let mut lines = vec![head(screen, question, columns)];
    if body.len() <= room {
        lines.extend(body);
    } else if room > 0 {
        let last = body.len() - (room - 1);
        let from = screen.question_from.min(last);
        let below = last - from;
        lines.extend(body.into_iter().skip(from).take(room - 1));
        let more = match (from, below) {
            (0, below) => format!("  ↓ {below} more lines below"),
            (above, 0) => format!("  ↑ {above} lines above"),
            (above, below) => format!("  ↑ {above} lines above, ↓ {below} below"),
        };
        lines.push(Line::styled(cut(&more, columns), style(Style::Yellow)));
    }
    // In a very small place the answers stand where the question would.
    lines.truncate(
        usize::from(area.height)
            .saturating_sub(options.len())
            .max(1),
    );
    lines.append(&mut options);
    lines
}

/// How far the body of the question can be scrolled.
pub(in crate::cli::attach) fn last_from(screen: &Screen, area: Rect) -> usize {
    let Some((question, _)) = screen.question() else {
        return 0;
    };
    let columns = usize::from(area.width);
    let body = body(question, columns).len();
    let answers = options(question, false, columns).len();
    let room = usize::from(area.height).saturating_sub(1 + answers);
    match body > room && room > 0 {
        true => body - (room - 1),
        false => 0,
    }
}

fn head(screen: &Screen, question: &Question, columns: usize) -> Line<'static> {
    let count = match screen.questions.len() {
        0 | 1 => String::new(),
        count => format!(" (1 of {count})"),
    };
    let left = question.deadline.and_then(|deadline| {
        let left = deadline.saturating_sub(screen.time);
        text::soon(Duration::from_millis(left))
    });
    let left = left.map(|left| format!(" (for {left})"));
    let count = count + &left.unwrap_or_default();
    let room = columns.saturating_sub(2 + width(&count));
    Line::from(vec![
        Span::styled("? ", style(Style::Yellow)),
        Span::styled(cut(&question.title, room), style(Style::Bold)),
        Span::styled(count, style(Style::Dim)),
    ])
}

fn options(question: &Question, answerable: bool, columns: usize) -> Vec<Line<'static>> {
    if question.options.is_empty() {
        let how = "  type the answer, Enter sends it";
        return vec![Line::styled(cut(how, columns), style(Style::Dim))];
    }
    let mut lines = Vec::new();
    for (at, (name, scope)) in question.options.iter().enumerate() {
        // A key that would not count is not offered.
        let key = match answerable && at < 9 {
            true => format!("  {}) ", at + 1),
            false => "  ·  ".to_owned(),
        };
        let scope = scope.as_ref().map(|scope| format!("  ({})", tame(scope)));
        let scope = scope.unwrap_or_default();
        let room = columns.saturating_sub(width(&key));
        // What an answer covers is part of its name: none of it is cut off.
        for (nth, part) in wrap(name, room).into_iter().enumerate() {
            let key = if nth == 0 {
                key.clone()
            } else {
                "     ".to_owned()
            };
            let key = Span::styled(key, style(Style::Yellow));
            lines.push(Line::from(vec![key, Span::raw(part)]));
        }
        if let Some(last) = lines.last_mut()
            && last.width() + width(&scope) <= columns
        {
            last.push_span(Span::styled(scope, style(Style::Dim)));
        }
    }
    lines
}
