//! The body of a request, read within bounds of length and time.
//!
//! A body that is refused is read past for a while: many clients look at an answer only once they have sent
//! everything, and one that is hung up on before never sees why.

use std::{future::poll_fn, pin::Pin, time::Duration};

use axum::{
    body::{Body, HttpBody},
    http::{HeaderMap, header},
};
use bytes::{Bytes, BytesMut};
use tokio::time::timeout;

/// How long a client may take to send a request.
const SENDING: Duration = Duration::from_secs(30);
/// How long it may go on sending what is refused.
const PAST: Duration = Duration::from_secs(2);

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// It is longer than allowed.
    TooLong,
    /// It took too long to arrive.
    Slow,
    /// It broke off, or was not sent as HTTP has it.
    Broken,
}

/// Reads a body of at most `limit` bytes. One that is longer is read past, up to `past` bytes of it.
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
        skim(headers, body, past).await;
    }
    whole.ok_or(BodyError::TooLong)
}

/// Reads past what nobody wants, as far as it comes soon and is not longer than `most` bytes.
pub async fn skim(headers: &HeaderMap, mut body: Body, most: usize) {
    // Who asks first sends nothing unless it is read.
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
    // What takes longer is hung up on.
    let _ = timeout(PAST, rest).await;
}

/// All of it; nothing where it is too long.
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

/// The next piece; empty where it is none of the content.
async fn next(body: &mut Body) -> Option<Result<Bytes, BodyError>> {
    let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await?;
    let data = frame.map(|frame| frame.into_data().unwrap_or_default());
    Some(data.map_err(|_| BodyError::Broken))
}
