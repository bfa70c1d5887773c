//! `authenticate` and `logout`: there are no credentials. The only possible method is a command that the client
//! runs in a terminal, so nothing is left to do here.

use agent_client_protocol::{
    Error,
    v1::schema::{AuthenticateRequest, AuthenticateResponse, LogoutRequest, LogoutResponse},
};

use crate::{connection::Peer, error};

/// Accepts the offered method. In ACP, clients run a method of type `terminal` and do not send it here; older
/// clients do both.
pub(crate) fn authenticate(
    peer: &Peer,
    request: &AuthenticateRequest,
) -> Result<AuthenticateResponse, Error> {
    let support = peer.facts().terminal_auth;
    match support.offered_method(peer.config.terminal_auth.as_ref()) {
        Some(method) if *method.id == *request.method_id.0 => Ok(AuthenticateResponse::new()),
        offered => Err(error::unknown_auth_method(offered.map(|it| it.id))),
    }
}

pub(crate) fn logout(_: LogoutRequest) -> LogoutResponse {
    LogoutResponse::new()
}
