//! Draws the open question: the exact call, and the answers.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use crate::{
    agent_messages::activity::time_left,
    attach::{
        question::ShownQuestion,
        screen_text::{cut, escape_text, width, wrap},
        state::AttachScreen,
    },
    paint::PaintStyle,
};

/// The minimum columns and lines; in less space, a longer question is unreadable and cannot be answered.
const LEAST: (usize, usize) = (12, 3);
/// The minimum number of visible body lines that lets the answers stay fixed below.
const BESIDE_ANSWERS: usize = 3;

/// Returns the number of lines that the whole question needs.
pub(super) fn needed_height(screen: &AttachScreen, columns: u16) -> u16 {
    let Some((question, _)) = screen.question() else {
        return 0;
    };
    let columns = usize::from(columns);
    let lines =
        body(question, columns).len() + 1 + option_lines(question, |_| false, columns).len();
    u16::try_from(lines).unwrap_or(u16::MAX)
}

/// Returns the number of lines that the question gets before other areas.
pub(super) fn min_height(wanted: u16) -> u16 {
    wanted.min(LEAST.1 as u16)
}

#[derive(Debug, Default)]
pub(in crate::attach) struct QuestionView {
    pub(super) lines: Vec<Line<'static>>,
    /// The indexes of the answers that are completely visible.
    pub(in crate::attach) answers: Vec<usize>,
    /// The maximum scroll position.
    pub(in crate::attach) last: usize,
    /// Whether the area is too small to read the question.
    pub(in crate::attach) too_small: bool,
}

/// Returns the lines of the question's body.
fn body(question: &ShownQuestion, columns: usize) -> Vec<Line<'static>> {
    let columns = columns.saturating_sub(2);
    // A title that does not fit into its line is repeated whole.
    let whole =
        (width(&question.title) > columns).then(|| (PaintStyle::Bold, question.title.clone()));
    let lines = whole.iter().chain(&question.body).flat_map(|(look, text)| {
        let line = move |line| Line::from(vec![Span::raw("  "), Span::styled(line, *look)]);
        wrap(&escape_text(text), columns).into_iter().map(line)
    });
    lines.collect()
}

/// Lays the question out in an area. With enough space the answers stay visible and the body scrolls above them;
/// else everything scrolls together. Hidden lines are counted, and an answer that is not completely visible has
/// no key.
pub(in crate::attach) fn lay_out_question(screen: &AttachScreen, area: Rect) -> QuestionView {
    let Some((question, answerable)) = screen.question() else {
        return QuestionView::default();
    };
    let (columns, rows) = (usize::from(area.width), usize::from(area.height));
    let body = body(question, columns);
    let places: Vec<usize> = option_lines(question, |_| false, columns)
        .into_iter()
        .map(|(at, _)| at)
        .collect();
    let all = body.len() + places.len();
    let mut lines = vec![head(screen, question, columns)];
    // The number of lines that scroll, and how many of them are visible.
    let (moves, room) = match rows.checked_sub(1 + all) {
        Some(_) => (0, 0),
        None if columns < LEAST.0 || rows < LEAST.1 => {
            let words = [
                "make the window larger to answer",
                "make it larger",
                "enlarge",
            ];
            let fits = |words: &&&str| width(words) + 2 <= columns;
            let words = words.iter().find(fits).unwrap_or(&"!");
            return QuestionView {
                lines: vec![Line::styled(format!("? {words}"), PaintStyle::Yellow)],
                too_small: true,
                ..QuestionView::default()
            };
        }
        None if rows >= 2 + places.len() + BESIDE_ANSWERS => (body.len(), rows - 2 - places.len()),
        None => (all, rows - 2),
    };
    let last = moves - room;
    let from = screen.question_from.min(last);
    // The lines of the body and of the answers are numbered together.
    let hidden = |at: usize| at < moves && !(from..from + room).contains(&at);
    let unread = |answer: usize| {
        let lines = places.iter().enumerate();
        let mut lines = lines.filter(|(_, place)| **place == answer);
        lines.any(|(at, _)| hidden(body.len() + at))
    };
    let answers = (0..question.options.len()).filter(|at| !unread(*at));
    let answers: Vec<_> = answers.collect();
    let shown = body.len();
    let counts = |answer: usize| answerable && answers.contains(&answer);
    let options = option_lines(question, counts, columns);
    let rest = body.into_iter().chain(options.into_iter().map(|it| it.1));
    let mut below = Vec::new();
    for (at, line) in rest.enumerate().filter(|(at, _)| !hidden(*at)) {
        let stays = at >= shown && moves <= shown;
        if stays { &mut below } else { &mut lines }.push(line);
    }
    if last > 0 {
        let more = match (from, last - from) {
            (0, below) => format!("  ↓ {} not shown", format_line_count(below)),
            (above, 0) => format!("  ↑ {} above", format_line_count(above)),
            (above, below) => format!(
                "  ↑ {} above, ↓ {below} not shown",
                format_line_count(above)
            ),
        };
        lines.push(Line::styled(cut(&more, columns), PaintStyle::Yellow));
    }
    lines.append(&mut below);
    QuestionView {
        lines,
        answers,
        last,
        too_small: false,
    }
}

fn format_line_count(lines: usize) -> String {
    match lines {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    }
}

fn head(screen: &AttachScreen, question: &ShownQuestion, columns: usize) -> Line<'static> {
    let count = match screen.questions.len() {
        0 | 1 => String::new(),
        count => format!(" (1 of {count})"),
    };
    let mut count = count + &time_left(question.deadline, screen.time);
    if width(&count) > columns / 2 {
        count.clear();
    }
    let room = columns.saturating_sub(2 + width(&count));
    Line::from(vec![
        Span::styled("? ", PaintStyle::Yellow),
        Span::styled(cut(&question.title, room), PaintStyle::Bold),
        Span::styled(count, PaintStyle::Dim),
    ])
}

/// Returns the lines of the answers, each with the index of its answer. A key that does not work now is not
/// shown.
fn option_lines(
    question: &ShownQuestion,
    counts: impl Fn(usize) -> bool,
    columns: usize,
) -> Vec<(usize, Line<'static>)> {
    if question.options.is_empty() {
        let how = "  type the answer, Enter sends it";
        return vec![(0, Line::styled(cut(how, columns), PaintStyle::Dim))];
    }
    let mut lines = Vec::new();
    let keys = question.options.iter().map(|it| width(&it.key));
    let widest = keys.max().unwrap_or_default();
    for (at, option) in question.options.iter().enumerate() {
        let key = match counts(at) {
            true => format!("  {:>widest$}) ", option.key),
            false => format!("  {:>widest$}  ", "·"),
        };
        let scope = option.scope.map(|scope| format!("  ({scope})"));
        let scope = scope.unwrap_or_default();
        let room = columns.saturating_sub(width(&key));
        let indent = " ".repeat(width(&key));
        // The name states the scope of an answer, so none of it is cut off.
        for (nth, part) in wrap(&option.name, room).into_iter().enumerate() {
            let key = if nth == 0 { &key } else { &indent };
            let key = Span::styled(key.clone(), PaintStyle::Yellow);
            lines.push((at, Line::from(vec![key, Span::raw(part)])));
        }
        if let Some((_, last)) = lines.last_mut()
            && last.width() + width(&scope) <= columns
        {
            last.push_span(Span::styled(scope, PaintStyle::Dim));
        }
    }
    lines
}
