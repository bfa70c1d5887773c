//! The workers of a scenario by name: which steps each has, and which names mean nothing.
//!
//! Known from the file alone, so that a worker that waited for a restart is triggered with the same steps.

use std::{collections::BTreeMap, sync::Arc};

use harn_tools::yaml::{Fault, Pos};

use super::scenario::{Step, Turn};

/// The name of a worker and where it stands in the file.
#[derive(Debug)]
pub(super) struct WorkerName {
    pub(super) text: String,
    pub(super) at: Pos,
}

/// The steps of every worker the file starts.
#[derive(Debug, Default)]
pub(super) struct Cast {
    by_name: BTreeMap<String, Part>,
}

/// The steps that a name stands for.
#[derive(Debug)]
enum Part {
    One(Arc<[Step]>),
    /// Several steps start a worker of this name; none of them is meant more than another.
    Several,
}

impl Cast {
    /// Collects the workers of all turns. A name that no step gives to a worker is refused, and so is a
    /// trigger that leaves open which steps it means.
    pub(super) fn of(turns: &[Turn]) -> Result<Self, Fault> {
        let mut cast = Self::default();
        let mut triggers = Vec::new();
        let mut mentions = Vec::new();
        for turn in turns {
            walk(&turn.steps, &mut |step| match step {
                Step::Worker(worker) => cast.add(&worker.name.text, &worker.steps),
                Step::Trigger {
                    worker,
                    steps: None,
                    ..
                } => triggers.push(worker),
                Step::Trigger { worker, .. }
                | Step::StopWorker { worker, .. }
                | Step::CancelWorker(worker) => mentions.push(worker),
                Step::AwaitWorkers(workers) => mentions.extend(workers),
                Step::Emit(_)
                | Step::EmitInTurn(_)
                | Step::Ask(_)
                | Step::Person(_)
                | Step::Seam(_)
                | Step::Idle(_)
                | Step::TellDelivered
                | Step::SkipIfInterrupted(_)
                | Step::Remind(_)
                | Step::Sleep(_)
                | Step::AwaitCancel
                | Step::Act(_)
                | Step::Repeat { .. }
                | Step::Stop(_)
                | Step::Fail(_) => {}
            });
        }
        for name in triggers.iter().chain(&mentions) {
            if !cast.by_name.contains_key(&name.text) {
                let reason = format_args!("no worker step of this file starts {:?}", name.text);
                return Err(Fault::new(name.at, reason));
            }
        }
        for name in triggers {
            if cast.steps(&name.text).is_none() {
                let reason = format_args!(
                    "several worker steps start {:?}; give the trigger steps of its own",
                    name.text
                );
                return Err(Fault::new(name.at, reason));
            }
        }
        Ok(cast)
    }

    /// The steps of the one worker of this name.
    pub(super) fn steps(&self, name: &str) -> Option<&Arc<[Step]>> {
        match self.by_name.get(name) {
            Some(Part::One(steps)) => Some(steps),
            Some(Part::Several) | None => None,
        }
    }

    fn add(&mut self, name: &str, steps: &Arc<[Step]>) {
        let known = self.by_name.get_mut(name);
        match known {
            Some(part) => *part = Part::Several,
            None => {
                let part = Part::One(steps.clone());
                self.by_name.insert(name.to_owned(), part);
            }
        }
    }
}

/// Visits steps and those inside them, in the order of the file.
fn walk<'s>(steps: &'s [Step], visit: &mut impl FnMut(&'s Step)) {
    for step in steps {
        visit(step);
        match step {
            Step::Ask(ask) => {
                walk(&ask.on_allow, visit);
                walk(&ask.on_reject, visit);
            }
            Step::Person(person) => {
                walk(&person.on_yes, visit);
                walk(&person.on_no, visit);
                walk(person.on_none.as_deref().unwrap_or_default(), visit);
            }
            Step::Repeat { steps, .. } | Step::SkipIfInterrupted(steps) => walk(steps, visit),
            Step::Worker(worker) => walk(&worker.steps, visit),
            Step::Trigger { steps, .. } => walk(steps.as_deref().unwrap_or_default(), visit),
            Step::Emit(_)
            | Step::EmitInTurn(_)
            | Step::Seam(_)
            | Step::Idle(_)
            | Step::TellDelivered
            | Step::Remind(_)
            | Step::Sleep(_)
            | Step::AwaitCancel
            | Step::Act(_)
            | Step::AwaitWorkers(_)
            | Step::StopWorker { .. }
            | Step::CancelWorker(_)
            | Step::Stop(_)
            | Step::Fail(_) => {}
        }
    }
}
