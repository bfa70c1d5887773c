//! Draws the list of sessions.

use harn_model::Timestamp;
use ratatui::{Frame, layout::Rect, style::Modifier, text::Line};

use super::draw_lines;
use crate::{
    attach::{
        picker::{Picker, PickerRow},
        screen_text::{cut, escape_line, width},
    },
    paint::PaintStyle,
    text,
};

pub(in crate::attach) fn draw_picker(frame: &mut Frame<'_>, picker: &Picker, now: Timestamp) {
    let area = frame.area();
    let columns = usize::from(area.width);
    let rows = area.height;
    let row = |y: u16, height: u16| Rect::new(0, y.min(rows), area.width, height);
    let head = Line::styled(cut("Sessions", columns), PaintStyle::Bold);
    draw_lines(frame, row(0, 1), vec![head]);
    let room = rows.saturating_sub(3);
    let sessions = session_lines(picker, now, columns, usize::from(room));
    draw_lines(frame, row(1, room), sessions);
    if let Some(notice) = &picker.notice {
        let line = Line::styled(cut(notice, columns), PaintStyle::Yellow);
        draw_lines(frame, row(rows.saturating_sub(2), 1), vec![line]);
    }
    let keys = vec![keys(picker, columns)];
    draw_lines(frame, row(rows.saturating_sub(1), 1), keys);
}

fn session_lines(
    picker: &Picker,
    now: Timestamp,
    columns: usize,
    room: usize,
) -> Vec<Line<'static>> {
    if picker.rows.is_empty() {
        let none = match picker.can_begin() {
            true => "No sessions yet; n creates one in this directory.",
            false => "No server answers.",
        };
        return vec![Line::styled(cut(none, columns), PaintStyle::Dim)];
    }
    let at = picker.selected_index();
    // The selected row is visible.
    let from = (at + 1).saturating_sub(room);
    let rows = picker.rows.iter().enumerate().skip(from).take(room);
    rows.map(|(index, row)| session_line(row, index == at, now, columns))
        .collect()
}

fn session_line(row: &PickerRow, marked: bool, now: Timestamp, columns: usize) -> Line<'static> {
    let session = &row.session;
    let title = match session.title.trim() {
        "" => format!("session {}", session.id),
        title => escape_line(title),
    };
    let state = match (session.live, session.working, &session.controller) {
        (false, ..) => "stored".to_owned(),
        (true, working, controller) => {
            let does = if working { "working" } else { "live" };
            match controller {
                Some(who) => format!("{does}, {} controls", cut(&escape_line(who), 20)),
                None => format!("{does}, no controller"),
            }
        }
    };
    let facts = format!("{state}  {:>12}", text::format_age(now, session.updated));
    let facts = cut(&facts, columns.saturating_sub(2) * 2 / 3);
    let room = columns.saturating_sub(width(&facts) + 4);
    let title = cut(&title, room);
    let gap = " ".repeat(room.saturating_sub(width(&title)) + 2);
    let sign = if marked { "> " } else { "  " };
    let look = match session.live {
        true => Modifier::empty(),
        false => Modifier::DIM,
    };
    let mark = if marked {
        Modifier::REVERSED
    } else {
        Modifier::empty()
    };
    Line::styled(format!("{sign}{title}{gap}{facts}"), look | mark)
}

fn keys(picker: &Picker, columns: usize) -> Line<'static> {
    let open = match picker.selected_row() {
        Some(row) if row.session.live => "Enter attach  ",
        Some(_) => "Enter open  ",
        None => "",
    };
    let new = match picker.can_begin() {
        true => "n new session  ",
        false => "",
    };
    let keys = format!("{open}↑↓ choose  {new}q leave");
    Line::styled(cut(&keys, columns), PaintStyle::Dim)
}
