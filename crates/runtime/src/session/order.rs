//! The legal order of events. Agents break it, and hosts must not have to handle that: an early event gets
//! its missing start, a used id gets a counter, and an event after the end is dropped. Everything written is
//! legal, so every wire shows legal events, live and replayed.

use std::collections::HashMap;

use harn_model::{
    AgentEvent, ChildResult, ErrorCategory, OpenChild, OpenTurn, OrderedEvent, SessionView,
    ToolCall, ToolCallId, ToolCallStatus, ToolCallUpdate, UsedIdKind, WorkerCall, WorkerCallStep,
    WorkerEvent, WorkerMetadata, WorkerUpdate,
};

/// The decision about an event: write it after these events, or drop it for this reason.
pub(crate) type EventPlacement = Result<Vec<AgentEvent>, &'static str>;

/// Writes the event unchanged.
const AS_IS: EventPlacement = Ok(Vec::new());

fn require(is_legal: bool, why_not: &'static str) -> EventPlacement {
    is_legal.then(Vec::new).ok_or(why_not)
}

/// Renamed ids of the running turn.
#[derive(Default)]
pub(crate) struct EventOrder {
    calls: HashMap<ToolCallId, ToolCallId>,
    worker_calls: HashMap<ToolCallId, ToolCallId>,
    runs: HashMap<String, String>,
}

impl EventOrder {
    /// Checks an event, and repairs it if possible. `view` is the fold of everything before it.
    pub(crate) fn judge(&mut self, event: &mut AgentEvent, view: &SessionView) -> EventPlacement {
        let turn = view.open_turn.as_ref();
        // Any other event is independent: it needs no event before it, and any event may follow.
        let Some(ordered) = event.ordered_mut() else {
            return AS_IS;
        };
        match ordered {
            OrderedEvent::TurnStarted(_) => {
                self.calls.clear();
                self.worker_calls.clear();
                self.runs.clear();
                AS_IS
            }
            OrderedEvent::ToolCall(call) => {
                if is_open(turn, self.current_call_id(&call.tool_call_id)) {
                    let mut update = into_update(call);
                    update.tool_call_id = self.current_call_id(&update.tool_call_id).clone();
                    *event = AgentEvent::ToolCallUpdate(Box::new(update));
                } else {
                    self.assign_fresh_id(call, view);
                }
                AS_IS
            }
            OrderedEvent::ToolCallUpdate(update) => {
                let id = self.current_call_id(&update.tool_call_id).clone();
                let verdict = if is_open(turn, &id) {
                    AS_IS
                } else if view.used.contains(UsedIdKind::Call, id.as_str()) {
                    Err("the tool call has ended")
                } else {
                    Ok(vec![AgentEvent::ToolCall(Box::new(missing_announcement(
                        update,
                    )))])
                };
                update.tool_call_id = id;
                verdict
            }
            OrderedEvent::PermissionAsked(ask) if ask.lineage.is_empty() => {
                let id = self.current_call_id(&ask.tool_call.tool_call_id).clone();
                if is_open(turn, &id) {
                    ask.tool_call.tool_call_id = id;
                    return AS_IS;
                }
                // The agent asks about a call that it did not announce.
                let mut call = Box::new(ask.tool_call.clone());
                call.status = ToolCallStatus::Pending;
                self.assign_fresh_id(&mut call, view);
                ask.tool_call.tool_call_id = call.tool_call_id.clone();
                Ok(vec![AgentEvent::ToolCall(call)])
            }
            OrderedEvent::PermissionAsked(ask) => {
                let id = &ask.tool_call.tool_call_id;
                let id = self.worker_calls.get(id).unwrap_or(id);
                ask.tool_call.tool_call_id = id.clone();
                AS_IS
            }
            OrderedEvent::WorkerCall(call) => self.judge_worker_call(call, view),
            OrderedEvent::WorkerUpdate(update) => judge_worker(
                update,
                view.workers.get(&update.worker_id).map(|last| &**last),
            ),
            OrderedEvent::CompositionStart(run) => {
                if turn.is_some_and(|turn| turn.runs.contains_key(self.current_run_id(&run.run_id)))
                {
                    return Err("the composition has begun already");
                }
                let fresh = view.used.find_unused(UsedIdKind::Run, &run.run_id);
                let given = std::mem::replace(&mut run.run_id, fresh.clone());
                self.runs.insert(given, fresh);
                AS_IS
            }
            OrderedEvent::CompositionChildCall(call) => {
                call.run_id = self.current_run_id(&call.run_id).to_owned();
                let run = turn.and_then(|turn| turn.runs.get(&call.run_id));
                let run = run.ok_or("the composition has not begun, or has ended")?;
                require(
                    !run.children.contains_key(&call.tool_call_id),
                    "the composition's child has begun already",
                )
            }
            OrderedEvent::CompositionChildResult(result) => {
                result.run_id = self.current_run_id(&result.run_id).to_owned();
                let run = turn.and_then(|turn| turn.runs.get(&result.run_id));
                require(
                    run.is_some_and(|run| run.children.contains_key(&result.tool_call_id)),
                    "the composition's child has not begun, or has ended",
                )
            }
            OrderedEvent::CompositionFinish(run) | OrderedEvent::CompositionError(run) => {
                run.run_id = self.current_run_id(&run.run_id).to_owned();
                let open = turn.and_then(|turn| turn.runs.get(&run.run_id));
                let open = open.ok_or("the composition has not begun, or has ended")?;
                Ok(abandon_children(&run.run_id, &open.children).collect())
            }
            OrderedEvent::HitlRequested { request_id, .. } => {
                let is_open = turn.is_some_and(|turn| turn.questions.contains_key(request_id));
                require(!is_open, "the question is open already")
            }
            OrderedEvent::HitlResolved {
                request_id, kind, ..
            } => {
                let asked = turn.and_then(|turn| turn.questions.get(request_id));
                let asked = asked.ok_or("the question was not asked, or is settled")?;
                kind.clone_from(&asked.kind);
                AS_IS
            }
            OrderedEvent::SkillDeactivated {
                skill_name,
                skill_id,
                ..
            } => {
                let id = skill_id.as_ref().unwrap_or(skill_name);
                require(view.skills.contains_key(id), "the skill is not active")
            }
            OrderedEvent::UserMessage { message_id, .. } => {
                let id = message_id.as_str();
                let is_delivered = view.used.contains(UsedIdKind::DeliveredMessage, id);
                require(!is_delivered, "the message was delivered already")
            }
        }
    }

