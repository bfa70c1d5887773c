//! The table of rejected requests: each receives a 4xx, and none reaches the runtime.

use serde_json::json;

use super::server::{
    EVE, OWNER, TestServer, TestServerConfig, client, client_builder, initialize_request,
};

/// A valid request, one for each route.
struct RouteRequest {
    name: &'static str,
    method: &'static str,
    path: &'static str,
    headers: Vec<(&'static str, String)>,
    body: String,
    served: u16,
}

enum RequestChange {
    Without(&'static str),
    With(&'static str, String),
    /// Adds the header a second time.
    Also(&'static str, String),
    Path(&'static str),
}

impl RouteRequest {
    fn to_text(&self, changes: &[RequestChange]) -> String {
        let (mut headers, mut path) = (self.headers.clone(), self.path);
        for change in changes {
            match change {
                RequestChange::Without(name) => headers.retain(|(known, _)| known != name),
                RequestChange::With(name, value) => {
                    headers.retain(|(known, _)| known != name);
                    headers.push((name, value.clone()));
                }
                RequestChange::Also(name, value) => headers.push((name, value.clone())),
                RequestChange::Path(other) => path = other,
            }
        }
        let mut text = format!("{} {path} HTTP/1.1\r\n", self.method);
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!(
            "content-length: {}\r\n\r\n{}",
            self.body.len(),
            self.body
        ));
        text
    }
}

fn routes(server: &TestServer, connection: &str, session: &str) -> Vec<RouteRequest> {
    let base = |more: &[(&'static str, &str)]| {
        let mut headers = vec![
            ("host", server.address.to_string()),
            ("authorization", format!("Bearer {OWNER}")),
        ];
        headers.extend(
            more.iter()
                .map(|(name, value)| (*name, (*value).to_owned())),
        );
        headers
    };
    let json = ("content-type", "application/json");
    let upgrade = [
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let to_connection = ("acp-connection-id", connection);
    let events = ("accept", "text/event-stream");
    let prompt = json!({"jsonrpc": "2.0", "id": 77, "method": "session/prompt", "params": {
        "sessionId": session, "prompt": [{"type": "text", "text": "count 1"}],
    }});
    let route = |name, method, headers, body: String, served| RouteRequest {
        name,
        method,
        path: "/acp",
        headers,
        body,
        served,
    };
    vec![
        route("websocket", "GET", base(&upgrade), String::new(), 101),
        route(
            "initialize",
            "POST",
            base(&[json]),
            initialize_request().to_string(),
            200,
        ),
        route(
            "post",
            "POST",
            base(&[json, to_connection]),
            prompt.to_string(),
            202,
        ),
        route(
            "stream",
            "GET",
            base(&[events, to_connection]),
            String::new(),
            200,
        ),
        route(
            "session stream",
            "GET",
            base(&[events, to_connection, ("acp-session-id", session)]),
            String::new(),
            200,
        ),
        route("nowhere", "GET", base(&[]), String::new(), 404),
        route(
            "delete",
            "DELETE",
            base(&[to_connection]),
            String::new(),
            202,
        ),
    ]
    .into_iter()
    .map(|mut route| {
        if route.name == "nowhere" {
            route.path = "/other";
        }
        route
    })
    .collect()
}

#[tokio::test]
async fn every_route_rejects_unauthorized_requests() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let mut owner = server.initialize(OWNER).await;
    let (session, own) = owner.create_session(server.dir.path()).await;
    drop(own);
    let before = server.count_reached();
    let port = server.address.port();
    let host = |name: &str| RequestChange::With("host", format!("{name}:{port}"));
    let origin = |origin: &str| vec![RequestChange::With("origin", origin.to_owned())];
    let token = |value: &str| vec![RequestChange::With("authorization", value.to_owned())];
    let offered = |value: &str| {
        let offered = RequestChange::With("sec-websocket-protocol", value.to_owned());
        vec![RequestChange::Without("authorization"), offered]
    };
    let table = [
        ("a foreign host", vec![host("evil.example")], 421),
        (
            "a host that begins like ours",
            vec![host("127.0.0.1.evil.example")],
            421,
        ),
        (
            "our host, another port",
            vec![RequestChange::With("host", "127.0.0.1:1".into())],
            421,
        ),
        ("no host", vec![RequestChange::Without("host")], 400),
        (
            "two hosts",
            vec![RequestChange::Also("host", server.address.to_string())],
            421,
        ),
        ("a foreign origin", origin("http://evil.example"), 403),
        (
            "an origin of another scheme",
            origin(&format!("https://127.0.0.1:{port}")),
            403,
        ),
        (
            "an origin of another port",
            origin("http://127.0.0.1:1"),
            403,
        ),
        ("the origin null", origin("null"), 403),
        ("an empty origin", origin(""), 403),
        (
            "two origins",
            vec![
                RequestChange::With("origin", "https://app.example".into()),
                RequestChange::Also("origin", "https://app.example".into()),
            ],
            403,
        ),
        (
            "no token",
            vec![RequestChange::Without("authorization")],
            401,
        ),
        (
            "a wrong token",
            token("Bearer owners-token-0123456780"),
            401,
        ),
        (
            "half of the token",
            token(&format!("Bearer {}", &OWNER[..20])),
            401,
        ),
        ("an empty token", token("Bearer "), 401),
        ("a token without its scheme", token(OWNER), 401),
        (
            "a token of another scheme",
            token(&format!("Basic {OWNER}")),
            401,
        ),
        (
            "two tokens",
            vec![RequestChange::Also(
                "authorization",
                format!("Bearer {OWNER}"),
            )],
            401,
        ),
        (
            "the token in the URL",
            vec![
                RequestChange::Without("authorization"),
                RequestChange::Path(
                    "/acp?token=owners-token-0123456789&access_token=owners-token-0123456789",
                ),
            ],
            401,
        ),
        (
            "the token in a cookie",
            vec![
                RequestChange::Without("authorization"),
                RequestChange::With("cookie", format!("token={OWNER}; harn={OWNER}")),
            ],
            401,
        ),
        (
            "the token in our cookie",
            vec![
                RequestChange::Without("authorization"),
                RequestChange::With("cookie", format!("harn-{port}={OWNER}")),
                RequestChange::With("origin", format!("http://127.0.0.1:{port}")),
            ],
            401,
        ),
        (
            "a wrong token as a protocol",
            offered("acp, harn.bearer.wrong-token-0123456789"),
            401,
        ),
        (
            "a token as a protocol without its name",
            offered(&format!("acp, {OWNER}")),
            401,
        ),
    ];
    for route in routes(&server, &owner.connection, &session) {
        for (what, changes, status) in &table {
            let answer = server.send_raw(&route.to_text(changes)).await;
            assert_eq!(
                answer.status, *status,
                "{} with {what}: {answer:?}",
                route.name
            );
            let said = format!("{}{}", answer.head, answer.body);
            assert!(!said.contains("token-0123456789"), "{said}");
            assert!(
                !answer.body.is_empty(),
                "{} with {what} says nothing",
                route.name
            );
        }
        // Only a WebSocket has protocols.
        if route.name != "websocket" {
            let changes = offered(&format!("acp, harn.bearer.{OWNER}"));
            assert_eq!(server.send_raw(&route.to_text(&changes)).await.status, 401);
        }
    }
    let after = server.count_reached();
    assert_eq!(
        (before.0 + 1, before.1, before.2),
        after,
        "something reached the runtime"
    );

    // Each request is served unchanged, under another host name, and for a page with an allowed origin.
    let welcome = [
        vec![],
        vec![RequestChange::With("host", format!("localhost:{port}"))],
        vec![RequestChange::With("host", "box.example".into())],
        vec![RequestChange::With(
            "origin",
            format!("http://localhost:{port}"),
        )],
        vec![RequestChange::With("origin", "https://app.example".into())],
        vec![RequestChange::With("cookie", "affinity=7".into())],
    ];
    for changes in &welcome {
        for route in routes(&server, &owner.connection, &session) {
            if route.name == "delete" {
                continue;
            }
            let answer = server.send_raw(&route.to_text(changes)).await;
            assert_eq!(answer.status, route.served, "{}: {answer:?}", route.name);
        }
    }
    for route in routes(&server, &owner.connection, &session) {
        if route.name == "delete" {
            assert_eq!(server.send_raw(&route.to_text(&[])).await.status, 202);
            assert_eq!(server.send_raw(&route.to_text(&[])).await.status, 404);
        }
    }
}

#[tokio::test]
async fn connection_and_session_ids_are_no_credentials() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let mut owner = server.initialize(OWNER).await;
    let (session, _own) = owner.create_session(server.dir.path()).await;
    let mut events = owner.open_stream(Some(&session), None).await.unwrap();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "ask 1"}]});
    let asked = owner.request("session/prompt", prompt).await;
    let ask = loop {
        let (_, line) = events.next().await.unwrap();
        if line["method"] == "session/request_permission" {
            break line["id"].clone();
        }
    };
    let mut eve = server.initialize(EVE).await;
    let (own, _streams) = eve.create_session(server.dir.path()).await;
    let mut thief = server.initialize(EVE).await;
    let before = server.count_reached();

