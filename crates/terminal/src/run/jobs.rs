//! Lines for workers and other activity. Workers that start together share one line; each has a line for
//! its end.

use std::{collections::HashMap, time::Duration};

use super::turn_printer::TurnPrinter;
use crate::{
    agent_messages::activity::{AgentActivity, Job, JobState},
    paint::{PaintStyle, one_line},
    text,
};

/// Jobs that have not ended, and the tasks of all workers.
#[derive(Default)]
pub(super) struct ActiveJobs {
    /// The start time of each worker and composition.
    began: HashMap<String, Duration>,
    /// The tasks of the workers.
    tasks: Vec<String>,
}

/// The owner of the line on which workers start.
const STARTED: &str = "workers";
const MARK: (PaintStyle, &str) = (PaintStyle::Cyan, "» ");

impl ActiveJobs {
    /// Returns whether the lines of a worker already show an entry of the plan.
    pub(super) fn shows_task(&self, entry: &str) -> bool {
        self.tasks.iter().any(|task| task.starts_with(entry))
    }
}

impl TurnPrinter {
    /// Shows an activity of the agent.
    pub(super) fn show_activity(&mut self, activity: &AgentActivity) {
        match activity {
            AgentActivity::Job(job) => self.show_job(job),
            AgentActivity::Note(words) => {
                let line = [
                    (PaintStyle::Dim, "· "),
                    (PaintStyle::Dim, &*one_line(words)),
                ];
                self.screen.write_line(&line);
            }
            AgentActivity::Warning(words) => {
                let line = [
                    (PaintStyle::Yellow, "! "),
                    (PaintStyle::Plain, &*one_line(words)),
                ];
                self.screen.write_line(&line);
            }
            // The conversation shows this once, with the keys that apply.
            AgentActivity::Idle => {}
        }
    }

    fn show_job_start(&mut self, job: &Job) {
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
        if !self.screen.continue_line(STARTED, &more) {
            let first = [
                MARK,
                (PaintStyle::Plain, "started "),
                (PaintStyle::Plain, &*name),
            ];
            self.screen.begin_line(STARTED, &first);
        }
    }

    /// Shows how a job ended: on the line of its start if that is the last line, else on a new one.
    fn show_job(&mut self, job: &Job) {
        let (style, mark, reason) = match &job.state {
            JobState::Running => return self.show_job_start(job),
            JobState::Done(words) => (PaintStyle::Green, "  ✓ ", *words),
            JobState::Cancelled => (PaintStyle::Yellow, "  ✗ ", "cancelled"),
            JobState::Failed(reason) => (PaintStyle::Red, "  ✗ ", reason.as_str()),
        };
        let began = self.crew.began.remove(&job.id);
        let took =
            began.map(|began| text::format_duration((self.clock.elapsed() - began).as_millis()));
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
            self.screen.write_line(&[&head[..], &tail].concat());
        }
    }
}
