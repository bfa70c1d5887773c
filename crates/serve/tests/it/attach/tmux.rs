//! Terminals for tests: panes of a private `tmux` server, separate from the user's. Each check waits until the
//! screen shows the wanted text, or fails after a timeout.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
    time::{Duration, Instant},
};

/// Long enough for a busy machine; a passing test never waits this long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A private `tmux` server, with its own socket.
pub(crate) struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// Uses a socket in this directory.
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

    /// Runs a command in its own terminal of 80 columns and 24 lines, which shows the exit code at the end.
    pub(crate) fn open(&self, name: &str, dir: &Path, command: &[&str]) {
        let dir = dir.to_str().unwrap();
        let size = ["-x", "80", "-y", "24"];
        let session = ["new-session", "-d", "-s", name, "-c", dir];
        let told = ["--", "sh", "-c", r#""$@"; echo "exit: $?"; exec cat"#, "sh"];
        self.run(&[&session[..], &size, &told, command].concat());
    }

    /// Returns the content of a terminal.
    pub(crate) fn screen(&self, name: &str) -> String {
        self.text(&["capture-pane", "-p", "-t", name])
    }

    /// Waits until a terminal's content satisfies `wanted`.
    pub(crate) fn wait_until(
        &self,
        name: &str,
        wanted: impl Fn(&str) -> bool,
        what: &str,
    ) -> String {
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

    /// Waits until a terminal shows a text.
    pub(crate) fn wait_for(&self, name: &str, text: &str) -> String {
        self.wait_until(name, |screen| screen.contains(text), text)
    }

    /// Waits until a terminal no longer shows a text.
    pub(crate) fn wait_until_gone(&self, name: &str, text: &str) -> String {
        self.wait_until(name, |screen| !screen.contains(text), &format!("no {text}"))
    }

    pub(crate) fn type_text(&self, name: &str, text: &str) {
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
        // It fails only when the server has ended.
        let _ = Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .arg("kill-server")
            .output();
    }
}
