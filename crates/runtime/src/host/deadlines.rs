//! The time limits for a host's answers. Front-ends and tools use these limits and define none of their own.

use std::{future::Future, time::Duration};

use crate::HostError;

/// The time limits for a host's answers. Some hosts never answer requests that they do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostDeadlines {
    /// For a call, which may run a command or ask a person.
    pub call: Duration,
    /// For any other request, except the wait for a terminal's command to end.
    pub request: Duration,
    /// For a list, the operations or a ranking that a turn waits for.
    pub list: Duration,
    /// For a skill that a turn waits for.
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
    /// Returns one limit for every request, but no more than the default for requests at the start of a turn.
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
