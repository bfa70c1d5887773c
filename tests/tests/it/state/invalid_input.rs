//! Clients that send invalid commands. An error is answered with a message if possible, and the socket still
//! works; otherwise that socket alone is closed. No other client is affected.

use anyhow::{Context, Result, ensure};
use futures::SinkExt;
use harn_tests::Page;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream};
use tokio_tungstenite::tungstenite::{Message, protocol::frame::coding::CloseCode};

use crate::{state::server::Place, support_stress::in_time};

/// A text that no answer may repeat.
const SECRET: &str = "swordfish";

fn place() -> Result<Place> {
    Place::new(json!([{"steps": [{"say": "yes"}]}]))
}

#[tokio::test]
async fn invalid_frames_are_answered_with_a_message() -> Result<()> {
    let place = place()?;
    let server = place.start().await?;
    let mut page = server.page(None).await?;
    for (frame, words) in invalid_frames() {
        page.socket().send(Message::text(frame.as_str())).await?;
        let shown: String = frame.chars().take(80).collect();
        let said = in_time("words", page.read_until_error()).await?;
        let said = said.with_context(|| shown.clone())?;
        ensure!(said.contains(words), "{shown}: {said}");
        ensure!(!said.contains(SECRET), "it was repeated: {said}");
        ensure!(said.len() < 400, "{shown}: {} bytes", said.len());
    }
    check_works(&mut page).await?;
    page.leave().await;
    server.end().await
}

/// Frames, and a part of the message about each.
fn invalid_frames() -> Vec<(String, &'static str)> {
    let commands = |commands: Value| json!({"type": "commands", "commands": commands}).to_string();
    let one = |command: Value| commands(json!([command]));
    let deep = "[".repeat(100_000);
    vec![
        (String::new(), "not JSON"),
        (SECRET.to_owned(), "not JSON"),
        (format!("{{\"type\":\"{SECRET}"), "not JSON"),
        (deep, "not JSON"),
        ("null".to_owned(), "does not contain commands"),
        ("[]".to_owned(), "does not contain commands"),
        ("7".to_owned(), "does not contain commands"),
        (
            json!({"type": SECRET}).to_string(),
            "does not contain commands",
        ),
        (
            json!({"type": "commands"}).to_string(),
            "does not contain commands",
        ),
        (
            json!({"commands": []}).to_string(),
            "does not contain commands",
        ),
        (commands(json!({})), "does not contain commands"),
        (commands(json!(SECRET)), "does not contain commands"),
        (
            json!({"type": "state", "state": {}}).to_string(),
            "does not contain commands",
        ),
        (commands(json!(vec![json!({"type": "cancel"}); 65])), "64"),
        (one(json!(null)), "unknown command type"),
        (one(json!({"type": SECRET})), "unknown command type"),
        (one(json!({"type": 7})), "unknown command type"),
        (
            one(json!({"type": "Submit", "prompt": "x"})),
            "unknown command type",
        ),
        (one(json!({"type": "submit"})), "invalid command submit"),
        (
            one(json!({"type": "submit", "prompt": 7})),
            "invalid command submit",
        ),
        (
            one(json!({"type": "submit", "prompt": {"x": SECRET}})),
            "invalid command submit",
        ),
        (one(json!({"type": "submit", "prompt": " \n"})), "empty"),
        (one(json!({"type": "steer", "message": ""})), "empty"),
        (one(json!({"type": "approve"})), "invalid command approve"),
        (
            one(json!({"type": "approve", "toolCallId": SECRET})),
            "no open question",
        ),
        (
            one(json!({"type": "deny", "toolCallId": SECRET})),
            "no open question",
        ),
        (
            one(json!({"type": "resume", "sessionId": SECRET})),
            "unknown session",
        ),
        (
            one(json!({"type": "resume", "sessionId": "../../etc/passwd"})),
            "unknown session",
        ),
        (
            one(json!({"type": "configure", "config": {"permissionMode": "king"}})),
            "",
        ),
        (
            one(json!({"type": "configure", "config": {"colour": "x"}})),
            "",
        ),
        (
            one(json!({"type": "answer", "questionId": "none", "answer": "x"})),
            "",
        ),
        (one(json!({"type": "withdraw", "messageId": "none"})), ""),
        (one(json!({"type": "takeover"})), "needs a name"),
        (one(json!({"type": "handback"})), "needs a name"),
    ]
}

#[tokio::test]
async fn invalid_command_does_not_affect_the_others_in_its_frame() -> Result<()> {
    let place = place()?;
    let server = place.start().await?;
    let mut page = server.page(None).await?;
    let commands = json!([
        {"type": "nonsense"},
        {"type": "submit", "prompt": "Are you there?"},
        {"type": "submit"},
    ]);
    page.send(commands).await?;
    for words in ["unknown command type", "invalid command submit"] {
        let said = in_time("words", page.read_until_error()).await??;
        ensure!(said.contains(words), "{said}");
    }
    let answered = |it: &Value| it["messages"][1]["content"] == "yes" && it["status"] == "idle";
    in_time("the answer", page.read_until(answered)).await??;
    page.leave().await;
    server.end().await
}

