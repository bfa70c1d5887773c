//! Answers of a client that match no request: recognizes them, and logs the first of a connection.

/// Whether a line that is not a message would be an answer if it had an id.
pub(super) fn is_answer(raw: &str) -> bool {
    let line: Option<serde_json::Map<_, serde_json::Value>> = serde_json::from_str(raw).ok();
    line.is_some_and(|line| {
        !line.contains_key("method") && (line.contains_key("error") || line.contains_key("result"))
    })
}

/// The state of unsolicited answers: some clients send an error without an id, or with null, for each update
/// they do not know. They are not answered, or both sides would send each other errors forever.
#[derive(Default)]
pub(super) struct UnsolicitedAnswers {
    is_logged: bool,
}

impl UnsolicitedAnswers {
    /// Logs the first of a connection; below `warn`, because some clients show stderr to the user.
    pub(super) fn log_first(&mut self, line: &str) {
        if !std::mem::replace(&mut self.is_logged, true) {
            let answer: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            let error = &answer["error"];
            let text = error["message"].as_str().unwrap_or("no message");
            let message: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
            tracing::info!(
                code = error["code"].as_i64(),
                message,
                "the client answered an update with an error; this and further ones are ignored"
            );
        }
    }
}
