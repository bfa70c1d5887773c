//! Workers and other activity, as lines. Workers that start together stand on one line; each has a line
//! for its end.

use std::{collections::HashMap, time::Duration};

use super::show::Show;
use crate::{
    paint::{Style, one_line},
    reading::activity::{Activity, WorkerState, WorkerStep},
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
            Activity::Worker(step) => self.worker(step),
            Activity::CompositionBegan { id, title } => {
                self.crew.began.insert(id.clone(), self.elapsed());
                let title = one_line(title);
                self.screen.begin_line(id, &[MARK, (Style::Plain, &title)]);
            }
            Activity::CompositionEnded { id, title, failed } => {
                let end = match failed {
                    None => (Style::Green, "  ✓ ", ""),
                    Some(reason) => (Style::Red, "  ✗ ", reason.as_str()),
                };
                self.ended(id, title, end);
            }
            Activity::Note(words) => {
                let words = one_line(words);
                self.screen
                    .line(&[(Style::Dim, "· "), (Style::Dim, &words)]);
            }
            Activity::Warning(words) => {
                let words = one_line(words);
                self.screen
                    .line(&[(Style::Yellow, "! "), (Style::Plain, &words)]);
            }
            // Said once, by who knows what can be done about it.
            Activity::Idle => {}
        }
    }

    fn worker(&mut self, step: &WorkerStep) {
        let end = match &step.state {
            WorkerState::Running => return self.worker_started(step),
            WorkerState::Completed => (Style::Green, "  ✓ ", ""),
            WorkerState::Waiting => (Style::Green, "  ✓ ", "waits for more"),
            WorkerState::Stopped => (Style::Green, "  ✓ ", "stopped, handed over"),
            WorkerState::Cancelled => (Style::Yellow, "  ✗ ", "cancelled"),
            WorkerState::Failed(reason) => (Style::Red, "  ✗ ", reason.as_str()),
        };
        let title = format!("{}: {}", step.name, step.task);
        self.ended(&step.id, &title, end);
    }

    fn worker_started(&mut self, step: &WorkerStep) {
        self.crew.began.insert(step.id.clone(), self.elapsed());
        if !self.crew.tasks.contains(&step.task) {
            self.crew.tasks.push(step.task.clone());
        }
        let name = one_line(&step.name);
        let more = [(Style::Plain, ", "), (Style::Plain, &*name)];
        if !self.screen.go_on(STARTED, &more) {
            let first = [MARK, (Style::Plain, "started "), (Style::Plain, &*name)];
            self.screen.begin_line(STARTED, &first);
        }
    }

    /// A line that says how something ended, behind the one that said it began where that is the last.
    fn ended(&mut self, id: &str, title: &str, (style, mark, reason): (Style, &str, &str)) {
        let began = self.crew.began.remove(id);
        let took = began.map(|began| text::duration((self.elapsed() - began).as_millis()));
        let took = took.unwrap_or_default();
        let reason = one_line(reason);
        let space = if took.is_empty() || reason.is_empty() {
            ""
        } else {
            "  "
        };
        let tail = [
            (style, mark),
            (Style::Dim, &*took),
            (style, space),
            (style, &*reason),
        ];
        if !self.screen.end_line(id, &tail) {
            let title = one_line(title);
            let head = [MARK, (Style::Plain, &*title)];
            self.screen.line(&[&head[..], &tail].concat());
        }
    }
}
