//! `_session/steering`, the method that editors use today: `session/inject` during a turn, and a prompt if no
//! turn runs.

use agent_client_protocol::Error;
use harn_model::{ContentBlock, ControlKind, ControlResult, MessageId};
use harn_runtime::{ControlError, Driver, DriverAction, PromptError};

use super::{drive, session_to_steer};
use crate::{
    attached_session::AttachedSession,
    connection::Peer,
    error,
    ext::steering::{IdleBehavior, SteeringParams, SteeringResult},
    from_wire,
    ordering::{ControlKey, Gate},
};

pub(crate) async fn steer(
    peer: &Peer,
    mut params: SteeringParams,
    gate: Gate,
) -> Result<SteeringResult, Error> {
    let attached = session_to_steer(peer, params.session_id.as_str())?;
    let content = from_wire::blocks("prompt", params.prompt.take().unwrap_or_default());
    let content = content.map_err(|e| error::bad_params(&e))?;
    let when_idle = params.idle_behavior();
    let mut asked = None;
    let named = |id: &MessageId| {
        let it = ControlKey::new(ControlKind::Inject, Some(id.as_str()));
        attached.hold(it.clone(), gate);
        attached.leave_out(id);
        asked = Some(it);
    };
    let mut actor = params.actor();
    let driver = drive(&attached, DriverAction::Speak, &mut actor)?;
    let steered = driver.steer(content.clone(), actor.clone(), named).await;
    match &steered {
        Ok(_) => return Ok(SteeringResult::Injected),
        Err(ControlError::Refused {
            result: ControlResult::NoActivePrompt,
            ..
        }) => {}
        Err(refused) => {
            if let Some(asked) = &asked {
                attached.release_if_no_outcome(asked, &steered);
            }
            return Ok(failed_result(refused));
        }
    }
    // Nothing was written, so there is no outcome to send: the gate is used for the prompt instead.
    let gate = asked.and_then(|asked| attached.release(&asked));
    match when_idle {
        Some(IdleBehavior::PromptRequired) => Ok(SteeringResult::PromptRequired {
            reason: "noRunningTurn",
        }),
        None => {
            let driver = drive(&attached, DriverAction::Speak, &mut actor)?;
            Ok(start(&attached, driver, content, gate).await)
        }
    }
}

/// Begins a turn that no request waits for.
async fn start(
    attached: &AttachedSession,
    driver: Driver<'_>,
    prompt: Vec<ContentBlock>,
    gate: Option<Gate>,
) -> SteeringResult {
    let started = driver.prompt(prompt, |turn| {
        attached.expect_detached(turn, gate);
    });
    match started.await {
        Ok(_) => SteeringResult::StartedNewTurn,
        Err(refused) => {
            let reason = match refused {
                PromptError::Empty => "empty_prompt",
                PromptError::Unsupported { .. } => "unsupported_content",
                PromptError::QueueFull { .. } => "queue_full",
                PromptError::Closed => "session_closed",
            };
            let reason = reason.to_owned();
            SteeringResult::Failed { reason }
        }
    }
}

fn failed_result(refused: &ControlError) -> SteeringResult {
    let reason = match refused {
        ControlError::Refused { result, .. } => result.as_str(),
        ControlError::Unfit(_) => "unsupported_content",
        ControlError::Closed => "session_closed",
    };
    let reason = reason.to_owned();
    SteeringResult::Failed { reason }
}
