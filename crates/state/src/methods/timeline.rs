//! `GET /state/timeline`: what happened in a session, a page at a time, as far as its log reached when it was
//! asked for.

use std::ops::ControlFlow;

use axum::response::Response;
use harn_model::{Seq, SessionId};
use harn_runtime::Hub;

use super::{json, observe, query::QueryParams};
use crate::{
    error::StateError,
    timeline::{TimelinePageBuilder, TimelineSearch},
    wire::TimelinePage,
};

/// How many rows there are on a page where nothing is said.
const LIMIT: usize = 200;
/// How many there are at most.
const MOST: usize = 1000;

/// Which rows are wanted.
pub(crate) struct TimelineQuery {
    pub(crate) session: SessionId,
    /// After which event.
    ///
    /// A page begins with a whole row where this is `next` of the page before. Where it is `last`, to get what
    /// is new, it may be in the middle of a message that was being said: what was said of it since is a row of
    /// its own then, which begins after this event.
    pub(crate) after: Seq,
    pub(crate) limit: usize,
    /// With these words in them; any, where it is empty.
    pub(crate) q: String,
}

impl TimelineQuery {
    fn parse(query: &str) -> Result<Self, StateError> {
        let given = QueryParams::parse(query)?;
        let session = given.required("session", "the id of a session")?.into();
        let after = match given.optional("after")? {
            None => Seq::ZERO,
            Some(after) => Seq(after.parse().map_err(|_| StateError::BadQuery {
                name: "after",
                wanted: "a whole number: `next` or `last` of another page, or 0",
            })?),
        };
        let limit = match given.optional("limit")? {
            None => LIMIT,
            Some(limit) => {
                let limit = limit.parse().ok();
                let limit = limit.filter(|limit| (1..=MOST).contains(limit));
                limit.ok_or(StateError::BadQuery {
                    name: "limit",
                    wanted: "a whole number from 1 to 1000",
                })?
            }
        };
        let q = given.optional("q")?.unwrap_or_default().to_owned();
        Ok(Self {
            session,
            after,
            limit,
            q,
        })
    }
}

/// Answers a request with this query.
pub(crate) async fn respond(hub: Hub, query: &str) -> Result<Response, StateError> {
    Ok(json(&timeline(&hub, TimelineQuery::parse(query)?).await?))
}

/// Reads a page. It lets others run however long the log is, and stops when it is dropped.
pub(crate) async fn timeline(hub: &Hub, query: TimelineQuery) -> Result<TimelinePage, StateError> {
    let session = observe(hub, &query.session).await?;
    let search = TimelineSearch::new(&query.q);
    let mut page = TimelinePageBuilder::new(query.after, query.limit, search);
    let mut past = session.subscribe(page.read_after());
    let head = past.head();
    if query.after >= head {
        return Ok(page.finish(head));
    }
    while past.position() < head {
        let delivery = past.next().await?;
        let events = delivery.events().iter();
        for envelope in events.take_while(|envelope| envelope.seq <= head) {
            if let ControlFlow::Break(page) = page.add(envelope) {
                return Ok(page);
            }
        }
        // What was read ahead is there at once, and might be for as long as the log is.
        tokio::task::consume_budget().await;
    }
    Ok(page.finish(head))
}

#[cfg(test)]
mod tests;
