//! The steps that start workers and deal with them.

use std::sync::Arc;

use harn_tools::yaml::{Data, Fault, Node};

use super::{
    super::{
        cast::WorkerName,
        scenario::{NewWorker, Step},
        typed::typed,
    },
    Fields, flag, nothing, text, wrong,
};

pub(super) fn start(node: &Node, depth: usize) -> Result<NewWorker, Fault> {
    let fields = Fields::of(node, "worker", "name, task, mode, retriggerable, steps")?;
    let steps = |node: &Node, _: &str| shared(node, depth);
    Ok(NewWorker {
        name: fields.required("name", name)?,
        task: fields.required("task", said)?,
        mode: fields.optional("mode", said)?,
        retriggerable: fields.optional("retriggerable", flag)?.unwrap_or_default(),
        steps: fields.required("steps", steps)?,
    })
}

/// `{}` and nothing are all of them, as `await_cancel` has it.
pub(super) fn awaited(node: &Node) -> Result<Step, Fault> {
    let what = "await_workers";
    let names = match &node.data {
        Data::Null | Data::Map(_) => {
            nothing(node, what)?;
            Vec::new()
        }
        Data::List(names) if names.is_empty() => {
            let reason = "await_workers needs a name, or {} for all that run";
            return Err(Fault::new(node.at, reason));
        }
        Data::List(names) => {
            let names = names.iter().map(|node| name(node, what));
            names.collect::<Result<_, _>>()?
        }
        Data::Bool(_) | Data::Number(_) | Data::Text(_) => {
            return Err(wrong(node, what, "a list of names, or {} for all that run"));
        }
    };
    Ok(Step::AwaitWorkers(names))
}

pub(super) fn trigger(node: &Node, depth: usize) -> Result<Step, Fault> {
    let fields = Fields::of(node, "trigger", "worker, task, steps")?;
    Ok(Step::Trigger {
        worker: fields.required("worker", name)?,
        task: fields.required("task", said)?,
        steps: fields.optional("steps", |node, _| shared(node, depth))?,
    })
}

pub(super) fn stop(node: &Node) -> Result<Step, Fault> {
    let fields = Fields::of(node, "stop_worker", "worker, handoff")?;
    Ok(Step::StopWorker {
        worker: fields.required("worker", name)?,
        handoff: Box::new(fields.required("handoff", typed)?),
    })
}

pub(super) fn cancel(node: &Node) -> Result<Step, Fault> {
    let fields = Fields::of(node, "cancel_worker", "worker")?;
    Ok(Step::CancelWorker(fields.required("worker", name)?))
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
    super::steps(node, depth + 1).map(Arc::from)
}
