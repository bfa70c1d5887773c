//! Tests of WebSocket connections, with and without TLS, and of servers that do not answer.

use std::{fs, path::PathBuf};

use serde_json::json;
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};
use tokio_tungstenite::{
    accept_hdr_async,
    tungstenite::{
        handshake::server::{ErrorResponse, Request, Response},
        http::Response as HttpResponse,
    },
};

use super::{
    super::{
        address::parse_url,
        servers::{ListScope, query_servers},
    },
    *,
};

fn remote(url_text: &str, token: &str, ca: Option<PathBuf>) -> ServerAddress {
    ServerAddress::Url(RemoteAddress {
        url: parse_url(url_text).unwrap(),
        token: token.to_owned(),
        ca,
    })
}

/// Accepts one client with the right token and answers its requests.
async fn serve<S: AsyncRead + AsyncWrite + Unpin>(stream: S) {
    #[allow(clippy::result_large_err, reason = "the library wants it so")]
    let check = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        let known = request.headers().get("authorization");
        let known = known.is_some_and(|it| it == "Bearer right");
        match known && request.uri().path() == "/acp" {
            true => Ok(response),
            false => {
                let refused = HttpResponse::builder().status(StatusCode::UNAUTHORIZED);
                Err(refused.body(None).unwrap())
            }
        }
    };
    let Ok(mut socket) = accept_hdr_async(stream, check).await else {
        return;
    };
    while let Some(Ok(Message::Text(text))) = socket.next().await {
        let request: serde_json::Value = serde_json::from_str(&text).unwrap();
        let sessions = json!([{"sessionId": "s", "cwd": "/w",
                               "_meta": {"harn": {"liveState": "live", "activePrompt": false, "clientCount": 0,
                                                  "attachableRoles": []}}},
                              {"sessionId": "t", "cwd": "/w"}]);
        let result = json!({"sessions": sessions});
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        // One message may contain several lines.
        let note = json!({"jsonrpc": "2.0", "method": "x"});
        socket
            .send(Message::text(format!("{note}\n{answer}\n")))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_web_socket_requires_the_right_token() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    let address = |token| remote(&format!("ws://127.0.0.1:{port}"), token, None);
    let mut answers =
        query_servers(vec![address("right"), address("wrong")], ListScope::Live).await;
    let refused = answers.pop().unwrap().unwrap_err();
    assert!(matches!(refused, NoConnection::Token(_)), "{refused}");
    let server = answers.pop().unwrap().unwrap();
    assert_eq!(server.sessions.len(), 1);
    let all = query_servers(vec![address("right")], ListScope::All).await;
    assert_eq!(all[0].as_ref().unwrap().sessions.len(), 2);
    assert!(!format!("{:?}", address("right")).contains("right"));
}

#[tokio::test]
async fn tls_requires_a_trusted_authority() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                serve(stream).await;
            }
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let ca = dir.path().join("ca.pem");
    fs::write(&ca, made.cert.pem()).unwrap();
    let address = |ca| remote(&format!("wss://localhost:{port}/acp"), "right", ca);
    let trusted = AttachConnection::connect(&address(Some(ca))).await;
    assert!(trusted.is_ok(), "{:?}", trusted.err());
    drop(trusted);
    let unknown = AttachConnection::connect(&address(None))
        .await
        .err()
        .unwrap();
    assert!(matches!(unknown, NoConnection::Tls(..)), "{unknown}");
    let empty = dir.path().join("empty.pem");
    fs::write(&empty, "").unwrap();
    let wrong = AttachConnection::connect(&address(Some(empty)))
        .await
        .err()
        .unwrap();
    assert!(
        wrong.to_string().contains("no certificate in PEM"),
        "{wrong}"
    );
}

#[tokio::test]
async fn a_dead_socket_is_reported_as_unreachable() {
    let dir = tempfile::tempdir().unwrap();
    let live = dir.path().join("live");
    fs::create_dir_all(&live).unwrap();
    // A killed server leaves its socket file.
    drop(UnixListener::bind(live.join("1.sock")).unwrap());
    fs::write(live.join("README"), "").unwrap();
    let addresses = super::super::address::list_sockets(dir.path());
    assert_eq!(addresses.len(), 1);
    let asked = query_servers(addresses, ListScope::All).await;
    assert!(matches!(asked[0], Err(NoConnection::Nobody(_))));
    assert!(super::super::address::list_sockets(&live).is_empty());
}
