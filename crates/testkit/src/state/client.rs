//! The client of a socket: sends commands, receives frames and folds them into its copy.

use std::{sync::OnceLock, time::Duration};

use futures::{FutureExt, SinkExt, StreamExt};
use jsonschema::Validator;
use serde_json::{Value, json};
use tokio::{io::DuplexStream, time::timeout};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Error, Message},
};

use super::SocketTranscript;
use crate::{RecordDirection, must, state_fold};

/// How long a client waits for an expected frame.
const PATIENCE: Duration = Duration::from_secs(20);
/// The silence after which no more frames are expected. Shorter than the keep-alive interval of a socket.
const QUIET: Duration = Duration::from_secs(3);

/// A frame that a client received.
#[derive(Clone, Debug, PartialEq)]
pub enum ReceivedFrame {
    /// The whole document.
    State,
    /// The operations of a change, as received.
    Delta(Value),
    /// An error of the server about the client's input.
    Error(String),
    /// The close frame, with its code and reason.
    Closed(u16, String),
}

/// A socket and its client's copy of the document.
///
/// # Panics
///
/// Every method panics and shows the transcript so far, if a frame is invalid, an unexpected frame arrives, or
/// none within its patience.
pub struct StateClient {
    socket: WebSocketStream<DuplexStream>,
    path: &'static str,
    tape: SocketTranscript,
    speaker: usize,
    copy: Value,
    closed: bool,
}

impl StateClient {
    pub(super) fn new(
        socket: WebSocketStream<DuplexStream>,
        path: &'static str,
        tape: SocketTranscript,
        speaker: usize,
    ) -> Self {
        Self {
            socket,
            path,
            tape,
            speaker,
            copy: Value::Null,
            closed: false,
        }
    }

    /// Returns the document, as far as it was read.
    pub fn state(&self) -> &Value {
        &self.copy
    }

    /// Returns the id of the session.
    pub fn session(&self) -> String {
        self.text("/session/id").to_owned()
    }

