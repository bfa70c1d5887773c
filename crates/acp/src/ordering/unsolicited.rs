//! Answers of a client to nothing: how they are recognised, and that the first of a connection is logged.

/// Whether a line that is no message would be an answer if it had an id.
pub(super) fn is_answer(raw: &str) -> bool {
    let line: Option<serde_json::Map<_, serde_json::Value>> = serde_json::from_str(raw).ok();
    line.is_some_and(|line| {
        !line.contains_key("method") && (line.contains_key("error") || line.contains_key("result"))
    })
}

/// Answers to nothing: some clients send an error without an id, or with null, for each update they do
/// not know. They are not answered, or the two sides would complain at each other for ever.
#[derive(Default)]
pub(super) struct UnsolicitedAnswers {
    is_logged: bool,
}

impl UnsolicitedAnswers {
    /// Logs the first of a connection; below `warn`, because some clients show what is on stderr.
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
