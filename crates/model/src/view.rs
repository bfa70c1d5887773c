//! `SessionView`, the one fold over events. Live and reopened sessions get the same view from the same function;
//! no other component stores the state of a session.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    ActiveReminders, CompositionEvent, ContextEvent, DaemonChange, DelegationEvent, Envelope,
    EventFamily, Grant, GrantScope, IdleDaemon, MessageEvent, OpenChild, OpenRun, OpenTurn,
    OpenWorkerCall, PendingChange, PendingDelivery, PendingQueue, PermissionEvent, Plan,
    RecordEvent, ReminderChange, ReportEvent, Seq, SessionEvent, SettingEvent, SkillEvent,
    SlashCommand, SteeringEvent, Timestamp, ToolEvent, TurnEvent, TurnId, TurnOutcome, TurnStarted,
    Usage, WorkerCall, WorkerCallStep, WorkerId, WorkerUpdate,
    used_ids::{UsedIdKind, UsedIds},
};

/// The state of a session after the events folded so far. It has no transcript, so that an idle session stays
/// small.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionView {
    /// The last event folded.
    pub last_seq: Seq,
    /// When it was written.
    pub updated_at: Timestamp,
    /// A title for people.
    pub title: Option<String>,
    /// Whether a person chose the title.
    pub title_chosen: bool,
    /// The mode, if one was chosen.
    pub mode: Option<String>,
    /// Options that were set.
    pub config: BTreeMap<String, String>,
    /// Slash commands, if the agent announced its own.
    pub commands: Option<Vec<SlashCommand>>,
    /// The fill level of the context, if known.
    pub usage: Option<Usage>,
    /// The current plan.
    pub plan: Option<Plan>,
    /// The last update of every worker.
    pub workers: BTreeMap<WorkerId, Box<WorkerUpdate>>,
    /// Active skills: by id, the name that each was activated under.
    pub skills: BTreeMap<String, String>,
    /// Grants that last as long as the session.
    pub grants: Vec<Grant>,
    /// Messages and reminders that wait for delivery to the agent.
    pub pending: PendingQueue,
    /// Active reminders.
    pub reminders: ActiveReminders,
    /// The idle state of the agent, while it waits for more to do.
    pub idle: Option<IdleDaemon>,
    /// Ids that have been used.
    pub used: UsedIds,
    /// The turn that is running.
    pub open_turn: Option<OpenTurn>,
    /// Prompts that wait for the running turn to end, in order.
    pub queued: Vec<QueuedTurn>,
    /// How many turns have ended.
    pub ended_turns: u64,
    /// The outcome of the last ended turn; none for a turn that a crash interrupted.
    pub last_outcome: Option<TurnOutcome>,
}

/// A prompt that waits for its turn.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedTurn {
    /// The id of its future turn.
    pub id: TurnId,
    /// The start event of that turn. Shared, since views are copied and prompts may be long.
    pub prompt: Arc<TurnStarted>,
}

impl SessionView {
    /// Folds one event in. Events arrive in the order of their `Seq`.
    pub fn apply(&mut self, envelope: &Envelope) {
        self.last_seq = envelope.seq;
        self.updated_at = envelope.at;
        match envelope.event.family() {
            EventFamily::Turn(event) => self.apply_turn(event, envelope.turn.as_ref()),
            EventFamily::Message(event) => match event {
                MessageEvent::UserMessage { message_id, .. } => {
                    if self.pending.take_message(message_id) {
                        let id = message_id.as_str();
                        self.used.add(UsedIdKind::DeliveredMessage, id);
                    }
                }
                // Clients show these live; they leave no state that a later reader needs.
                MessageEvent::AgentMessageChunk { .. } | MessageEvent::AgentThoughtChunk { .. } => {
                }
            },
            EventFamily::Tool(event) => {
                if let ToolEvent::ToolCall(call) = event {
                    self.used.add(UsedIdKind::Call, call.tool_call_id.as_str());
                }
                if let Some(turn) = &mut self.open_turn {
                    turn.apply_tool(event, envelope);
                }
            }
            EventFamily::Permission(event) => {
                if let PermissionEvent::PermissionResolved(resolved) = event
                    && let Some(remembered) = &resolved.remembered
                    && remembered.scope == GrantScope::Session
                {
                    self.grants.retain(|grant| grant.id != remembered.grant.id);
                    self.grants.push(remembered.grant.clone());
                }
                if let Some(turn) = &mut self.open_turn {
                    turn.apply_permission(event);
                }
            }
            EventFamily::Question(event) => {
                if let Some(turn) = &mut self.open_turn {
                    turn.apply_question(event, envelope.seq);
                }
            }
            EventFamily::Record(event) => match event {
                RecordEvent::GrantRevoked { grant_id } => {
                    self.grants.retain(|grant| grant.id != *grant_id);
                }
                RecordEvent::PermissionGrant(_)
                | RecordEvent::PermissionDeny(_)
                | RecordEvent::PermissionEscalation(_)
                | RecordEvent::LiveSessionPermissionRoute(_) => {}
            },
            EventFamily::Detail(_) => {}
            EventFamily::Delegation(event) => match event {
                DelegationEvent::WorkerUpdate(update) => {
                    let id = update.worker_id.clone();
                    self.workers.insert(id, Box::new(update.clone()));
                }
                DelegationEvent::WorkerCall(call) => self.apply_worker_call(call, envelope.seq),
                DelegationEvent::Handoff { .. } => {}
            },
            EventFamily::Composition(event) => self.apply_composition(event, envelope.at),
            EventFamily::Skill(event) => self.apply_skill(event),
            EventFamily::Report(event) => match event {
                ReportEvent::Plan { plan } => self.plan = Some(plan.clone()),
                ReportEvent::ProgressReported(_)
                | ReportEvent::Progress(_)
                | ReportEvent::Artifact(_) => {}
            },
            EventFamily::Steering(event) => self.apply_steering(event, envelope.seq, envelope.at),
            EventFamily::Context(event) => match event {
                ContextEvent::Usage(usage) => self.usage = Some(usage.clone()),
                ContextEvent::TranscriptCompacted(_) => {}
            },
            EventFamily::Setting(event) => self.apply_setting(event),
            EventFamily::Session(event) => self.apply_session(event),
        }
    }

