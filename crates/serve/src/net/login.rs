//! Signing in with a browser, which stores a cookie in place of a token: `/login` accepts the code that is
//! shown at start, or a token, and returns who is signed in; `/logout` deletes the cookie.
//!
//! The guard checks the cookies.

mod code;
mod cookie;

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
    routing::any,
};
use harn_model::Principal;
use serde::{Deserialize, Serialize};

use super::guard::{PortGuard, add_challenge};

pub(super) use self::{code::LoginCode, cookie::LoginCookies};

/// The path to sign in.
pub(super) const LOGIN: &str = "/login";
const LOGOUT: &str = "/logout";
/// The paths whose refusals are an object with an `error`.
pub(super) const PATHS: [&str; 2] = [LOGIN, LOGOUT];

const JSON: &str = "application/json";
/// The longest token takes an eighth of it.
const BODY_BYTES: usize = 4 * 1024;

/// The body of a sign-in: one of these and nothing else.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Credential {
    Code(String),
    Token(String),
}

/// The answer to `GET /login`.
#[derive(Serialize)]
struct LoginStatus<'a> {
    principal: &'a str,
}

#[derive(Serialize)]
struct RefusalBody {
    error: &'static str,
}

/// The reason to reject a sign-in. It repeats nothing of the request.
struct LoginRefusal(StatusCode, &'static str);

const NOBODY: LoginRefusal = LoginRefusal(
    StatusCode::UNAUTHORIZED,
    "not signed in; post {\"code\":\"…\"} with the code that the server printed at its \
     start, or {\"token\":\"…\"}",
);
const WRONG_CODE: LoginRefusal = LoginRefusal(
    StatusCode::UNAUTHORIZED,
    "the code is wrong or no longer valid: it works once, within 10 minutes after the start; \
     sign in with the token",
);
const WRONG_TOKEN: LoginRefusal = LoginRefusal(
    StatusCode::UNAUTHORIZED,
    "the token is wrong; the server prints at its start where it is stored",
);
const WRONG_SHAPE: LoginRefusal = LoginRefusal(
    StatusCode::BAD_REQUEST,
    "post {\"code\":\"…\"} or {\"token\":\"…\"}, one of them and nothing else",
);
const TOO_LONG: LoginRefusal = LoginRefusal(
    StatusCode::PAYLOAD_TOO_LARGE,
    "the body is longer than the limit of 4096 bytes",
);
const WRONG_CONTENT_TYPE: LoginRefusal = LoginRefusal(
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    "Content-Type must be application/json",
);
const WRONG_METHOD: LoginRefusal = LoginRefusal(
    StatusCode::METHOD_NOT_ALLOWED,
    "use POST to sign in or out; GET /login returns who is signed in",
);
/// Cannot happen with the names that tokens may have.
const WRONG_NAME: LoginRefusal = LoginRefusal(
    StatusCode::INTERNAL_SERVER_ERROR,
    "this name cannot sign in; send its token with each request",
);

/// Returns the routes `/login` and `/logout`, for use behind the guard.
pub(super) fn routes(guard: Arc<PortGuard>) -> Router {
    Router::new()
        .route(LOGIN, any(handle_login))
        .route(LOGOUT, any(handle_logout))
        .with_state(guard)
}

async fn handle_login(State(guard): State<Arc<PortGuard>>, request: Request) -> Response {
    let done = match *request.method() {
        Method::GET | Method::HEAD => login_status(request.extensions().get()),
        Method::POST => sign_in(&guard, request).await,
        _ => Err(WRONG_METHOD),
    };
    finish_response(done, "GET, POST")
}

async fn handle_logout(State(guard): State<Arc<PortGuard>>, request: Request) -> Response {
    let done = match *request.method() {
        Method::POST => with_cookie(guard.cookies.clear()),
        _ => Err(WRONG_METHOD),
    };
    finish_response(done, "POST")
}

fn login_status(principal: Option<&Principal>) -> Result<Response, LoginRefusal> {
    let principal = principal.ok_or(NOBODY)?.as_str();
    Ok(json_response(StatusCode::OK, &LoginStatus { principal }))
}

async fn sign_in(guard: &PortGuard, request: Request) -> Result<Response, LoginRefusal> {
    let (parts, body) = request.into_parts();
    let principal = match read_credential(&parts.headers, body).await? {
        Credential::Code(code) if guard.code.take(code.trim()) => Principal::owner(),
        Credential::Code(_) => return Err(WRONG_CODE),
        Credential::Token(token) => {
            let known = guard.tokens.find_principal(token.trim().as_bytes());
            known.cloned().ok_or(WRONG_TOKEN)?
        }
    };
    with_cookie(guard.cookies.issue(&principal))
}

async fn read_credential(headers: &HeaderMap, body: Body) -> Result<Credential, LoginRefusal> {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    // No form of another page can send this type, so no other page can sign a user in.
    if !kind.eq_ignore_ascii_case(JSON) {
        return Err(WRONG_CONTENT_TYPE);
    }
    // It also fails when the client disconnected, which receives no answer then.
    let body = to_bytes(body, BODY_BYTES).await;
    let body = body.map_err(|_| TOO_LONG)?;
    serde_json::from_slice(&body).map_err(|_| WRONG_SHAPE)
}

fn with_cookie(cookie: Option<HeaderValue>) -> Result<Response, LoginRefusal> {
    let cookie = cookie.ok_or(WRONG_NAME)?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

/// Finishes a response, which must not be cached because the next one may differ. `allow` lists the methods of
/// the path.
fn finish_response(done: Result<Response, LoginRefusal>, allow: &'static str) -> Response {
    let refused = |LoginRefusal(status, words)| add_challenge(refusal(status, words));
    let mut response = done.unwrap_or_else(refused);
    let wrong_method = response.status() == StatusCode::METHOD_NOT_ALLOWED;
    let headers = response.headers_mut();
    if wrong_method {
        headers.insert(header::ALLOW, HeaderValue::from_static(allow));
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns a refusal in the form that pages read.
pub(super) fn refusal(status: StatusCode, words: &'static str) -> Response {
    json_response(status, &RefusalBody { error: words })
}

fn json_response(status: StatusCode, body: &impl Serialize) -> Response {
    // Neither type has a part that cannot be serialised.
    let body = serde_json::to_string(body).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, JSON)], body).into_response()
}
