//! Parses requests. Pure.
//!
//! A member must have the type that the draft's schema gives it, at every level; members that the schema does
//! not name are ignored. The few further rules are those of our extension, and that the request asks for
//! something.

mod echoed_ids;
mod object;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::Value;

pub(crate) use object::MessageObject;

use crate::{
    attachment, capabilities,
    continuation::RunCursor,
    digest, environment,
    error::OpenHarnessError,
    ext,
    request::{ConversationName, EchoedIds, ShellRequest},
    shell, version,
};

/// Parses a body. On failure, returns the ids that were found and the error.
pub(crate) fn read(body: &[u8]) -> Result<ShellRequest, (EchoedIds, OpenHarnessError)> {
    let Ok(message) = serde_json::from_slice::<Value>(body) else {
        return Err((
            echoed_ids::ids_in_broken_body(body),
            OpenHarnessError::NotJson,
        ));
    };
    parse_request(&message).map_err(|fault| (echoed_ids::ids_in_message(&message), fault))
}

fn parse_request(message: &Value) -> Result<ShellRequest, OpenHarnessError> {
    let message = MessageObject::root(message)?;
    // Check this first: another version may give the rest another meaning.
    version::check(&message)?;
    if message.has("response") {
        return Err(message.wrong_member("response", "must not be in a request"));
    }
    let echo = EchoedIds {
        request_id: message.id("request_id")?,
        correlation_id: message.id("correlation_id")?,
    };
    let capabilities = capabilities::read(&message)?;
    let Some(request) = message.object("request")? else {
        return Err(message.wrong_member("request", "is missing; it must contain the request"));
    };
    // The transport identifies the sender. Only the form of `auth` is checked.
    request.object_with_texts("auth", &["tenant_id", "credential_ref", "session_id"])?;
    request.object("extensions")?;
    let context = request.object("context")?;
    let context = context.unwrap_or_else(|| request.missing_member("context"));
    let said = ext::read(&context)?;
    let continuation = continuation(&context)?;
    let intent = match intent(&context)? {
        // Beside a continuation, a hint would start another run with every poll.
        None if continuation.is_none() && !said.cancel && said.verdicts.is_empty() => {
            environment::task(&context)?
        }
        intent => intent,
    };
    let mut shell = shell::read(&context, capabilities)?;
    let attached = attachment::read(&context)?;
    shell.denied.extend(attached.denied);
    let asked = ShellRequest {
        echo,
        shell,
        line: conversation_name(&context)?,
        intent,
        attachments: attached.links,
        background: environment::background(&context)?,
        continuation,
        verdicts: said.verdicts,
        cancel: said.cancel,
        digest: String::new(),
    };
    check_consistency(&context, &asked)?;
    Ok(digest::with_digest(asked))
}

/// Returns what the user wants: text, or an object, which the agent receives as JSON. The draft's prose has
/// both, its schema only text. Blank text and an empty object count as nothing.
fn intent(context: &MessageObject<'_>) -> Result<Option<String>, OpenHarnessError> {
    const NAME: &str = "user_intent";
    if let Ok(Some(said)) = context.object(NAME) {
        return Ok(environment::as_text(&said));
    }
    let said = context.text(NAME);
    let said = said.map_err(|_| context.wrong_member(NAME, "must be a string or an object"))?;
    let said = said.filter(|text| !text.trim().is_empty());
    Ok(said.map(str::to_owned))
}

fn conversation_name(
    context: &MessageObject<'_>,
) -> Result<Option<ConversationName>, OpenHarnessError> {
    let session = context.name("session_id")?;
    let conversation = context.name("conversation_id")?;
    Ok(session.map(|session| ConversationName {
        session,
        conversation,
    }))
}

/// Returns the position in a continuation; none if it names neither run nor token.
fn continuation(context: &MessageObject<'_>) -> Result<Option<RunCursor>, OpenHarnessError> {
    let Some(given) = context.object("continuation")? else {
        return Ok(None);
    };
    given.text("sop_id")?;
    let named = |text: &&str| !text.trim().is_empty();
    let run = given.text("run_id")?.filter(named);
    let token = given.text("continuation_token")?.filter(named);
    if run.is_none() && token.is_none() {
        return Ok(None);
    }
    let place = RunCursor::parse(run, token).ok_or(OpenHarnessError::ContinuationUnknown)?;
    Ok(Some(place))
}

/// Checks that the request asks for something, and for one thing only.
fn check_consistency(
    context: &MessageObject<'_>,
    asked: &ShellRequest,
) -> Result<(), OpenHarnessError> {
    if asked.continuation.is_none() && asked.cancel && asked.line.is_none() {
        return Err(ext::wrong_member(
            context,
            "cancel",
            "needs a run; send its continuation, or its session as `session_id`",
        ));
    }
    if asked.continuation.is_none() && !asked.verdicts.is_empty() {
        return Err(context.wrong_member(
            "continuation",
            "is missing; send a decision with the continuation of its run",
        ));
    }
    if asked.continuation.is_none() && asked.intent.is_none() && !asked.cancel {
        return Err(context.wrong_member(
            "user_intent",
            "is missing; send what the user wants, a task in `task_hint`, or a continuation",
        ));
    }
    if asked.cancel && !asked.verdicts.is_empty() {
        return Err(ext::wrong_member(
            context,
            "cancel",
            "stops the run; send no decision in the same request",
        ));
    }
    let mut decided = HashSet::with_capacity(asked.verdicts.len());
    let mut verdicts = asked.verdicts.iter();
    if !verdicts.all(|verdict| decided.insert(verdict.id.as_str())) {
        return Err(ext::wrong_member(
            context,
            "approval",
            "decides one question twice; decide it once",
        ));
    }
    Ok(())
}
