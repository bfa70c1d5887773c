//! The digest of a request's content: it distinguishes a repeated request from another one with the same id.

use std::fmt::Write;

use harn_model::{Resource, ResourceLink};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::request::{AnswerValue, ShellRequest};

/// The content in a fixed order: the order in the message does not count. Ids and dropped members are not
/// part of it.
#[derive(Serialize)]
struct DigestInput<'a> {
    line: Option<(&'a str, Option<&'a str>)>,
    intent: Option<&'a str>,
    attachments: &'a [ResourceLink],
    background: Option<&'a Resource>,
    continuation: Option<String>,
    verdicts: Vec<(&'a str, &'static str, Option<&'a str>)>,
    cancel: bool,
    cards: bool,
    parallel: bool,
    denied: Vec<&'static str>,
}

/// Sets the digest of the request.
pub(crate) fn with_digest(mut asked: ShellRequest) -> ShellRequest {
    let mut hash = Sha256::new();
    hash.update(digest_input(&asked));
    let mut name = String::new();
    // Half of the hash is enough to distinguish any two requests.
    for byte in hash.finalize().iter().take(16) {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    asked.digest = name;
    asked
}

pub(crate) fn digest_input(asked: &ShellRequest) -> String {
    let verdicts = asked.verdicts.iter();
    let words = DigestInput {
        line: asked
            .line
            .as_ref()
            .map(|line| (line.session.as_str(), line.conversation.as_deref())),
        intent: asked.intent.as_deref(),
        attachments: &asked.attachments,
        background: asked.background.as_ref(),
        continuation: asked.continuation.as_ref().map(|place| place.token()),
        verdicts: verdicts
            .map(|verdict| match &verdict.given {
                AnswerValue::Once => (&*verdict.id, "once", None),
                AnswerValue::Always => (&*verdict.id, "always", None),
                AnswerValue::Reject => (&*verdict.id, "reject", None),
                AnswerValue::Words(text) => (&*verdict.id, "words", Some(&**text)),
            })
            .collect(),
        cancel: asked.cancel,
        cards: asked.shell.cards,
        parallel: asked.shell.parallel,
        denied: asked.shell.denied.iter().map(|it| it.capability).collect(),
    };
    // Strings and numbers always serialise.
    serde_json::to_string(&words).unwrap_or_default()
}
