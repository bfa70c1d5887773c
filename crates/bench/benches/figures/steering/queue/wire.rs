//! The same queue over the wire, with a journal: accepted, listed, replaced and revoked one by one, with each
//! response awaited.

use agent_client_protocol::v1::schema::SessionId;
use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use super::super::{
    FEW, MANY, Row, add_cost_per_message,
    wire::{Accepted, Inject, Of, time_request},
};
use crate::{program::Running, setup::Setup, table::Table};

/// Lists that are timed for each number of messages.
const LISTS: usize = 5;

/// The content of a replaced message.
const OTHER_WORDS: &str = "what was said before, but in other words";

/// Seconds, of one message each.
#[derive(Default)]
struct Costs {
    accept: Vec<f64>,
    list: Vec<f64>,
    replace: Vec<f64>,
    revoke: Vec<f64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    session_id: &'a SessionId,
    message_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    pending_count: usize,
}

pub(in super::super) fn measure(setup: &Setup, _: &Runtime, table: &mut Table) -> Result<()> {
    let (mut few, mut many) = (Costs::default(), Costs::default());
    for _ in 0..setup.queues {
        few.measure(setup, FEW)?;
        many.measure(setup, MANY)?;
    }
    let rows: [Row<Costs>; 4] = [
        ("to accept one of 10000 over the wire", |c| &c.accept),
        ("to list one of 10000 over the wire", |c| &c.list),
        ("to replace one of 10000 over the wire", |c| &c.replace),
        ("to take back one of 10000 over the wire", |c| &c.revoke),
    ];
    for (name, of) in rows {
        add_cost_per_message(table, name, [of(&few), of(&many)]);
    }
    Ok(())
}

impl Costs {
    fn measure(&mut self, setup: &Setup, count: usize) -> Result<()> {
        let ours = setup.ours_steered()?;
        let (mut agent, session) = Running::start_with_session(&ours.program, &setup.cwd())?;
        agent.prompt(&session, "hold")?;
        let mut ids = Vec::with_capacity(count);
        for _ in 0..count {
            let inject = Inject::new(&session, "queue");
            let (seconds, answer) = time_request(&mut agent, "session/inject", inject)?;
            self.accept.push(seconds);
            let accepted: Accepted = serde_json::from_str(answer.result.get())?;
            ids.push(accepted.message_id);
        }
        let of = || Of {
            session_id: &session,
        };
        for _ in 0..LISTS {
            let (seconds, answer) = time_request(&mut agent, "session/pending_injections", of())?;
            self.list.push(seconds / count as f64);
            let listed: Listed = serde_json::from_str(answer.result.get())?;
            let listed = listed.pending_count;
            ensure!(listed == count, "{listed} of {count} are listed");
        }
        for (method, content, status, into) in [
            (
                "session/replace_inject",
                Some(OTHER_WORDS),
                "replaced",
                &mut self.replace,
            ),
            ("session/revoke_inject", None, "revoked", &mut self.revoke),
        ] {
            for id in &ids {
                let message = Message {
                    session_id: &session,
                    message_id: id,
                    content,
                };
                let (seconds, answer) = time_request(&mut agent, method, message)?;
                into.push(seconds);
                let done: Accepted = serde_json::from_str(answer.result.get())?;
                ensure!(done.status == status, "{}", answer.result);
            }
        }
        let (_, answer) = time_request(&mut agent, "session/pending_injections", of())?;
        let listed: Listed = serde_json::from_str(answer.result.get())?;
        ensure!(
            listed.pending_count == 0,
            "{} are left",
            listed.pending_count
        );
        Ok(())
    }
}
