//! The body of a request, read within bounds of length and time.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, header},
};
use bytes::BytesMut;
use futures::StreamExt;
use tokio::time::timeout;

use crate::error::StateError;

/// How long a client may take to send a request.
const SENDING: Duration = Duration::from_secs(30);
/// How long it may go on sending what is refused: browsers look at an answer only once they have sent all.
const PAST: Duration = Duration::from_secs(2);

pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    limit: usize,
) -> Result<Bytes, StateError> {
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let too_long = length.is_some_and(|length| length > limit as u64);
    let mut data = body.into_data_stream();
    let mut all = BytesMut::new();
    let whole = async {
        while let Some(piece) = data.next().await {
            // It broke off, or was not sent as HTTP has it.
            let piece = piece.map_err(|_| StateError::NoBody)?;
            if piece.len() > limit - all.len() {
                return Ok::<_, StateError>(false);
            }
            all.extend_from_slice(&piece);
        }
        Ok(true)
    };
    let whole = match too_long {
        true => false,
        false => timeout(SENDING, whole)
            .await
            .map_err(|_| StateError::Slow)??,
    };
    if whole {
        return Ok(all.freeze());
    }
    drop(all);
    // Who asks first sends nothing unless it is read.
    if !headers.contains_key(header::EXPECT) {
        let rest = async { while let Some(Ok(_)) = data.next().await {} };
        // What takes longer is hung up on.
        let _ = timeout(PAST, rest).await;
    }
    Err(StateError::TooLong { limit })
}