    // Eve's token with the owner's connection.
    thief.connection.clone_from(&owner.connection);
    assert_eq!(thief.open_stream(None, None).await.err(), Some(404));
    assert_eq!(
        thief.open_stream(Some(&session), None).await.err(),
        Some(404)
    );
    assert_eq!(
        thief
            .post(&json!({"jsonrpc": "2.0", "id": 1, "method": "session/list"}))
            .await,
        404
    );
    let delete = client().delete(&thief.url).bearer_auth(EVE);
    let delete = delete.header("acp-connection-id", &thief.connection);
    assert_eq!(delete.send().await.unwrap().status(), 404);

    // Eve's own connection with the owner's session: the answer is the same as for one that does not exist.
    for session in [session.as_str(), "ses_there_is_no_such"] {
        assert_eq!(eve.open_stream(Some(session), None).await.err(), Some(409));
        for method in [
            "session/prompt",
            "session/load",
            "session/resume",
            "session/attach",
            "session/cancel",
            "session/fork",
            "session/close",
            "session/delete",
            "session/takeover",
            "session/inject",
            "session/set_mode",
            "session/live_clients",
        ] {
            let params = json!({"sessionId": session, "cwd": "/", "mcpServers": []});
            let message = json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": params});
            assert_eq!(eve.post(&message).await, 409, "{method}");
        }
    }
    // Eve's answer to the owner's question.
    let outcome = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
    let answer = json!({"jsonrpc": "2.0", "id": ask, "result": outcome});
    assert_eq!(eve.post(&answer).await, 400);
    let after = server.count_reached();
    assert_eq!(
        (before.0 + 1, before.1, before.2),
        after,
        "something reached the runtime"
    );
    assert_ne!(own, session);

