//! Reports skills that cannot be used in the session's log: a missing skill would not be noticed.

use harn_runtime::{AgentError, TurnContext};

use super::{SessionSkills, host::LOGGER, lock, warn};
use crate::skills::problem::ProblemSeverity;

impl SessionSkills {
    /// Logs each problem that prevents the use of a skill: once while it lasts, and again if it returns.
    pub(super) async fn report_broken(&self, cx: &TurnContext) -> Result<(), AgentError> {
        let registry = self.registry();
        let problems = registry.problems();
        lock(&self.state)
            .told
            .retain(|told| problems.contains(told));
        for problem in problems
            .iter()
            .filter(|one| one.severity == ProblemSeverity::Error)
        {
            let known = lock(&self.state).told.contains(problem);
            if !known {
                warn(cx, LOGGER, problem.to_string()).await?;
                lock(&self.state).told.push(problem.clone());
            }
        }
        Ok(())
    }
}
