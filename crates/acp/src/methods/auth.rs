//! `authenticate` and `logout`: there are no methods, so there is nothing to prove and nothing to forget.

use agent_client_protocol::{
    Error,
    v1::schema::{AuthenticateRequest, AuthenticateResponse, LogoutRequest, LogoutResponse},
};

use crate::error;

pub(crate) fn authenticate(_: AuthenticateRequest) -> Result<AuthenticateResponse, Error> {
    Err(error::no_auth_method())
}

pub(crate) fn logout(_: LogoutRequest) -> LogoutResponse {
    LogoutResponse::new()
}
