//! The port, in process: which clients are rejected, and how the others are served.

mod bounds;
mod chaos;
mod envelopes;
mod refused;
mod resumed;
mod secure;
mod server;
mod signing_in;
mod sockets;