    // Only the owner's answer is accepted.
    assert_eq!(owner.post(&answer).await, 202);
    loop {
        let (_, line) = events.next().await.unwrap();
        if line["id"] == asked {
            assert_eq!(line["result"]["stopReason"], "end_turn");
            break;
        }
    }
}

#[tokio::test]
async fn malformed_or_too_large_requests_are_rejected() {
    let server = TestServer::start(TestServerConfig {
        message_bytes: 1000,
        ..TestServerConfig::default()
    })
    .await;
    let mut owner = server.initialize(OWNER).await;
    let (session, own) = owner.create_session(server.dir.path()).await;
    drop(own);
    let before = server.count_reached();
    let routes = routes(&server, &owner.connection, &session);
    let route = |name: &str| routes.iter().find(|route| route.name == name).unwrap();
    let with = |name: &'static str, value: &str| vec![RequestChange::With(name, value.to_owned())];
    let long = "x".repeat(257);
    let headers = [
        ("post", with("content-type", "text/plain"), 415),
        ("post", vec![RequestChange::Without("content-type")], 415),
        (
            "post",
            vec![RequestChange::Without("acp-connection-id")],
            400,
        ),
        ("post", with("acp-connection-id", "con_unknown"), 404),
        ("post", with("acp-connection-id", &long), 400),
        ("post", with("acp-connection-id", ""), 400),
        ("post", with("acp-session-id", "another"), 400),
        (
            "post",
            vec![RequestChange::Also(
                "acp-connection-id",
                owner.connection.clone(),
            )],
            400,
        ),
        (
            "initialize",
            with("acp-connection-id", &owner.connection),
            400,
        ),
        ("stream", with("accept", "application/json"), 406),
        ("stream", vec![RequestChange::Without("accept")], 406),
        (
            "stream",
            vec![RequestChange::Without("acp-connection-id")],
            400,
        ),
        ("stream", with("acp-connection-id", "con_unknown"), 404),
        ("session stream", with("last-event-id", "latest"), 400),
        ("session stream", with("last-event-id", "99999"), 409),
        ("session stream", with("last-event-id", "0+9"), 409),
        (
            "delete",
            vec![RequestChange::Without("acp-connection-id")],
            400,
        ),
        ("delete", with("acp-connection-id", "con_unknown"), 404),
        ("websocket", with("sec-websocket-version", "12"), 400),
        (
            "websocket",
            vec![RequestChange::Without("sec-websocket-key")],
            400,
        ),
        ("websocket", with("upgrade", "h2c"), 406),
        (
            "websocket",
            vec![RequestChange::Path("/acp?lastEventId=soon")],
            400,
        ),
    ];
    for (name, changes, status) in &headers {
        let answer = server.send_raw(&route(name).to_text(changes)).await;
        assert_eq!(answer.status, *status, "{name}: {answer:?}");
    }
    let head = client().head(&owner.url).bearer_auth(OWNER);
    let head = head.header("accept", "text/event-stream");
    let head = head.header("acp-connection-id", &owner.connection);
    assert_eq!(head.send().await.unwrap().status(), 405);
    for method in ["PUT", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        let mut text = route("stream").to_text(&[]);
        text.replace_range(..3, method);
        assert_eq!(server.send_raw(&text).await.status, 405, "{method}");
    }
    let bodies = [
        ("", 400),
        ("{", 400),
        ("nonsense", 400),
        ("null", 400),
        ("[]", 400),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"session/list"}]"#, 400),
        ("{}", 400),
        (r#"{"jsonrpc":"1.0","id":1,"method":"session/list"}"#, 400),
        (r#"{"jsonrpc":"2.0","id":1}"#, 400),
        (r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt"}"#, 400),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":7}}"#,
            400,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
            400,
        ),
        (r#"{"jsonrpc":"2.0","id":4711,"result":{}}"#, 400),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"session/list"}"#,
            400,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"session/list","method":"x"}"#,
            400,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"session/attach","params":{},"params":{}}"#,
            400,
        ),
        (
            &format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, "x".repeat(1000)),
            413,
        ),
    ];
    for (body, status) in bodies {
        let post = RouteRequest {
            name: "post",
            method: "POST",
            path: "/acp",
            headers: route("post").headers.clone(),
            body: body.to_owned(),
            served: status,
        };
        let answer = server.send_raw(&post.to_text(&[])).await;
        assert_eq!(answer.status, post.served, "{body:.80}: {answer:?}");
        assert_eq!(
            answer.body.contains("-32600"),
            body.starts_with('['),
            "{answer:?}"
        );
    }
    // A body without a length.
    let mut chunked = route("post").to_text(&[]);
    let start = chunked.find("content-length").unwrap();
    chunked.truncate(start);
    let chunk = "x".repeat(0x400);
    chunked.push_str(&format!(
        "transfer-encoding: chunked\r\n\r\n400\r\n{chunk}\r\n"
    ));
    assert_eq!(server.send_raw(&chunked).await.status, 413);
    let no_id = json!({"jsonrpc": "2.0", "method": "initialize", "params": {}});
    let first = RouteRequest {
        body: no_id.to_string(),
        name: "initialize",
        method: "POST",
        path: "/acp",
        headers: route("initialize").headers.clone(),
        served: 400,
    };
    assert_eq!(
        server.send_raw(&first.to_text(&[])).await.status,
        first.served
    );
    let after = server.count_reached();
    assert_eq!(
        (before.0 + 1, before.1, before.2),
        after,
        "something reached the runtime"
    );
}

