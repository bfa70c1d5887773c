//! A strict Shell: every answer must be an envelope with the ids of its request, whatever the status. It calls the
//! routes in memory, and the transcript has everything that it sends and receives.

use axum::{
    body::Body,
    http::{HeaderMap, Request, StatusCode, header},
};
use harn_openharness::{OpenHarnessConfig, PATHS, routes};
use serde_json::{Value, json};

use crate::{RecordDirection, Recorder, TestHub, must, served_routes::ServedRoutes};

/// A Shell of one tenant.
///
/// # Panics
///
/// Every method that sends, if the answer is no envelope, or one for another request.
#[derive(Clone)]
pub struct OpenHarnessShell {
    routes: ServedRoutes,
    path: &'static str,
    recorder: Recorder,
}

/// The answer that a Shell received.
#[derive(Debug)]
pub struct ShellResponse {
    /// The HTTP status.
    pub http: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The envelope.
    pub envelope: Value,
    /// The envelope as received.
    pub bytes: Vec<u8>,
}

impl OpenHarnessShell {
    /// Returns a Shell of the owner, served by this hub.
    pub fn new(hub: &TestHub) -> Self {
        Self::with_config(hub, |_| ())
    }

    /// Like [`OpenHarnessShell::new`], with an adjusted configuration.
    pub fn with_config(hub: &TestHub, adjust: impl FnOnce(&mut OpenHarnessConfig)) -> Self {
        let mut config = OpenHarnessConfig::new(hub.hub().clone(), hub.workspace());
        adjust(&mut config);
        Self {
            routes: ServedRoutes::new(routes(config)),
            path: PATHS[0],
            recorder: hub.recorder().clone(),
        }
    }

    /// Returns a Shell of another principal at the same routes, or of none.
    #[must_use]
    pub fn for_principal(&self, principal: Option<&str>) -> Self {
        Self {
            routes: self.routes.for_principal(principal),
            ..self.clone()
        }
    }

    /// Returns the same Shell, recorded in the transcript of another hub.
    #[must_use]
    pub fn recorded_with(&self, other: &TestHub) -> Self {
        Self {
            recorder: other.recorder().clone(),
            ..self.clone()
        }
    }

    /// Returns the same Shell at another path.
    #[must_use]
    pub fn with_path(&self, path: &'static str) -> Self {
        Self {
            path,
            ..self.clone()
        }
    }

    /// Posts a request and returns its answer.
    pub async fn post(&self, message: &Value) -> ShellResponse {
        let answer = self.post_bytes(message.to_string()).await;
        for id in ["request_id", "correlation_id"] {
            if message[id].is_string() {
                assert_eq!(answer.envelope[id], message[id], "{id} of {message}");
            }
        }
        answer
    }

    /// Posts any bytes as JSON.
    pub async fn post_bytes(&self, body: impl Into<Vec<u8>>) -> ShellResponse {
        let request = Request::post(self.path);
        let request = request.header(header::CONTENT_TYPE, "application/json");
        self.send(request, body).await
    }

    /// Sends any request.
    pub async fn send(
        &self,
        request: axum::http::request::Builder,
        body: impl Into<Vec<u8>>,
    ) -> ShellResponse {
        let body = body.into();
        self.recorder.record_line(RecordDirection::ToAgent, &body);
        let request = must(request.body(Body::from(body)), "no request");
        self.exchange(request).await
    }

    /// Sends a request with any kind of body.
    pub async fn exchange(&self, request: Request<Body>) -> ShellResponse {
        let (parts, bytes) = self.routes.answer(request).await;
        if parts.status != StatusCode::OK {
            let status = parts.status.as_u16();
            self.recorder.record_note(&format!("HTTP {status}"));
        }
        self.recorder.record_line(RecordDirection::ToClient, &bytes);
        let shown = String::from_utf8_lossy(&bytes);
        let envelope = must(serde_json::from_slice(&bytes), shown);
        let answer = ShellResponse {
            http: parts.status,
            headers: parts.headers,
            envelope,
            bytes,
        };
        answer.check();
        answer
    }
}

