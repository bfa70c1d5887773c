//! `session/set_mode` and `session/set_config_option`. The updates precede the answer.

use agent_client_protocol::{
    Responder,
    v1::schema::{
        SessionConfigOptionValue, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
        SetSessionModeRequest, SetSessionModeResponse,
    },
};
use harn_runtime::{DriverAction, SettingError};

use super::{attached_session, drive};
use crate::{
    answer::answer_after_update,
    connection::Peer,
    error,
    ext::sender::SenderParams,
    settings::{self, MODE_OPTION},
};

pub(crate) async fn set_mode(peer: &Peer, request: SetSessionModeRequest, to: Responder) {
    let set = async {
        let attached = attached_session(peer, &request.session_id)?;
        let mut actor = SenderParams::from_meta(request.meta.as_ref());
        let driver = drive(&attached, DriverAction::Steer, &mut actor)?;
        let seq = driver.set_mode(&request.mode_id.0).await;
        Ok((attached.clone(), seq.map_err(|e| error::setting(&e))?))
    };
    answer_after_update(to, set.await, |_| SetSessionModeResponse::new());
}

pub(crate) async fn set_option(peer: &Peer, request: SetSessionConfigOptionRequest, to: Responder) {
    let set = async {
        let attached = attached_session(peer, &request.session_id)?;
        let SessionConfigOptionValue::ValueId { value } = &request.value else {
            return Err(error::bad_params(
                "the options of this agent accept only a value id",
            ));
        };
        let mut actor = SenderParams::from_meta(request.meta.as_ref());
        let session = drive(&attached, DriverAction::Steer, &mut actor)?;
        let set = match &*request.config_id.0 {
            MODE_OPTION => session.set_mode(&value.0).await,
            option => session.set_option(option, &value.0).await,
        };
        let seq = set.map_err(|e| error::setting(&with_mode(e)))?;
        Ok((attached.clone(), seq))
    };
    // The answer is the full list.
    answer_after_update(to, set.await, |session| {
        SetSessionConfigOptionResponse::new(settings::config_options(session))
    });
}

/// Adds the mode to the known options of an error, because clients see it as one.
fn with_mode(error: SettingError) -> SettingError {
    match error {
        SettingError::UnknownOption { given, known } => SettingError::UnknownOption {
            given,
            known: [MODE_OPTION, &known]
                .join(", ")
                .trim_end_matches(", ")
                .to_owned(),
        },
        other @ (SettingError::UnknownMode { .. }
        | SettingError::UnknownValue { .. }
        | SettingError::Closed) => other,
    }
}