#[tokio::test]
async fn guard_checks_the_authority_of_http_2() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let before = server.count_reached();
    let port = server.address.port();
    let client = client_builder()
        .http2_prior_knowledge()
        .resolve("evil.example", server.address)
        .resolve("box.example", server.address)
        .build()
        .unwrap();
    let hello = initialize_request().to_string();
    let post = |host: &str, token: &str| {
        let request = client
            .post(format!("http://{host}:{port}/acp"))
            .bearer_auth(token);
        let request = request.header("content-type", "application/json");
        request.body(hello.clone())
    };
    let status = async |request: reqwest::RequestBuilder| {
        let response = request.send().await.unwrap();
        assert_eq!(response.version(), reqwest::Version::HTTP_2);
        response.status().as_u16()
    };
    assert_eq!(status(post("evil.example", OWNER)).await, 421);
    assert_eq!(
        status(post("127.0.0.1", "wrong-token-0123456789")).await,
        401
    );
    let foreign = post("127.0.0.1", OWNER).header("host", "evil.example");
    assert_eq!(status(foreign).await, 421);
    let foreign = post("127.0.0.1", OWNER).header("origin", "null");
    assert_eq!(status(foreign).await, 403);
    let upgrade = client
        .get(format!("http://127.0.0.1:{port}/acp"))
        .bearer_auth(OWNER);
    assert_eq!(status(upgrade).await, 406);
    let after = server.count_reached();
    assert_eq!(
        (before.0 + 1, before.1, before.2),
        after,
        "something reached the runtime"
    );
    assert_eq!(status(post("127.0.0.1", OWNER)).await, 200);
    assert_eq!(status(post("box.example", OWNER)).await, 200);
}

