//! The steps that start workers and deal with them.

use std::sync::Arc;

use harn_tools::yaml::{Data, Fault, Node};

use super::{
    super::{
        cast::WorkerName,
        scenario::{NewWorker, Step},
        typed::typed,
    },
    fields, list, required, steps, text, wrong,
};

pub(super) fn start(node: &Node, depth: usize) -> Result<NewWorker, Fault> {
    let what = "worker";
    let names = ["name", "task", "mode", "retriggerable", "steps"];
    let [name, task, mode, retriggerable, steps] = fields(node, what, names)?;
    Ok(NewWorker {
        name: self::name(required(node, what, "name", name)?, "name")?,
        task: said(required(node, what, "task", task)?, "task")?,
        mode: mode.map(|mode| said(mode, "mode")).transpose()?,
        retriggerable: retriggerable.map_or(Ok(false), |node| flag(node, "retriggerable"))?,
        steps: shared(required(node, what, "steps", steps)?, depth)?,
    })
}

/// `{}` and nothing are all of them, as `await_cancel` has it.
pub(super) fn awaited(node: &Node) -> Result<Step, Fault> {
    let what = "await_workers";
    let names = match &node.data {
        Data::Null => Vec::new(),
        Data::Map(_) => {
            let [] = fields(node, what, [])?;
            Vec::new()
        }
        Data::List(names) if names.is_empty() => {
            let reason = "await_workers needs a name, or {} for all that run";
            return Err(Fault::new(node.at, reason));
        }
        Data::List(_) => {
            let names = list(node, what)?.iter();
            names
                .map(|node| name(node, what))
                .collect::<Result<_, _>>()?
        }
        Data::Bool(_) | Data::Number(_) | Data::Text(_) => {
            return Err(wrong(node, what, "a list of names, or {} for all that run"));
        }
    };
    Ok(Step::AwaitWorkers(names))
}

pub(super) fn trigger(node: &Node, depth: usize) -> Result<Step, Fault> {
    let what = "trigger";
    let [worker, task, steps] = fields(node, what, ["worker", "task", "steps"])?;
    Ok(Step::Trigger {
        worker: name(required(node, what, "worker", worker)?, "worker")?,
        task: said(required(node, what, "task", task)?, "task")?,
        steps: steps.map(|steps| shared(steps, depth)).transpose()?,
    })
}

pub(super) fn stop(node: &Node) -> Result<Step, Fault> {
    let what = "stop_worker";
    let [worker, handoff] = fields(node, what, ["worker", "handoff"])?;
    let handoff = required(node, what, "handoff", handoff)?;
    Ok(Step::StopWorker {
        worker: name(required(node, what, "worker", worker)?, "worker")?,
        handoff: Box::new(typed(handoff, "handoff")?),
    })
}

pub(super) fn cancel(node: &Node) -> Result<Step, Fault> {
    let what = "cancel_worker";
    let [worker] = fields(node, what, ["worker"])?;
    let worker = name(required(node, what, "worker", worker)?, "worker")?;
    Ok(Step::CancelWorker(worker))
}

fn name(node: &Node, what: &str) -> Result<WorkerName, Fault> {
    Ok(WorkerName {
        text: said(node, what)?,
        at: node.at,
    })
}

/// The runtime takes no blank texts; a file that has one is refused where it stands.
fn said(node: &Node, what: &str) -> Result<String, Fault> {
    let text = text(node, what)?;
    if text.trim().is_empty() {
        return Err(Fault::new(
            node.at,
            format_args!("{what} must not be blank"),
        ));
    }
    Ok(text)
}

/// Steps that a worker plays, which may outlive whoever started it.
fn shared(node: &Node, depth: usize) -> Result<Arc<[Step]>, Fault> {
    steps(node, depth + 1).map(Arc::from)
}

fn flag(node: &Node, what: &str) -> Result<bool, Fault> {
    match node.data {
        Data::Bool(flag) => Ok(flag),
        _ => Err(wrong(node, what, "true or false")),
    }
}
