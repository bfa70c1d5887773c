//! Ids that are computed, not random, so that they are the same after a restart: of the session of a
//! conversation, and of the message that a request becomes. Pure.

use std::fmt::Write;

use harn_model::{MessageId, Principal, SessionId};
use sha2::{Digest, Sha256};

use crate::request::ConversationName;

/// Returns the session of a conversation. No principal can name a session of another one.
pub(super) fn conversation_session_id(principal: &Principal, name: &ConversationName) -> SessionId {
    let mut parts = vec!["conversation", principal.as_str(), &name.session];
    parts.extend(name.conversation.as_deref());
    hash_session_id(&parts)
}

/// Returns the session of a request without a conversation: a repeat finds the earlier run.
pub(super) fn request_session_id(principal: &Principal, request_id: &str) -> SessionId {
    hash_session_id(&["request", principal.as_str(), request_id])
}

fn hash_session_id(parts: &[&str]) -> SessionId {
    SessionId::new(format!("oh_{}", hash_to_hex(parts, 20)))
}

/// The hashes of a request's id and content. The message that the request becomes has them in its id; neither
/// the id nor the content can be read from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestFingerprint {
    /// The hash of the request's id.
    pub(super) request: String,
    pub(super) digest: String,
}

const MESSAGE: &str = "msg_oh_";
const DIGITS: usize = 16;

impl RequestFingerprint {
    pub(super) fn new(request_id: &str, digest: &str) -> Self {
        Self {
            request: hash_to_hex(&[request_id], DIGITS / 2),
            digest: hash_to_hex(&[digest], DIGITS / 2),
        }
    }

    pub(super) fn message_id(&self) -> MessageId {
        MessageId::new(format!("{MESSAGE}{}_{}", self.request, self.digest))
    }

    /// Returns the fingerprint in a message id, if the message comes from a request.
    pub(super) fn from_message_id(message: &MessageId) -> Option<Self> {
        let marks = message.as_str().strip_prefix(MESSAGE)?;
        let (request, digest) = marks.split_once('_')?;
        let whole = |digits: &str| digits.len() == DIGITS;
        (whole(request) && whole(digest)).then(|| Self {
            request: request.to_owned(),
            digest: digest.to_owned(),
        })
    }
}

/// Returns the first bytes of a hash over the parts, each with its length, so that different lists differ.
fn hash_to_hex(parts: &[&str], bytes: usize) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
        hash.update(length.to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut digits = String::with_capacity(bytes * 2);
    for byte in hash.finalize().iter().take(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn conversation(session: &str, conversation: Option<&str>) -> ConversationName {
        ConversationName {
            session: session.to_owned(),
            conversation: conversation.map(str::to_owned),
        }
    }

    #[test]
    fn every_conversation_has_its_own_session() {
        let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
        let names = [
            conversation_session_id(&ada, &conversation("s", None)),
            conversation_session_id(&bob, &conversation("s", None)),
            conversation_session_id(&ada, &conversation("s", Some(""))),
            conversation_session_id(&ada, &conversation("s", Some("t"))),
            conversation_session_id(&ada, &conversation("st", None)),
            conversation_session_id(&Principal::new("adas"), &conversation("", None)),
            request_session_id(&ada, "s"),
        ];
        let distinct: HashSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
        for name in &names {
            let digits = name.as_str().strip_prefix("oh_").unwrap();
            assert_eq!(digits.len(), 40);
            assert!(digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        }
        assert_eq!(
            names[0],
            conversation_session_id(&ada, &conversation("s", None))
        );
    }

    #[test]
    fn message_id_identifies_its_request() {
        let mark = RequestFingerprint::new("req_1", "what it says");
        assert_eq!(
            RequestFingerprint::from_message_id(&mark.message_id()),
            Some(mark.clone())
        );
        let other = RequestFingerprint::new("req_1", "something else");
        assert_eq!(mark.request, other.request);
        assert_ne!(mark.digest, other.digest);
        for foreign in ["msg_1", "msg_oh_", "msg_oh_1_2", "msg_oh_0123456789abcdef"] {
            assert_eq!(
                RequestFingerprint::from_message_id(&foreign.into()),
                None,
                "{foreign}"
            );
        }
    }
}