#[tokio::test]
async fn every_http_2_route_rejects_unauthorized_requests() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let mut owner = server.initialize(OWNER).await;
    let (session, own) = owner.create_session(server.dir.path()).await;
    drop(own);
    let before = server.count_reached();
    let port = server.address.port();
    let client = client_builder()
        .http2_prior_knowledge()
        .resolve("evil.example", server.address)
        .build()
        .unwrap();
    let send = async |route: &RouteRequest, host: &str, changes: &[RequestChange]| {
        let method = route.method.parse().unwrap();
        let mut request = client.request(method, format!("http://{host}:{port}{}", route.path));
        let mut headers = route.headers.clone();
        headers.retain(|(name, _)| *name != "host");
        for change in changes {
            match change {
                RequestChange::Without(name) => headers.retain(|(known, _)| known != name),
                RequestChange::With(name, value) => {
                    headers.retain(|(known, _)| known != name);
                    headers.push((name, value.clone()));
                }
                RequestChange::Also(name, value) => headers.push((name, value.clone())),
                RequestChange::Path(_) => {}
            }
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let response = request.body(route.body.clone()).send().await.unwrap();
        assert_eq!(response.version(), reqwest::Version::HTTP_2);
        response.status().as_u16()
    };
    let with = |name: &'static str, value: &str| vec![RequestChange::With(name, value.to_owned())];
    let routes = routes(&server, &owner.connection, &session);
    // There are no WebSockets over HTTP/2.
    let routes = routes.iter().filter(|route| route.name != "websocket");
    let routes: Vec<_> = routes.collect();
    let wrong = "Bearer wrong-token-0123456789";
    for route in &routes {
        let table = [
            ("evil.example", vec![], 421),
            ("127.0.0.1", with("host", "evil.example"), 421),
            (
                "127.0.0.1",
                with("host", &format!("evil.example:{port}")),
                421,
            ),
            ("127.0.0.1", with("origin", "http://evil.example"), 403),
            ("127.0.0.1", with("origin", "null"), 403),
            (
                "127.0.0.1",
                vec![RequestChange::Without("authorization")],
                401,
            ),
            ("127.0.0.1", with("authorization", wrong), 401),
            (
                "127.0.0.1",
                vec![RequestChange::Also(
                    "authorization",
                    format!("Bearer {OWNER}"),
                )],
                401,
            ),
        ];
        for (nth, (host, changes, status)) in table.iter().enumerate() {
            let answered = send(route, host, changes).await;
            assert_eq!(answered, *status, "{} with {nth}", route.name);
        }
    }
    let after = server.count_reached();
    assert_eq!(
        (before.0 + 1, before.1, before.2),
        after,
        "something reached the runtime"
    );
    for route in &routes {
        assert_eq!(
            send(route, "127.0.0.1", &[]).await,
            route.served,
            "{}",
            route.name
        );
    }
}