    /// Returns the text at a pointer in the document; empty if there is none.
    pub fn text(&self, pointer: &str) -> &str {
        let value = self.copy.pointer(pointer);
        value.and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the messages, each as `role status content`.
    pub fn messages(&self) -> Vec<String> {
        let messages = self.copy["messages"].as_array().into_iter().flatten();
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let told = messages.map(|it| {
            let (role, status) = (word(&it["role"]), word(&it["status"]));
            format!("{role} {status} {}", word(&it["content"]))
        });
        told.collect()
    }

    /// Sends commands in one frame, which must match the schema.
    pub async fn send(&mut self, commands: Value) {
        let frame = json!({"type": "commands", "commands": commands});
        if let Err(problem) = validators().commands.validate(&frame) {
            self.fail(&format!("{frame} is not a client frame: {problem}"));
        }
        self.send_raw(&frame.to_string()).await;
    }

    /// Sends one command.
    pub async fn command(&mut self, command: Value) {
        self.send(json!([command])).await;
    }

    /// Submits a prompt to the agent.
    pub async fn submit(&mut self, prompt: &str) {
        self.command(json!({"type": "submit", "prompt": prompt}))
            .await;
    }

    /// Sends text unchanged.
    pub async fn send_raw(&mut self, text: &str) {
        let line = text.as_bytes();
        self.tape
            .record_line(self.speaker, RecordDirection::ToAgent, line);
        self.send_message(Message::text(text)).await;
    }

    /// Sends any message without recording it.
    pub async fn send_message(&mut self, message: Message) {
        match timeout(PATIENCE, self.socket.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.fail(&format!("cannot send: {error}")),
            Err(_) => self.fail("the server does not read"),
        }
    }

    /// Expects the document as the first frame.
    pub(super) async fn read_document(mut self) -> Self {
        let first = self.next().await;
        if first != ReceivedFrame::State {
            self.fail(&format!("the first frame is not the document: {first:?}"));
        }
        self
    }

    /// Returns the next frame, folded into the copy.
    pub async fn next(&mut self) -> ReceivedFrame {
        match timeout(PATIENCE, self.read()).await {
            Ok(frame) => frame,
            Err(_) => self.fail("no message arrived in time"),
        }
    }

    /// Collects frames until no more arrive; fails on an error.
    pub async fn read_until_quiet(&mut self) -> Vec<ReceivedFrame> {
        let mut frames = Vec::new();
        while let Ok(frame) = timeout(QUIET, self.read()).await {
            if let ReceivedFrame::Error(message) = &frame {
                self.fail(&format!("unexpected error: {message}"));
            }
            let closed = matches!(frame, ReceivedFrame::Closed(..));
            frames.push(frame);
            if closed {
                break;
            }
        }
        frames
    }

    /// Reads until the document satisfies `is_so`.
    pub async fn read_until(&mut self, is_so: impl Fn(&Value) -> bool) {
        while !is_so(&self.copy) {
            match self.next().await {
                ReceivedFrame::State | ReceivedFrame::Delta(_) => {}
                other @ (ReceivedFrame::Error(_) | ReceivedFrame::Closed(..)) => {
                    self.fail(&format!("unexpected {other:?}"));
                }
            }
        }
    }

    /// Reads until the status of the document is this.
    pub async fn read_until_status(&mut self, status: &str) {
        self.read_until(|state| state["status"] == status).await;
    }

    /// Reads until an error arrives; returns its message.
    pub async fn read_error(&mut self) -> String {
        loop {
            match self.next().await {
                ReceivedFrame::State | ReceivedFrame::Delta(_) => {}
                ReceivedFrame::Error(message) => return message,
                ReceivedFrame::Closed(code, reason) => {
                    self.fail(&format!("closed with {code} {reason}"));
                }
            }
        }
    }

    /// Reads until the server closes the socket; returns the code and the reason.
    pub async fn read_close(&mut self) -> (u16, String) {
        loop {
            if let ReceivedFrame::Closed(code, reason) = self.next().await {
                return (code, reason);
            }
        }
    }

    /// Closes the socket and waits for the server's close frame.
    pub async fn close(mut self) {
        self.tape.record_note(self.speaker, "the client leaves");
        let said = timeout(PATIENCE, self.socket.close(None)).await;
        if !matches!(said, Ok(Ok(()))) {
            self.fail("the server does not read the close frame");
        }
        while !self.closed {
            if timeout(PATIENCE, self.read()).await.is_err() {
                self.fail("the server does not answer the close frame");
            }
        }
    }

    async fn read(&mut self) -> ReceivedFrame {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => return self.fold_frame(&text),
                Some(Ok(Message::Close(close))) => {
                    self.closed = true;
                    let close = close.map(|it| (it.code.into(), it.reason.to_string()));
                    let (code, reason) = close.unwrap_or((1005, String::new()));
                    let farewell = format!("closed: {code} {reason}");
                    self.tape.record_note(self.speaker, farewell.trim_end());
                    return ReceivedFrame::Closed(code, reason);
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_) | Message::Frame(_))) => {
                    self.fail("the server must send text frames")
                }
                None | Some(Err(Error::ConnectionClosed)) => {
                    self.closed = true;
                    return ReceivedFrame::Closed(1006, String::new());
                }
                Some(Err(error)) => self.fail(&format!("the connection broke: {error}")),
            }
        }
    }

    /// Records, validates and folds a frame.
    fn fold_frame(&mut self, text: &str) -> ReceivedFrame {
        let line = text.as_bytes();
        self.tape
            .record_line(self.speaker, RecordDirection::ToClient, line);
        let frame = serde_json::from_str(text);
        let mut frame: Value = frame
            .unwrap_or_else(|error| self.fail(&format!("the last frame is not JSON: {error}")));
        let schema = match self.path {
            "/ws" => &validators().frames,
            _ => &validators().sessions,
        };
        if let Err(problem) = schema.validate(&frame) {
            self.fail(&format!("the last frame is invalid: {problem}"));
        }
        match frame["type"].as_str() {
            Some("state") => {
                self.copy = frame["state"].take();
                ReceivedFrame::State
            }
            Some("delta") => {
                let operations = frame["operations"].take();
                if let Err(problem) = state_fold::apply_all(&mut self.copy, &operations) {
                    self.fail(&format!("the last frame is invalid: {problem}"));
                }
                let fits = json!({"type": "state", "state": self.copy});
                if let Err(problem) = schema.validate(&fits) {
                    self.fail(&format!(
                        "the last frame results in an invalid document: {problem}"
                    ));
                }
                ReceivedFrame::Delta(operations)
            }
            _ => ReceivedFrame::Error(frame["message"].as_str().unwrap_or_default().to_owned()),
        }
    }

    #[track_caller]
    fn fail(&self, problem: &str) -> ! {
        let transcript = self.tape.recorder.transcript();
        panic!("{problem}\n\nThe transcript so far:\n{transcript}");
    }
}

impl Drop for StateClient {
    fn drop(&mut self) {
        if self.closed || std::thread::panicking() {
            return;
        }
        // Unread frames have to be valid, too.
        while let Some(frame) = self.read().now_or_never() {
            match frame {
                ReceivedFrame::State | ReceivedFrame::Delta(_) => {}
                ReceivedFrame::Error(message) => {
                    self.fail(&format!("the test did not read an error: {message}"))
                }
                ReceivedFrame::Closed(..) => return,
            }
        }
    }
}

struct StateValidators {
    frames: Validator,
    commands: Validator,
    sessions: Validator,
}

fn validators() -> &'static StateValidators {
    static VALIDATORS: OnceLock<StateValidators> = OnceLock::new();
    let of = |name: &str| {
        let published = harn_state::published_schemas::SCHEMAS.iter();
        let schema = published.clone().find(|(file, _)| *file == name);
        let schema = schema.and_then(|(_, text)| serde_json::from_str(text).ok());
        let validator = jsonschema::validator_for(&schema.unwrap_or(Value::Null));
        must(validator, name)
    };
    VALIDATORS.get_or_init(|| StateValidators {
        frames: of("state-frames.schema.json"),
        commands: of("state-commands.schema.json"),
        sessions: of("state-sessions.schema.json"),
    })
}
