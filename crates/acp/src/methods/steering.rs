//! `_session/steering`, the method editors have today: a thin face on what `session/inject` does, and on a
//! prompt where nothing runs.

use agent_client_protocol::{Error, RawJsonRpcId};
use harn_model::{ContentBlock, ControlResult, DeliveryMode};
use harn_runtime::{ControlError, PromptError};

use super::{inject, steered};
use crate::{
    attached::Attached,
    connection::Peer,
    error,
    ext::steering::{IdleBehavior, Steered, SteeringParams},
    from_wire,
    gate::Gate,
};

pub(crate) async fn steer(
    peer: &Peer,
    params: Result<SteeringParams, Error>,
    request: RawJsonRpcId,
) -> Result<Steered, Error> {
    let mut params = params?;
    let attached = steered(peer, params.session_id.as_str())?;
    let content = from_wire::blocks("prompt", params.prompt.take().unwrap_or_default());
    let content = content.map_err(|e| error::bad_params(&e))?;
    let when_idle = params.when_idle();
    // Asked first: what is known to be idle has nothing refused in its journal.
    if attached.session.cancel_target().is_some() {
        let gate = peer.gates.behind_at_once(&request);
        let (mode, actor) = (DeliveryMode::FinishStep, params.actor());
        let injected = inject::held(&attached, mode, content.clone(), &actor, gate).await;
        match injected {
            Ok(_) => return Ok(Steered::Injected),
            // It ended in between.
            Err(ControlError::Refused {
                result: ControlResult::NoActivePrompt,
                ..
            }) => {}
            Err(refused) => return Ok(failed(&refused)),
        }
    }
    match when_idle {
        Some(IdleBehavior::PromptRequired) => Ok(Steered::PromptRequired {
            reason: "noRunningTurn",
        }),
        None => Ok(start(&attached, content, peer.gates.behind(&request)).await),
    }
}

/// Begins a turn that no request waits for.
async fn start(attached: &Attached, prompt: Vec<ContentBlock>, gate: Gate) -> Steered {
    let started = attached.session.prompt(prompt, |turn| {
        attached.expect_detached(turn, gate);
    });
    match started.await {
        Ok(_) => Steered::StartedNewTurn,
        Err(refused) => {
            let reason = match refused {
                PromptError::Empty => "empty_prompt",
                PromptError::Unsupported { .. } => "unsupported_content",
                PromptError::QueueFull { .. } => "queue_full",
                PromptError::Closed => "session_closed",
            };
            let reason = reason.to_owned();
            Steered::Failed { reason }
        }
    }
}

fn failed(refused: &ControlError) -> Steered {
    let reason = match refused {
        ControlError::Refused { result, .. } => result.as_str(),
        ControlError::Unfit(_) => "unsupported_content",
        ControlError::Closed => "session_closed",
    };
    let reason = reason.to_owned();
    Steered::Failed { reason }
}
