//! The visible part of the transcript. New lines do not move the text that a user reads: the position is an
//! entry, not a distance from the end.

use ratatui::text::Line;

use super::AttachScreen;
use crate::{attach::lines, paint::PaintStyle};

/// The position of the first visible line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::attach) enum ScrollPosition {
    /// The position at which the end is visible.
    #[default]
    End,
    /// This many lines into the entry with this number.
    At(u64, usize),
}

impl AttachScreen {
    fn entry_lines(&self, number: u64) -> Vec<Line<'static>> {
        let columns = usize::from(self.size.0);
        lines::entry_lines(&self.transcript, number, columns, self.unfolded)
    }

    /// Returns the visible lines, at most `height`.
    pub(in crate::attach) fn visible_lines(&self, height: usize) -> Vec<Line<'static>> {
        let (mut number, skip) = match self.view {
            ScrollPosition::End => self.end_position(height),
            // Entries that were dropped cannot be shown.
            ScrollPosition::At(number, _) if number < self.transcript.first => {
                (self.transcript.first, 0)
            }
            ScrollPosition::At(number, line) => (number, line),
        };
        // A user who scrolled up sees that there is more below, even while lines arrive.
        let more = self.view != ScrollPosition::End && height > 1;
        let height = height - usize::from(more);
        let mut shown: Vec<_> = self.entry_lines(number).into_iter().skip(skip).collect();
        while shown.len() < height && number + 1 < self.transcript.end() {
            number += 1;
            shown.extend(self.entry_lines(number));
        }
        shown.truncate(height);
        if more {
            let below = Line::styled("↓ more below", PaintStyle::Yellow);
            shown.resize(height, Line::default());
            shown.push(below);
        }
        shown
    }

    /// Returns the position of the first line when the end is visible.
    fn end_position(&self, height: usize) -> (u64, usize) {
        self.position_before(self.transcript.end(), 0, height)
    }

    /// Returns the position `by` lines before another, or the beginning.
    fn position_before(&self, mut number: u64, line: usize, by: usize) -> (u64, usize) {
        if by <= line {
            return (number, line - by);
        }
        let mut missing = by - line;
        while number > self.transcript.first {
            number -= 1;
            let lines = self.entry_lines(number).len();
            if missing <= lines {
                return (number, lines - missing);
            }
            missing -= lines;
        }
        (self.transcript.first, 0)
    }

    /// Returns the position `by` lines after another, or the end.
    fn position_after(&self, mut number: u64, line: usize, by: usize) -> (u64, usize) {
        let mut missing = line + by;
        while number < self.transcript.end() {
            let lines = self.entry_lines(number).len();
            if missing < lines {
                break;
            }
            missing -= lines;
            number += 1;
        }
        (number, missing)
    }

    /// Scrolls by this many lines; `height` lines are visible.
    pub(in crate::attach) fn scroll(&mut self, by: isize, height: usize) {
        let end = self.end_position(height);
        let (number, line) = match self.view {
            ScrollPosition::End => end,
            ScrollPosition::At(number, line) => (number.max(self.transcript.first), line),
        };
        let place = match by < 0 {
            true => self.position_before(number, line, by.unsigned_abs()),
            false => self.position_after(number, line, by.unsigned_abs()),
        };
        self.view = match place >= end {
            true => ScrollPosition::End,
            false => ScrollPosition::At(place.0, place.1),
        };
    }

    /// Folds or unfolds tool calls. The first visible entry stays the same.
    pub(in crate::attach) fn toggle_unfolded(&mut self) {
        self.unfolded = !self.unfolded;
        if let ScrollPosition::At(number, _) = self.view {
            self.view = ScrollPosition::At(number, 0);
        }
    }
}
