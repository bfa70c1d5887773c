//! The web page, a part of the program: what is in `page/`, as it was built from `web/page`.
//!
//! There is nothing of anybody in it, so that it needs no token; what it shows it asks for like any client. It
//! may load and run nothing but its own files, and talk to nobody but this server.

use axum::{
    Router,
    extract::Path,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use include_dir::{Dir, include_dir};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/page");

/// What the page may do: nothing that its own files do not do.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'";

/// Files whose names say what is in them never change.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

pub(crate) fn routes() -> Router {
    Router::new()
        .route("/", get(async || file("index.html", "no-cache")))
        .route(
            "/assets/{name}",
            get(async |Path(name): Path<String>| file(&format!("assets/{name}"), FOR_EVER)),
        )
}

/// Whether a path is of the page, and needs no token.
#[must_use]
pub fn is_page(path: &str) -> bool {
    path == "/" || path.starts_with("/assets/")
}

fn file(path: &str, cache: &'static str) -> Response {
    let Some(file) = FILES.get_file(path) else {
        return (StatusCode::NOT_FOUND, "the page has no such file").into_response();
    };
    let mut response = file.contents().into_response();
    let headers = response.headers_mut();
    let mut say = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    say(header::CONTENT_TYPE, kind(path));
    say(header::CACHE_CONTROL, cache);
    say(header::CONTENT_SECURITY_POLICY, POLICY);
    say(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    say(header::REFERRER_POLICY, "no-referrer");
    say(header::X_FRAME_OPTIONS, "DENY");
    say(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    );
    response
}

fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("json" | "webmanifest") => "application/json",
        Some(_) | None => "application/octet-stream",
    }
}
