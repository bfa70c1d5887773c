//! Lines a person types. Read on a thread of their own, which starts with the first question: a
//! program in the background that reads its terminal is stopped.

use std::{io, thread};

use tokio::sync::mpsc;

/// See the module.
pub(super) struct Keyboard {
    present: bool,
    lines: Option<mpsc::Receiver<String>>,
}

impl Keyboard {
    /// A keyboard, if somebody is `present`.
    pub(super) fn new(present: bool) -> Self {
        Self {
            present,
            lines: None,
        }
    }

    /// One that gives these lines.
    #[cfg(test)]
    pub(super) fn typed_on(lines: mpsc::Receiver<String>) -> Self {
        Self {
            present: true,
            lines: Some(lines),
        }
    }

    /// Whether there is anybody to ask.
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
        if let Some(lines) = &mut self.lines {
            while lines.try_recv().is_ok() {}
        }
    }

    /// The next line; none at the end of input. Cancel safe.
    pub(super) async fn line(&mut self) -> Option<String> {
        self.lines.get_or_insert_with(listen).recv().await
    }
}

fn listen() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(1);
    let read = move || {
        let mut line = String::new();
        while matches!(io::stdin().read_line(&mut line), Ok(1..)) {
            if sender.blocking_send(std::mem::take(&mut line)).is_err() {
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
