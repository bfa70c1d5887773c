//! The paths without authentication: the page, which has no user data, and the sign-in.

use axum::http::Method;

use crate::net::{login, optional_routes};

/// Returns whether a request needs no token. Compares the path as it was sent, as the router does.
pub(super) fn is_public(method: &Method, path: &str) -> bool {
    let reads = method == Method::GET || method == Method::HEAD;
    path == login::LOGIN || (reads && optional_routes::is_page(path))
}

#[cfg(test)]
#[cfg(feature = "page")]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_and_the_login_are_public() {
        for (method, path) in [
            ("GET", "/"),
            ("HEAD", "/"),
            ("GET", "/assets/page.js"),
            ("HEAD", "/assets/fonts/a.woff2"),
            ("GET", "/login"),
            ("POST", "/login"),
            ("DELETE", "/login"),
        ] {
            assert!(is_public(&method.parse().unwrap(), path), "{method} {path}");
        }
        for (method, path) in [
            ("POST", "/"),
            ("DELETE", "/"),
            ("CONNECT", "/"),
            ("POST", "/assets/page.js"),
            ("GET", "/assets"),
            ("GET", "/assetsx/page.js"),
            ("GET", "/Assets/page.js"),
            ("GET", "//assets/page.js"),
            ("GET", "/x/../assets/page.js"),
            ("GET", "/login/"),
            ("GET", "/login/x"),
            ("GET", "/loginx"),
            ("POST", "/logout"),
            ("GET", "/acp"),
            ("POST", "/acp"),
            ("GET", "/ws"),
            ("GET", "/ws/sessions"),
            ("GET", "/state/timeline"),
            ("POST", "/assistant"),
            ("POST", "/v1/openharness"),
            ("GET", ""),
            ("OPTIONS", "*"),
        ] {
            assert!(
                !is_public(&method.parse().unwrap(), path),
                "{method} {path}"
            );
        }
    }
}
