//! A request over a warm HTTP/1.1 connection, answered with the result of a turn, beside a bare handler that
//! returns as many bytes and does nothing. The two alternate.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use memchr::memmem;
use serde_json::json;

use crate::{
    disk, median, percentile,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

const TOKEN: &str = "a-token-that-only-this-run-knows-of";
/// Only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);
/// Exchanges before the measurement.
const WARM: usize = 20;

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    disk::measure(setup, table)?;
    let address = free_address()?;
    let mut ours = setup.ours_listening(address, TOKEN)?;
    ours.program = ours.program.arg("--cwd").arg(setup.cwd());
    let _server = ours.program.start()?;
    let mut shell = Shell::connect(address)?;
    let (_, answer) = shell.exchange(0)?;
    ensure!(
        memmem::find(&answer, b"\"status\":\"success\"").is_some(),
        "refused: {}",
        String::from_utf8_lossy(&answer)
    );

    let address = free_address()?;
    let _floor = setup.floor_http(address, answer.len()).start()?;
    let mut bare = Shell::connect(address)?;
    let (mut floor, mut value) = (Vec::new(), Vec::new());
    for round in 1..=WARM + setup.exchanges {
        let (seconds, answer) = shell.exchange(round)?;
        ensure!(memmem::find(&answer, b"\"status\":\"success\"").is_some());
        let (bare_seconds, _) = bare.exchange(round)?;
        if round > WARM {
            value.push(seconds);
            floor.push(bare_seconds);
        }
    }
    table.add(&Figure {
        name: "OpenHarness round trip, script engine".to_owned(),
        unit: Unit::Micros,
        value: median(&value),
        against: Some(("bare axum", median(&floor))),
        bar: Bar::Told,
    });
    table.add(&Figure {
        name: "what that adds to a bare handler".to_owned(),
        unit: Unit::Micros,
        value: median(&value) - median(&floor),
        against: None,
        bar: Bar::AtMost(1e-3),
    });
    table.add(&Figure {
        name: "the round trip, 99 of 100".to_owned(),
        unit: Unit::Micros,
        value: percentile(&value, 0.99),
        against: Some(("bare axum", percentile(&floor, 0.99))),
        bar: Bar::Told,
    });
    Ok(())
}

/// Returns an address without a listener.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// A Shell on one connection.
struct Shell {
    stream: TcpStream,
    address: SocketAddr,
    buffer: Vec<u8>,
}

impl Shell {
    /// Connects as soon as the server listens.
    fn connect(address: SocketAddr) -> Result<Self> {
        let begun = Instant::now();
        let stream = loop {
            match TcpStream::connect(address) {
                Ok(stream) => break stream,
                Err(error) if begun.elapsed() > Duration::from_secs(10) => return Err(error.into()),
                Err(_) => thread::sleep(Duration::from_millis(5)),
            }
        };
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            address,
            buffer: Vec::new(),
        })
    }

    /// Posts a request with this number in its id; returns the seconds until the answer, and its body.
    fn exchange(&mut self, place: usize) -> Result<(f64, Vec<u8>)> {
        let context = json!({"session_id": "bench", "user_intent": "greet"});
        let body = json!({
            "protocol_version": "1.0.0",
            "request_id": format!("req_{place:06}"),
            "correlation_id": "corr_1",
            "request": {"context": context},
        });
        let (address, body) = (self.address, body.to_string());
        let length = body.len();
        let request = format!(
            "POST /v1/openharness HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        let begun = Instant::now();
        self.stream.write_all(request.as_bytes())?;
        self.buffer.clear();
        let head = loop {
            match memmem::find(&self.buffer, b"\r\n\r\n") {
                Some(end) => break end + 4,
                None => self.fill()?,
            }
        };
        let length = parse_content_length(&self.buffer[..head])?;
        while self.buffer.len() < head + length {
            self.fill()?;
        }
        let seconds = begun.elapsed().as_secs_f64();
        Ok((seconds, self.buffer[head..].to_vec()))
    }

    fn fill(&mut self) -> Result<()> {
        let mut chunk = [0; 16 * 1024];
        let read = self.stream.read(&mut chunk)?;
        ensure!(read > 0, "the server hung up");
        self.buffer.extend_from_slice(&chunk[..read]);
        Ok(())
    }
}

/// Returns the content length.
fn parse_content_length(head: &[u8]) -> Result<usize> {
    let head = std::str::from_utf8(head)?;
    ensure!(head.starts_with("HTTP/1.1 200"), "refused: {head}");
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = lines.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let (_, length) = lengths.next().context("an answer without its length")?;
    Ok(length.trim().parse()?)
}
