//! Workers and other activity, as lines. Workers that start together stand on one line; each has a line
//! for its end.

use std::{collections::HashMap, time::Duration};

use super::show::TurnPrinter;
use crate::{
    paint::{PaintStyle, one_line},
    reading::activity::{AgentActivity, Job, JobState},
    text,
};

/// What is known of activity that has not ended.
#[derive(Default)]
pub(super) struct ActiveJobs {
    /// When each worker and composition began.
    began: HashMap<String, Duration>,
    /// What workers were given to do.
    tasks: Vec<String>,
}

/// Who owns the line on which workers start.
const STARTED: &str = "workers";
const MARK: (PaintStyle, &str) = (PaintStyle::Cyan, "» ");

impl ActiveJobs {
    /// Whether the lines of a worker tell what an entry of a plan says.
    pub(super) fn tells(&self, entry: &str) -> bool {
        self.tasks.iter().any(|task| task.starts_with(entry))
    }
}

impl TurnPrinter {
    /// Shows something the agent does.
    pub(super) fn activity(&mut self, activity: &AgentActivity) {
        match activity {
            AgentActivity::Job(job) => self.job(job),
            AgentActivity::Note(words) => {
                let line = [
                    (PaintStyle::Dim, "· "),
                    (PaintStyle::Dim, &*one_line(words)),
                ];
                self.screen.line(&line);
            }
            AgentActivity::Warning(words) => {
                let line = [
                    (PaintStyle::Yellow, "! "),
                    (PaintStyle::Plain, &*one_line(words)),
                ];
                self.screen.line(&line);
            }
            // Said once, by who knows what can be done about it.
            AgentActivity::Idle => {}
        }
    }

    fn job_started(&mut self, job: &Job) {
        self.crew.began.insert(job.id.clone(), self.clock.elapsed());
        let name = one_line(&job.name);
        let Some(task) = &job.task else {
            let line = [MARK, (PaintStyle::Plain, &*name)];
            return self.screen.begin_line(&job.id, &line);
        };
        if !self.crew.tasks.contains(task) {
            self.crew.tasks.push(task.clone());
        }
        let more = [(PaintStyle::Plain, ", "), (PaintStyle::Plain, &*name)];
        if !self.screen.go_on(STARTED, &more) {
            let first = [
                MARK,
                (PaintStyle::Plain, "started "),
                (PaintStyle::Plain, &*name),
            ];
            self.screen.begin_line(STARTED, &first);
        }
    }

    /// A line that says how a job ended, behind the one that said it began where that is the last.
    fn job(&mut self, job: &Job) {
        let (style, mark, reason) = match &job.state {
            JobState::Running => return self.job_started(job),
            JobState::Done(words) => (PaintStyle::Green, "  ✓ ", *words),
            JobState::Cancelled => (PaintStyle::Yellow, "  ✗ ", "cancelled"),
            JobState::Failed(reason) => (PaintStyle::Red, "  ✗ ", reason.as_str()),
        };
        let began = self.crew.began.remove(&job.id);
        let took = began.map(|began| text::duration((self.clock.elapsed() - began).as_millis()));
        let took = took.unwrap_or_default();
        let reason = one_line(reason);
        let space = match took.is_empty() || reason.is_empty() {
            true => "",
            false => "  ",
        };
        let tail = [
            (style, mark),
            (PaintStyle::Dim, &*took),
            (style, space),
            (style, &*reason),
        ];
        if !self.screen.end_line(&job.id, &tail) {
            let title = job.title();
            let head = [MARK, (PaintStyle::Plain, &*one_line(&title))];
            self.screen.line(&[&head[..], &tail].concat());
        }
    }
}
