//! Lines that a person types. A separate thread reads them and starts with the first question: the system
//! stops a background program that reads its terminal.
//!
//! The thread reads ahead: one line is in the channel, one waits to be sent. So each line carries the
//! number of `forget` calls before it was read: a line that was typed before a question never answers it.

use std::{
    io, iter,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use tokio::sync::mpsc;

pub(super) struct Keyboard {
    present: bool,
    forgotten: Arc<AtomicUsize>,
    lines: Option<mpsc::Receiver<TypedLine>>,
}

struct TypedLine {
    /// The number of `forget` calls when the line was read.
    forgotten: usize,
    text: String,
}

impl Keyboard {
    /// Creates a keyboard; `present` states whether a person can type.
    pub(super) fn new(present: bool) -> Self {
        Self {
            present,
            forgotten: Arc::default(),
            lines: None,
        }
    }

    /// Creates a keyboard that returns these lines.
    #[cfg(test)]
    pub(super) fn from_lines(mut lines: mpsc::Receiver<String>) -> Self {
        let mut keyboard = Self::new(true);
        let typed = iter::from_fn(move || lines.blocking_recv());
        keyboard.lines = Some(listen(stamp_lines(typed, keyboard.forgotten.clone())));
        keyboard
    }

    pub(super) fn is_present(&self) -> bool {
        self.present
    }

    /// Discards input that was typed before the question was shown.
    pub(super) fn forget(&mut self) {
        #[cfg(unix)]
        {
            use rustix::termios::{QueueSelector, tcflush};
            // A stdin that cannot be flushed is not a terminal, so nothing was typed.
            let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
        }
        // After the flush: a line read in between counts as typed before.
        self.forgotten.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the next line; none at the end of input. Cancel safe.
    pub(super) async fn next_line(&mut self) -> Option<String> {
        let forgotten = &self.forgotten;
        let lines = self.lines.get_or_insert_with(|| {
            let typed = iter::from_fn(|| {
                let mut line = String::new();
                matches!(io::stdin().read_line(&mut line), Ok(1..)).then_some(line)
            });
            listen(stamp_lines(typed, forgotten.clone()))
        });
        loop {
            let line = lines.recv().await?;
            if line.forgotten == forgotten.load(Ordering::SeqCst) {
                return Some(line.text);
            }
        }
    }
}

/// Adds the number of `forget` calls to each line.
fn stamp_lines(
    typed: impl Iterator<Item = String>,
    forgotten: Arc<AtomicUsize>,
) -> impl Iterator<Item = TypedLine> {
    typed.map(move |text| TypedLine {
        forgotten: forgotten.load(Ordering::SeqCst),
        text,
    })
}

fn listen(typed: impl Iterator<Item = TypedLine> + Send + 'static) -> mpsc::Receiver<TypedLine> {
    let (sender, lines) = mpsc::channel(1);
    let read = move || {
        for line in typed {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    };
    // Without a thread the channel closes, which counts as a refusal.
    let _ = thread::Builder::new()
        .name("harn-keyboard".to_owned())
        .spawn(read);
    lines
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[tokio::test]
    async fn only_lines_typed_after_a_question_answer_it() {
        let (hands, typed) = sync_channel::<&str>(8);
        let (read, was_read) = sync_channel(8);
        let mut keyboard = Keyboard::new(true);
        let typed = typed.into_iter().map(str::to_owned);
        let typed = stamp_lines(typed, keyboard.forgotten.clone());
        let told = typed.inspect(move |line| read.send(line.text.clone()).unwrap());
        keyboard.lines = Some(listen(told));

        // One line is in the channel, the thread waits to send the other.
        for line in ["early", "held"] {
            hands.send(line).unwrap();
            assert_eq!(was_read.recv().unwrap(), line);
        }
        keyboard.forget();
        hands.send("answer").unwrap();
        assert_eq!(keyboard.next_line().await.as_deref(), Some("answer"));

        // Lines typed ahead and not forgotten stay.
        hands.send("next").unwrap();
        assert_eq!(keyboard.next_line().await.as_deref(), Some("next"));

        hands.send("late").unwrap();
        assert_eq!(was_read.recv().unwrap(), "answer");
        assert_eq!(was_read.recv().unwrap(), "next");
        assert_eq!(was_read.recv().unwrap(), "late");
        keyboard.forget();
        drop(hands);
        assert_eq!(keyboard.next_line().await, None);
    }
}
