//! Skills that cannot be used, told to whoever reads the session's log: a skill that is missing says nothing itself.

use harn_runtime::{AgentError, TurnContext};

use super::{SessionSkills, host::LOGGER, lock, warn};
use crate::skills::problem::ProblemSeverity;

impl SessionSkills {
    /// Tells each problem that keeps a skill from being used: once for as long as it stays the same, and again if it
    /// comes back.
    pub(super) async fn tell_of_broken(&self, cx: &TurnContext) -> Result<(), AgentError> {
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
