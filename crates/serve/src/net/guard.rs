//! Checks every request before any route receives it: it is for this server (Host), it is from an allowed page
//! or from none (Origin), and it has a token, which names its principal, or the cookie of a signed-in user.
//! Only paths without user data are served without.
//!
//! The first two checks keep out other web pages that the user has open: a page can make a browser send
//! requests to a local port, also under its own name that resolves to it. The token keeps out everyone else. A
//! browser adds the cookie to any page's requests, so it is valid for our own page only.

mod authority;
mod cors;
mod public;

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::Response,
};
use harn_model::Principal;

use super::{
    listener,
    login::{LoginCode, LoginCookies},
    optional_routes::refusal,
    port_connection::PortConnection,
    token::AccessTokens,
};

pub(super) use authority::AllowedAuthorities;

/// The prefix of a token that is offered as a WebSocket protocol.
const BEARER_PROTOCOL: &str = "harn.bearer.";

/// The header with which a browser states whether the requesting page has the same origin.
const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// The rules for admission to the port.
pub(crate) struct PortGuard {
    pub(crate) tokens: AccessTokens,
    pub(crate) authorities: AllowedAuthorities,
    pub(super) code: LoginCode,
    pub(super) cookies: LoginCookies,
}

/// The reason to reject a request. It repeats nothing of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AccessRefusal(StatusCode, &'static str);

const HOST_MISSING: AccessRefusal = AccessRefusal(
    StatusCode::BAD_REQUEST,
    "the request names no host; send a Host header",
);
const WRONG_HOST: AccessRefusal = AccessRefusal(
    StatusCode::MISDIRECTED_REQUEST,
    "this server does not accept that host name; --allow-host adds names",
);
const WRONG_ORIGIN: AccessRefusal = AccessRefusal(
    StatusCode::FORBIDDEN,
    "this server does not accept pages of that origin; --allow-origin adds origins",
);
const TOKEN_MISSING: AccessRefusal = AccessRefusal(
    StatusCode::UNAUTHORIZED,
    "the token is missing; send Authorization: Bearer TOKEN, or for a WebSocket the protocol \
     harn.bearer.TOKEN with acp or harn.state.v1; in a browser, sign in at /",
);
const WRONG_TOKEN: AccessRefusal = AccessRefusal(StatusCode::UNAUTHORIZED, "the token is wrong");
const WRONG_COOKIE: AccessRefusal = AccessRefusal(
    StatusCode::UNAUTHORIZED,
    "you are no longer signed in; sign in again at /, or send a token",
);
const COOKIE_ELSEWHERE: AccessRefusal = AccessRefusal(
    StatusCode::UNAUTHORIZED,
    "the sign-in cookie is valid only for this server's own page, which sends its origin; \
     other clients must send a token",
);

