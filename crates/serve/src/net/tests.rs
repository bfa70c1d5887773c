//! The door, in process: who is refused, and what becomes of those who are let in.

mod bounds;
mod chaos;
mod envelopes;
mod refused;
mod resumed;
mod secure;
mod server;
mod signing_in;
mod sockets;
