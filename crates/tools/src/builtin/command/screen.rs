//! What a command printed: the end of it to look at while it runs and when it is over, and the whole in a file
//! once that is more than is shown.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use harn_model::ToolContent;
use harn_runtime::CommandSink;
use tokio::sync::Notify;

use super::super::outputs::{Kept, Outputs};
use crate::markdown::fence;

/// How much of the output is shown in the end.
pub(super) const KEPT: usize = 32 * 1024;
/// How much is shown while it runs: each update says it all again.
const SHOWN: usize = 8 * 1024;

/// What a command printed so far, or the terminal it runs in.
#[derive(Clone, Default)]
pub(super) struct Screen {
    seen: Arc<Mutex<Seen>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct Seen {
    terminal: Option<String>,
    /// The end, at most twice as much as is shown.
    end: String,
    /// Something before it was cut off here.
    cut: bool,
    /// Something of it never came.
    missing: bool,
    file: Spill,
}

/// Where output goes that is more than is shown.
#[derive(Default)]
enum Spill {
    /// Nowhere, or it did not work out.
    #[default]
    None,
    /// Into this file, once it is needed.
    Ready(Outputs, PathBuf),
    Kept(Kept),
}

/// What there was to see in the end.
pub(super) struct Printed {
    pub(super) text: String,
    /// Whether that is not all.
    pub(super) truncated: bool,
    /// Whether something of it never came.
    pub(super) missing: bool,
    pub(super) kept: Option<Kept>,
}

impl Screen {
    /// One that keeps everything at this place, where there is more than is shown.
    pub(super) fn keeping(place: Option<(Outputs, PathBuf)>) -> Self {
        let screen = Self::default();
        if let Some((outputs, place)) = place {
            screen.lock().file = Spill::Ready(outputs, place);
        }
        screen
    }

    /// Waits for `pause`, then for something new, and returns what to show.
    pub(super) async fn after(&self, pause: Duration) -> Vec<ToolContent> {
        // Even no time at all takes a turn of the timer, and a short command is over by then.
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        self.changed.notified().await;
        let seen = self.lock();
        vec![match &seen.terminal {
            Some(id) => ToolContent::Terminal {
                terminal_id: id.clone(),
            },
            None => {
                let shown = tail(&seen.end, SHOWN);
                let truncated = seen.cut || seen.missing || shown.len() < seen.end.len();
                ToolContent::text(printed(shown, truncated))
            }
        }]
    }

    /// What was printed, as the host tells it in the end where it ran in a terminal of its own.
    pub(super) fn finish(&self, told: Option<(String, bool)>) -> Printed {
        let mut seen = self.lock();
        if let Some((text, missing)) = told.filter(|_| seen.terminal.is_some()) {
            seen.missing = missing;
            seen.take(&text);
        }
        let end = std::mem::take(&mut seen.end);
        let text = tail(&end, KEPT);
        Printed {
            truncated: seen.cut || seen.missing || text.len() < end.len(),
            missing: seen.missing,
            text: text.to_owned(),
            kept: match std::mem::take(&mut seen.file) {
                Spill::Kept(kept) => Some(kept),
                Spill::None | Spill::Ready(..) => None,
            },
        }
    }

    /// Something that was printed never came.
    pub(super) fn miss(&self) {
        self.lock().missing = true;
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn take(&mut self, chunk: &str) {
        let whole = self.end.len() + chunk.len() <= KEPT && !self.cut;
        if !whole {
            self.spill();
        }
        if let Spill::Kept(kept) = &mut self.file {
            kept.push(chunk);
        }
        self.end.push_str(chunk);
        // Cut only now and then, so that each byte is moved once on average.
        if self.end.len() > 2 * KEPT {
            let from = self.end.len() - tail(&self.end, KEPT).len();
            self.end.drain(..from);
            self.cut = true;
        }
    }

    /// Opens the file if it is not open, and puts in what was there before.
    fn spill(&mut self) {
        let Spill::Ready(outputs, place) = &self.file else {
            return;
        };
        // Without a file the end is still shown.
        self.file = match outputs.keep(place.clone()) {
            Ok(mut kept) => {
                kept.push(&self.end);
                Spill::Kept(kept)
            }
            Err(_) => Spill::None,
        };
    }
}

impl CommandSink for Screen {
    fn terminal(&mut self, terminal_id: &str) {
        self.lock().terminal = Some(terminal_id.to_owned());
        self.changed.notify_one();
    }

