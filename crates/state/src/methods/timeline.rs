//! `GET /state/timeline`: the events of a session, a page at a time, up to the end of its log at the time of the
//! request.

use std::ops::ControlFlow;

use axum::response::Response;
use harn_model::{Seq, SessionId};
use harn_runtime::Hub;

use super::{json_response, observe, query::QueryParams};
use crate::{
    error::StateError,
    timeline::{TimelinePageBuilder, TimelineSearch},
    wire::TimelinePage,
};

/// The default number of rows on a page.
const LIMIT: usize = 200;
/// The maximum number of rows on a page.
const MOST: usize = 1000;

/// The query of a request.
pub(crate) struct TimelineQuery {
    pub(crate) session: SessionId,
    /// Only rows after this event.
    ///
    /// A page begins with a whole row if this is `next` of the page before. If it is `last`, to get new rows, it
    /// may be in the middle of a message that was streaming: the rest of the message is then a row of its own,
    /// which begins after this event.
    pub(crate) after: Seq,
    pub(crate) limit: usize,
    /// Only rows that contain this text; all if it is empty.
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
    Ok(json_response(
        &read_timeline(&hub, TimelineQuery::parse(query)?).await?,
    ))
}

/// Reads a page. It yields to other tasks however long the log is, and stops when it is dropped.
pub(crate) async fn read_timeline(
    hub: &Hub,
    query: TimelineQuery,
) -> Result<TimelinePage, StateError> {
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
        // Events that were read ahead are ready without a wait, possibly for the whole log: yield.
        tokio::task::consume_budget().await;
    }
    Ok(page.finish(head))
}

#[cfg(test)]
mod tests;
