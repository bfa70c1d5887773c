//! The output of a command: its end, for updates and the final result, and the whole in a file if it is longer than
//! that.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use harn_model::{CommandOutput, ToolContent};
use harn_runtime::{AgentError, CommandSink, ToolHandle};
use tokio::sync::Notify;

use super::super::outputs::{OutputFile, OutputFolder};
use crate::{local::output::next_char_boundary, lock::lock};

/// The most output in one update and in the final result.
pub(super) const KEPT: usize = 32 * 1024;
/// The part of the end that each update repeats, for clients that show only the latest update.
const REPEATED: usize = 8 * 1024;
/// Up to this size the updates contain all output. A command that prints for hours must not fill the journal, so
/// later updates contain only the end.
const STREAMED: u64 = 1024 * 1024;

/// The output of a command so far, or the terminal in which it runs.
#[derive(Clone, Default)]
pub(super) struct CommandScreen {
    seen: Arc<Mutex<ScreenState>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct ScreenState {
    terminal: Option<String>,
    /// Whether an update showed the terminal.
    terminal_shown: bool,
    /// The end of the output, including all streamed output that no update showed yet.
    end: String,
    /// The number of bytes printed.
    printed: u64,
    /// The number of bytes that updates covered.
    shown: u64,
    /// Some output was lost.
    missing: bool,
    file: OutputOverflow,
}

/// The destination of output that is too long to show.
#[derive(Default)]
enum OutputOverflow {
    /// There is no file, or it could not be created.
    #[default]
    None,
    /// Creates this file when it is needed.
    Ready(OutputFolder, PathBuf),
    Kept(OutputFile),
}

impl CommandScreen {
    /// Creates a screen that writes the whole output to this file if it is too long to show.
    pub(super) fn with_output_file(place: Option<(OutputFolder, PathBuf)>) -> Self {
        let screen = Self::default();
        if let Some((outputs, place)) = place {
            lock(&screen.seen).file = OutputOverflow::Ready(outputs, place);
        }
        screen
    }

    /// Waits for `pause`, then for new output.
    pub(super) async fn wait_for_change_after(&self, pause: Duration) {
        // Even a zero sleep takes one tick of the timer, and a short command ends within it.
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        self.changed.notified().await;
    }

    /// Shows the output that no update of the call showed.
    pub(super) async fn show_new(&self, call: &ToolHandle) -> Result<(), AgentError> {
        while let Some(content) = self.next_content() {
            call.show(vec![content]).await?;
        }
        Ok(())
    }

    /// Shows the output that the final update, which contains the end, will not include.
    pub(super) async fn show_rest(&self, call: &ToolHandle) -> Result<(), AgentError> {
        while let Some(part) = self.next_remaining_part() {
            call.show(vec![ToolContent::Output(part)]).await?;
        }
        Ok(())
    }

    fn next_content(&self) -> Option<ToolContent> {
        let mut seen = lock(&self.seen);
        if let Some(terminal_id) = seen.terminal.clone() {
            let is_new = !std::mem::replace(&mut seen.terminal_shown, true);
            return is_new.then_some(ToolContent::Terminal { terminal_id });
        }
        (seen.shown < seen.printed).then(|| ToolContent::Output(seen.next_part()))
    }

    fn next_remaining_part(&self) -> Option<CommandOutput> {
        let mut seen = lock(&self.seen);
        let is_short = seen.printed - seen.shown <= KEPT as u64;
        let is_shown = seen.terminal.is_some() || is_short || seen.printed > STREAMED;
        (!is_shown).then(|| seen.next_part())
    }

    /// Returns the final output and the file with all of it. If the command ran in the host's own terminal, the
    /// output is what the host reports.
    pub(super) fn finish(
        &self,
        reported: Option<(String, bool)>,
    ) -> (CommandOutput, Option<OutputFile>) {
        let mut seen = lock(&self.seen);
        if let Some((text, missing)) = reported.filter(|_| seen.terminal.is_some()) {
            seen.missing = missing;
            seen.append(&text);
        }
        let all = seen.end.len();
        let output = seen.slice_end(all.saturating_sub(KEPT), all);
        let kept = match std::mem::take(&mut seen.file) {
            OutputOverflow::Kept(kept) => Some(kept),
            OutputOverflow::None | OutputOverflow::Ready(..) => None,
        };
        (output, kept)
    }

    /// Records that some output was lost.
    pub(super) fn mark_incomplete(&self) {
        lock(&self.seen).missing = true;
    }
}

impl ScreenState {
    fn append(&mut self, chunk: &str) {
        let whole = self.printed + chunk.len() as u64 <= KEPT as u64;
        if !whole {
            self.spill();
        }
        if let OutputOverflow::Kept(kept) = &mut self.file {
            kept.push(chunk);
        }
        self.end.push_str(chunk);
        self.printed += chunk.len() as u64;
        let waiting = usize::try_from(self.printed - self.shown).unwrap_or(usize::MAX);
        let needed = match self.printed <= STREAMED {
            true => waiting.max(KEPT),
            false => KEPT,
        };
        // Cut rarely, so that each byte is moved once on average.
        if self.end.len() > needed.saturating_add(KEPT) {
            let from = next_char_boundary(&self.end, self.end.len() - needed);
            self.end.drain(..from);
        }
    }