    /// Gives a new call an id that the session never used. Many agents count their calls from one in every turn.
    fn assign_fresh_id(&mut self, call: &mut ToolCall, view: &SessionView) {
        let given = &call.tool_call_id;
        if !view.used.contains(UsedIdKind::Call, given.as_str()) {
            self.calls.remove(given);
            return;
        }
        let fresh = ToolCallId::from(view.used.find_unused(UsedIdKind::Call, given.as_str()));
        let given = std::mem::replace(&mut call.tool_call_id, fresh.clone());
        self.calls.insert(given, fresh);
    }

    /// Checks a worker's call. Its own session has ordered it; only its id may be taken here.
    fn judge_worker_call(&mut self, call: &mut WorkerCall, view: &SessionView) -> EventPlacement {
        let given = call.id().clone();
        match &call.step {
            WorkerCallStep::Announced(_) => {
                if view.used.contains(UsedIdKind::Call, given.as_str()) {
                    let fresh =
                        ToolCallId::from(view.used.find_unused(UsedIdKind::Call, given.as_str()));
                    self.worker_calls.insert(given, fresh.clone());
                    *call.id_mut() = fresh;
                }
                AS_IS
            }
            WorkerCallStep::Asked(asked) => {
                let step = WorkerCallStep::Announced(asked.clone());
                if let Some(fresh) = self.worker_calls.get(&given) {
                    *call.id_mut() = fresh.clone();
                }
                if is_open_of_worker(view, call.id()) {
                    return AS_IS;
                }
                // The worker asks about a call that it did not announce.
                let lineage = call.lineage.clone();
                let mut announced = Box::new(WorkerCall {
                    lineage,
                    step,
                    asked: false,
                });
                self.judge_worker_call(&mut announced, view)?;
                *call.id_mut() = announced.id().clone();
                Ok(vec![AgentEvent::WorkerCall(announced)])
            }
            WorkerCallStep::Changed(_) => {
                if let Some(fresh) = self.worker_calls.get(&given) {
                    *call.id_mut() = fresh.clone();
                }
                require(
                    is_open_of_worker(view, call.id()),
                    "the worker's call has not begun, or has ended",
                )
            }
        }
    }

    fn current_call_id<'a>(&'a self, given: &'a ToolCallId) -> &'a ToolCallId {
        self.calls.get(given).unwrap_or(given)
    }

