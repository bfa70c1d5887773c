//! Workers and other activity, as lines. Workers that start together stand on one line; each has a line
//! for its end.

use std::{collections::HashMap, time::Duration};

use super::show::Show;
use crate::{
    paint::{Style, one_line},
    reading::activity::{Activity, Job, JobState},
    text,
};

/// What is known of activity that has not ended.
#[derive(Default)]
pub(super) struct Crew {
    /// When each worker and composition began.
    began: HashMap<String, Duration>,
    /// What workers were given to do.
    tasks: Vec<String>,
}

/// Who owns the line on which workers start.
const STARTED: &str = "workers";
const MARK: (Style, &str) = (Style::Cyan, "» ");

impl Crew {
    /// Whether the lines of a worker tell what an entry of a plan says.
    pub(super) fn tells(&self, entry: &str) -> bool {
        self.tasks.iter().any(|task| task.starts_with(entry))
    }
}

impl Show {
    /// Shows something the agent does.
    pub(super) fn activity(&mut self, activity: &Activity) {
        match activity {
            Activity::Job(job) => self.job(job),
            Activity::Note(words) => {
                let line = [(Style::Dim, "· "), (Style::Dim, &*one_line(words))];
                self.screen.line(&line);
            }
            Activity::Warning(words) => {
                let line = [(Style::Yellow, "! "), (Style::Plain, &*one_line(words))];
                self.screen.line(&line);
            }
            // Said once, by who knows what can be done about it.
            Activity::Idle => {}
        }
    }

    fn job_started(&mut self, job: &Job) {
        self.crew.began.insert(job.id.clone(), self.clock.elapsed());
        let name = one_line(&job.name);
        let Some(task) = &job.task else {
            let line = [MARK, (Style::Plain, &*name)];
            return self.screen.begin_line(&job.id, &line);
        };
        if !self.crew.tasks.contains(task) {
            self.crew.tasks.push(task.clone());
        }
        let more = [(Style::Plain, ", "), (Style::Plain, &*name)];
        if !self.screen.go_on(STARTED, &more) {
            let first = [MARK, (Style::Plain, "started "), (Style::Plain, &*name)];
            self.screen.begin_line(STARTED, &first);
        }
    }

    /// A line that says how a job ended, behind the one that said it began where that is the last.
    fn job(&mut self, job: &Job) {
        let (style, mark, reason) = match &job.state {
            JobState::Running => return self.job_started(job),
            JobState::Done(words) => (Style::Green, "  ✓ ", *words),
            JobState::Cancelled => (Style::Yellow, "  ✗ ", "cancelled"),
            JobState::Failed(reason) => (Style::Red, "  ✗ ", reason.as_str()),
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
            (Style::Dim, &*took),
            (style, space),
            (style, &*reason),
        ];
        if !self.screen.end_line(&job.id, &tail) {
            let title = job.title();
            let head = [MARK, (Style::Plain, &*one_line(&title))];
            self.screen.line(&[&head[..], &tail].concat());
        }
    }
}
