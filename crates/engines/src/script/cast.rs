//! The workers of a scenario by name: which steps each has, and which names mean nothing.
//!
//! Known from the file alone, so that a worker that waited for a restart is triggered with the same steps.

use std::{collections::BTreeMap, sync::Arc};

use harn_tools::yaml::{YamlFault, YamlPosition};

use super::scenario::{ScenarioStep, ScenarioTurn};

/// The name of a worker and where it stands in the file.
#[derive(Debug)]
pub(super) struct WorkerName {
    pub(super) text: String,
    pub(super) at: YamlPosition,
}

/// The steps of every worker the file starts.
#[derive(Debug, Default)]
pub(super) struct ScenarioWorkers {
    by_name: BTreeMap<String, WorkerSteps>,
}

/// The steps that a name stands for.
#[derive(Debug)]
enum WorkerSteps {
    One(Arc<[ScenarioStep]>),
    /// Several steps start a worker of this name; none of them is meant more than another.
    Several,
}

/// The names that steps have for workers, in the order of the file.
#[derive(Default)]
struct WorkerMentions<'s> {
    /// Of triggers that leave the steps to the one that started the worker.
    bare_triggers: Vec<&'s WorkerName>,
    others: Vec<&'s WorkerName>,
}

impl ScenarioWorkers {
    /// Collects the workers of all turns. A name that no step gives to a worker is refused, and so is a
    /// trigger that leaves open which steps it means.
    pub(super) fn of(turns: &[ScenarioTurn]) -> Result<Self, YamlFault> {
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

    /// Looks at steps and those inside them.
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

    /// The steps of the one worker of this name.
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
