//! Answers of a client that match no request: recognizes them, and logs the first of a connection.

use harn_lines::rpc_line::RpcLine;
use serde::Deserialize;

/// The state of unsolicited answers: some clients send an error without an id, or with null, for each update
/// they do not know. They are not answered, or both sides would send each other errors forever.
#[derive(Default)]
pub(super) struct UnsolicitedAnswers {
    is_logged: bool,
}

impl UnsolicitedAnswers {
    /// Logs the first of a connection; below `warn`, because some clients show stderr to the user.
    pub(super) fn log_first(&mut self, answer: &RpcLine<'_>) {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct AnsweredError {
            code: Option<i64>,
            message: Option<String>,
        }
        if !std::mem::replace(&mut self.is_logged, true) {
            let error = answer.error.map(|error| serde_json::from_str(error.get()));
            let error: AnsweredError = error.and_then(Result::ok).unwrap_or_default();
            let text = error.message.as_deref().unwrap_or("no message");
            let message: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
            tracing::info!(
                code = error.code,
                message,
                "the client answered an update with an error; this and further ones are ignored"
            );
        }
    }
}
