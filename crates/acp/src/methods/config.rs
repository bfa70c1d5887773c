//! `session/set_mode` and `session/set_config_option`. The updates come before the answer.

use std::sync::Arc;

use agent_client_protocol::{
    Error, Responder,
    v1::schema::{
        SessionConfigOptionValue, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
        SetSessionModeRequest, SetSessionModeResponse,
    },
};
use harn_model::Seq;
use harn_runtime::{Act, SettingError};

use super::{attached, drive};
use crate::{
    answer::answer,
    attached::Attached,
    connection::Peer,
    error,
    ext::sender::Sender,
    settings::{self, MODE_OPTION},
};

pub(crate) async fn set_mode(
    peer: &Arc<Peer>,
    request: Result<SetSessionModeRequest, Error>,
    responder: Responder,
) {
    let set = async {
        let request = request?;
        let attached = attached(peer, &request.session_id)?;
        let mut actor = Sender::of_meta(request.meta.as_ref());
        let driver = drive(&attached, Act::Steer, &mut actor)?;
        let seq = driver.set_mode(&request.mode_id.0).await;
        Ok::<_, Error>((attached.clone(), seq.map_err(|e| error::setting(&e))?))
    };
    match set.await {
        Ok((attached, seq)) => attached.reply_after(seq, move || {
            answer(responder, Ok(SetSessionModeResponse::new()));
        }),
        Err(error) => answer::<()>(responder, Err(error)),
    }
}

pub(crate) async fn set_option(
    peer: &Arc<Peer>,
    request: Result<SetSessionConfigOptionRequest, Error>,
    responder: Responder,
) {
    match apply(peer, request).await {
        Ok((attached, seq)) => {
            // The answer is the full list, as it is when the answer is given.
            let session = attached.session.observer();
            attached.reply_after(seq, move || {
                let options = settings::config_options(&session);
                answer(responder, Ok(SetSessionConfigOptionResponse::new(options)));
            });
        }
        Err(error) => answer::<()>(responder, Err(error)),
    }
}

async fn apply(
    peer: &Peer,
    request: Result<SetSessionConfigOptionRequest, Error>,
) -> Result<(Arc<Attached>, Seq), Error> {
    let request = request?;
    let attached = attached(peer, &request.session_id)?;
    let SessionConfigOptionValue::ValueId { value } = &request.value else {
        return Err(error::bad_params(
            "every option of this agent takes a value id",
        ));
    };
    let mut actor = Sender::of_meta(request.meta.as_ref());
    let session = drive(&attached, Act::Steer, &mut actor)?;
    let set = match &*request.config_id.0 {
        MODE_OPTION => session.set_mode(&value.0).await,
        option => session.set_option(option, &value.0).await,
    };
    let seq = set.map_err(|e| error::setting(&with_mode(e)))?;
    Ok((attached.clone(), seq))
}

/// To a client the mode is one of the options.
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