    /// Returns the next output that no update showed, up to the limit, preceded by the end of the shown output.
    fn next_part(&mut self) -> CommandOutput {
        let (all, first) = (self.end.len(), self.bytes_before_end());
        let (from, to) = match self.printed <= STREAMED {
            true => {
                let new = usize::try_from(self.shown - first).unwrap_or(all);
                let to = next_char_boundary(&self.end, all.min(new + KEPT));
                (new.min(to.saturating_sub(REPEATED)), to)
            }
            false => (all.saturating_sub(REPEATED), all),
        };
        self.shown = first + to as u64;
        self.slice_end(from, to)
    }

    /// Returns the number of bytes printed before `end`.
    fn bytes_before_end(&self) -> u64 {
        self.printed - self.end.len() as u64
    }

    /// Returns these bytes of `end`, or slightly fewer: it does not split a character.
    fn slice_end(&self, from: usize, to: usize) -> CommandOutput {
        let from = next_char_boundary(&self.end, from);
        CommandOutput {
            text: self.end[from..to].to_owned(),
            start: self.bytes_before_end() + from as u64,
            incomplete: self.missing,
        }
    }

    /// Creates the file if there is none yet, and writes the earlier output to it.
    fn spill(&mut self) {
        let OutputOverflow::Ready(outputs, place) = &self.file else {
            return;
        };
        // Without a file the call still shows the end.
        self.file = match outputs.create_file(place.clone()) {
            Ok(mut kept) => {
                kept.push(&self.end);
                OutputOverflow::Kept(kept)
            }
            Err(_) => OutputOverflow::None,
        };
    }
}

impl CommandSink for CommandScreen {
    fn on_terminal(&mut self, terminal_id: &str) {
        lock(&self.seen).terminal = Some(terminal_id.to_owned());
        self.changed.notify_one();
    }

    fn on_output(&mut self, chunk: &str) {
        let mut seen = lock(&self.seen);
        // A terminal shows its own output.
        if seen.terminal.is_some() {
            return;
        }
        seen.append(chunk);
        drop(seen);
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use harn_model::OutputText;

    use super::*;

    fn next(screen: &CommandScreen) -> CommandOutput {
        match screen.next_content() {
            Some(ToolContent::Output(part)) => part,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_update_repeats_the_end_of_the_output() {
        let mut screen = CommandScreen::default();
        screen.on_output("one\n");
        assert_eq!(next(&screen).text, "one\n");
        screen.on_output("two\n");
        assert_eq!(next(&screen).text, "one\ntwo\n");
        assert_eq!(screen.next_content(), None);
        screen.on_output(&"→".repeat(REPEATED));
        let part = next(&screen);
        assert_eq!((part.start, part.text.len()), (8, 3 * REPEATED));
        screen.on_output("x");
        let part = next(&screen);
        assert!(part.text.len() <= REPEATED && part.text.ends_with("→x"));
        assert_eq!(part.end(), 8 + 3 * REPEATED as u64 + 1);
    }

    #[test]
    fn updates_cover_all_output_up_to_the_limit() {
        let mut screen = CommandScreen::default();
        let mut joined = OutputText::new(usize::MAX);
        let mut whole = String::new();
        for number in 0..20_000 {
            let line = format!("line→{number}\n");
            screen.on_output(&line);
            whole.push_str(&line);
            // A lot is printed between two updates.
            if number % 7_000 == 0 {
                while let Some(ToolContent::Output(part)) = screen.next_content() {
                    assert!(part.text.len() <= KEPT + 3);
                    joined.append(&part);
                }
            }
        }
        while let Some(part) = screen.next_remaining_part() {
            joined.append(&part);
        }
        joined.append(&screen.finish(None).0);
        assert!(whole.len() as u64 <= STREAMED && joined.as_str() == whole);
    }

    #[test]
    fn updates_above_the_limit_show_only_the_end() {
        let mut screen = CommandScreen::default();
        for _ in 0..STREAMED {
            screen.on_output("→");
        }
        let part = next(&screen);
        assert!(part.text.len() <= REPEATED);
        assert_eq!(part.end(), 3 * STREAMED);
        assert_eq!(screen.next_content(), None);
        let end = screen.finish(None).0;
        assert!(end.text.len() <= KEPT && end.end() == 3 * STREAMED);
    }

    #[test]
    fn a_terminal_replaces_the_output() {
        let mut screen = CommandScreen::default();
        screen.on_terminal("term-1");
        let terminal = ToolContent::Terminal {
            terminal_id: "term-1".to_owned(),
        };
        assert_eq!(screen.next_content(), Some(terminal));
        screen.on_output("x");
        assert_eq!(
            screen.next_content(),
            None,
            "output in a terminal is no news"
        );
        let end = screen.finish(Some(("all of it\n".to_owned(), false)));
        assert_eq!(end.0.text, "all of it\n");
        assert!(!end.0.is_partial());
    }

    #[test]
    fn long_output_is_written_to_a_file_completely() {
        let dir = tempfile::tempdir().unwrap();
        let outputs = OutputFolder::new(dir.path().to_owned());
        let place = outputs.output_path(&"call-1".into()).unwrap();
        let mut screen = CommandScreen::with_output_file(Some((outputs, place.clone())));
        screen.on_output("first\n");
        assert!(!place.exists(), "a short output needs no file");
        let mut whole = "first\n".to_owned();
        for number in 0..20_000 {
            let line = format!("line {number}\n");
            screen.on_output(&line);
            whole.push_str(&line);
        }
        let end = screen.finish(None);
        assert!(end.0.is_partial() && end.0.text.len() <= KEPT);
        assert!(end.0.text.ends_with("line 19999\n"));
        assert!(end.1.unwrap().is_whole());
        assert_eq!(std::fs::read_to_string(place).unwrap(), whole);
    }
}
