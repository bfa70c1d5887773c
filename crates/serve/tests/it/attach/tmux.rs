//! Terminals to look at: panes of a `tmux` of our own, which disturbs nobody else's. Screens are looked at
//! until they show what is wanted, or for too long.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
    time::{Duration, Instant},
};

/// Long enough for a busy machine; nothing waits this long when all is well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A `tmux` of our own, by a socket that nobody else has.
pub(crate) struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// One with its socket in this directory.
    pub(crate) fn new(dir: &Path) -> Self {
        let socket = dir.join("tmux");
        Self { socket }
    }

    fn run(&self, args: &[&str]) -> Output {
        let output = Command::new("tmux")
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(&self.socket)
            .args(args)
            .env_remove("TMUX")
            .env("LC_ALL", "C.UTF-8")
            .env("SHELL", "/bin/sh")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "tmux {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output
    }

    fn text(&self, args: &[&str]) -> String {
        String::from_utf8(self.run(args).stdout).unwrap()
    }

    /// Runs a command in a terminal of its own, 80 columns and 24 lines. When it ends, the terminal says how.
    pub(crate) fn open(&self, name: &str, dir: &Path, command: &[&str]) {
        let dir = dir.to_str().unwrap();
        let size = ["-x", "80", "-y", "24"];
        let session = ["new-session", "-d", "-s", name, "-c", dir];
        let told = ["--", "sh", "-c", r#""$@"; echo "exit: $?"; exec cat"#, "sh"];
        self.run(&[&session[..], &size, &told, command].concat());
    }

    /// What stands in a terminal.
    pub(crate) fn screen(&self, name: &str) -> String {
        self.text(&["capture-pane", "-p", "-t", name])
    }

    /// Looks at a terminal until it is as wanted.
    pub(crate) fn until(&self, name: &str, wanted: impl Fn(&str) -> bool, what: &str) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen(name);
            if wanted(&screen) {
                return screen;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "{name} does not show {what}:\n{screen}"
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Looks at a terminal until a text stands in it.
    pub(crate) fn see(&self, name: &str, text: &str) -> String {
        self.until(name, |screen| screen.contains(text), text)
    }

    /// Looks at a terminal until a text stands in it no more.
    pub(crate) fn gone(&self, name: &str, text: &str) -> String {
        self.until(name, |screen| !screen.contains(text), &format!("no {text}"))
    }

    /// Types a text.
    pub(crate) fn types(&self, name: &str, text: &str) {
        self.run(&["send-keys", "-t", name, "-l", "--", text]);
    }

    /// Presses a key, by its name.
    pub(crate) fn press(&self, name: &str, key: &str) {
        self.run(&["send-keys", "-t", name, key]);
    }

    pub(crate) fn resize(&self, name: &str, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.run(&["resize-window", "-t", name, "-x", &columns, "-y", &rows]);
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // It fails only when nothing runs any more.
        let _ = Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .arg("kill-server")
            .output();
    }
}
