//! The floor of a request over HTTP: a bare axum handler that accepts any body and returns a constant.
//!
//! `floor-http ADDRESS BYTES`; runs until it is killed.

use std::io;

use axum::{
    Router,
    body::Bytes,
    http::header::CONTENT_TYPE,
    routing::post,
    serve::{ListenerExt, serve},
};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let wrong = || io::Error::other("usage: floor-http ADDRESS BYTES");
    let address = args.next().ok_or_else(wrong)?;
    let bytes = args.next().and_then(|word| word.parse().ok());
    let constant = Bytes::from(vec![b'x'; bytes.ok_or_else(wrong)?]);
    let handler = post(async move |_: Bytes| ([(CONTENT_TYPE, "application/json")], constant));
    let listener = TcpListener::bind(address).await?.tap_io(|stream| {
        // A socket without it is only slower.
        let _ = stream.set_nodelay(true);
    });
    serve(listener, Router::new().route("/v1/openharness", handler)).await
}
