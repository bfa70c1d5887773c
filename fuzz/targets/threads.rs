//! Lines for threads: for any bytes, every line that JSON-RPC answers is answered once, under its own id, the
//! output is whole lines of JSON-RPC, and the connection lives until its input ends.
#![no_main]

use std::{collections::BTreeMap, sync::LazyLock, time::Duration};

use harn_fuzz::{hub, seeds};
use harn_lines::{outgoing, read_lines};
use harn_threads::{IncomingLine, ThreadsConfig, serve_connection};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tokio::{runtime::Runtime, sync::mpsc, time::timeout};

/// Short, so that lines over it are tried.
const LIMIT: usize = 1024;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().build().expect("a runtime")
});

fuzz_target!(init: seeds::write(conversations()), |data: &[u8]| {
    let expected = lines(data).iter().filter_map(expected_id).collect();
    let written = RUNTIME.block_on(serve(data.to_vec()));
    assert_eq!(count_answers(&written), count_ids(expected));
});

/// Returns the output of a connection with this input.
async fn serve(data: Vec<u8>) -> Vec<u8> {
    let hub = hub::hub();
    let (to, incoming) = mpsc::channel(16);
    let (queue, mut from) = outgoing();
    let config = ThreadsConfig {
        alone: false,
        directory: hub::directory(),
        version: "0.0.0".to_owned(),
    };
    let serving = tokio::spawn(serve_connection(hub.clone(), config, incoming, queue));
    let reading = tokio::task::spawn_blocking(move || read_lines(&data[..], LIMIT, to));
    let mut written: Vec<u8> = Vec::new();
    let whole = timeout(Duration::from_secs(4), async {
        while let Some(piece) = from.recv().await {
            written.extend_from_slice(&piece);
        }
        serving.await.expect("serving").expect("somebody reads");
        reading.await.expect("reading").expect("bytes can be read");
        hub.shutdown().await;
    });
    whole.await.expect("the connection ends with its input");
    written
}

/// Returns the lines of the input, as the reader splits them.
fn lines(data: &[u8]) -> Vec<IncomingLine> {
    let (to, mut from) = mpsc::channel::<IncomingLine>(data.len() + 1);
    read_lines(data, LIMIT, to).expect("bytes can be read");
    std::iter::from_fn(|| from.try_recv().ok()).collect()
}

/// Returns the id under which a line is answered, null without a usable id, or `None` if no answer is due: for
/// a notification or a response.
fn expected_id(line: &IncomingLine) -> Option<Value> {
    let IncomingLine::Text(text) = line else {
        return Some(Value::Null);
    };
    let Ok(Value::Object(message)) = serde_json::from_str(text) else {
        return Some(Value::Null);
    };
    let id = match message.get("id") {
        None => None,
        Some(id) if id.is_string() || id.is_i64() || id.is_u64() => Some(id.clone()),
        Some(_) => return Some(Value::Null),
    };
    let right = message.get("jsonrpc") == Some(&Value::from("2.0"));
    match message.get("method") {
        Some(Value::String(_)) if right => id,
        None if right && (message.contains_key("result") || message.contains_key("error")) => None,
        _ => Some(id.unwrap_or_default()),
    }
}

/// Returns the answered ids, and how often each was answered.
fn count_answers(written: &[u8]) -> BTreeMap<String, usize> {
    let mut ids = Vec::new();
    assert!(
        written.is_empty() || written.ends_with(b"\n"),
        "part of a line"
    );
    for line in written
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let line: Value = serde_json::from_slice(line).expect("a line of JSON");
        assert_eq!(line["jsonrpc"], "2.0");
        match line.get("id") {
            Some(id) => {
                let error = &line["error"];
                let outcome = line.get("result").is_some() != error["code"].is_i64();
                assert!(outcome, "neither a result nor an error: {line}");
                ids.push(id.clone());
            }
            None => assert_eq!(line["method"], line["params"]["notification"]),
        }
    }
    count_ids(ids)
}

fn count_ids(ids: Vec<Value>) -> BTreeMap<String, usize> {
    let mut count = BTreeMap::new();
    for id in ids {
        *count.entry(id.to_string()).or_default() += 1;
    }
    count
}

/// Returns the lines of a conversation, valid and invalid, alone and together.
fn conversations() -> Vec<Vec<u8>> {
    let talk = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"thread.create","params":{"title":"t"}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"turn.start","params":{"threadId":"s1","input":[{"type":"text","text":"hello"}]}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"turn.start","params":{"threadId":"s1","input":[{"type":"text","text":"w"},{"type":"file","url":"file:///a","filename":"a","mime":"text/plain"}],"model":{"providerID":"p","modelID":"m"},"agent":"code"}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"approval.respond","params":{"requestId":"a9","decision":"once"}}"#,
        r#"{"jsonrpc":"2.0","id":"six","method":"turn.cancel","params":{"threadId":"s1"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"thread.get","params":{"threadId":"s1"}}"#,
        r#"{"jsonrpc":"2.0","id":8,"method":"thread.list"}"#,
        r#"{"jsonrpc":"2.0","method":"turn.cancel","params":{"threadId":"s1"}}"#,
        r#"{"jsonrpc":"2.0","id":9,"result":{}}"#,
        r#"[{"jsonrpc":"2.0","id":10,"method":"thread.list"}]"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"thread.list"}"#,
        r#"{"id":11,"method":"thread.list""#,
    ];
    let mut seeds: Vec<Vec<u8>> = talk.iter().map(|line| line.as_bytes().to_vec()).collect();
    seeds.push(talk.join("\n").into_bytes());
    seeds.push(talk[..4].join("\r\n").into_bytes());
    seeds.push([&[b'x'; LIMIT + 1][..], b"\n\xff\n"].concat());
    seeds
}
