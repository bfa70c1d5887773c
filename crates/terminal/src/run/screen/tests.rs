//! Tests of sections, lines and write errors.

use std::sync::{Arc, Mutex};

use expect_test::expect;

use super::*;

/// An output buffer that a test can read while a screen writes to it.
#[derive(Clone, Default)]
pub(crate) struct CapturedOutput(Arc<Mutex<Vec<u8>>>);

impl CapturedOutput {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for CapturedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that always fails.
struct FailingWriter(io::ErrorKind);

impl Write for FailingWriter {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn only_a_lost_answer_is_an_error() {
    use io::ErrorKind::{BrokenPipe, StorageFull};
    let refusing = |kind| Box::new(FailingWriter(kind));
    let ended = |mut screen: RunScreen| {
        screen.write_answer("here");
        screen.write_line(&[(PaintStyle::Plain, "done")]);
        screen.finish().map_err(|error| error.kind())
    };
    let paper = || Box::new(CapturedOutput::default());
    let full = RunScreen::new_split(refusing(StorageFull), paper(), false);
    assert_eq!(ended(full), Err(StorageFull));
    let shared = RunScreen::new_shared(refusing(StorageFull), false);
    assert_eq!(ended(shared), Err(StorageFull));
    let gone = RunScreen::new_split(refusing(BrokenPipe), paper(), false);
    assert_eq!(ended(gone), Ok(()));
    let no_notes = RunScreen::new_split(paper(), refusing(StorageFull), false);
    assert_eq!(ended(no_notes), Ok(()));
}

fn play(screen: &mut RunScreen) {
    screen.write_thought("hm\nwell");
    screen.begin_line("a", &[(PaintStyle::Plain, "read a.rs")]);
    assert!(screen.end_line("a", &[(PaintStyle::Plain, " done")]));
    screen.write_answer("\nIt is ");
    screen.write_answer("here.");
    screen.begin_line("b", &[(PaintStyle::Plain, "read b.rs")]);
    screen.write_line(&[(PaintStyle::Plain, "something else")]);
    assert!(!screen.end_line("b", &[(PaintStyle::Plain, " done")]));
    screen.write_answer("And there.\x1b[2J");
    screen.finish().unwrap();
}

#[test]
fn a_blank_line_separates_sections_on_a_terminal() {
    let paper = CapturedOutput::default();
    play(&mut RunScreen::new_shared(Box::new(paper.clone()), false));
    expect![[r"
        hm
        well

        read a.rs done

        It is here.

        read b.rs
        something else

        And there.\u{1b}[2J
    "]]
    .assert_eq(&paper.text());
}

#[test]
fn a_split_screen_writes_only_the_answer_to_its_stream() {
    let (answer, notes) = (CapturedOutput::default(), CapturedOutput::default());
    play(&mut RunScreen::new_split(
        Box::new(answer.clone()),
        Box::new(notes.clone()),
        false,
    ));
    assert_eq!(answer.text(), "It is here.\n\nAnd there.\x1b[2J\n");
    expect![[r"
        hm
        well

        read a.rs done
        read b.rs
        something else
    "]]
    .assert_eq(&notes.text());
}

#[test]
fn sections_are_separated_by_one_blank_line() {
    let paper = CapturedOutput::default();
    let mut screen = RunScreen::new_shared(Box::new(paper.clone()), false);
    screen.write_answer("one\n\n");
    screen.write_line(&[(PaintStyle::Plain, "note")]);
    screen.write_answer("two\n");
    screen.write_answer("\n");
    screen.pause_answer();
    screen.write_answer("three");
    screen.finish().unwrap();
    assert_eq!(paper.text(), "one\n\nnote\n\ntwo\n\nthree\n");
}

#[test]
fn a_style_ends_with_its_line() {
    let paper = CapturedOutput::default();
    let mut screen = RunScreen::new_shared(Box::new(paper.clone()), true);
    screen.write_thought("a\nb");
    screen.finish().unwrap();
    assert_eq!(paper.text(), "\x1b[2ma\x1b[0m\n\x1b[2mb\x1b[0m\n");
}
