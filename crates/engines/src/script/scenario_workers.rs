//! The workers of a scenario by name, with the steps of each; rejects names of unknown workers.
//!
//! It depends only on the file, so that a worker that is triggered after a restart plays the same steps.

use std::{collections::BTreeMap, sync::Arc};

use harn_tools::yaml::{YamlFault, YamlPosition};

use super::scenario::{ScenarioStep, ScenarioTurn};

/// The name of a worker and its position in the file.
#[derive(Debug)]
pub(super) struct WorkerName {
    pub(super) text: String,
    pub(super) at: YamlPosition,
}

/// The steps of every worker that the file starts.
#[derive(Debug, Default)]
pub(super) struct ScenarioWorkers {
    by_name: BTreeMap<String, WorkerSteps>,
}

/// The steps that belong to a worker's name.
#[derive(Debug)]
enum WorkerSteps {
    One(Arc<[ScenarioStep]>),
    /// Several steps start a worker of this name, so its steps are ambiguous.
    Several,
}

/// The mentions of workers in steps, in the order of the file.
#[derive(Default)]
struct WorkerMentions<'s> {
    /// Triggers without steps of their own, which use those of the worker's start.
    bare_triggers: Vec<&'s WorkerName>,
    others: Vec<&'s WorkerName>,
}

impl ScenarioWorkers {
    /// Collects the workers of all turns. Rejects a name that no worker step defines, and a trigger whose steps
    /// are ambiguous.
    pub(super) fn from_turns(turns: &[ScenarioTurn]) -> Result<Self, YamlFault> {
        let mut cast = Self::default();
        let mut mentions = WorkerMentions::default();
        for turn in turns {
            cast.collect(&turn.steps, &mut mentions);
        }
        for name in mentions.bare_triggers.iter().chain(&mentions.others) {
            if !cast.by_name.contains_key(&name.text) {
                let reason = format_args!("no worker step of this file starts {:?}", name.text);
                return Err(YamlFault::new(name.at, reason));
            }
        }
        for name in mentions.bare_triggers {
            if cast.steps(&name.text).is_none() {
                let reason = format_args!(
                    "several worker steps start {:?}; give the trigger steps of its own",
                    name.text
                );
                return Err(YamlFault::new(name.at, reason));
            }
        }
        Ok(cast)
    }

    /// Collects workers and mentions from steps and nested steps.
    fn collect<'s>(&mut self, steps: &'s [ScenarioStep], mentions: &mut WorkerMentions<'s>) {
        for step in steps {
            match step {
                ScenarioStep::Worker(worker) => {
                    self.add(&worker.name.text, &worker.steps);
                    self.collect(&worker.steps, mentions);
                }
                ScenarioStep::Trigger {
                    worker,
                    steps: None,
                    ..
                } => mentions.bare_triggers.push(worker),
                ScenarioStep::Trigger {
                    worker,
                    steps: Some(steps),
                    ..
                } => {
                    mentions.others.push(worker);
                    self.collect(steps, mentions);
                }
                ScenarioStep::StopWorker { worker, .. } | ScenarioStep::CancelWorker(worker) => {
                    mentions.others.push(worker);
                }
                ScenarioStep::AwaitWorkers(workers) => mentions.others.extend(workers),
                ScenarioStep::Ask(ask) => {
                    self.collect(&ask.on_allow, mentions);
                    self.collect(&ask.on_reject, mentions);
                }
                ScenarioStep::Person(person) => {
                    self.collect(&person.on_yes, mentions);
                    self.collect(&person.on_no, mentions);
                    self.collect(person.on_none.as_deref().unwrap_or_default(), mentions);
                }
                ScenarioStep::Repeat { steps, .. } | ScenarioStep::SkipIfInterrupted(steps) => {
                    self.collect(steps, mentions);
                }
                ScenarioStep::Emit(_)
                | ScenarioStep::EmitInTurn(_)
                | ScenarioStep::Seam(_)
                | ScenarioStep::Idle(_)
                | ScenarioStep::TellDelivered
                | ScenarioStep::Remind(_)
                | ScenarioStep::Sleep(_)
                | ScenarioStep::AwaitCancel
                | ScenarioStep::Act(_)
                | ScenarioStep::Stop(_)
                | ScenarioStep::Fail(_) => {}
            }
        }
    }

    /// Returns the steps of a worker, or `None` if the name is unknown or ambiguous.
    pub(super) fn steps(&self, name: &str) -> Option<&Arc<[ScenarioStep]>> {
        match self.by_name.get(name) {
            Some(WorkerSteps::One(steps)) => Some(steps),
            Some(WorkerSteps::Several) | None => None,
        }
    }

    fn add(&mut self, name: &str, steps: &Arc<[ScenarioStep]>) {
        let known = self.by_name.entry(name.to_owned());
        known
            .and_modify(|part| *part = WorkerSteps::Several)
            .or_insert_with(|| WorkerSteps::One(steps.clone()));
    }
}
