//! Sockets on sessions: what they receive and when, what they may do, and how they end. Each is a real WebSocket
//! in memory, and the clock advances only when all tasks wait.

mod answers;
mod control;
mod ends;
mod flow;
mod last_session;
mod rejections;
mod sessions;
mod settings;
mod test_agent;
mod turns;