impl ShellResponse {
    /// Returns whether the answer reports a run and no error.
    pub fn is_success(&self) -> bool {
        self.response()["status"] == "success"
    }

    /// Returns the error code.
    pub fn code(&self) -> &str {
        self.response()["error"]["code"]
            .as_str()
            .unwrap_or_default()
    }

    /// Returns the member `response`.
    pub fn response(&self) -> &Value {
        &self.envelope["response"]
    }

    /// Returns the state of the run.
    pub fn state(&self) -> &str {
        let state = &self.response()["extensions"]["dev.harn"]["state"];
        state.as_str().unwrap_or_default()
    }

    /// Returns the text of all messages to render.
    pub fn text(&self) -> String {
        let shown = self.directives("render_message");
        let texts = shown.iter().filter_map(|it| it["payload"]["text"].as_str());
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// Returns the directives of a type.
    pub fn directives(&self, action: &str) -> Vec<&Value> {
        let all = self.all_directives();
        all.filter(|it| it["action_type"] == action).collect()
    }

    fn all_directives(&self) -> impl Iterator<Item = &Value> {
        let all = self.response()["action_directives"].as_array();
        all.into_iter().flatten()
    }

    /// Returns the ids of the questions that the run waits for.
    pub fn questions(&self) -> Vec<String> {
        let ids = self.all_directives().filter_map(|directive| {
            let payload = &directive["payload"];
            let asks = !payload["options"].is_null() || !payload["answered_by"].is_null();
            payload["id"].as_str().filter(|_| asks)
        });
        ids.map(str::to_owned).collect()
    }

    /// Returns `response.continuation`; panics if there is none.
    pub fn continuation(&self) -> Value {
        let continuation = &self.response()["continuation"];
        assert!(continuation.is_object(), "{}", self.envelope);
        continuation.clone()
    }

    fn check(&self) {
        let envelope = &self.envelope;
        assert_eq!(self.headers[header::CONTENT_TYPE], "application/json");
        assert_eq!(envelope["protocol_version"], "1.0.0", "{envelope}");
        assert!(envelope.get("request").is_none(), "{envelope}");
        let response = self.response();
        let error = &response["error"];
        match response["status"].as_str() {
            Some("success") => {
                assert_eq!(self.http, StatusCode::OK, "{envelope}");
                assert!(error.is_null(), "{envelope}");
            }
            Some("error") => {
                assert!(error["code"].is_string(), "{envelope}");
                assert!(error["retryable"].is_boolean(), "{envelope}");
            }
            _ => panic!("{envelope}"),
        }
        for (header, id) in [
            ("x-request-id", "request_id"),
            ("x-correlation-id", "correlation_id"),
        ] {
            match envelope.get(id) {
                Some(Value::String(id)) if id.bytes().all(|byte| byte.is_ascii_graphic()) => {
                    assert_eq!(self.headers[header], id.as_str(), "{envelope}");
                }
                Some(Value::String(_)) | None => {
                    assert!(!self.headers.contains_key(header), "{envelope}");
                }
                Some(_) => panic!("{id} is not a string in {envelope}"),
            }
        }
    }
}

/// Returns a request that sends this text in a conversation.
pub fn intent_request(request_id: &str, intent: &str) -> Value {
    request(request_id, "user_intent", json!(intent))
}

/// Returns a request that continues a run.
pub fn continuation_request(request_id: &str, continuation: &Value) -> Value {
    request(request_id, "continuation", continuation.clone())
}

fn request(request_id: &str, member: &str, value: Value) -> Value {
    json!({
        "protocol_version": "1.0.0",
        "request_id": request_id,
        "request": {"context": {"session_id": "sess_1", member: value}},
    })
}

/// Returns a request that continues a run with an extension of ours: `approval`, `answer` or `cancel`.
pub fn decision_request(request_id: &str, continuation: &Value, ours: &Value) -> Value {
    let mut message = continuation_request(request_id, continuation);
    message["request"]["context"]["extensions"] = json!({ "dev.harn": ours });
    message
}
