//! `GET`: the stream of a connection or of a session, as server-sent events.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::stream;
use harn_model::{Principal, SessionId};
use tokio::time::sleep;

use super::{
    CONNECTION_ID, EVENT_STREAM, LAST_EVENT_ID, SESSION_ID, connection::SseReadGuard,
    frame_id::SseFrameId, header_text, mailbox::RefollowReply, refusal::HttpRefusal,
    registry::ConnectionRegistry,
};
use crate::transport::{ConnectionInput, FollowId};

/// The interval of keep-alive comments, so that no proxy takes an idle stream for dead.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

pub(super) async fn handle(
    registry: &Arc<ConnectionRegistry>,
    principal: &Principal,
    headers: &HeaderMap,
) -> Result<Response, HttpRefusal> {
    if !accepts_events(headers) {
        return Err(HttpRefusal::Accept);
    }
    let connection = registry.find_connection(headers, principal)?;
    let session = header_text(headers, &SESSION_ID)?.map(SessionId::from);
    let after = match header_text(headers, &LAST_EVENT_ID)? {
        Some(id) => Some(
            id.parse::<SseFrameId>()
                .map_err(|_| HttpRefusal::LastEventId)?,
        ),
        None => None,
    };
    if let Some(session) = &session {
        registry.check_session(&connection, session).await?;
    }
    let reading = connection.start_reader(session.as_ref(), after)?;
    let body = SseBody {
        reading,
        parts: VecDeque::new(),
        rests: false,
        asked: None,
    };
    let frames = stream::unfold(body, async |mut events| {
        let frames = events.next().await?;
        Some((Ok::<_, Infallible>(frames), events))
    });
    let mut response = Body::from_stream(frames).into_response();
    let known = response.headers_mut();
    known.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    known.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Each value is from the request, so it is valid in the response.
    for name in [CONNECTION_ID, SESSION_ID] {
        if let Some(value) = headers.get(&name) {
            known.insert(name, value.clone());
        }
    }
    Ok(response)
}

fn accepts_events(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter();
    accepted.any(|value| {
        let value = value.to_str().unwrap_or_default().to_ascii_lowercase();
        value.contains(EVENT_STREAM)
    })
}

/// The body of a response that streams.
struct SseBody {
    reading: SseReadGuard,
    /// Parts that were taken and are not sent yet.
    parts: VecDeque<Bytes>,
    /// Whether something was sent just now, so that the next write pauses.
    rests: bool,
    /// The pending reply to a request to follow the session again.
    asked: Option<(FollowId, RefollowReply)>,
}

impl SseBody {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(part) = self.parts.pop_front() {
            return Some(part);
        }
        let SseReadGuard { reader, connection } = &self.reading;
        // Lines that arrive during the pause are written at once.
        if std::mem::take(&mut self.rests) {
            tokio::select! {
                () = sleep(connection.write_pause()) => {}
                () = connection.wait_until_ended() => {}
            }
        }
        loop {
            let came = reader.wait_for_lines();
            let taken = reader.take()?;
            if let Some((refollow, answer)) = taken.refollow {
                let stream = refollow.follow_id();
                let asked = connection.send(ConnectionInput::Refollow(refollow)).await;
                self.asked = asked.is_ok().then_some((stream, answer));
            }
            self.parts = taken.frames;
            if let Some(part) = self.parts.pop_front() {
                self.rests = true;
                return Some(part);
            }
            let asked = &mut self.asked;
            let not_followed = async {
                if let Some((stream, answer)) = asked {
                    let (stream, answer) = (*stream, answer.await);
                    *asked = None;
                    if !matches!(answer, Ok(Ok(()))) {
                        return stream;
                    }
                }
                std::future::pending().await
            };
            tokio::select! {
                // Lines that are in the queue are sent before the end.
                biased;
                () = came => {}
                stream = not_followed => reader.end_catch_up(stream),
                () = connection.wait_until_ended() => return None,
                () = sleep(SIGN_OF_LIFE) => return Some(Bytes::from_static(b":\n\n")),
            }
        }
    }
}
