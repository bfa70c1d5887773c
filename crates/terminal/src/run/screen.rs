//! Where things are printed: streams that know whether they stand in the middle of a line and in which
//! section, so that text, tool lines and questions never run into each other.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use crate::paint::{PaintStyle, TextPainter, visible};

/// What a stretch of output is. A blank line stands between two of different kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputSection {
    /// What the agent says.
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
    /// What comes next stands apart, even if it is of the same kind.
    apart: bool,
    mid_line: bool,
    /// Whether the last line was blank.
    blank: bool,
    /// Who began the line we are in the middle of and may go on with it.
    open: Option<String>,
    /// Whether somebody looks at it, rather than keeps it.
    terminal: bool,
    /// What first went wrong with it.
    failed: Option<io::Error>,
}

impl RunScreen {
    pub(super) fn shared(to: Box<dyn Write>, colour: bool) -> Self {
        Self {
            answer: None,
            notes: OutputStream::new(to, true),
            paint: TextPainter { colour },
            muted: false,
        }
    }

    /// The answer kept apart from the rest.
    pub(super) fn split(answer: Box<dyn Write>, notes: Box<dyn Write>, colour: bool) -> Self {
        Self {
            answer: Some(OutputStream::new(answer, false)),
            ..Self::shared(notes, colour)
        }
    }

    /// Whether the answer is kept apart from the rest.
    pub(super) fn is_split(&self) -> bool {
        self.answer.is_some()
    }

    /// Leaves notes out from here on, or no longer.
    pub(super) fn mute(&mut self, muted: bool) {
        self.muted = muted;
    }

    /// The stream that the answer is on.
    fn answers(&mut self) -> &mut OutputStream {
        self.answer.as_mut().unwrap_or(&mut self.notes)
    }

    /// What a command printed, as the answer.
    pub(super) fn output(&mut self, text: &str) {
        let stream = self.answers();
        stream.end_line();
        if !text.is_empty() {
            stream.put(&stream.harmless(text));
        }
    }

    /// Goes on with what the agent says, where that is not the answer.
    pub(super) fn remark(&mut self, text: &str) {
        if !self.muted {
            self.notes
                .text(OutputSection::Answer, text, PaintStyle::Plain, self.paint);
        }
    }

    /// Goes on with what the agent says.
    pub(super) fn answer(&mut self, text: &str) {
        let paint = self.paint;
        self.answers()
            .text(OutputSection::Answer, text, PaintStyle::Plain, paint);
    }

    /// Goes on with what it thinks.
    pub(super) fn thought(&mut self, text: &str) {
        if self.muted {
            return;
        }
        self.pause_answer();
        self.notes
            .text(OutputSection::Thought, text, PaintStyle::Dim, self.paint);
    }

    /// The next thought is another one.
    pub(super) fn next_thought(&mut self) {
        if self.notes.section == Some(OutputSection::Thought) {
            self.notes.end_line();
        }
    }

    /// A line of its own.
    pub(super) fn line(&mut self, parts: &[(PaintStyle, &str)]) {
        self.note(parts, "\n", None);
    }

    /// Begins a line that `whose` may end later.
    pub(super) fn begin_line(&mut self, whose: &str, parts: &[(PaintStyle, &str)]) {
        self.note(parts, "", Some(whose));
    }

    /// A question; the answer is typed behind it.
    pub(super) fn question(&mut self, parts: &[(PaintStyle, &str)]) {
        self.note(parts, "", None);
    }

    /// A new line with this end, which `whose` may go on with.
    fn note(&mut self, parts: &[(PaintStyle, &str)], end: &str, whose: Option<&str>) {
        if self.muted {
            return;
        }
        self.pause_answer();
        let line = self.painted(parts) + end;
        self.notes.enter(OutputSection::Notes);
        self.notes.end_line();
        self.notes.put(&line);
        self.notes.open = whose.map(str::to_owned);
    }

    /// Goes on with the line that `whose` began, which stays open; false when something else was printed
    /// since.
    pub(super) fn go_on(&mut self, whose: &str, parts: &[(PaintStyle, &str)]) -> bool {
        let more = self.painted(parts);
        let is_open = self.notes.open.as_deref() == Some(whose);
        if is_open {
            self.notes.put(&more);
            self.notes.open = Some(whose.to_owned());
        }
        is_open
    }

    /// Ends the line that `whose` began; false when something else was printed since.
    pub(super) fn end_line(&mut self, whose: &str, parts: &[(PaintStyle, &str)]) -> bool {
        let is_open = self.go_on(whose, parts);
        if is_open {
            self.notes.end_line();
        }
        is_open
    }

    /// Somebody ended the line with Enter, that of a question or another.
    pub(super) fn answered(&mut self) {
        self.notes.mid_line = false;
        self.notes.open = None;
    }

    /// The next text of the agent is a new message.
    pub(super) fn pause_answer(&mut self) {
        let stream = self.answers();
        stream.apart |= stream.section == Some(OutputSection::Answer);
    }

    /// Ends what is in the middle of a line. An error when the answer could not be written; notes that
    /// nobody can see are no loss.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        for stream in self.answer.iter_mut().chain([&mut self.notes]) {
            stream.end_line();
        }
        self.answers().failed.take().map_or(Ok(()), Err)
    }

    fn painted(&self, parts: &[(PaintStyle, &str)]) -> String {
        let paint = |(style, text): &(PaintStyle, &str)| {
            self.paint.text(*style, &visible(text)).into_owned()
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

    /// Whoever does not read us any more does not need to be told; other errors are kept for the end.
    fn put(&mut self, text: &str) {
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
            self.put("\n");
        }
    }

    /// Begins a section if it is another one; true if it did.
    fn enter(&mut self, section: OutputSection) -> bool {
        let begins = self.apart || self.section != Some(section);
        if begins {
            self.end_line();
            if self.section.is_some() && !self.blank {
                self.put("\n");
            }
            self.section = Some(section);
            self.apart = false;
        }
        begins
    }

    /// `text` as it may stand here: a file keeps it as it is.
    fn harmless<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.terminal {
            true => visible(text),
            false => text.into(),
        }
    }

    fn text(&mut self, section: OutputSection, text: &str, style: PaintStyle, paint: TextPainter) {
        let text = self.harmless(text);
        let mut text = &*text;
        if self.enter(section) {
            // The section stands apart already.
            text = text.trim_start_matches('\n');
        }
        // A style must not run over the end of a line, where others may print.
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.put("\n");
            }
            if !line.is_empty() {
                self.put(&paint.text(style, line));
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
