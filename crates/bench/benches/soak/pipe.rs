//! A client on the pipes of `harn-serve acp`, which counts the texts that it receives.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::{SoakPlan, machine::Memory, server::text_number};

pub(crate) struct Pipe {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last_id: u64,
}

/// The end of a request: its answer, and how many texts came before it.
pub(crate) struct PipeAnswer {
    pub(crate) message: Value,
    pub(crate) texts: u64,
}

impl Pipe {
    /// Starts a server without a limit on its files that would end it, and initializes.
    pub(crate) fn start(binary: &Path, scenario: &Path, state: &Path) -> Result<Self> {
        let mut child = Command::new(binary)
            .args(["acp", "--engine"])
            .arg(format!("script:{}", scenario.display()))
            .arg("--state-dir")
            .arg(state)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut pipe = Self {
            to: child.stdin.take().context("no stdin")?,
            from: BufReader::new(child.stdout.take().context("no stdout")?),
            child,
            last_id: 0,
        };
        let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
        pipe.ask("initialize", hello)?;
        Ok(pipe)
    }

    pub(crate) fn start_with_scenario(plan: &SoakPlan, dir: &Path) -> Result<Self> {
        let scenario = dir.join("soak.yaml");
        std::fs::write(&scenario, crate::server::scenario_text())?;
        Self::start(Path::new(&plan.binary), &scenario, &dir.join("state"))
    }

    pub(crate) fn memory(&self) -> Result<Memory> {
        Memory::read(self.child.id())
    }

    pub(crate) fn send_line(&mut self, line: &[u8]) -> Result<()> {
        self.to.write_all(line)?;
        self.to.write_all(b"\n")?;
        Ok(())
    }

    pub(crate) fn send(&mut self, method: &str, params: Value) -> Result<u64> {
        self.last_id += 1;
        let id = self.last_id;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send_line(message.to_string().as_bytes())?;
        Ok(id)
    }

    /// Sends a request and returns its result.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.send(method, params)?;
        let mut answer = self.read_answer(id, |_| Ok(()))?;
        match answer.message.get("error") {
            Some(error) => bail!("{method}: {error}"),
            None => Ok(answer.message["result"].take()),
        }
    }

    /// Reads until a request is answered; calls `seen` with the number of texts after each.
    pub(crate) fn read_answer(
        &mut self,
        id: u64,
        mut seen: impl FnMut(u64) -> Result<()>,
    ) -> Result<PipeAnswer> {
        let mut texts = 0;
        loop {
            let line = self.read_line()?.context("the server closed its output")?;
            if text_number(&line).is_some() {
                texts += 1;
                seen(texts)?;
                continue;
            }
            let message: Value = serde_json::from_slice(&line)?;
            if message["id"] == id && message.get("method").is_none() {
                return Ok(PipeAnswer { message, texts });
            }
        }
    }

    /// Returns the next line; none at the end.
    pub(crate) fn read_line(&mut self) -> Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let read = self.from.read_until(b'\n', &mut line)?;
        Ok((read > 0).then_some(line))
    }

    pub(crate) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // Both fail only when the process is already gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
