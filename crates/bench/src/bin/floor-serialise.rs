//! The floor of streaming: `floor-serialise N` serialises N typed updates into blocks of 64 KiB on stdout.
//!
//! One thread, no log, no reader of requests. It writes `ready`, waits for a line and begins, so that its
//! start is not part of the time.

use std::io::{self, BufRead, Write};

use agent_client_protocol::v1::schema::{SessionId, SessionNotification};
use serde::Serialize;

const BLOCK: usize = 64 * 1024;

#[derive(Serialize)]
struct Notification<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: &'a SessionNotification,
}

fn main() -> io::Result<()> {
    let count: u64 = std::env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .ok_or_else(|| io::Error::other("usage: floor-serialise COUNT"))?;
    let session = SessionId::new("0199a0f0-0000-7000-8000-000000000001");

    let mut stdout = io::stdout().lock();
    stdout.write_all(b"ready\n")?;
    stdout.flush()?;
    io::stdin().lock().read_line(&mut String::new())?;

    let mut block = Vec::with_capacity(BLOCK + 1024);
    for _ in 0..count {
        let params = harn_bench::text_update(&session);
        let notification = Notification {
            jsonrpc: "2.0",
            method: "session/update",
            params: &params,
        };
        serde_json::to_writer(&mut block, &notification)?;
        block.push(b'\n');
        if block.len() >= BLOCK {
            stdout.write_all(&block)?;
            block.clear();
        }
    }
    stdout.write_all(&block)?;
    stdout.flush()
}