    fn apply_turn(&mut self, event: TurnEvent<'_>, turn: Option<&TurnId>) {
        match event {
            TurnEvent::TurnStarted(_) => {
                self.open_turn = turn.cloned().map(OpenTurn::new);
                self.unqueue(turn);
            }
            TurnEvent::PromptWithdrawn(_) => self.unqueue(turn),
            TurnEvent::PromptQueued(prompt) => {
                // Without a turn id, a later event could not identify the prompt that starts or is withdrawn.
                if let Some(id) = turn.cloned() {
                    let prompt = Arc::new(prompt.clone());
                    self.queued.push(QueuedTurn { id, prompt });
                }
            }
            TurnEvent::TurnEnded(ended) => self.end_turn(Some(ended.outcome.clone())),
            TurnEvent::Recovered(_) => {
                if self.open_turn.is_some() {
                    self.end_turn(None);
                }
            }
        }
    }

    fn apply_composition(&mut self, event: CompositionEvent<'_>, at: Timestamp) {
        match event {
            CompositionEvent::CompositionStart(run) => {
                self.used.add(UsedIdKind::Run, &run.run_id);
                if let Some(turn) = &mut self.open_turn {
                    turn.runs.insert(run.run_id.clone(), OpenRun::new(run, at));
                }
            }
            CompositionEvent::CompositionChildCall(call) => {
                if let Some(run) = self.open_run(&call.run_id) {
                    let child = OpenChild {
                        tool_name: call.tool_name.clone(),
                        operation_index: call.operation_index,
                        started_at: at,
                    };
                    run.children.insert(call.tool_call_id.clone(), child);
                }
            }
            CompositionEvent::CompositionChildResult(result) => {
                if let Some(run) = self.open_run(&result.run_id) {
                    run.children.remove(&result.tool_call_id);
                }
            }
            CompositionEvent::CompositionFinish(run) | CompositionEvent::CompositionError(run) => {
                if let Some(turn) = &mut self.open_turn {
                    turn.runs.remove(&run.run_id);
                }
            }
        }
    }

    fn apply_skill(&mut self, event: SkillEvent<'_>) {
        match event {
            SkillEvent::SkillActivated {
                skill_name,
                skill_id,
                ..
            } => {
                let id = skill_id.as_ref().unwrap_or(skill_name);
                self.skills.insert(id.clone(), skill_name.clone());
            }
            SkillEvent::SkillDeactivated {
                skill_name,
                skill_id,
                ..
            } => {
                self.skills.remove(skill_id.as_ref().unwrap_or(skill_name));
            }
        }
    }

    fn apply_steering(&mut self, event: SteeringEvent<'_>, seq: Seq, at: Timestamp) {
        match event {
            SteeringEvent::Pending(change) => self.apply_pending(change, seq),
            SteeringEvent::ReminderLifecycle(change) => {
                if let ReminderChange::Injected { reminder, .. } = change {
                    self.pending.take_reminder(&reminder.id);
                    self.used.add(UsedIdKind::DeliveredReminder, &reminder.id);
                } else if let ReminderChange::Inherited { reminder } = change {
                    self.used.add(UsedIdKind::DeliveredReminder, &reminder.id);
                }
                self.reminders.apply(change);
            }
            SteeringEvent::ReminderEmitted(reminder) => {
                self.reminders.mark_rendered(&reminder.reminder_id);
            }
            SteeringEvent::Daemon(change) => {
                self.idle = match *change {
                    DaemonChange::Idle {
                        iteration,
                        backoff_ms,
                    } => Some(IdleDaemon {
                        iteration,
                        backoff_ms,
                        since: at,
                        seq,
                    }),
                    DaemonChange::Woke { .. } | DaemonChange::WatchdogTripped { .. } => None,
                };
            }
            SteeringEvent::LoopCheckpoint(_) | SteeringEvent::ControlOutcome(_) => {}
        }
    }

