//! Reads the body of a request within limits of length and time.
//!
//! The server reads on for a while after it rejects a body: many clients read the response only after they have
//! sent everything, and a client that is disconnected before that never sees the reason.

use std::{future::poll_fn, pin::Pin, time::Duration};

use axum::{
    body::{Body, HttpBody},
    http::{HeaderMap, header},
};
use bytes::{Bytes, BytesMut};
use tokio::time::timeout;

/// The longest time that a client may take to send a request.
const SENDING: Duration = Duration::from_secs(30);
/// The longest time that the rest of a rejected body is read.
const PAST: Duration = Duration::from_secs(2);

/// The reason why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// The body is longer than allowed.
    TooLong,
    /// The body took too long to arrive.
    Slow,
    /// The body ended early, or is not valid HTTP.
    Broken,
}

/// Reads a body of at most `limit` bytes. Discards a longer one, up to `past` bytes of it.
pub async fn read(
    headers: &HeaderMap,
    mut body: Body,
    limit: usize,
    past: usize,
) -> Result<Bytes, BodyError> {
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let too_long = length.is_some_and(|length| length > limit as u64);
    let whole = match too_long {
        true => None,
        false => timeout(SENDING, collect(&mut body, limit))
            .await
            .map_err(|_| BodyError::Slow)??,
    };
    if whole.is_none() {
        discard(headers, body, past).await;
    }
    whole.ok_or(BodyError::TooLong)
}

/// Reads and discards a rejected body for a short time, up to `most` bytes.
pub async fn discard(headers: &HeaderMap, mut body: Body, most: usize) {
    // A client that sends `Expect` sends its body only when the server begins to read it.
    if headers.contains_key(header::EXPECT) {
        return;
    }
    let rest = async {
        let mut past = 0_usize;
        while let Some(Ok(data)) = next(&mut body).await {
            past = past.saturating_add(data.len());
            if past > most {
                return;
            }
        }
    };
    // A client that takes longer is disconnected.
    let _ = timeout(PAST, rest).await;
}

/// Reads the whole body; returns nothing if it is longer than `limit`.
async fn collect(body: &mut Body, limit: usize) -> Result<Option<Bytes>, BodyError> {
    let mut all = BytesMut::new();
    while let Some(data) = next(body).await {
        let data = data?;
        if data.len() > limit - all.len() {
            return Ok(None);
        }
        all.extend_from_slice(&data);
    }
    Ok(Some(all.freeze()))
}

/// Returns the next piece of data; a frame without data, such as trailers, yields an empty piece.
async fn next(body: &mut Body) -> Option<Result<Bytes, BodyError>> {
    let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await?;
    let data = frame.map(|frame| frame.into_data().unwrap_or_default());
    Some(data.map_err(|_| BodyError::Broken))
}