/// Passes a request on with its [`Principal`], or answers it. A request to a public path also passes without.
pub(crate) async fn check(
    State(guard): State<Arc<PortGuard>>,
    mut request: Request,
    next: Next,
) -> Response {
    let origin = match guard.check_host_and_origin(&request) {
        Ok(origin) => origin,
        Err(refused) => return refused.answer(&request),
    };
    if let Some(origin) = &origin
        && cors::is_preflight(&request)
    {
        return cors::answer_preflight(origin);
    }
    let mut response = match guard.authenticate(request.method(), request.headers()) {
        Ok(principal) if !assign_slot(&request, &principal) => listener::reject_too_many(&request),
        Ok(principal) => {
            hide_credentials(request.headers_mut());
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(_) if public::is_public(request.method(), request.uri().path()) => {
            hide_credentials(request.headers_mut());
            next.run(request).await
        }
        Err(refused) => refused.answer(&request),
    };
    if let Some(origin) = origin {
        cors::add_allow_headers(response.headers_mut(), origin);
    }
    response
}

/// Returns whether the principal's quota allows this connection.
fn assign_slot(request: &Request, principal: &Principal) -> bool {
    let caller = request.extensions().get::<PortConnection>();
    caller.is_none_or(|caller| caller.assign_principal(principal))
}

impl PortGuard {
    /// Checks host and origin; returns the origin, if there is one.
    fn check_host_and_origin(
        &self,
        request: &Request,
    ) -> Result<Option<HeaderValue>, AccessRefusal> {
        let headers = request.headers();
        // HTTP/2 has the name in the URI, and may repeat it in the header; HTTP/1 the other way round.
        let in_uri = request.uri().authority().map(|name| name.as_str());
        let named = at_most_one(headers.get_all(header::HOST).iter(), WRONG_HOST)?;
        let named = named.map(HeaderValue::to_str).transpose();
        let mut names = [in_uri, named.map_err(|_| WRONG_HOST)?]
            .into_iter()
            .flatten();
        if !names.clone().all(|name| self.authorities.allows_host(name)) {
            return Err(WRONG_HOST);
        }
        names.next().ok_or(HOST_MISSING)?;
        let origins = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = at_most_one(origins, WRONG_ORIGIN)? else {
            return Ok(None);
        };
        let text = origin.to_str().map_err(|_| WRONG_ORIGIN)?;
        match self.authorities.allows_origin(text) {
            true => Ok(Some(origin.clone())),
            false => Err(WRONG_ORIGIN),
        }
    }

    /// Returns the principal of a request.
    fn authenticate(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Principal, AccessRefusal> {
        let given = headers.get_all(header::AUTHORIZATION).iter();
        let offered = offered_protocols(headers)
            .filter_map(|name| name.strip_prefix(BEARER_PROTOCOL))
            .filter(|_| is_upgrade(method, headers));
        let token = match at_most_one(given, WRONG_TOKEN)? {
            Some(value) => parse_bearer(value.as_bytes()).ok_or(WRONG_TOKEN)?,
            None => match at_most_one(offered, WRONG_TOKEN)? {
                Some(token) => token.as_bytes(),
                None => return self.authenticate_by_cookie(method, headers),
            },
        };
        let principal = self.tokens.find_principal(token).cloned();
        principal.ok_or(WRONG_TOKEN)
    }

    /// Returns the principal of a request by its cookie.
    fn authenticate_by_cookie(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Principal, AccessRefusal> {
        // Another port of this host may have added one.
        let cookie = at_most_one(self.cookies.find_values(headers), WRONG_COOKIE)?;
        let cookie = cookie.ok_or(TOKEN_MISSING)?;
        if !self.is_for_our_page(method, headers) {
            return Err(COOKIE_ELSEWHERE);
        }
        let principal = self.cookies.verified_name(cookie);
        let principal = principal.and_then(|name| self.tokens.find_named(name));
        principal.ok_or(WRONG_COOKIE)
    }

    /// Returns whether the request is from our own page or typed by the user. A request that can change
    /// something must have an origin: without one, it could be the form of any page.
    fn is_for_our_page(&self, method: &Method, headers: &HeaderMap) -> bool {
        let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
        let site = sites.all(|site| site == "same-origin" || site == "none");
        let only_reads = method == Method::GET || method == Method::HEAD;
        // A WebSocket begins with a GET, and browsers open one to any origin without a preflight.
        let only_reads = only_reads && !headers.contains_key(header::UPGRADE);
        let origin = match headers.get(header::ORIGIN) {
            Some(origin) => origin
                .to_str()
                .is_ok_and(|origin| self.authorities.is_own_origin(origin)),
            None => only_reads,
        };
        site && origin
    }
}

/// Returns the only value, if any. With two, the server cannot know which is meant, and rejects the request.
fn at_most_one<T>(
    mut values: impl Iterator<Item = T>,
    refused: AccessRefusal,
) -> Result<Option<T>, AccessRefusal> {
    let first = values.next();
    match values.next() {
        None => Ok(first),
        Some(_) => Err(refused),
    }
}

fn parse_bearer(value: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"bearer ";
    let (scheme, token) = value.split_at_checked(SCHEME.len())?;
    scheme
        .eq_ignore_ascii_case(SCHEME)
        .then_some(token.trim_ascii())
}

fn is_upgrade(method: &Method, headers: &HeaderMap) -> bool {
    let upgrade = headers.get(header::UPGRADE);
    let websocket = upgrade.is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket"));
    websocket && method == Method::GET
}

fn offered_protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    offered
        .filter_map(|names| names.to_str().ok())
        .flat_map(|names| names.split(','))
        .map(str::trim)
}

/// Removes the credentials: no route needs them, and a removed header cannot be logged.
fn hide_credentials(headers: &mut HeaderMap) {
    headers.remove(header::AUTHORIZATION);
    headers.remove(header::COOKIE);
    hide_token_protocol(headers);
}

/// Removes the token from the offered protocols.
fn hide_token_protocol(headers: &mut HeaderMap) {
    let rest: Vec<_> = offered_protocols(headers)
        .filter(|name| !name.starts_with(BEARER_PROTOCOL))
        .filter_map(|name| HeaderValue::from_str(name).ok())
        .collect();
    headers.remove(header::SEC_WEBSOCKET_PROTOCOL);
    for name in rest {
        headers.append(header::SEC_WEBSOCKET_PROTOCOL, name);
    }
}

impl AccessRefusal {
    fn answer(self, request: &Request) -> Response {
        let Self(status, words) = self;
        add_challenge(refusal(request, status, words))
    }
}

/// Adds the authentication scheme to a response with status 401.
pub(super) fn add_challenge(mut response: Response) -> Response {
    if response.status() == StatusCode::UNAUTHORIZED {
        let scheme = HeaderValue::from_static("Bearer");
        let headers = response.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, scheme);
    }
    response
}
