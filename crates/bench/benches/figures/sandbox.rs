//! What the sandbox adds to a command: from a prompt that runs one program to its answer, with and without it.

use std::time::Instant;

use agent_client_protocol::v1::schema::SessionId;
use anyhow::{Context, Result, ensure};

use crate::{
    median,
    program::Running,
    setup::{Ours, Setup},
    table::{Bar, Figure, Table, Unit},
};

/// Commands in each of the two servers.
const COMMANDS: usize = 200;
/// The first ones fill the page cache and find out what the system provides.
const WARM_UP: usize = 10;
/// A short program that a user's rule allows, so that nothing asks and the workspace is writable.
const LINE: &str = "/run /bin/true";
const RULES: &str = "auto_approve = ['run_command']\n";

struct Server {
    agent: Running,
    session: SessionId,
    seconds: Vec<f64>,
    _state: Ours,
}

impl Server {
    fn start(setup: &Setup, sandbox: &str) -> Result<Self> {
        let mut ours = setup.ours()?;
        let rules = ours.state.path().join("rules.toml");
        std::fs::write(&rules, RULES)?;
        for word in [
            "--sandbox".into(),
            sandbox.into(),
            "--policy".into(),
            rules.into_os_string(),
        ] {
            ours.program.args.push(word);
        }
        let (agent, session) = Running::start_with_session(&ours.program, &setup.cwd())?;
        Ok(Self {
            agent,
            session,
            seconds: Vec::new(),
            _state: ours,
        })
    }

    fn run_command(&mut self) -> Result<()> {
        let begun = Instant::now();
        let id = self.agent.prompt(&self.session, LINE)?;
        let mut succeeded = false;
        self.agent.lines.read_until_response(id, |line| {
            succeeded |= line.windows(9).any(|it| it == b"succeeded");
            Ok(())
        })?;
        ensure!(succeeded, "{LINE} failed");
        self.seconds.push(begun.elapsed().as_secs_f64());
        Ok(())
    }
}

pub(super) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let mut servers = ["off", "require"].map(|sandbox| {
        Server::start(setup, sandbox).with_context(|| format!("--sandbox {sandbox}"))
    });
    for _ in 0..COMMANDS {
        // In turn, so that a busy moment of the machine affects both.
        for server in servers.iter_mut().flatten() {
            server.run_command()?;
        }
    }
    let mut medians = Vec::new();
    for server in servers {
        medians.push(median(&server?.seconds[WARM_UP..]));
    }
    let [without, with] = medians[..] else {
        return Ok(());
    };
    table.add(&Figure {
        name: "a command in the sandbox".to_owned(),
        unit: Unit::Millis,
        value: with,
        against: Some(("without", without)),
        bar: Bar::Told,
    });
    table.add(&Figure {
        name: "what the sandbox adds".to_owned(),
        unit: Unit::Millis,
        value: with - without,
        against: None,
        bar: Bar::AtMost(3e-3),
    });
    Ok(())
}
