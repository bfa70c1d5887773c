//! Browsers: how they sign in, which requests their cookie is valid for, and when it expires.

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{Router, extract::Request, routing::any};
use harn_model::{Principal, Timestamp};
use harn_runtime::Clock;
use serde_json::{Value, json};

use super::{
    server::{
        EVE, OWNER, RawHttpResponse, TestServer, TestServerConfig, client, client_builder,
        initialize_request,
    },
    websockets,
};

const JSON: (&str, &str) = ("content-type", "application/json");

async fn send(
    server: &TestServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> RawHttpResponse {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    if headers.iter().all(|(name, _)| *name != "host") {
        text.push_str(&format!("host: {}\r\n", server.address));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    server.send_raw(&text).await
}

/// Returns the `name=value` of the cookie that a response sets.
fn set_cookie_pair(answer: &RawHttpResponse) -> String {
    assert_eq!(answer.status, 204, "{answer:?}");
    let set = answer
        .head
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "));
    let (pair, rest) = set.unwrap().split_once("; ").unwrap();
    assert_eq!(rest, "httponly; samesite=strict; path=/; max-age=2592000");
    pair.to_owned()
}

async fn sign_in(server: &TestServer, body: &Value) -> String {
    let answer = send(server, "POST", "/login", &[JSON], &body.to_string()).await;
    let pair = set_cookie_pair(&answer);
    let name = format!("harn-{}=v1.", server.address.port());
    assert!(pair.starts_with(&name), "{pair}");
    pair
}

/// Renames a cookie of another server for this one.
fn rename_cookie(pair: &str, server: &TestServer) -> String {
    let (_, value) = pair.split_once('=').unwrap();
    format!("harn-{}={value}", server.address.port())
}

/// Returns the signed-in principal.
async fn signed_in_principal(server: &TestServer, headers: &[(&str, &str)]) -> Option<String> {
    let answer = send(server, "GET", "/login", headers, "").await;
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    assert!(
        answer.head.contains("cache-control: no-store"),
        "{answer:?}"
    );
    match answer.status {
        200 => Some(body["principal"].as_str().unwrap().to_owned()),
        401 => {
            assert!(body["error"].is_string(), "{answer:?}");
            assert!(
                answer.head.contains("www-authenticate: bearer"),
                "{answer:?}"
            );
            None
        }
        other => panic!("{other}: {answer:?}"),
    }
}

fn openharness_request() -> String {
    let context = json!({"session_id": "desk", "user_intent": "count 1"});
    let request = json!({"context": context});
    json!({"protocol_version": "1.0.0", "request_id": "req-1", "request": request}).to_string()
}

/// Returns the principal and headers that a route behind the guard receives.
fn mirror_routes() -> Router {
    let seen = async |request: Request| {
        let principal = request.extensions().get::<Principal>();
        let names = request.headers().keys().map(|name| name.as_str());
        let names: Vec<_> = names.collect();
        json!({"principal": principal.map(Principal::as_str), "headers": names}).to_string()
    };
    Router::new()
        .route("/", any(seen))
        .route("/assets/{*path}", any(seen))
        .route("/seen", any(seen))
}

async fn start_with_mirror() -> TestServer {
    let routes = mirror_routes();
    TestServer::start(TestServerConfig {
        routes,
        ..TestServerConfig::default()
    })
    .await
}

#[tokio::test]
async fn browser_signs_in_with_the_code_once() {
    let server = TestServer::start(TestServerConfig::default()).await;
    assert_eq!(signed_in_principal(&server, &[]).await, None);
    let wrong = json!({"code": "0".repeat(32)}).to_string();
    let refused = send(&server, "POST", "/login", &[JSON], &wrong).await;
    assert_eq!(refused.status, 401, "{refused:?}");
    let code = json!({"code": server.code});
    let pair = sign_in(&server, &code).await;
    let again = send(&server, "POST", "/login", &[JSON], &code.to_string()).await;
    assert_eq!(again.status, 401, "{again:?}");
    assert!(!again.head.contains("set-cookie"), "{again:?}");
    let told: Value = serde_json::from_str(&again.body).unwrap();
    let told = told["error"].as_str().unwrap();
    assert!(told.contains("sign in with the token"), "{told}");

    let ours = format!("http://{}", server.address);
    let page = [("cookie", pair.as_str()), ("origin", &ours)];
    assert_eq!(
        signed_in_principal(&server, &page).await.as_deref(),
        Some("owner")
    );
    let headers = [page[0], page[1], JSON];
    let answer = send(
        &server,
        "POST",
        "/v1/openharness",
        &headers,
        &openharness_request(),
    )
    .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let envelope: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(envelope["response"]["status"], "success", "{envelope}");
    assert!(!answer.head.contains("set-cookie"), "{answer:?}");

    let (mut socket, _) = websockets::connect(&server, "", &page).await;
    websockets::send(&mut socket, &initialize_request()).await;
    assert_eq!(websockets::receive_json(&mut socket).await["id"], 0);
    let session = websockets::create_session(&server, &mut socket).await;
    assert!(session.starts_with("ses_"), "{session}");
}

#[tokio::test]
async fn token_signs_in_its_principal() {
    let server = TestServer::start(TestServerConfig::default()).await;
    for (token, name) in [(OWNER, "owner"), (EVE, "eve")] {
        let bearer = format!("Bearer {token}");
        let by_token = signed_in_principal(&server, &[("authorization", &bearer)]).await;
        assert_eq!(by_token.as_deref(), Some(name));
        let pair = sign_in(&server, &json!({"token": token})).await;
        let by_cookie = signed_in_principal(&server, &[("cookie", &pair)]).await;
        assert_eq!(by_cookie.as_deref(), Some(name));
        let head = send(&server, "HEAD", "/login", &[("cookie", &pair)], "").await;
        assert_eq!((head.status, head.body.as_str()), (200, ""));
    }
    // A token may be used any number of times, also with the blanks of a paste.
    sign_in(&server, &json!({"token": format!(" {OWNER}\n")})).await;
}

#[tokio::test]
async fn invalid_login_is_rejected_and_does_not_use_up_the_code() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let right = json!({"code": server.code}).to_string();
    let both = json!({"code": server.code, "token": OWNER}).to_string();
    let more = json!({"code": server.code, "name": "x"}).to_string();
    let twice = format!(r#"{{"code":"{0}","code":"{0}"}}"#, server.code);
    let long = json!({"token": "x".repeat(4096)}).to_string();
    let half = &right[..right.len() - 1];
    let cut = json!({"code": server.code[1..]}).to_string();
    let typed = |kind: &'static str| vec![("content-type", kind)];
    let json = || vec![JSON];
    let table = [
        ("POST", json(), "", 400),
        ("POST", json(), "{}", 400),
        ("POST", json(), "null", 400),
        ("POST", json(), "[]", 400),
        ("POST", json(), r#""code""#, 400),
        ("POST", json(), r#"{"code":1}"#, 400),
        ("POST", json(), r#"{"code":null}"#, 400),
        ("POST", json(), r#"{"Code":"x"}"#, 400),
        ("POST", json(), r#"{"password":"x"}"#, 400),
        ("POST", json(), half, 400),
        ("POST", json(), &both, 400),
        ("POST", json(), &more, 400),
        ("POST", json(), &twice, 400),
        ("POST", json(), r#"{"code":""}"#, 401),
        ("POST", json(), r#"{"token":""}"#, 401),
        ("POST", json(), r#"{"token":"wrong-token-0123456789"}"#, 401),
        ("POST", json(), &cut, 401),
        ("POST", json(), &long, 413),
        ("POST", vec![], &right, 415),
        ("POST", typed("text/plain"), &right, 415),
        ("POST", typed("application/jsonx"), &right, 415),
        (
            "POST",
            typed("application/x-www-form-urlencoded"),
            &right,
            415,
        ),
        ("PUT", json(), &right, 405),
        ("DELETE", json(), &right, 405),
        ("OPTIONS", json(), &right, 405),
        ("POST", vec![JSON, ("host", "evil.example")], &right, 421),
        (
            "POST",
            vec![JSON, ("origin", "http://evil.example")],
            &right,
            403,
        ),
        ("POST", vec![JSON, ("origin", "null")], &right, 403),
    ];
    for (method, headers, body, status) in table {
        let what = format!("{method} {headers:?} {body}");
        let answer = send(&server, method, "/login", &headers, body).await;
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        let told: Value = serde_json::from_str(&answer.body).unwrap();
        assert!(told["error"].is_string(), "{what}: {answer:?}");
        assert!(!answer.head.contains("set-cookie"), "{what}: {answer:?}");
        let asks = answer.head.contains("www-authenticate: bearer");
        assert_eq!(asks, status == 401, "{what}: {answer:?}");
        let allows = answer.head.contains("allow: get, post\r");
        assert_eq!(allows, status == 405, "{what}: {answer:?}");
        for secret in [server.code.as_str(), "token-0123456789"] {
            assert!(!answer.body.contains(secret), "{what}: {answer:?}");
        }
    }
    let kind = ("content-type", "Application/JSON; charset=utf-8");
    set_cookie_pair(&send(&server, "POST", "/login", &[kind], &right).await);
}

#[tokio::test]
async fn cookie_is_valid_for_our_own_page_only() {
    let server = start_with_mirror().await;
    let pair = sign_in(&server, &json!({"token": OWNER})).await;
    let before = server.count_reached();
    let ours = format!("http://{}", server.address);
    let local = format!("http://localhost:{}", server.address.port());
    let named = "http://box.example:".to_owned() + &server.address.port().to_string();
    fn origin(origin: &str) -> (&'static str, &str) {
        ("origin", origin)
    }
    fn site(site: &str) -> (&'static str, &str) {
        ("sec-fetch-site", site)
    }
    let (yes, no): (u16, u16) = (0, 401);
    // The columns: a read, a change, a WebSocket.
    let table = [
        ("our page", vec![origin(&ours)], [yes; 3]),
        ("our page by another name", vec![origin(&local)], [yes; 3]),
        ("our page by a given name", vec![origin(&named)], [yes; 3]),
        (
            "our page, said twice",
            vec![origin(&ours), site("same-origin")],
            [yes; 3],
        ),
        ("the address bar", vec![site("none")], [yes, no, no]),
        (
            "our page without its origin",
            vec![site("same-origin")],
            [yes, no, no],
        ),
        ("nothing", vec![], [yes, no, no]),
        (
            "another page that lies",
            vec![origin(&ours), site("cross-site")],
            [no; 3],
        ),
        (
            "another port that lies",
            vec![origin(&ours), site("same-site")],
            [no; 3],
        ),
        ("another page", vec![site("cross-site")], [no; 3]),
        ("another port", vec![site("same-site")], [no; 3]),
        ("an odd site", vec![origin(&ours), site("")], [no; 3]),
        (
            "two sites",
            vec![origin(&ours), site("same-origin"), site("cross-site")],
            [no; 3],
        ),
        (
            "a page that may have tokens",
            vec![origin("https://app.example")],
            [no; 3],
        ),
        (
            "a foreign page",
            vec![origin("http://evil.example")],
            [403; 3],
        ),
    ];
    let upgrade = [
        ("connection", "upgrade"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    for (what, headers, [read, post, socket]) in &table {
        let mut headers = headers.clone();
        headers.push(("cookie", &pair));
        for method in ["GET", "HEAD"] {
            let answer = send(&server, method, "/seen", &headers, "").await;
            assert_eq!(
                answer.status,
                (*read).max(200),
                "{method} {what}: {answer:?}"
            );
        }
        for method in ["POST", "DELETE", "PUT"] {
            let answer = send(&server, method, "/seen", &headers, "").await;
            assert_eq!(
                answer.status,
                (*post).max(200),
                "{method} {what}: {answer:?}"
            );
            let told = format!("{}{}", answer.head, answer.body);
            assert!(!told.contains(&pair[12..]), "{told}");
        }
        headers.extend(upgrade);
        for name in ["websocket", "h2c, WebSocket"] {
            let mut headers = headers.clone();
            headers.push(("upgrade", name));
            let answer = send(&server, "GET", "/acp", &headers, "").await;
            assert_eq!(
                answer.status,
                (*socket).max(101),
                "{name} {what}: {answer:?}"
            );
        }
    }
    let turns = server.count_reached().1;
    assert_eq!(turns, before.1);
}

#[tokio::test]
async fn invalid_cookie_is_rejected() {
    let server = start_with_mirror().await;
    let ours = format!("http://{}", server.address);
    let pair = sign_in(&server, &json!({"token": OWNER})).await;
    let eve = sign_in(&server, &json!({"token": EVE})).await;
    let (name, value) = pair.split_once('=').unwrap();
    let twice = format!("{pair}; {pair}");
    let with = |value: &str| format!("{name}={value}");
    let of = |token: &'static str| ("authorization", token);
    let again = "sign in again at /";
    let table = [
        (with(""), vec![], again),
        (with(OWNER), vec![], again),
        (with(&value[..value.len() - 1]), vec![], again),
        (pair.replace("owner", "eve"), vec![], again),
        (eve.replace("eve", "owner"), vec![], again),
        (twice, vec![], again),
        (format!("{pair}; {eve}"), vec![], again),
        (format!("{pair}; {name}="), vec![], again),
        (format!("harn={value}"), vec![], "the token is missing"),
        (format!("harn-1={value}"), vec![], "the token is missing"),
        // An explicit credential is checked, and the cookie is ignored.
        (
            pair.clone(),
            vec![of("Bearer wrong-token-0123456789")],
            "the token is wrong",
        ),
        (
            pair.clone(),
            vec![of("Basic b3duZXI6eA==")],
            "the token is wrong",
        ),
        (pair.clone(), vec![of("")], "the token is wrong"),
    ];
    for (cookie, more, words) in &table {
        let mut headers = vec![("cookie", cookie.as_str()), ("origin", &ours)];
        headers.extend(more);
        let answer = send(&server, "POST", "/seen", &headers, "").await;
        assert_eq!(answer.status, 401, "{cookie}: {answer:?}");
        assert!(answer.body.contains(words), "{cookie}: {answer:?}");
        assert!(
            answer.head.contains("www-authenticate: bearer"),
            "{answer:?}"
        );
        assert!(!answer.body.contains(value), "{answer:?}");
        assert_eq!(
            signed_in_principal(&server, &headers).await,
            None,
            "{cookie}"
        );
    }
    let offered = [
        ("cookie", pair.as_str()),
        ("origin", &ours),
        ("upgrade", "websocket"),
        (
            "sec-websocket-protocol",
            "acp, harn.bearer.wrong-token-0123456789",
        ),
    ];
    let answer = send(&server, "GET", "/seen", &offered, "").await;
    assert_eq!(answer.status, 401, "{answer:?}");
    // A token takes precedence over a cookie.
    let bearer = format!("Bearer {EVE}");
    let both = [("cookie", pair.as_str()), ("authorization", &bearer)];
    assert_eq!(
        signed_in_principal(&server, &both).await.as_deref(),
        Some("eve")
    );
}

#[tokio::test]
async fn cookie_survives_a_restart_but_no_change_of_tokens() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let pair = sign_in(&server, &json!({"code": server.code})).await;
    let eve = sign_in(&server, &json!({"token": EVE})).await;
    drop(server);
    let changed = "another-token-0123456789";
    let table = [
        (format!("owner {OWNER}\neve {EVE}\n"), true),
        (format!("# sorted\neve {EVE}\n\n{OWNER}\n"), true),
        (format!("owner {changed}\neve {EVE}\n"), false),
        (format!("owner {OWNER}\neve {changed}\n"), false),
        (format!("owner {OWNER}\neva {EVE}\n"), false),
        (format!("owner {OWNER}\n"), false),
        (format!("owner {OWNER}\neve {EVE}\neve {changed}\n"), false),
    ];
    for (tokens, known) in table {
        let what = tokens.clone();
        let server = TestServer::start(TestServerConfig {
            tokens,
            ..TestServerConfig::default()
        })
        .await;
        for (pair, name) in [(&pair, "owner"), (&eve, "eve")] {
            let found =
                signed_in_principal(&server, &[("cookie", &rename_cookie(pair, &server))]).await;
            assert_eq!(found.as_deref(), known.then_some(name), "{what}");
        }
    }
}

struct SettableClock(AtomicU64);

impl Clock for SettableClock {
    fn now(&self) -> Timestamp {
        self.0.load(Ordering::SeqCst)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

#[tokio::test]
async fn cookie_expires_after_thirty_days() {
    const MONTH: u64 = 30 * 24 * 60 * 60 * 1000;
    let clock = Arc::new(SettableClock(1_790_000_000_000.into()));
    let server = TestServer::start(TestServerConfig {
        clock: clock.clone(),
        ..TestServerConfig::default()
    })
    .await;
    let pair = sign_in(&server, &json!({"token": EVE})).await;
    clock.0.fetch_add(MONTH - 1, Ordering::SeqCst);
    assert_eq!(
        signed_in_principal(&server, &[("cookie", &pair)])
            .await
            .as_deref(),
        Some("eve")
    );
    clock.0.fetch_add(1, Ordering::SeqCst);
    assert_eq!(
        signed_in_principal(&server, &[("cookie", &pair)]).await,
        None
    );
    let answer = send(&server, "GET", "/acp", &[("cookie", &pair)], "").await;
    assert!(answer.body.contains("sign in again"), "{answer:?}");
}

#[tokio::test]
async fn page_is_served_without_authentication() {
    let server = start_with_mirror().await;
    let pair = sign_in(&server, &json!({"token": EVE})).await;
    let bearer = format!("Bearer {OWNER}");
    let table = [
        (vec![], None),
        (
            vec![("authorization", "Bearer wrong-token-0123456789")],
            None,
        ),
        (vec![("cookie", "a=b; harn-1=2")], None),
        (
            vec![("cookie", pair.as_str()), ("sec-fetch-site", "cross-site")],
            None,
        ),
        (vec![("cookie", pair.as_str()), ("x-a", "b")], Some("eve")),
        (vec![("authorization", bearer.as_str())], Some("owner")),
    ];
    for path in ["/", "/?a=b", "/assets/page.js"] {
        for (headers, principal) in &table {
            let answer = send(&server, "GET", path, headers, "").await;
            assert_eq!(answer.status, 200, "{path} {headers:?}: {answer:?}");
            let seen: Value = serde_json::from_str(&answer.body).unwrap();
            assert_eq!(seen["principal"], json!(principal), "{path} {headers:?}");
            let names = seen["headers"].to_string();
            for hidden in ["cookie", "authorization"] {
                assert!(!names.contains(hidden), "{names}");
            }
            let head = send(&server, "HEAD", path, headers, "").await;
            assert_eq!(head.status, 200, "{path}: {head:?}");
        }
        for method in ["POST", "DELETE", "OPTIONS"] {
            let answer = send(&server, method, path, &[], "").await;
            assert_eq!(answer.status, 401, "{method} {path}: {answer:?}");
        }
        let answer = send(&server, "GET", path, &[("host", "evil.example")], "").await;
        assert_eq!(answer.status, 421, "{path}: {answer:?}");
        let answer = send(
            &server,
            "GET",
            path,
            &[("origin", "http://evil.example")],
            "",
        )
        .await;
        assert_eq!(answer.status, 403, "{path}: {answer:?}");
    }
    for path in ["/seen", "/assets", "/login/x", "/nowhere"] {
        let answer = send(&server, "GET", path, &[], "").await;
        assert_eq!(answer.status, 401, "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn logout_deletes_the_cookie() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let pair = sign_in(&server, &json!({"token": OWNER})).await;
    let ours = format!("http://{}", server.address);
    for headers in [vec![], vec![("cookie", pair.as_str())]] {
        let answer = send(&server, "POST", "/logout", &headers, "").await;
        assert_eq!(answer.status, 401, "{answer:?}");
        let told: Value = serde_json::from_str(&answer.body).unwrap();
        assert!(told["error"].is_string(), "{answer:?}");
    }
    let page = [("cookie", pair.as_str()), ("origin", ours.as_str())];
    let answer = send(&server, "GET", "/logout", &page, "").await;
    assert_eq!(answer.status, 405, "{answer:?}");
    assert!(answer.head.contains("allow: post\r"), "{answer:?}");
    let answer = send(&server, "POST", "/logout", &page, "").await;
    assert_eq!(answer.status, 204, "{answer:?}");
    let name = format!("harn-{}", server.address.port());
    let set = format!("set-cookie: {name}=; httponly; samesite=strict; path=/; max-age=0\r");
    assert!(answer.head.contains(&set), "{answer:?}");
}

#[derive(Clone, Default)]
struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl io::Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn neither_code_nor_cookie_is_logged() {
    let log = CapturedLog::default();
    let writer = log.clone();
    let logging = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(logging);
    tracing::info!("the log is read");
    let server = start_with_mirror().await;
    let wrong = json!({"code": server.code, "token": OWNER}).to_string();
    send(&server, "POST", "/login", &[JSON], &wrong).await;
    let mut pairs = vec![sign_in(&server, &json!({"code": server.code})).await];
    let ours = format!("http://{}", server.address);
    // Over HTTP/2 as well, whose library logs a lot.
    let two = client_builder();
    let two = two.http2_prior_knowledge().build().unwrap();
    for client in [two, client()] {
        let login = client.post(format!("{ours}/login")).header(JSON.0, JSON.1);
        let login = login.body(json!({"token": EVE}).to_string()).send().await;
        let set = login.unwrap().headers()["set-cookie"]
            .to_str()
            .unwrap()
            .to_owned();
        let pair = set.split(';').next().unwrap().to_owned();
        let seen = client.post(format!("{ours}/seen")).header("cookie", &pair);
        let seen = seen.header("origin", &ours).send().await.unwrap();
        assert_eq!(seen.status(), 200);
        let seen = seen.text().await.unwrap();
        assert!(seen.contains("eve") && !seen.contains("cookie"), "{seen}");
        let odd = client.post(format!("{ours}/seen")).header("cookie", &pair);
        assert_eq!(odd.send().await.unwrap().status(), 401);
        pairs.push(pair);
    }
    let page = [("cookie", pairs[0].as_str()), ("origin", ours.as_str())];
    let (socket, _) = websockets::connect(&server, "", &page).await;
    drop(socket);
    let logged = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(logged.contains("the log is read"), "{logged}");
    assert!(logged.contains("TRACE"), "{logged}");
    let macs = pairs.iter().map(|pair| pair.rsplit_once('.').unwrap().1);
    for secret in macs.chain([server.code.as_str(), EVE, OWNER]) {
        assert!(!logged.contains(secret), "{secret} is in {logged}");
    }
}
