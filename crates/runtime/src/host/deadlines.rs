//! How long a host may take to answer. Front-ends and tools read these times here and define none of their own.

use std::{future::Future, time::Duration};

use crate::HostError;

/// How long a host may take to answer. Some hosts never answer requests that they do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostDeadlines {
    /// A call, behind which a command may run or a person may be asked.
    pub call: Duration,
    /// Any other request but the end of a terminal's command.
    pub request: Duration,
    /// A list, the operations or a ranking that a turn waits for.
    pub list: Duration,
    /// A skill that a turn waits for.
    pub skill: Duration,
}

impl Default for HostDeadlines {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(300),
            request: Duration::from_secs(60),
            list: Duration::from_secs(5),
            skill: Duration::from_secs(15),
        }
    }
}

impl HostDeadlines {
    /// The same time for every request. A turn does not wait longer than usual for what it begins with.
    #[must_use]
    pub fn all(limit: Duration) -> Self {
        let usual = Self::default();
        Self {
            call: limit,
            request: limit,
            list: usual.list.min(limit),
            skill: usual.skill.min(limit),
        }
    }
}

/// Waits for a host's answer to the request `what`, until its deadline.
pub async fn answer_within<T>(
    deadline: Duration,
    what: &'static str,
    answer: impl Future<Output = Result<T, HostError>>,
) -> Result<T, HostError> {
    let answer = tokio::time::timeout(deadline, answer).await;
    answer.unwrap_or(Err(HostError::TimedOut(what)))
}
