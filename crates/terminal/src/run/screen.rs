//! Output streams that know their section and whether they are in the middle of a line, so that text, tool
//! lines and questions never run into each other.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use crate::paint::{PaintStyle, TextPainter, escape_controls};

/// The kind of a stretch of output. A blank line separates two different kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputSection {
    /// The messages of the agent.
    Answer,
    Thought,
    Notes,
}

/// The answer and everything else, on one stream or on two.
pub(super) struct RunScreen {
    answer: Option<OutputStream>,
    notes: OutputStream,
    paint: TextPainter,
    /// Whether notes are left out.
    muted: bool,
}

struct OutputStream {
    to: Box<dyn Write>,
    section: Option<OutputSection>,
    /// Whether the next output begins a new paragraph, even in the same section.
    apart: bool,
    mid_line: bool,
    /// Whether the last line was blank.
    blank: bool,
    /// The owner of the unfinished line, which may continue it.
    open: Option<String>,
    /// Whether control characters are escaped; a file keeps them.
    terminal: bool,
    /// The first write error.
    failed: Option<io::Error>,
}

impl RunScreen {
    pub(super) fn new_shared(to: Box<dyn Write>, colour: bool) -> Self {
        Self {
            answer: None,
            notes: OutputStream::new(to, true),
            paint: TextPainter { colour },
            muted: false,
        }
    }

    /// Writes the answer to one stream and the rest to another.
    pub(super) fn new_split(answer: Box<dyn Write>, notes: Box<dyn Write>, colour: bool) -> Self {
        Self {
            answer: Some(OutputStream::new(answer, false)),
            ..Self::new_shared(notes, colour)
        }
    }

    /// Returns whether the answer has its own stream.
    pub(super) fn is_split(&self) -> bool {
        self.answer.is_some()
    }

    /// Leaves out notes from now on, or shows them again.
    pub(super) fn mute(&mut self, muted: bool) {
        self.muted = muted;
    }

    /// Returns the stream of the answer.
    fn answer_stream(&mut self) -> &mut OutputStream {
        self.answer.as_mut().unwrap_or(&mut self.notes)
    }

    /// Writes the output of a command as the answer.
    pub(super) fn write_output(&mut self, text: &str) {
        let stream = self.answer_stream();
        stream.end_line();
        if !text.is_empty() {
            stream.write_raw(&stream.escape_for_stream(text));
        }
    }

    /// Writes a chunk of a message that is not the answer.
    pub(super) fn write_remark(&mut self, text: &str) {
        if !self.muted {
            self.notes
                .write_text(OutputSection::Answer, text, PaintStyle::Plain, self.paint);
        }
    }

    /// Writes a chunk of the answer.
    pub(super) fn write_answer(&mut self, text: &str) {
        let paint = self.paint;
        self.answer_stream()
            .write_text(OutputSection::Answer, text, PaintStyle::Plain, paint);
    }

    /// Writes a chunk of a thought.
    pub(super) fn write_thought(&mut self, text: &str) {
        if self.muted {
            return;
        }
        self.pause_answer();
        self.notes
            .write_text(OutputSection::Thought, text, PaintStyle::Dim, self.paint);
    }

    /// Ends the current thought, so that the next text begins another.
    pub(super) fn end_thought(&mut self) {
        if self.notes.section == Some(OutputSection::Thought) {
            self.notes.end_line();
        }
    }

    /// Writes a whole line.
    pub(super) fn write_line(&mut self, parts: &[(PaintStyle, &str)]) {
        self.write_note(parts, "\n", None);
    }

    /// Begins a line that `whose` may continue or end.
    pub(super) fn begin_line(&mut self, whose: &str, parts: &[(PaintStyle, &str)]) {
        self.write_note(parts, "", Some(whose));
    }

    /// Shows a question; the user types the answer on the same line.
    pub(super) fn write_question(&mut self, parts: &[(PaintStyle, &str)]) {
        self.write_note(parts, "", None);
    }

