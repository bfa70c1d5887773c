//! The floor of a document over a WebSocket: a bare tungstenite server that sends the content of a file to each
//! client, as one message.
//!
//! `floor-ws ADDRESS FILE`; runs until it is killed.

use std::{fs, io};

use futures::{SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{
    accept_async,
    tungstenite::{Error, Message, Utf8Bytes},
};

#[tokio::main]
async fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let wrong = || io::Error::other("usage: floor-ws ADDRESS FILE");
    let address = args.next().ok_or_else(wrong)?;
    let text = Utf8Bytes::from(fs::read_to_string(args.next().ok_or_else(wrong)?)?);
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        // A client that disconnects early does not affect the others.
        tokio::spawn(send_text(stream, text.clone()));
    }
}

async fn send_text(stream: TcpStream, text: Utf8Bytes) -> Result<(), Error> {
    let mut socket = accept_async(stream).await?;
    socket.send(Message::Text(text)).await?;
    while let Some(message) = socket.next().await {
        message?;
    }
    Ok(())
}
