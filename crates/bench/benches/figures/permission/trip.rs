//! From a client's answer to one question until the next question arrives: the server reads the answer, writes
//! it to the journal and returns it to the agent, whose next call is judged, journalled and asked about.
//!
//! The time of the client itself is not included. The SDK agent asks the same questions and does nothing else.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result, bail, ensure};
use harn_bench::ALLOW;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    median,
    program::{Program, Running},
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

/// Turns of each program.
const TURNS: usize = 3;

#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<&'a str>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

pub(super) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let (mut sdk, mut ours) = (Vec::new(), Vec::new());
    let sdk_program = setup.sdk_agent();
    for _ in 0..TURNS {
        run_turn(&sdk_program, &setup.cwd(), setup.questions, &mut sdk)?;
        let program = setup.ours_flooding()?;
        run_turn(&program.program, &setup.cwd(), setup.questions, &mut ours)?;
    }
    table.add(&Figure {
        name: "from a permission's answer to the next".to_owned(),
        unit: Unit::Micros,
        value: median(&ours),
        against: Some(("sdk", median(&sdk))),
        bar: Bar::AtMost(1e-3),
    });
    Ok(())
}

/// Runs one turn with this many questions, each answered at once.
fn run_turn(program: &Program, cwd: &Path, questions: u64, into: &mut Vec<f64>) -> Result<()> {
    let (mut agent, session) = Running::start_with_session(program, cwd)?;
    let prompt = agent
        .prompt(&session, &format!("ask {questions}"))?
        .to_string();
    let mut answered = None;
    let mut seen = 0;
    loop {
        let line = agent.lines.next()?.context("the agent ended in its turn")?;
        let at = Instant::now();
        let incoming: Incoming<'_> = serde_json::from_slice(line)?;
        match (incoming.method, incoming.id) {
            (Some("session/request_permission"), Some(id)) => {
                into.extend(answered.map(|then| at.duration_since(then).as_secs_f64()));
                seen += 1;
                let answer = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"outcome":{{"outcome":"selected","optionId":"{ALLOW}"}}}}}}"#
                );
                agent.write((answer + "\n").as_bytes())?;
                answered = Some(Instant::now());
            }
            (None, Some(id)) if id.get() == prompt => {
                if let Some(error) = incoming.error {
                    bail!("the agent answered with an error: {error}");
                }
                break;
            }
            // Updates before the next question.
            _ => {}
        }
    }
    ensure!(seen == questions, "{seen} questions instead of {questions}");
    Ok(())
}
