//! The floor of starting: reads one line, writes a fixed initialize result, waits for the end of input.
//!
//! Uses the standard library only; its time is the machine's own.
#![allow(clippy::print_stdout, reason = "this program's answer is its output")]

use std::io::{self, BufRead, Read, Write};

fn main() -> io::Result<()> {
    let mut stdin = io::stdin().lock();
    let mut line = String::new();
    stdin.read_line(&mut line)?;
    let id = line
        .split_once("\"id\":")
        .map(|(_, rest)| rest.trim_start())
        .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next())
        .unwrap_or("null");

    let mut stdout = io::stdout().lock();
    writeln!(
        stdout,
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":1,"agentCapabilities":{{"loadSession":false}},"authMethods":[],"agentInfo":{{"name":"floor","version":"0"}}}}}}"#
    )?;
    stdout.flush()?;

    io::copy(&mut stdin.by_ref(), &mut io::sink())?;
    Ok(())
}
