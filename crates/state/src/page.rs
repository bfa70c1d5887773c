//! The web page, embedded in the program: the files of `page/`, built from `web/page`.
//!
//! It contains no data of a user, so it needs no token; it requests its data like any client. It may load and run
//! only its own files, and connect only to this server.

use axum::{
    Router,
    extract::Path,
    http::{HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use include_dir::{Dir, include_dir};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/page");

/// The page may do only what its own files do.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'";

/// Files whose names contain a hash of their content never change.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

pub(crate) fn routes() -> Router {
    Router::new()
        .route("/", get(async || file_response("index.html", "no-cache")))
        .route(
            "/assets/{name}",
            get(async |Path(name): Path<String>| {
                file_response(&format!("assets/{name}"), FOR_EVER)
            }),
        )
}

/// Whether a path belongs to the page, and so needs no token.
pub fn is_page(path: &str) -> bool {
    path == "/" || path.starts_with("/assets/")
}

fn file_response(path: &str, cache: &'static str) -> Response {
    let Some(file) = FILES.get_file(path) else {
        return (StatusCode::NOT_FOUND, "the page has no such file").into_response();
    };
    const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
    let headers = [
        (header::CONTENT_TYPE, content_type(path)),
        (header::CACHE_CONTROL, cache),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (OPENER_POLICY, "same-origin"),
    ];
    (headers, file.contents()).into_response()
}

fn content_type(path: &str) -> &'static str {
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

#[cfg(test)]
mod tests {
    use axum::{
        body::{Body, to_bytes},
        extract::Request,
        http::Method,
    };
    use expect_test::expect;
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;

    use super::*;

    async fn request_path(
        method: Method,
        path: &str,
    ) -> (StatusCode, Vec<(String, String)>, Vec<u8>) {
        let request = Request::builder().method(method).uri(path);
        let request = request.body(Body::empty()).unwrap();
        let service = TowerToHyperService::new(routes());
        let response = service.call(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let headers = parts.headers.iter();
        let headers = headers.map(|(name, value)| {
            let value = value.to_str().unwrap();
            (name.to_string(), value.to_owned())
        });
        let body = to_bytes(body, usize::MAX).await.unwrap();
        (parts.status, headers.collect(), body.to_vec())
    }

    /// Returns the paths of the assets with this ending.
    fn asset_paths(ending: &str) -> Vec<String> {
        let files = FILES.get_dir("assets").unwrap().files();
        let paths = files.map(|file| format!("/{}", file.path().display()));
        paths.filter(|path| path.ends_with(ending)).collect()
    }

    #[tokio::test]
    async fn the_policy_allows_only_what_the_page_does() {
        let (status, headers, body) = request_path(Method::GET, "/").await;
        assert_eq!(status, StatusCode::OK);
        let told: String = headers
            .iter()
            .filter(|(name, _)| name != "content-length")
            .map(|(name, value)| format!("{name}: {value}\n"))
            .collect();
        expect![[r#"
            content-type: text/html; charset=utf-8
            cache-control: no-cache
            content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'
            x-content-type-options: nosniff
            referrer-policy: no-referrer
            x-frame-options: DENY
            cross-origin-opener-policy: same-origin
        "#]].assert_eq(&told);
        let page = String::from_utf8(body).unwrap();
        // The page contains no inline code or style, which this policy would block.
        assert!(
            !page.contains("<style") && !page.contains("style="),
            "{page}"
        );
        let scripts: Vec<_> = page.split("<script").skip(1).collect();
        assert!(!scripts.is_empty());
        for script in scripts {
            let tag = script.split('>').next().unwrap();
            assert!(tag.contains("src=\"./assets/"), "{tag}");
        }
    }

    #[tokio::test]
    async fn every_file_has_its_type_and_is_cached() {
        let mut kinds = Vec::new();
        for ending in [".js", ".css", ".svg"] {
            for path in asset_paths(ending) {
                let (status, headers, body) = request_path(Method::GET, &path).await;
                assert_eq!(status, StatusCode::OK, "{path}");
                assert!(!body.is_empty(), "{path}");
                let header = |name: &str| {
                    let found = headers.iter().find(|(given, _)| given == name);
                    found.map(|(_, value)| value.clone()).unwrap_or_default()
                };
                assert_eq!(header("cache-control"), FOR_EVER);
                assert_eq!(header("x-content-type-options"), "nosniff");
                assert_eq!(header("content-security-policy"), POLICY);
                kinds.push(format!("{ending} {}", header("content-type")));
            }
        }
        kinds.dedup();
        let expected = [
            ".js text/javascript; charset=utf-8",
            ".css text/css; charset=utf-8",
            ".svg image/svg+xml",
        ];
        assert_eq!(kinds, expected);
        assert_eq!(content_type("a.png"), "image/png");
        assert_eq!(content_type("a.webmanifest"), "application/json");
        assert_eq!(content_type("a"), "application/octet-stream");
    }

    #[tokio::test]
    async fn other_paths_are_not_found() {
        for path in [
            "/assets/nothing.js",
            "/assets/",
            "/assets/..%2Findex.html",
            "/assets/%2e%2e%2findex.html",
            "/assets/a/b.js",
            "/index.html",
        ] {
            let (status, _, body) = request_path(Method::GET, path).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
            assert!(!body.starts_with(b"<"), "{path}");
        }
        assert!(is_page("/") && is_page("/assets/a.js"));
        assert!(!is_page("/ws") && !is_page("/assets") && !is_page("/state/output"));
    }

    #[tokio::test]
    async fn a_head_has_no_body_and_a_post_is_rejected() {
        let path = asset_paths(".js").remove(0);
        for path in ["/", &path] {
            let (status, headers, body) = request_path(Method::HEAD, path).await;
            assert_eq!(status, StatusCode::OK);
            assert!(body.is_empty());
            let (_, of_get, _) = request_path(Method::GET, path).await;
            assert_eq!(headers, of_get);
            let (status, _, _) = request_path(Method::POST, path).await;
            assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
        }
    }
}
