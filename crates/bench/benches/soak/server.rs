//! A server on a port with a scenario and a temporary state directory. Dropping it ends the process.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use anyhow::Result;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{SoakPlan, link::Link, machine::Memory};

/// The texts of a turn repeat after this many, so an observer notices a lost or repeated one.
pub(crate) const CYCLE: u64 = 100;

pub(crate) const TOKEN: &str = "a-token-that-only-this-run-knows-of";

pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) dir: TempDir,
}

impl Server {
    pub(crate) fn start(plan: &SoakPlan) -> Result<Self> {
        let dir = TempDir::with_prefix("harn-soak-")?;
        let scenario = dir.path().join("soak.yaml");
        fs::write(&scenario, scenario_text())?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        drop(listener);
        let child = Command::new(&plan.binary)
            .args(["serve", "--listen", &address.to_string(), "--engine"])
            .arg(format!("script:{}", scenario.display()))
            .arg("--state-dir")
            .arg(dir.path().join("state"))
            .env("HARN_SERVE_TOKEN", TOKEN)
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self {
            child,
            address,
            dir,
        })
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub(crate) fn memory(&self) -> Result<Memory> {
        Memory::read(self.child.id())
    }

    pub(crate) async fn connect(&self, name: &str) -> Result<Link> {
        Link::open(self.address, TOKEN, name).await
    }

    /// Returns the params that open a session, or create one.
    pub(crate) fn params(&self, session: Option<&str>) -> Value {
        let mut params = json!({"cwd": self.dir.path(), "mcpServers": []});
        if let Some(session) = session {
            params["sessionId"] = json!(session);
        }
        params
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only when the process is already gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns turns of numbered texts: `slow` with ten a second for a minute, and `fast` without a pause.
pub(crate) fn scenario_text() -> String {
    let turn = |name: &str, times: u64, pause: &str| {
        let emit = |number| {
            format!("{{emit: {{type: agent_message_chunk, content: \"n{number:0>40}\"}}}}{pause}")
        };
        let steps: Vec<_> = (0..CYCLE).map(emit).collect();
        let steps = steps.join(", ");
        format!(
            "  - match: \"^{name}$\"\n    steps: [{{repeat: {{times: {times}, steps: [{steps}]}}}}, {{stop: end_turn}}]\n"
        )
    };
    format!(
        "name: soak\nturns:\n{}{}  - steps: [{{say: \"here\"}}, {{stop: end_turn}}]\n",
        turn("slow", 6, ", {sleep_ms: 100}"),
        turn("fast", 200, ""),
    )
}

/// Returns the number in a line with a numbered text.
pub(crate) fn text_number(line: &[u8]) -> Option<u64> {
    const BEFORE: &[u8] = b"\"text\":\"n";
    let at = line.windows(BEFORE.len()).position(|it| it == BEFORE)?;
    let digits = line.get(at + BEFORE.len()..)?;
    let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

pub(crate) fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}
