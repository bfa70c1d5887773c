//! Delegated workers: one that is triggered again, one that fails, and those that end out of waiting.

use harn_model::{AgentEvent, WorkerEvent, WorkerMetadata, WorkerUpdate};

use super::{Step, emit};

pub(super) fn lives() -> Vec<Step> {
    use WorkerEvent::{
        WorkerCancelled, WorkerCompleted, WorkerFailed, WorkerProgressed, WorkerSpawned,
        WorkerStopped, WorkerWaitingForInput,
    };
    let tester = WorkerUpdate {
        retriggerable: true,
        worker_mode: "delegated_stage".to_owned(),
        metadata: WorkerMetadata {
            child_run_id: Some("session-2".into()),
            child_run_path: Some("threads/session-2".to_owned()),
            snapshot_path: Some("threads/session-2/events.jsonl".to_owned()),
            ..WorkerMetadata::default()
        },
        ..worker("worker-tester", "tester", "Run the tests")
    };
    let triggered = [
        WorkerSpawned,
        WorkerWaitingForInput,
        WorkerProgressed,
        WorkerSpawned,
        WorkerCompleted,
    ];
    let reviewer = worker("worker-reviewer", "reviewer", "Review the change");
    let mut failed = reviewer.then(WorkerFailed);
    failed.metadata.error = Some("the reviewer ran out of tokens".to_owned());
    let writer = worker("worker-writer", "writer", "Write the notes");
    let handed_over = [WorkerSpawned, WorkerWaitingForInput, WorkerStopped];
    let watcher = worker("worker-watcher", "watcher", "Watch the folder");
    let called_off = [WorkerSpawned, WorkerWaitingForInput, WorkerCancelled];

    let mut lives: Vec<_> = triggered.map(|event| tester.then(event)).into();
    lives.extend([reviewer.clone(), failed]);
    lives.extend(handed_over.map(|event| writer.then(event)));
    lives.extend(called_off.map(|event| watcher.then(event)));
    let updates = lives.into_iter();
    updates
        .map(|update| emit(AgentEvent::WorkerUpdate(Box::new(update))))
        .collect()
}

/// One that is at work when its turn ends.
pub(super) fn spawned(id: &str) -> AgentEvent {
    AgentEvent::WorkerUpdate(Box::new(worker(id, "runner", "Run until the end")))
}

fn worker(id: &str, name: &str, task: &str) -> WorkerUpdate {
    WorkerUpdate {
        worker_id: id.into(),
        worker_name: name.to_owned(),
        worker_task: task.to_owned(),
        worker_mode: "sub_agent".to_owned(),
        event: WorkerEvent::WorkerSpawned,
        cycle: 0,
        retriggerable: false,
        metadata: WorkerMetadata::default(),
        audit: None,
    }
}
