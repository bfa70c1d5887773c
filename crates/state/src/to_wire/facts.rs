//! The facts beside the messages: plan, workers, skills, usage, settings, clients and questions.

use std::collections::BTreeSet;

use harn_model::{HitlRequest, LiveClient, LiveClientMode, Plan, Usage, WorkerUpdate};
use harn_runtime::{Observer, modes};

use super::Document;
use crate::{
    changes::{DocumentChanges, at},
    wire::{
        ClientFacts, ClientMode, CommandHint, ModeInfo, OptionChoice, OptionInfo, PendingQuestion,
        PlanItem, SessionFacts, UsageFacts, WorkerFacts,
    },
};

/// The connected clients of a session and its controller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Presence {
    /// The clients that have a name.
    pub clients: Vec<ClientFacts>,
    /// The name of the controller, if there is one.
    pub controller: Option<String>,
}

impl Document {
    pub(super) fn set_plan(&mut self, plan: &Plan, out: &mut DocumentChanges) {
        let entries = plan.entries().into_iter();
        let items = entries.map(|entry| PlanItem {
            content: entry.content,
            status: entry.status,
            priority: entry.priority,
        });
        self.state.plan = items.collect();
        out.set(at!["plan"], &self.state.plan);
    }

    pub(super) fn update_worker(&mut self, update: &WorkerUpdate, out: &mut DocumentChanges) {
        let worker = worker(update);
        let workers = &mut self.state.workers;
        let known = workers.iter().position(|known| known.id == worker.id);
        let index = known.unwrap_or(workers.len());
        match workers.get_mut(index) {
            Some(known) => *known = worker,
            None => workers.push(worker),
        }
        out.set(at!["workers", index], &self.state.workers[index]);
    }

    pub(super) fn set_usage(&mut self, usage: &Usage, out: &mut DocumentChanges) {
        self.state.usage = Some(UsageFacts {
            used: usage.used,
            size: usage.size,
            cost: usage.cost.clone(),
        });
        out.set(at!["usage"], &self.state.usage);
    }

    pub(super) fn change_skills(
        &mut self,
        change: impl FnOnce(&mut BTreeSet<String>) -> bool,
        out: &mut DocumentChanges,
    ) {
        if change(&mut self.state.skills) {
            out.set(at!["skills"], &self.state.skills);
        }
    }
}

fn worker(update: &WorkerUpdate) -> WorkerFacts {
    let facts = &update.metadata;
    WorkerFacts {
        id: update.worker_id.to_string(),
        name: update.worker_name.clone(),
        task: update.worker_task.clone(),
        mode: update.worker_mode.clone(),
        status: update.event.status(),
        session_id: facts.child_run_id.as_ref().map(ToString::to_string),
        started_at: facts.started_at.clone(),
        finished_at: facts.finished_at.clone(),
        error: facts.error.clone(),
    }
}

/// Returns the title, settings and other facts of a session.
pub(crate) fn session(session: &Observer, agent: &str) -> SessionFacts {
    let meta = session.meta();
    let modes = modes().into_iter().map(|mode| ModeInfo {
        id: mode.id,
        name: mode.name,
        description: mode.description,
    });
    let options = session.options().into_iter().map(|(option, value)| {
        let choices = option.choices.into_iter().map(|choice| OptionChoice {
            value: choice.value,
            name: choice.name,
        });
        OptionInfo {
            id: option.id,
            name: option.name,
            description: option.description,
            value,
            choices: choices.collect(),
        }
    });
    let commands = session.commands().into_iter().map(|command| CommandHint {
        name: command.name,
        description: command.description,
        hint: command.input.map(|input| input.hint),
    });
    SessionFacts {
        id: meta.thread_id.to_string(),
        title: session.title(),
        cwd: meta.directory.to_string_lossy().into_owned(),
        agent: agent.to_owned(),
        created_at: meta.created,
        mode: session.mode(),
        modes: modes.collect(),
        options: options.collect(),
        commands: commands.collect(),
    }
}

/// Returns the clients of a session and its controller.
pub(crate) fn presence(session: &Observer) -> Presence {
    let controller = session.live_state().controller;
    Presence {
        clients: session.clients().into_iter().map(client).collect(),
        controller: controller.map(|controller| controller.client_id),
    }
}

fn client(client: LiveClient) -> ClientFacts {
    ClientFacts {
        id: client.client_id,
        mode: match client.mode {
            LiveClientMode::Observer => ClientMode::Observer,
            LiveClientMode::Controller => ClientMode::Controller,
        },
        attached_at: client.attached_at,
        last_seen_at: client.last_seen_at,
    }
}

/// Returns the open questions to people, oldest first.
pub(crate) fn questions(session: &Observer) -> Vec<PendingQuestion> {
    let mut open: Vec<_> = session.open_hitl();
    open.sort_by_key(|request| request.requested_at);
    open.iter().map(|request| question(request)).collect()
}

fn question(request: &HitlRequest) -> PendingQuestion {
    PendingQuestion {
        id: request.request_id.clone(),
        kind: request.kind,
        subject: request.subject.clone(),
        detail: request.detail.clone(),
        choices: request.choices.clone(),
        default: request.default.clone(),
        to: request.to.clone(),
        reviewers: request.reviewers.clone(),
        quorum: request.quorum,
        requested_at: request.requested_at,
        deadline: request.deadline,
        agent: request.agent.clone(),
    }
}