    fn apply_setting(&mut self, event: SettingEvent<'_>) {
        match event {
            SettingEvent::ModeChanged { mode_id } => self.mode = Some(mode_id.clone()),
            SettingEvent::ConfigChanged { config_id, value } => {
                self.config.insert(config_id.clone(), value.clone());
            }
            SettingEvent::SessionInfo(info) => {
                if let Some(title) = &info.title {
                    self.title = Some(title.clone());
                    self.title_chosen |= info.chosen;
                }
            }
        }
    }

    fn apply_session(&mut self, event: SessionEvent<'_>) {
        match event {
            SessionEvent::AvailableCommands {
                commands,
                equipped,
                own_unchanged,
            } => {
                // The equipment of a session belongs to a process, and may differ in the next.
                if !own_unchanged {
                    let own = commands.iter().filter(|it| !equipped.contains(&it.name));
                    self.commands = Some(own.cloned().collect());
                }
            }
            // Tools, servers and clients belong to a process; their owners know their state.
            SessionEvent::ToolsChanged(_)
            | SessionEvent::McpServers { .. }
            | SessionEvent::LiveSessionClient { .. }
            | SessionEvent::SessionClosed { .. } => {}
        }
    }

    /// Whether a reminder with this id waits or is active.
    pub fn has_reminder(&self, id: &str) -> bool {
        self.pending.reminder(id).is_some() || self.reminders.contains(id)
    }

    fn apply_pending(&mut self, change: &PendingChange, seq: Seq) {
        match change {
            PendingChange::MessageQueued(message) => {
                let row = PendingDelivery::Message(Arc::new(message.clone()));
                self.pending.push(seq, row);
            }
            PendingChange::MessageReplaced {
                message_id,
                content,
            } => self.pending.replace(message_id, content),
            PendingChange::MessageRevoked { message_id } => {
                self.pending.take_message(message_id);
                self.used
                    .add(UsedIdKind::RevokedMessage, message_id.as_str());
            }
            PendingChange::ReminderQueued(reminder) => {
                let row = PendingDelivery::Reminder(Arc::new(reminder.clone()));
                self.pending.push(seq, row);
            }
            PendingChange::ReminderRevoked { reminder_id } => {
                self.pending.take_reminder(reminder_id);
                self.used.add(UsedIdKind::RevokedReminder, reminder_id);
            }
            PendingChange::Cleared => self.pending = PendingQueue::default(),
        }
    }

    fn apply_worker_call(&mut self, call: &WorkerCall, seq: Seq) {
        let turn = self.open_turn.as_mut();
        match &call.step {
            WorkerCallStep::Announced(announced) | WorkerCallStep::Asked(announced) => {
                let id = &announced.tool_call_id;
                self.used.add(UsedIdKind::Call, id.as_str());
                if let Some(turn) = turn.filter(|_| !announced.status.is_terminal()) {
                    let earlier = turn.worker_calls.get(id).map(|call| call.seq);
                    let is_asked = matches!(call.step, WorkerCallStep::Asked(_));
                    let open = OpenWorkerCall {
                        tool_name: announced.tool_name.clone(),
                        title: announced.title.clone(),
                        lineage: call.lineage.clone(),
                        seq: earlier.unwrap_or(seq),
                        asked: is_asked.then_some(seq),
                    };
                    turn.worker_calls.insert(id.clone(), open);
                }
            }
            WorkerCallStep::Changed(update) => {
                let Some(turn) = turn else { return };
                if update.status.is_terminal() {
                    turn.worker_calls.remove(&update.tool_call_id);
                } else if let Some(open) = turn.worker_calls.get_mut(&update.tool_call_id)
                    && update.title.is_some()
                {
                    open.title.clone_from(&update.title);
                }
            }
        }
    }

    fn open_run(&mut self, id: &str) -> Option<&mut OpenRun> {
        self.open_turn.as_mut()?.runs.get_mut(id)
    }

    /// Removes a prompt from the queue, whether it started or was withdrawn.
    fn unqueue(&mut self, turn: Option<&TurnId>) {
        self.queued.retain(|queued| Some(&queued.id) != turn);
    }

    /// Whether the last ended turn failed or was interrupted by a crash.
    pub fn last_turn_failed(&self) -> bool {
        match &self.last_outcome {
            Some(TurnOutcome::Failed { .. }) => true,
            Some(TurnOutcome::Stopped { .. }) => false,
            None => self.ended_turns > 0,
        }
    }

    fn end_turn(&mut self, outcome: Option<TurnOutcome>) {
        self.open_turn = None;
        self.idle = None;
        self.ended_turns += 1;
        self.last_outcome = outcome;
    }
}
