//! Sockets on sessions: what they are told and when, what they may do, and how it ends. Each is a real
//! WebSocket in memory, and time stands still until nobody can do anything any more.

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