    fn current_run_id<'a>(&'a self, given: &'a str) -> &'a str {
        self.runs.get(given).map_or(given, String::as_str)
    }
}

fn is_open_of_worker(view: &SessionView, id: &ToolCallId) -> bool {
    let turn = view.open_turn.as_ref();
    turn.is_some_and(|turn| turn.worker_calls.contains_key(id))
}

fn is_open(turn: Option<&OpenTurn>, id: &ToolCallId) -> bool {
    turn.is_some_and(|turn| turn.calls.contains_key(id))
}

/// Returns the update for a call that is announced twice.
fn into_update(call: &mut ToolCall) -> ToolCallUpdate {
    let call = std::mem::replace(call, ToolCall::new("", ""));
    let mut update = ToolCallUpdate::new(call.tool_call_id, call.tool_name, call.status);
    update.title = call.title;
    update.raw_input = (!call.raw_input.is_null()).then_some(call.raw_input);
    update.content = (!call.content.is_empty()).then_some(call.content);
    update.locations = (!call.locations.is_empty()).then_some(call.locations);
    update.parsing = call.parsing;
    update
}

/// Returns the announcement that is missing before an update.
fn missing_announcement(update: &ToolCallUpdate) -> ToolCall {
    let mut call = ToolCall::new(update.tool_call_id.clone(), update.tool_name.clone());
    call.title.clone_from(&update.title);
    if update.status == ToolCallStatus::InProgress {
        call.status = ToolCallStatus::InProgress;
    }
    call
}

/// Checks the order of a worker's updates: cycles that start with a spawn, and one end.
fn judge_worker(update: &WorkerUpdate, last: Option<&WorkerUpdate>) -> EventPlacement {
    use WorkerEvent::{
        WorkerCancelled, WorkerCompleted, WorkerFailed, WorkerProgressed, WorkerSpawned,
        WorkerStopped, WorkerWaitingForInput,
    };
    let spawned = |known: &WorkerUpdate| {
        let mut spawned = known.with_event(WorkerSpawned);
        spawned.metadata.error = None;
        Ok(vec![AgentEvent::WorkerUpdate(Box::new(spawned))])
    };
    match (last.map(|last| last.event), update.event) {
        (Some(WorkerCompleted | WorkerFailed | WorkerStopped | WorkerCancelled), _) => {
            Err("the worker has ended")
        }
        (Some(WorkerSpawned), WorkerSpawned) => Err("the worker is running already"),
        (Some(WorkerWaitingForInput), WorkerWaitingForInput) => {
            Err("the worker is waiting already")
        }
        (None | Some(WorkerSpawned | WorkerProgressed), WorkerProgressed) => {
            Err("the worker is not waiting for a trigger")
        }
        // The start of the worker, or of the cycle after its trigger, was not reported.
        (
            None | Some(WorkerProgressed),
            WorkerWaitingForInput
            | WorkerCompleted
            | WorkerFailed
            | WorkerStopped
            | WorkerCancelled,
        ) => spawned(&WorkerUpdate {
            metadata: WorkerMetadata {
                finished_at: None,
                awaiting_started_at: None,
                ..update.metadata.clone()
            },
            ..update.clone()
        }),
        (None | Some(WorkerProgressed | WorkerWaitingForInput), WorkerSpawned)
        | (Some(WorkerWaitingForInput), WorkerProgressed)
        | (Some(WorkerSpawned), WorkerWaitingForInput)
        | (
            Some(WorkerSpawned | WorkerWaitingForInput),
            WorkerCompleted | WorkerFailed | WorkerStopped | WorkerCancelled,
        ) => AS_IS,
    }
}

/// Returns the results of children that a composition leaves open.
pub(crate) fn abandon_children<'a>(
    run_id: &'a str,
    children: &'a std::collections::BTreeMap<String, OpenChild>,
) -> impl Iterator<Item = AgentEvent> + 'a {
    children.iter().map(move |(id, child)| {
        AgentEvent::CompositionChildResult(Box::new(ChildResult {
            run_id: run_id.to_owned(),
            tool_call_id: id.clone(),
            tool_name: child.tool_name.clone(),
            operation_index: child.operation_index,
            status: ToolCallStatus::Failed,
            raw_output: None,
            error: Some("the composition ended before this tool did".to_owned()),
            error_category: Some(ErrorCategory::AbandonedAtLoopExit),
            executor: None,
            duration_ms: None,
            execution_duration_ms: None,
        }))
    })
}
