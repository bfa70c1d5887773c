//! A client of the state wire. It stores a copy of the document and applies each frame to it with the rules of
//! the shipped library; a frame that breaks those rules is an error.

use anyhow::{Context, Result, bail, ensure};
use futures::{SinkExt, StreamExt};
use harn_testkit::state_fold;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        Message,
        client::IntoClientRequest,
        http::Request,
        protocol::{CloseFrame, WebSocketConfig},
    },
};

/// A WebSocket client with its copy of the document.
pub struct Page<S> {
    socket: WebSocketStream<S>,
    state: Value,
}

/// The content of one frame, as [`Page::next`] returns it.
#[derive(Debug)]
pub enum Told {
    /// The whole document.
    State,
    /// Operations that changed the document.
    Delta,
    /// The server rejected a frame or a command; its message.
    Error(String),
    /// The socket is closed, with the close frame if the server sent one.
    Closed(Option<CloseFrame>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Page<S> {
    /// Connects over a stream and waits for the document. A rejected connection is an error with the server's message.
    pub async fn open(stream: S, request: impl IntoClientRequest + Unpin) -> Result<Self> {
        let mut page = Self::connect(stream, request).await?;
        match page.next().await? {
            Told::State => Ok(page),
            other => bail!("the first frame is no document: {other:?}"),
        }
    }

    /// Connects without waiting for a frame.
    pub async fn connect(stream: S, request: impl IntoClientRequest + Unpin) -> Result<Self> {
        let request: Request<()> = request.into_client_request()?;
        // A long session is one message.
        let config = WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        let (socket, _) = client_async_with_config(request, stream, Some(config)).await?;
        let state = Value::Null;
        Ok(Self { socket, state })
    }

    /// The local copy of the document.
    pub fn state(&self) -> &Value {
        &self.state
    }

    /// The session's id.
    pub fn session(&self) -> &str {
        text(&self.state["session"]["id"])
    }

    /// The raw socket, for frames that a page would not send.
    pub fn socket(&mut self) -> &mut WebSocketStream<S> {
        &mut self.socket
    }

    /// Sends commands, in one frame.
    pub async fn send(&mut self, commands: Value) -> Result<()> {
        let frame = json!({"type": "commands", "commands": commands});
        Ok(self.socket.send(Message::text(frame.to_string())).await?)
    }

    /// Submits a prompt.
    pub async fn submit(&mut self, prompt: &str) -> Result<()> {
        let submit = json!({"type": "submit", "prompt": prompt});
        self.send(json!([submit])).await
    }

    /// Reads the next frame and applies it to the document.
    pub async fn next(&mut self) -> Result<Told> {
        loop {
            let frame = match self.socket.next().await {
                None => return Ok(Told::Closed(None)),
                Some(Ok(Message::Text(frame))) => frame,
                Some(Ok(Message::Close(why))) => return Ok(Told::Closed(why)),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(other)) => bail!("no frame of this wire: {other:?}"),
                Some(Err(error)) => return Err(error.into()),
            };
            return self.apply_frame(&frame);
        }
    }

    fn apply_frame(&mut self, frame: &str) -> Result<Told> {
        let mut frame: Value = serde_json::from_str(frame)?;
        match frame["type"].as_str() {
            Some("state") => {
                self.state = frame["state"].take();
                Ok(Told::State)
            }
            Some("delta") => {
                let operations = frame["operations"].as_array();
                let operations = operations.context("a delta has operations")?;
                ensure!(!operations.is_empty(), "a delta tells nothing");
                for operation in operations {
                    let folded = state_fold::apply(&mut self.state, operation);
                    folded.map_err(|why| anyhow::anyhow!("{why}: {operation}"))?;
                }
                Ok(Told::Delta)
            }
            Some("error") => Ok(Told::Error(text(&frame["message"]).to_owned())),
            _ => bail!("no frame of this wire: {frame}"),
        }
    }

    /// Reads frames until the document satisfies the predicate. An error frame or a close is an error.
    pub async fn read_until(&mut self, like_this: impl Fn(&Value) -> bool) -> Result<&Value> {
        while !like_this(&self.state) {
            match self.next().await? {
                Told::State | Told::Delta => {}
                other @ (Told::Error(_) | Told::Closed(_)) => bail!("{other:?}"),
            }
        }
        Ok(&self.state)
    }

    /// Reads frames until an error frame and returns its message.
    pub async fn read_until_error(&mut self) -> Result<String> {
        loop {
            match self.next().await? {
                Told::State | Told::Delta => {}
                Told::Error(words) => return Ok(words),
                Told::Closed(why) => bail!("closed: {why:?}"),
            }
        }
    }

    /// Reads frames until the server closes the socket and returns its close frame.
    pub async fn read_until_closed(&mut self) -> Result<Option<CloseFrame>> {
        loop {
            if let Told::Closed(why) = self.next().await? {
                return Ok(why);
            }
        }
    }

    /// Sends a close frame and waits until the server closes the socket.
    pub async fn leave(mut self) {
        // The server may have closed first.
        let _ = self.socket.close(None).await;
        while let Some(Ok(_)) = self.socket.next().await {}
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
