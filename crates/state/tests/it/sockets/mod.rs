//! Sockets on sessions: what they receive and when, what they may do, and how they end. Each is a real WebSocket
//! in memory, and the clock advances only when all tasks wait.

mod answers;
mod control;
mod ends;
mod flow;
mod refused;
mod returning;
mod sessions;
mod settings;
mod stage;
mod turns;
