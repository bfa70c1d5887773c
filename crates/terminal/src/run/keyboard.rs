//! Lines a person types. Read on a thread of their own, which starts with the first question: a
//! program in the background that reads its terminal is stopped.
//!
//! The thread reads ahead, by a line that is handed over and one that is held. So each line carries
//! how often was forgotten before it was read: one from before a question never answers it.

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
    /// How often was forgotten when it was read.
    forgotten: usize,
    text: String,
}

impl Keyboard {
    /// A keyboard, if somebody is `present`.
    pub(super) fn new(present: bool) -> Self {
        Self {
            present,
            forgotten: Arc::default(),
            lines: None,
        }
    }

    /// One that gives these lines.
    #[cfg(test)]
    pub(super) fn typed_on(mut lines: mpsc::Receiver<String>) -> Self {
        let mut keyboard = Self::new(true);
        let typed = iter::from_fn(move || lines.blocking_recv());
        keyboard.lines = Some(listen(stamped(typed, keyboard.forgotten.clone())));
        keyboard
    }

    pub(super) fn is_present(&self) -> bool {
        self.present
    }

    /// Forgets what was typed before the question was there to be read.
    pub(super) fn forget(&mut self) {
        #[cfg(unix)]
        {
            use rustix::termios::{QueueSelector, tcflush};
            // What cannot be flushed was not typed.
            let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
        }
        // After the flush: what is read in between counts as typed before.
        self.forgotten.fetch_add(1, Ordering::SeqCst);
    }

    /// The next line; none at the end of input. Cancel safe.
    pub(super) async fn line(&mut self) -> Option<String> {
        let forgotten = &self.forgotten;
        let lines = self.lines.get_or_insert_with(|| {
            let typed = iter::from_fn(|| {
                let mut line = String::new();
                matches!(io::stdin().read_line(&mut line), Ok(1..)).then_some(line)
            });
            listen(stamped(typed, forgotten.clone()))
        });
        loop {
            let line = lines.recv().await?;
            if line.forgotten == forgotten.load(Ordering::SeqCst) {
                return Some(line.text);
            }
        }
    }
}

/// Lines with the time they were read at, in times forgotten.
fn stamped(
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
    // Without a thread there is no answer, which counts as a refusal.
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
    async fn only_what_is_typed_after_a_question_answers_it() {
        let (hands, typed) = sync_channel::<&str>(8);
        let (read, was_read) = sync_channel(8);
        let mut keyboard = Keyboard::new(true);
        let typed = typed.into_iter().map(str::to_owned);
        let typed = stamped(typed, keyboard.forgotten.clone());
        let told = typed.inspect(move |line| read.send(line.text.clone()).unwrap());
        keyboard.lines = Some(listen(told));

        // One is handed over, one is held by the thread.
        for line in ["early", "held"] {
            hands.send(line).unwrap();
            assert_eq!(was_read.recv().unwrap(), line);
        }
        keyboard.forget();
        hands.send("answer").unwrap();
        assert_eq!(keyboard.line().await.as_deref(), Some("answer"));

        // What was typed ahead and not forgotten is kept.
        hands.send("next").unwrap();
        assert_eq!(keyboard.line().await.as_deref(), Some("next"));

        hands.send("late").unwrap();
        assert_eq!(was_read.recv().unwrap(), "answer");
        assert_eq!(was_read.recv().unwrap(), "next");
        assert_eq!(was_read.recv().unwrap(), "late");
        keyboard.forget();
        drop(hands);
        assert_eq!(keyboard.line().await, None);
    }
}
