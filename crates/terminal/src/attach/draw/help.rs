//! The help: all keys with their actions.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use crate::{
    attach::{
        screen_text::{cut, width},
        state::AttachScreen,
    },
    paint::PaintStyle,
};

const KEYS: [(&str, &str); 19] = [
    (
        "Enter",
        "send; while the agent works: queue for the next turn",
    ),
    ("Ctrl-S", "steer: send to the agent during its turn"),
    ("Alt-Enter, Ctrl-J", "a new line"),
    ("Esc", "cancel the turn; without one, go to the end"),
    (
        "y, s, w, n, x",
        "answer a question about a call, as listed there",
    ),
    ("1-9", "other answers; type the number if text is allowed"),
    (
        "Up, Down",
        "read a long question, or scroll while the prompt is empty",
    ),
    ("Tab", "to the question and back to the prompt"),
    ("Ctrl-T", "take over control"),
    ("Ctrl-R", "hand control back, keep watching"),
    ("Ctrl-O", "unfold or fold the output of tools"),
    (
        "PgUp, PgDn",
        "scroll; End goes to the end, while the prompt is empty",
    ),
    ("Ctrl-U, Ctrl-W", "clear the prompt, delete a word"),
    ("Ctrl-C", "cancel; twice: leave, the session continues"),
    ("Ctrl-D", "leave, when the prompt is empty"),
    ("t", "while watching: take over"),
    ("q", "while watching: leave"),
    ("j, k", "while watching: scroll by a line"),
    (
        "F1, ?",
        "open or close this help; ? while the prompt is empty",
    ),
];

pub(in crate::attach) const LINES: usize = KEYS.len() + 2;

/// Returns the lines of the help; the caller scrolls them by pages of `area`.
pub(super) fn lines(area: Rect, screen: &AttachScreen) -> Vec<Line<'static>> {
    let columns = usize::from(area.width);
    let widest = KEYS.iter().map(|(key, _)| width(key)).max().unwrap_or(0);
    let widest = widest.min(columns / 2);
    let head = format!("Session {}, you are {}", screen.session, screen.me);
    let line = |(key, what): (&str, &str)| {
        let key = cut(key, widest);
        let gap = " ".repeat(widest.saturating_sub(width(&key)) + 2);
        let what = cut(what, columns.saturating_sub(widest + 2));
        Line::from(vec![
            Span::styled(format!("{key}{gap}"), PaintStyle::Cyan),
            Span::raw(what),
        ])
    };
    let head = Line::styled(cut(&head, columns), PaintStyle::Bold);
    [head, Line::default()]
        .into_iter()
        .chain(KEYS.into_iter().map(line))
        .collect()
}
