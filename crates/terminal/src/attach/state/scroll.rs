//! Which part of the transcript is in sight. New lines do not move what somebody reads: the place is kept by
//! its entry, not by its distance from the end.

use ratatui::text::Line;

use super::AttachScreen;
use crate::{attach::lines, paint::PaintStyle};

/// Where the first line in sight is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::attach) enum ScrollPosition {
    /// Wherever it must be to have the end in sight.
    #[default]
    End,
    /// So many lines into this entry.
    At(u64, usize),
}

impl AttachScreen {
    fn entry_lines(&self, number: u64) -> Vec<Line<'static>> {
        let columns = usize::from(self.size.0);
        lines::of_entry(&self.transcript, number, columns, self.unfolded)
    }

    /// The lines in sight, at most so many.
    pub(in crate::attach) fn in_sight(&self, height: usize) -> Vec<Line<'static>> {
        let (mut number, skip) = match self.view {
            ScrollPosition::End => self.place_of_end(height),
            // What was forgotten cannot be shown.
            ScrollPosition::At(number, _) if number < self.transcript.first => {
                (self.transcript.first, 0)
            }
            ScrollPosition::At(number, line) => (number, line),
        };
        // Whoever reads something earlier sees that it is not the end, also while more comes in.
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

    /// The place of the first line when the end is in sight.
    fn place_of_end(&self, height: usize) -> (u64, usize) {
        self.back(self.transcript.end(), 0, height)
    }

    /// The place so many lines before another, or the beginning.
    fn back(&self, mut number: u64, line: usize, by: usize) -> (u64, usize) {
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

    /// The place so many lines behind another, or the end.
    fn forth(&self, mut number: u64, line: usize, by: usize) -> (u64, usize) {
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

    /// Moves by so many lines; `height` are in sight.
    pub(in crate::attach) fn scroll(&mut self, by: isize, height: usize) {
        let end = self.place_of_end(height);
        let (number, line) = match self.view {
            ScrollPosition::End => end,
            ScrollPosition::At(number, line) => (number.max(self.transcript.first), line),
        };
        let place = match by < 0 {
            true => self.back(number, line, by.unsigned_abs()),
            false => self.forth(number, line, by.unsigned_abs()),
        };
        self.view = match place >= end {
            true => ScrollPosition::End,
            false => ScrollPosition::At(place.0, place.1),
        };
    }

    /// Shows or hides what tools show. The first entry in sight stays so.
    pub(in crate::attach) fn unfold(&mut self) {
        self.unfolded = !self.unfolded;
        if let ScrollPosition::At(number, _) = self.view {
            self.view = ScrollPosition::At(number, 0);
        }
    }
}
