//! The body of a request, read within bounds of length and time.
//!
//! A body that is refused is read past for a while: many Shells look at an answer only once they have sent
//! everything, and one that is hung up on before never sees why.

use std::{future::poll_fn, pin::Pin, time::Duration};

use axum::{
    Error,
    body::{Body, Bytes, HttpBody},
    http::{HeaderMap, header},
};
use bytes::BytesMut;
use tokio::time::timeout;

use crate::error::Fault;

/// How long a Shell may take to send a request.
const SENDING: Duration = Duration::from_secs(30);
/// How long it may go on sending what is refused.
const PAST: Duration = Duration::from_secs(2);
/// How often the longest body that is taken is read past.
const TIMES: usize = 16;

pub(super) async fn read(
    headers: &HeaderMap,
    mut body: Body,
    limit: usize,
) -> Result<Bytes, Fault> {
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64) {
        skim(headers, body, limit).await;
        return Err(Fault::TooLarge { limit });
    }
    let read = timeout(SENDING, collect(&mut body, limit)).await;
    match read.map_err(|_| Fault::Slow)? {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => {
            skim(headers, body, limit).await;
            Err(Fault::TooLarge { limit })
        }
        // It broke off, or was not sent as HTTP has it.
        Err(_) => Err(Fault::NotJson),
    }
}

/// Reads past what nobody wants, as far as it comes soon.
pub(super) async fn skim(headers: &HeaderMap, mut body: Body, limit: usize) {
    // Who asks first sends nothing unless it is read.
    if headers.contains_key(header::EXPECT) {
        return;
    }
    let most = limit.saturating_mul(TIMES);
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
async fn collect(body: &mut Body, limit: usize) -> Result<Option<Bytes>, Error> {
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
async fn next(body: &mut Body) -> Option<Result<Bytes, Error>> {
    let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await?;
    Some(frame.map(|frame| frame.into_data().unwrap_or_default()))
}