    /// Begins a new line, writes `end` after it, and records `whose` as its owner.
    fn write_note(&mut self, parts: &[(PaintStyle, &str)], end: &str, whose: Option<&str>) {
        if self.muted {
            return;
        }
        self.pause_answer();
        let line = self.paint_parts(parts) + end;
        self.notes.enter_section(OutputSection::Notes);
        self.notes.end_line();
        self.notes.write_raw(&line);
        self.notes.open = whose.map(str::to_owned);
    }

    /// Continues the line that `whose` began; returns false if something else was printed since.
    pub(super) fn continue_line(&mut self, whose: &str, parts: &[(PaintStyle, &str)]) -> bool {
        let more = self.paint_parts(parts);
        let is_open = self.notes.open.as_deref() == Some(whose);
        if is_open {
            self.notes.write_raw(&more);
            self.notes.open = Some(whose.to_owned());
        }
        is_open
    }

    /// Ends the line that `whose` began; returns false if something else was printed since.
    pub(super) fn end_line(&mut self, whose: &str, parts: &[(PaintStyle, &str)]) -> bool {
        let is_open = self.continue_line(whose, parts);
        if is_open {
            self.notes.end_line();
        }
        is_open
    }

    /// Records that the user ended the current line with Enter.
    pub(super) fn mark_line_ended(&mut self) {
        self.notes.mid_line = false;
        self.notes.open = None;
    }

    /// Begins a new message with the next text of the agent.
    pub(super) fn pause_answer(&mut self) {
        let stream = self.answer_stream();
        stream.apart |= stream.section == Some(OutputSection::Answer);
    }

    /// Ends unfinished lines. Returns an error if the answer could not be written; lost notes are not an
    /// error.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        for stream in self.answer.iter_mut().chain([&mut self.notes]) {
            stream.end_line();
        }
        self.answer_stream().failed.take().map_or(Ok(()), Err)
    }

    fn paint_parts(&self, parts: &[(PaintStyle, &str)]) -> String {
        let paint = |(style, text): &(PaintStyle, &str)| {
            self.paint
                .apply(*style, &escape_controls(text))
                .into_owned()
        };
        parts.iter().map(paint).collect()
    }
}

impl OutputStream {
    fn new(to: Box<dyn Write>, terminal: bool) -> Self {
        Self {
            to,
            section: None,
            apart: false,
            mid_line: false,
            blank: false,
            open: None,
            terminal,
            failed: None,
        }
    }

    /// Writes text. A closed pipe is not an error; the first other error is stored for `finish`.
    fn write_raw(&mut self, text: &str) {
        let written = self.to.write_all(text.as_bytes());
        match written.and_then(|()| self.to.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                self.failed.get_or_insert(error);
            }
            _ => {}
        }
        self.blank = text.ends_with("\n\n") || text == "\n" && !self.mid_line;
        self.mid_line = !text.ends_with('\n');
        self.open = None;
    }

    fn end_line(&mut self) {
        if self.mid_line {
            self.write_raw("\n");
        }
    }

    /// Begins a section if it differs from the current one; returns whether it did.
    fn enter_section(&mut self, section: OutputSection) -> bool {
        let begins = self.apart || self.section != Some(section);
        if begins {
            self.end_line();
            if self.section.is_some() && !self.blank {
                self.write_raw("\n");
            }
            self.section = Some(section);
            self.apart = false;
        }
        begins
    }

    /// Escapes `text` for a terminal; a file keeps it as it is.
    fn escape_for_stream<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.terminal {
            true => escape_controls(text),
            false => text.into(),
        }
    }

    fn write_text(
        &mut self,
        section: OutputSection,
        text: &str,
        style: PaintStyle,
        paint: TextPainter,
    ) {
        let text = self.escape_for_stream(text);
        let mut text = &*text;
        if self.enter_section(section) {
            // The section is already separated by a blank line.
            text = text.trim_start_matches('\n');
        }
        // A style must end before the line break: others may print after it.
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.write_raw("\n");
            }
            if !line.is_empty() {
                self.write_raw(&paint.apply(style, line));
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
