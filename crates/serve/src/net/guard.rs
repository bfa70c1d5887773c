//! What every request has to pass before any route hears of it: it was meant for us (Host), it comes from a
//! page we know or from none (Origin), and it has a token, which says whose it is.
//!
//! The first two keep web pages away that a person has open beside us: a page can have a browser send
//! requests to a local port, and by a name of its own that leads there. The token keeps everybody else away.

mod authority;
mod cors;

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::Response,
};
use harn_model::Principal;

use super::{caller::Caller, listener, refusal::refusal, token::Tokens};

pub(super) use authority::Authorities;

/// Before a token that is offered as a WebSocket protocol.
const BEARER_PROTOCOL: &str = "harn.bearer.";

/// Who is let in.
pub(crate) struct Guard {
    pub(crate) tokens: Tokens,
    pub(crate) authorities: Authorities,
}

/// Why somebody is not let in. Nothing of the request is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refused {
    HostMissing,
    Host,
    Origin,
    TokenMissing,
    Token,
}

/// Lets a request pass with its [`Principal`], or answers it.
pub(crate) async fn check(
    State(guard): State<Arc<Guard>>,
    mut request: Request,
    next: Next,
) -> Response {
    let origin = match guard.meant_for_us(&request) {
        Ok(origin) => origin,
        Err(refused) => return refused.answer(&request),
    };
    if let Some(origin) = &origin
        && cors::is_preflight(&request)
    {
        return cors::preflight(origin);
    }
    let mut response = match guard.principal(request.method(), request.headers()) {
        Ok(principal) if !seated(&request, &principal) => listener::too_many(&request),
        Ok(principal) => {
            // Nobody behind this point needs to know it, and what is not there cannot be logged.
            request.headers_mut().remove(header::AUTHORIZATION);
            hide_protocol(request.headers_mut());
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(refused) => refused.answer(&request),
    };
    if let Some(origin) = origin {
        cors::allow(response.headers_mut(), origin);
    }
    response
}

/// Whether there is a seat for whoever was let in.
fn seated(request: &Request, principal: &Principal) -> bool {
    let caller = request.extensions().get::<Caller>();
    caller.is_none_or(|caller| caller.is(principal))
}

impl Guard {
    /// Whether host and origin are known; the origin, if it is another page's.
    fn meant_for_us(&self, request: &Request) -> Result<Option<HeaderValue>, Refused> {
        let headers = request.headers();
        // HTTP/2 has the name in the URI, and may repeat it in the header; HTTP/1 the other way round.
        let in_uri = request.uri().authority().map(|name| name.as_str());
        let mut names = 0;
        for name in headers.get_all(header::HOST) {
            let name = name.to_str().map_err(|_| Refused::Host)?;
            self.authorities
                .host(name)
                .then_some(())
                .ok_or(Refused::Host)?;
            names += 1;
        }
        if names > 1 {
            return Err(Refused::Host);
        }
        match in_uri {
            Some(name) if !self.authorities.host(name) => return Err(Refused::Host),
            None if names == 0 => return Err(Refused::HostMissing),
            Some(_) | None => {}
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => Ok(None),
            (Some(origin), None) => {
                let text = origin.to_str().map_err(|_| Refused::Origin)?;
                match self.authorities.origin(text) {
                    true => Ok(Some(origin.clone())),
                    false => Err(Refused::Origin),
                }
            }
            (Some(_), Some(_)) => Err(Refused::Origin),
        }
    }

    /// Whose request it is.
    fn principal(&self, method: &Method, headers: &HeaderMap) -> Result<Principal, Refused> {
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let token = match (given.next(), given.next()) {
            (Some(value), None) => bearer(value.as_bytes()).ok_or(Refused::Token)?,
            (Some(_), Some(_)) => return Err(Refused::Token),
            (None, _) if is_upgrade(method, headers) => {
                let mut offered =
                    protocols(headers).filter_map(|name| name.strip_prefix(BEARER_PROTOCOL));
                match (offered.next(), offered.next()) {
                    (Some(token), None) => token.as_bytes(),
                    (Some(_), Some(_)) => return Err(Refused::Token),
                    (None, _) => return Err(Refused::TokenMissing),
                }
            }
            (None, _) => return Err(Refused::TokenMissing),
        };
        let principal = self.tokens.principal(token).cloned();
        principal.ok_or(Refused::Token)
    }
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
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

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    offered
        .filter_map(|names| names.to_str().ok())
        .flat_map(|names| names.split(','))
        .map(str::trim)
}

/// Takes the token out of the protocols that are offered.
fn hide_protocol(headers: &mut HeaderMap) {
    let rest: Vec<_> = protocols(headers)
        .filter(|name| !name.starts_with(BEARER_PROTOCOL))
        .filter_map(|name| HeaderValue::from_str(name).ok())
        .collect();
    headers.remove(header::SEC_WEBSOCKET_PROTOCOL);
    for name in rest {
        headers.append(header::SEC_WEBSOCKET_PROTOCOL, name);
    }
}

impl Refused {
    fn answer(self, request: &Request) -> Response {
        let (status, words) = match self {
            Self::HostMissing => (
                StatusCode::BAD_REQUEST,
                "the request does not say which host it is for",
            ),
            Self::Host => (
                StatusCode::MISDIRECTED_REQUEST,
                "this server does not go by that name; --allow-host names others",
            ),
            Self::Origin => (
                StatusCode::FORBIDDEN,
                "pages of that origin may not come in; --allow-origin names those that may",
            ),
            Self::TokenMissing => (
                StatusCode::UNAUTHORIZED,
                "a token is needed: Authorization: Bearer, or for a WebSocket the protocol harn.bearer.TOKEN \
                 beside acp",
            ),
            Self::Token => (StatusCode::UNAUTHORIZED, "the token is not right"),
        };
        let mut response = refusal(request, status, words);
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
