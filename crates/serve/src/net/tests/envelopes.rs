//! An OpenHarness Shell receives an envelope for every refusal, also from code that knows nothing of its protocol.

use harn_openharness::PATHS;
use serde_json::{Value, json};

use super::server::{EVE, OWNER, RawHttpResponse, TestServer, TestServerConfig};

struct RequestFault {
    what: &'static str,
    host: Option<String>,
    more: Vec<(&'static str, String)>,
    status: u16,
}

fn request(method: &str, path: &str, wrong: &RequestFault) -> String {
    let body = json!({"protocol_version": "1.0.0", "request": {}}).to_string();
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    if let Some(host) = &wrong.host {
        text.push_str(&format!("host: {host}\r\n"));
    }
    for (name, value) in &wrong.more {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    let length = body.len();
    text.push_str(&format!(
        "content-type: application/json\r\nx-request-id: req-7\r\nx-correlation-id: cor-7\r\n\
         content-length: {length}\r\n\r\n{body}"
    ));
    text
}

fn assert_envelope(answer: &RawHttpResponse, what: &str) {
    let envelope: Value = serde_json::from_str(&answer.body)
        .unwrap_or_else(|error| panic!("{what}: {error}: {answer:?}"));
    assert!(envelope["protocol_version"].is_string(), "{what}");
    assert_eq!(envelope["request_id"], "req-7", "{what}: {envelope}");
    assert_eq!(envelope["correlation_id"], "cor-7", "{what}: {envelope}");
    assert_eq!(
        envelope["response"]["status"], "error",
        "{what}: {envelope}"
    );
    assert!(
        envelope["response"]["error"]["code"].is_string(),
        "{what}: {envelope}"
    );
    assert!(
        answer.head.contains("content-type: application/json"),
        "{what}: {}",
        answer.head
    );
    assert!(!answer.body.contains("token-0123456789"), "{what}");
}

#[tokio::test]
async fn guard_refuses_openharness_requests_with_an_envelope() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let before = server.count_reached();
    let host = || Some(server.address.to_string());
    let token = |token: &str| ("authorization", token.to_owned());
    let owner = || token(&format!("Bearer {OWNER}"));
    let wrong = |what, host, more, status| RequestFault {
        what,
        host,
        more,
        status,
    };
    let origin = |origin: &str| ("origin", origin.to_owned());
    let table = [
        wrong("no host", None, vec![owner()], 400),
        wrong(
            "a foreign host",
            Some("evil.example".into()),
            vec![owner()],
            421,
        ),
        wrong(
            "a foreign origin",
            host(),
            vec![owner(), origin("http://evil.example")],
            403,
        ),
        wrong(
            "the origin null",
            host(),
            vec![owner(), origin("null")],
            403,
        ),
        wrong("no token", host(), vec![], 401),
        wrong(
            "a wrong token",
            host(),
            vec![token("Bearer owners-token-0123456780")],
            401,
        ),
        wrong("two tokens", host(), vec![owner(), owner()], 401),
        wrong(
            "a token of another scheme",
            host(),
            vec![token(&format!("Basic {OWNER}"))],
            401,
        ),
    ];
    for path in PATHS {
        for wrong in &table {
            for (method, query) in [("POST", ""), ("POST", "?a=b"), ("GET", ""), ("DELETE", "")] {
                let what = format!("{method} {path}{query} with {}", wrong.what);
                let asked = request(method, &format!("{path}{query}"), wrong);
                let answer = server.send_raw(&asked).await;
                assert_eq!(answer.status, wrong.status, "{what}: {answer:?}");
                assert_envelope(&answer, &what);
                let asks = answer.head.contains("www-authenticate: bearer");
                assert_eq!(asks, wrong.status == 401, "{what}: {answer:?}");
            }
        }
    }
    // On other paths, a refusal is plain text.
    let plain = server.send_raw(&request("POST", "/other", &table[4])).await;
    assert_eq!(plain.status, 401);
    assert!(plain.body.starts_with("the token is missing"), "{plain:?}");
    let served = wrong("", host(), vec![owner()], 404);
    let nowhere = server.send_raw(&request("POST", "/other", &served)).await;
    assert_eq!(nowhere.status, 404);
    assert!(nowhere.body.contains("try / for the page"), "{nowhere:?}");
    assert!(nowhere.body.contains("/acp"), "{nowhere:?}");
    assert!(nowhere.body.contains("/v1/openharness"), "{nowhere:?}");
    let after = server.count_reached();
    assert_eq!((before.0 + 1, before.1, before.2), after);
}

#[tokio::test]
async fn full_server_answers_openharness_with_an_envelope() {
    let server = TestServer::start(TestServerConfig {
        connections: 4,
        ..TestServerConfig::default()
    })
    .await;
    let asked = |path: &str| {
        let fine = RequestFault {
            what: "",
            host: Some(server.address.to_string()),
            more: vec![("authorization", format!("Bearer {OWNER}"))],
            status: 200,
        };
        request("GET", path, &fine)
    };
    let mut held = Vec::new();
    for token in [OWNER, OWNER, OWNER, EVE] {
        held.push(server.hold_connection(token).await);
    }
    assert!(held.iter().all(|(_, status)| *status == 404));
    for path in PATHS {
        let answer = server.send_raw(&asked(path)).await;
        assert_eq!(answer.status, 503, "{answer:?}");
        assert_envelope(&answer, path);
        assert!(answer.head.contains("retry-after: 1"), "{answer:?}");
    }
}