#[tokio::test]
async fn limits_on_messages_and_connections_return_429_and_503() {
    let server = TestServer::start(TestServerConfig {
        acp_connections: 2,
        messages_per_second: 5,
        connections: 3,
        ..TestServerConfig::default()
    })
    .await;
    let owner = server.initialize(OWNER).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "session/list"});
    let mut statuses = Vec::new();
    for _ in 0..12 {
        statuses.push(owner.post(&list).await);
    }
    assert!(
        statuses[..10].iter().all(|status| *status == 202),
        "{statuses:?}"
    );
    assert!(statuses.contains(&429), "{statuses:?}");
    let _second = server.initialize(OWNER).await;
    let routes = routes(&server, &owner.connection, "s");
    for name in ["initialize", "websocket"] {
        let route = routes.iter().find(|route| route.name == name).unwrap();
        let answer = server.send_raw(&route.to_text(&[])).await;
        assert_eq!(answer.status, 503, "{answer:?}");
        assert!(answer.body.contains("too many connections"), "{answer:?}");
    }
    // Clients with a principal take all slots; the next client receives an error.
    let mut held = Vec::new();
    while held.last().is_none_or(|(_, status)| *status != 503) {
        assert!(held.len() < 10);
        held.push(server.hold_connection(OWNER).await);
    }
    let told = server.send_raw(&routes[5].to_text(&[])).await;
    assert_eq!(told.status, 503);
    assert!(told.body.contains("too many connections"), "{told:?}");
}

#[tokio::test]
async fn allowed_origin_receives_a_preflight_answer() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let ask = |origin: &str| {
        format!(
            "OPTIONS /acp HTTP/1.1\r\nhost: {}\r\norigin: {origin}\r\n\
             access-control-request-method: POST\r\n\r\n",
            server.address
        )
    };
    let known = server.send_raw(&ask("https://app.example")).await;
    assert_eq!(known.status, 204);
    assert!(
        known
            .head
            .contains("access-control-allow-origin: https://app.example")
    );
    assert!(known.head.contains("authorization"));
    let foreign = server.send_raw(&ask("https://evil.example")).await;
    assert_eq!(foreign.status, 403);
    assert!(!foreign.head.contains("access-control"));
}
