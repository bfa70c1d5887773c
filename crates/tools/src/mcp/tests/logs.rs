//! No log at any level, and no status or error of a server, contains a value of its settings.

use std::{
    fmt::{self, Write as _},
    sync::Mutex,
};

use axum::{
    http::{HeaderMap, StatusCode, header},
    routing::any,
};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use super::*;

/// Records everything that is logged.
#[derive(Clone, Default)]
struct LogCapture(Arc<Mutex<String>>);

impl Visit for LogCapture {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0.lock().unwrap(), "{field}={value:?} ");
    }
}

impl Subscriber for LogCapture {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        span.record(&mut self.clone());
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
        self.0.lock().unwrap().push('\n');
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn no_variable_is_logged_or_reported() {
    let log = LogCapture::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    // Prints its variable to every output, and exits.
    let script = "printf 'key is %s\\033[0m\\n' \"$KEY\" >&2; echo \"$KEY\"; \
         echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"method\\\":\\\"$KEY\\\"}\"; \
         printf '%01020d%s' 0 \"$KEY\" >&2; exit 3";
    let spec = McpServerSpec {
        name: "s".to_owned(),
        transport: McpTransport::Stdio {
            command: "/bin/sh".to_owned(),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: vec![("KEY".to_owned(), Secret::new("hunter2-hunter2"))],
        },
    };
    let servers = SessionMcpServers::new(settings(std::path::Path::new("/")));
    servers.add(vec![spec]);
    servers.wait_until_settled().await;
    let status = wait_for_state(&servers, "s", McpState::Failed).await;
    servers.close();
    let told = status.error.unwrap();
    assert!(
        told.ends_with("0<sec…)")
            && told.contains("(exit code 3; stderr: key is <secret> [0m | 000"),
        "{told}"
    );
    let log = log.0.lock().unwrap();
    assert!(log.contains("stderr: key is <secret> [0m"), "{log}");
    assert!(
        !log.contains("hunter2") && !told.contains("hunter2"),
        "{log}\n{told}"
    );
    // Nor part of a value, where a long line was cut.
    assert!(
        !log.contains("hunt") && !told.contains("hunt"),
        "{log}\n{told}"
    );
}

#[tokio::test]
async fn no_secret_argument_is_logged_or_reported() {
    let log = LogCapture::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    // Prints its arguments, as a usage message does, and exits.
    let script = "printf 'usage: %s\\n' \"$*\" >&2; exit 3";
    let args = [
        "-c",
        script,
        "s",
        "--token",
        "hunter2-a",
        "--url=https://ada:hunter2-b@a.example/?k=hunter2-c",
        "--root",
        "/srv",
    ];
    let spec = McpServerSpec {
        name: "s".to_owned(),
        transport: McpTransport::Stdio {
            command: "/bin/sh".to_owned(),
            args: args.map(str::to_owned).into(),
            env: Vec::new(),
        },
    };
    let servers = SessionMcpServers::new(settings(std::path::Path::new("/")));
    servers.add(vec![spec]);
    servers.wait_until_settled().await;
    let status = wait_for_state(&servers, "s", McpState::Failed).await;
    servers.close();
    let told = status.error.unwrap();
    let expected =
        "usage: --token <secret> --url=https://ada:<secret>@a.example/?<secret> --root /srv";
    assert!(told.contains(expected), "{told}");
    let log = log.0.lock().unwrap();
    assert!(log.contains(expected), "{log}");
    assert!(!log.contains("hunter2"), "{log}");
}

#[tokio::test]
async fn no_header_is_logged_or_reported() {
    let log = LogCapture::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    // Returns its header in every way it can.
    let echo = async |headers: HeaderMap| {
        let key = headers["x-key"].to_str().unwrap().to_owned();
        (StatusCode::BAD_REQUEST, [("x-echo", key.clone())], key)
    };
    let garbage = async |headers: HeaderMap| {
        let key = headers["x-key"].to_str().unwrap().to_owned();
        let kind = [(header::CONTENT_TYPE, "text/event-stream")];
        (
            kind,
            format!("data: {{\"method\": {key:?}}}\n\ndata: {key}\n\n"),
        )
    };
    let router = axum::Router::new()
        .route("/echo", any(echo))
        .route("/garbage", any(garbage));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let servers = SessionMcpServers::new(settings(std::path::Path::new("/")));
    let spec = |name: &str| McpServerSpec {
        name: name.to_owned(),
        transport: McpTransport::Http {
            url: format!("http://{address}/{name}?key=hunter2-too"),
            headers: vec![("X-Key".to_owned(), Secret::new("Bearer hunter2"))],
        },
    };
    servers.add(vec![spec("echo"), spec("garbage")]);
    let echoed = wait_for_state(&servers, "echo", McpState::Failed).await;
    let garbled = wait_for_state(&servers, "garbage", McpState::Failed).await;
    servers.close();
    let told = "a request to it failed: HTTP 400 Bad Request <secret>";
    assert_eq!(echoed.error.as_deref(), Some(told));
    let log = log.0.lock().unwrap();
    assert!(log.contains(told), "{log}");
    assert!(!log.contains("hunter2"), "{log}");
    assert!(!garbled.error.unwrap().contains("hunter2"));
}
