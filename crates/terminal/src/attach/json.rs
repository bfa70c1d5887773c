//! Prints updates for scripts, as an observer: the params of each as a line on stdout.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use harn_acp::client::HarnEvent;
use serde_json::value::RawValue;

use super::{
    link::{LinkEvent, SessionLink},
    protocol::AttachEvent,
};
use crate::{console::print_note, signals::Signals};

/// The maximum number of attempts in a row, which take about a minute.
const ATTEMPTS: u32 = 16;

/// Prints updates until the session ends, a signal arrives or stdout is closed.
pub(super) async fn follow(mut link: SessionLink) -> Result<ExitCode> {
    let mut signals = Signals::listen().context("listening for signals")?;
    // The last message about the lost connection; none while connected.
    let mut lost: Option<String> = None;
    loop {
        let step = tokio::select! {
            _ = signals.next() => break,
            step = link.next() => step,
        };
        match step {
            LinkEvent::Heard(AttachEvent::Update(params) | AttachEvent::Replaced(params)) => {
                if !print(&params)? {
                    break;
                }
            }
            LinkEvent::Heard(AttachEvent::Event(params)) => {
                if !print(&params)? || is_end(&params) {
                    break;
                }
            }
            LinkEvent::Heard(AttachEvent::Joined(_)) if lost.take().is_some() => {
                print_note("reconnected, nothing was missed");
            }
            LinkEvent::Heard(_) | LinkEvent::Nothing => {}
            LinkEvent::Lost { why, .. } => {
                if link.failed > ATTEMPTS {
                    bail!(why.unwrap_or_else(|| "the server does not answer".to_owned()));
                }
                let words = why.unwrap_or_else(|| "the connection is lost".to_owned());
                if lost.as_ref() != Some(&words) {
                    print_note(format!("{words}; retrying"));
                    lost = Some(words);
                }
            }
            LinkEvent::Failed(why) => return Err(why),
        }
    }
    link.close().await;
    Ok(ExitCode::SUCCESS)
}

/// Prints a line; returns false if stdout is closed.
fn print(params: &RawValue) -> Result<bool> {
    let mut out = io::stdout().lock();
    let written = writeln!(out, "{}", params.get()).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true).context("writing to stdout"),
    }
}

fn is_end(event: &RawValue) -> bool {
    let event = serde_json::from_str(event.get());
    matches!(event, Ok(HarnEvent::SessionClosed(_)))
}