    fn output(&mut self, chunk: &str) {
        let mut seen = self.lock();
        // A terminal shows its output itself.
        if seen.terminal.is_some() {
            return;
        }
        seen.take(chunk);
        drop(seen);
        self.changed.notify_one();
    }
}

/// The end of a text, at most `limit` bytes.
fn tail(text: &str, limit: usize) -> &str {
    let from = text.len().saturating_sub(limit);
    let mut rest = from..text.len();
    let from = rest.find(|at| text.is_char_boundary(*at));
    &text[from.unwrap_or(text.len())..]
}

/// Output as a person sees it.
pub(super) fn printed(output: &str, truncated: bool) -> String {
    if output.is_empty() {
        return "No output.\n".to_owned();
    }
    let block = fence("", output, 0);
    if truncated {
        format!("The end of the output:\n\n{block}")
    } else {
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_screen_shows_the_end_of_much_output() {
        let mut screen = Screen::default();
        screen.output("first\n");
        for _ in 0..SHOWN {
            screen.output("→");
        }
        let content = screen.after(Duration::ZERO).await;
        let [ToolContent::Content { content }] = &content[..] else {
            panic!("{content:?}");
        };
        let text = harn_model::plain_text(std::slice::from_ref(content));
        assert!(
            text.starts_with("The end of the output:\n\n```\n→"),
            "{text}"
        );
        assert!(text.len() < SHOWN + 100 && !text.contains("first"));
    }

    #[tokio::test]
    async fn a_terminal_is_shown_instead_of_output() {
        let mut screen = Screen::default();
        screen.terminal("term-1");
        let terminal = [ToolContent::Terminal {
            terminal_id: "term-1".to_owned(),
        }];
        assert_eq!(screen.after(Duration::ZERO).await, terminal);
        screen.output("x");
        let again = tokio::time::timeout(Duration::ZERO, screen.after(Duration::ZERO)).await;
        assert!(again.is_err(), "output in a terminal is no news");
        let end = screen.finish(Some(("all of it\n".to_owned(), false)));
        assert_eq!((end.text.as_str(), end.truncated), ("all of it\n", false));
    }

    #[test]
    fn more_than_is_shown_goes_into_a_file_from_the_beginning() {
        let dir = tempfile::tempdir().unwrap();
        let outputs = Outputs::new(dir.path().to_owned());
        let place = outputs.place(&"call-1".into()).unwrap();
        let mut screen = Screen::keeping(Some((outputs, place.clone())));
        screen.output("first\n");
        assert!(!place.exists(), "a short output needs no file");
        let mut whole = "first\n".to_owned();
        for number in 0..20_000 {
            let line = format!("line {number}\n");
            screen.output(&line);
            whole.push_str(&line);
        }
        let end = screen.finish(None);
        assert!(end.truncated && end.text.len() <= KEPT);
        assert!(end.text.ends_with("line 19999\n"));
        assert!(end.kept.unwrap().is_whole());
        assert_eq!(std::fs::read_to_string(place).unwrap(), whole);
    }

    #[test]
    fn output_is_put_into_words() {
        assert_eq!(printed("", false), "No output.\n");
        assert_eq!(printed("a\n", false), "```\na\n```\n");
        assert_eq!(tail("a→b", 2), "b");
        assert_eq!(tail("a→b", 4), "→b");
        assert_eq!(tail("ab", 9), "ab");
    }
}
