//! From the end of input to the end of the process: at rest, and during a turn whose output is not read.

use std::{thread, time::Duration};

use anyhow::{Result, ensure};

use crate::{
    program::Running,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    for (name, prompt) in [
        ("end of input to exit, at rest", None),
        ("end of input to exit, in an unread turn", Some("numbered")),
    ] {
        let ours = setup.ours_flooding()?;
        let (mut agent, session) = Running::start_with_session(&ours.program, &setup.cwd())?;
        if let Some(prompt) = prompt {
            agent.prompt(&session, prompt)?;
            // Long enough for the pipe to fill, short enough for the turn to be under way.
            thread::sleep(Duration::from_millis(20));
        }
        let (took, status) = agent.end()?;
        ensure!(status.success(), "{name}: it ended with {status}");
        table.add(&Figure {
            name: name.to_owned(),
            unit: Unit::Millis,
            value: took.as_secs_f64(),
            against: None,
            bar: Bar::AtMost(1.0),
        });
    }
    Ok(())
}
