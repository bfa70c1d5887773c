//! Decodes the steps that start, await, trigger, stop and cancel workers.

use std::sync::Arc;

use harn_tools::yaml::{YamlFault, YamlNode, YamlValue};

use super::{
    super::{
        scenario::{NewWorker, ScenarioStep},
        scenario_workers::WorkerName,
        typed_yaml::parse_typed,
    },
    MapFields, expect_empty, flag, text, wrong_type_fault,
};

pub(super) fn start(node: &YamlNode, depth: usize) -> Result<NewWorker, YamlFault> {
    let fields = MapFields::parse(node, "worker", "name, task, mode, retriggerable, steps")?;
    let steps = |node: &YamlNode, _: &str| worker_steps(node, depth);
    Ok(NewWorker {
        name: fields.required("name", name)?,
        task: fields.required("task", non_blank_text)?,
        mode: fields.optional("mode", non_blank_text)?,
        retriggerable: fields.optional("retriggerable", flag)?.unwrap_or_default(),
        steps: fields.required("steps", steps)?,
    })
}

/// Decodes `await_workers`. `{}` and no value mean all workers, as in `await_cancel`.
pub(super) fn await_workers(node: &YamlNode) -> Result<ScenarioStep, YamlFault> {
    let what = "await_workers";
    let names = match &node.data {
        YamlValue::Null | YamlValue::Map(_) => {
            expect_empty(node, what)?;
            Vec::new()
        }
        YamlValue::List(names) if names.is_empty() => {
            let reason = "await_workers needs a name, or {} for all that run";
            return Err(YamlFault::new(node.at, reason));
        }
        YamlValue::List(names) => {
            let names = names.iter().map(|node| name(node, what));
            names.collect::<Result<_, _>>()?
        }
        YamlValue::Bool(_) | YamlValue::Number(_) | YamlValue::Text(_) => {
            return Err(wrong_type_fault(
                node,
                what,
                "a list of names, or {} for all that run",
            ));
        }
    };
    Ok(ScenarioStep::AwaitWorkers(names))
}

pub(super) fn trigger(node: &YamlNode, depth: usize) -> Result<ScenarioStep, YamlFault> {
    let fields = MapFields::parse(node, "trigger", "worker, task, steps")?;
    Ok(ScenarioStep::Trigger {
        worker: fields.required("worker", name)?,
        task: fields.required("task", non_blank_text)?,
        steps: fields.optional("steps", |node, _| worker_steps(node, depth))?,
    })
}

pub(super) fn stop(node: &YamlNode) -> Result<ScenarioStep, YamlFault> {
    let fields = MapFields::parse(node, "stop_worker", "worker, handoff")?;
    Ok(ScenarioStep::StopWorker {
        worker: fields.required("worker", name)?,
        handoff: Box::new(fields.required("handoff", parse_typed)?),
    })
}

pub(super) fn cancel(node: &YamlNode) -> Result<ScenarioStep, YamlFault> {
    let fields = MapFields::parse(node, "cancel_worker", "worker")?;
    Ok(ScenarioStep::CancelWorker(fields.required("worker", name)?))
}

fn name(node: &YamlNode, what: &str) -> Result<WorkerName, YamlFault> {
    Ok(WorkerName {
        text: non_blank_text(node, what)?,
        at: node.at,
    })
}

/// Decodes a text that is not blank: the runtime rejects blank texts, and an error here has its position.
fn non_blank_text(node: &YamlNode, what: &str) -> Result<String, YamlFault> {
    let text = text(node, what)?;
    if text.trim().is_empty() {
        return Err(YamlFault::new(
            node.at,
            format_args!("{what} must not be blank"),
        ));
    }
    Ok(text)
}

/// Decodes the steps of a worker, shared because it may outlive the turn that started it.
fn worker_steps(node: &YamlNode, depth: usize) -> Result<Arc<[ScenarioStep]>, YamlFault> {
    super::steps(node, depth + 1).map(Arc::from)
}