#[tokio::test]
async fn invalid_websocket_frame_closes_only_its_own_socket() -> Result<()> {
    let place = place()?;
    let server = place.start().await?;
    let mut other = server.page(None).await?;
    let session = other.session().to_owned();
    // Masked with zeros where a mask is required, which leaves the bytes as they are.
    let masked = |head: &[u8], body: &[u8]| [head, &[0; 4], body].concat();
    let too_long = (17_u64 * 1024 * 1024).to_be_bytes();
    let bytes: Vec<(&str, Vec<u8>, Option<CloseCode>)> = vec![
        ("no mask", b"\x81\x02{}".to_vec(), Some(CloseCode::Protocol)),
        (
            "a reserved kind",
            masked(b"\x83\x80", b""),
            Some(CloseCode::Protocol),
        ),
        (
            "reserved bits",
            masked(b"\xf1\x80", b""),
            Some(CloseCode::Protocol),
        ),
        (
            "no UTF-8",
            masked(b"\x81\x82", b"\xff\xfe"),
            Some(CloseCode::Invalid),
        ),
        (
            "the rest of nothing",
            masked(b"\x80\x82", b"{}"),
            Some(CloseCode::Protocol),
        ),
        (
            "a long ping",
            masked(b"\x89\xfe\x00\x7e", &[0; 126]),
            Some(CloseCode::Protocol),
        ),
        (
            "too long",
            [&b"\x81\xff"[..], &too_long, &[0; 4]].concat(),
            Some(CloseCode::Size),
        ),
        (
            "binary",
            masked(b"\x82\x82", b"{}"),
            Some(CloseCode::Unsupported),
        ),
        (
            "noise",
            (0..4096_u32).map(|it| (it * 7919 % 251) as u8).collect(),
            None,
        ),
    ];
    for (what, bytes, code) in bytes {
        let mut page = server.page(Some(&session)).await?;
        page.socket().get_mut().write_all(&bytes).await?;
        let over = in_time(what, page.read_until_closed()).await?;
        if let Some(code) = code {
            let why = over.context(what)?.context(what)?;
            ensure!(why.code == code, "{what}: {why}");
            ensure!(!why.reason.is_empty(), "{what}: no words");
        }
    }
    // Half a frame without the rest, and a socket that is dropped without a close.
    let mut half = server.page(Some(&session)).await?;
    half.socket().get_mut().write_all(b"\x81").await?;
    drop(server.page(Some(&session)).await?);
    check_works(&mut other).await?;
    drop(half);
    other.leave().await;
    server.end().await
}

#[tokio::test]
async fn flooding_client_is_closed_with_a_request_to_go_slower() -> Result<()> {
    let place = place()?;
    let server = place.start().await?;
    let mut other = server.page(None).await?;
    let mut page = server.page(Some(other.session())).await?;
    let cancel = json!({"type": "commands", "commands": [{"type": "cancel"}]}).to_string();
    for _ in 0..1000 {
        // The server may close the socket earlier.
        if page
            .socket()
            .feed(Message::text(cancel.as_str()))
            .await
            .is_err()
        {
            break;
        }
    }
    let _ = page.socket().flush().await;
    let why = in_time("the end", page.read_until_closed()).await??;
    let why = why.context("no farewell")?;
    ensure!(why.code == CloseCode::Policy, "{why}");
    ensure!(why.reason.contains("slow down"), "{why}");
    check_works(&mut other).await?;
    other.leave().await;
    server.end().await
}

#[tokio::test]
async fn invalid_handshake_is_rejected_with_a_message() -> Result<()> {
    let place = place()?;
    let server = place.start().await?;
    let long = "x".repeat(65);
    for (path, status, words) in [
        ("/ws?session=nowhere", 404, "unknown session"),
        ("/ws?session=../../etc/passwd", 404, "unknown session"),
        ("/ws?session=a&session=b", 400, "more than once"),
        ("/ws?cwd=relative", 400, "absolute"),
        ("/ws?cwd=/nowhere/at/all", 400, "existing"),
        ("/ws?role=king", 400, "observer"),
        ("/ws?client=a%20b", 400, "a name"),
        (&format!("/ws?client={long}"), 400, "a name"),
        ("/ws?client=%ff", 400, "UTF-8"),
        ("/ws?session=%ff", 400, "UTF-8"),
    ] {
        let (got, said) = server
            .request_rejection(path)
            .await
            .with_context(|| path.to_owned())?;
        ensure!(
            got == status && said.contains(words),
            "{path}: {got} {said}"
        );
    }
    server.end().await
}

/// Checks that an ordinary prompt is answered.
async fn check_works(page: &mut Page<TcpStream>) -> Result<()> {
    let before = page.state()["messages"].as_array().map_or(0, Vec::len);
    page.submit("Are you there?").await?;
    let answered = page.read_until(|it| {
        let answer = &it["messages"][before + 1];
        answer["content"] == "yes" && it["status"] == "idle"
    });
    in_time("the answer", answered).await??;
    Ok(())
}
