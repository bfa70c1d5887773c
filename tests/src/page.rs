//! A client of the state wire: it holds a copy of the document and folds into it what comes, by the rules of
//! the shipped library. What that one would stumble over is an error here.

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

/// See the module.
pub struct Page<S> {
    socket: WebSocketStream<S>,
    state: Value,
}

/// What a frame told.
#[derive(Debug)]
pub enum Told {
    /// The whole document.
    State,
    /// What changed of it.
    Delta,
    /// That something of ours was wrong.
    Error(String),
    /// That there will be nothing more, and why.
    Closed(Option<CloseFrame>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Page<S> {
    /// Comes in over a stream, and waits for the document. A server that does not let it in is an error that
    /// says what it said.
    pub async fn open(stream: S, request: impl IntoClientRequest + Unpin) -> Result<Self> {
        let mut page = Self::knock(stream, request).await?;
        match page.next().await? {
            Told::State => Ok(page),
            other => bail!("the first frame is no document: {other:?}"),
        }
    }

    /// Comes in, and does not wait for anything.
    pub async fn knock(stream: S, request: impl IntoClientRequest + Unpin) -> Result<Self> {
        let request: Request<()> = request.into_client_request()?;
        // A long session is one message.
        let config = WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        let (socket, _) = client_async_with_config(request, stream, Some(config)).await?;
        let state = Value::Null;
        Ok(Self { socket, state })
    }

    /// The document, as it is known here.
    pub fn state(&self) -> &Value {
        &self.state
    }

    /// The session's id.
    pub fn session(&self) -> &str {
        text(&self.state["session"]["id"])
    }

    /// The socket, for what a page would not do.
    pub fn socket(&mut self) -> &mut WebSocketStream<S> {
        &mut self.socket
    }

    /// Sends commands, in one frame.
    pub async fn send(&mut self, commands: Value) -> Result<()> {
        let frame = json!({"type": "commands", "commands": commands});
        Ok(self.socket.send(Message::text(frame.to_string())).await?)
    }

    /// Says something to the agent.
    pub async fn submit(&mut self, prompt: &str) -> Result<()> {
        let submit = json!({"type": "submit", "prompt": prompt});
        self.send(json!([submit])).await
    }

    /// Takes the next frame.
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
            return self.take(&frame);
        }
    }

    fn take(&mut self, frame: &str) -> Result<Told> {
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

    /// Takes frames until the document is like this; anything but the document is an error.
    pub async fn until(&mut self, like_this: impl Fn(&Value) -> bool) -> Result<&Value> {
        while !like_this(&self.state) {
            match self.next().await? {
                Told::State | Told::Delta => {}
                other @ (Told::Error(_) | Told::Closed(_)) => bail!("{other:?}"),
            }
        }
        Ok(&self.state)
    }

    /// Takes frames until one says that something was wrong: what it says.
    pub async fn until_error(&mut self) -> Result<String> {
        loop {
            match self.next().await? {
                Told::State | Told::Delta => {}
                Told::Error(words) => return Ok(words),
                Told::Closed(why) => bail!("closed: {why:?}"),
            }
        }
    }

    /// Takes frames until the server has closed: why.
    pub async fn until_closed(&mut self) -> Result<Option<CloseFrame>> {
        loop {
            if let Told::Closed(why) = self.next().await? {
                return Ok(why);
            }
        }
    }

    /// Says farewell, and waits until the server has let go.
    pub async fn leave(mut self) {
        // It may have been the first.
        let _ = self.socket.close(None).await;
        while let Some(Ok(_)) = self.socket.next().await {}
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
