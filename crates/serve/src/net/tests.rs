//! The port, in process: which clients are rejected, and how the others are served.

mod broken_connections;
mod envelopes;
mod limits;
mod login;
mod refusals;
mod server;
mod stream_resume;
mod tls;
mod websockets;
