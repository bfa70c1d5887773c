//! A connection's claim on a session: it always watches, and drives while it or one of its clients has control.

use std::{ops::Deref, path::PathBuf, sync::Arc};

use harn_model::{
    Actor, AskId, ContentBlock, Decision, DeliveryMode, HitlResponse, LiveAuthor, LiveClient,
    LiveClientChange, LiveClientLeft, McpServerSpec, MessageId, PermissionRoute, Seq, Timestamp,
    TurnId,
};
use serde_json::Value;
use tokio::sync::watch;

use super::{
    Controller, Observer, PromptSubmission, TaskRequest,
    control::AppliedControl,
    live::{AnsweringState, LiveAction, LiveRequest},
    roster::{AttachClient, DriverAction, SeatClaim, SeatId},
    shared_session::lock,
};
use crate::{
    ControlError, HitlError, HostPort, LiveClientError, NotInControl, PromptError, hitl::HitlEnd,
};

/// A connection's claim on a session. Dropping it detaches its clients.
pub struct Seat {
    session: Controller,
    id: SeatId,
    standing: watch::Receiver<AnsweringState>,
}

/// The term since which a seat receives questions: an answer counts only within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatTerm(pub(crate) u64);

/// The state of a session for listings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveState {
    /// The last written event.
    pub last_event: Seq,
    /// Whether a prompt runs or waits.
    pub active_prompt: bool,
    /// The controller, if there is one.
    pub controller: Option<ControllerInfo>,
    /// The number of clients attached under a name.
    pub clients: usize,
}

/// The controller of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerInfo {
    /// Its name.
    pub client_id: String,
    /// The time it took control.
    pub since: Timestamp,
}

impl Observer {
    /// Returns the clients attached under a name, in order of arrival.
    pub fn clients(&self) -> Vec<LiveClient> {
        self.shared.live.roster().clients()
    }

    /// Returns the state of the session for listings.
    pub fn live_state(&self) -> LiveState {
        let last_event = self.last_seq();
        let active_prompt = !lock(&self.shared.unfinished).is_empty();
        let roster = self.shared.live.roster();
        let controller = roster.controller();
        LiveState {
            last_event,
            active_prompt,
            controller: controller.map(|(client_id, since)| ControllerInfo { client_id, since }),
            clients: roster.len(),
        }
    }

    /// Returns how often control has changed.
    pub fn epoch(&self) -> u64 {
        self.shared.live.roster().epoch()
    }
}

impl Controller {
    /// Registers a connection on the session. While it has control without a named client, `name` is its
    /// client id and `host` is the session's host.
    #[must_use]
    pub fn take_seat(&self, name: &str, host: Arc<dyn HostPort>, claim: SeatClaim) -> Seat {
        let standing = self.shared.live.subscribe_answering();
        let id = self
            .shared
            .amend(|roster, now| roster.add_seat(name, host, claim, now));
        Seat {
            session: self.clone(),
            id,
            standing,
        }
    }
}

impl Deref for Seat {
    type Target = Observer;

    fn deref(&self) -> &Observer {
        &self.session
    }
}

impl Seat {
    /// Returns a driver for an action if the caller has control. `client` names the acting client; if it is
    /// not attached through this connection, it is only a label. A connection that opened the session takes
    /// free control by this.
    pub fn drive(
        &self,
        act: DriverAction,
        client: Option<&str>,
    ) -> Result<Driver<'_>, NotInControl> {
        let drive = self
            .shared
            .amend(|roster, now| roster.drive(self.id, act, client, now));
        let author = drive?.map(Box::new);
        let session = &self.session;
        Ok(Driver { session, author })
    }

    /// Lets the connection take control whenever it is free, because it opened the session. If it has
    /// clients, they decide instead.
    pub fn claim(&self) {
        self.shared.amend(|roster, now| roster.claim(self.id, now));
    }

    /// Whether the connection or one of its clients has control.
    pub fn has_control(&self) -> bool {
        self.shared.live.roster().has_control(self.id)
    }

    /// Whether clients are attached through it.
    pub fn has_clients(&self) -> bool {
        self.shared.live.roster().has_clients(self.id)
    }

    /// Returns the term in which questions are sent here, if they are, and the event at which that was published.
    #[must_use]
    pub fn answering_term(&self) -> (Option<SeatTerm>, Seq) {
        let standing = self.standing.borrow();
        let here = standing.asked.filter(|asked| asked.seat == self.id);
        (here.map(|asked| SeatTerm(asked.term)), standing.at)
    }

    /// Returns a watch that fires when [`Seat::answering_term`] may have changed since the seat was created. Each watcher
    /// has its own.
    pub fn watch(&self) -> ControlWatch {
        ControlWatch(self.standing.clone())
    }

    /// Returns the client that receives questions, if it is one of this connection.
    pub fn asked_client(&self) -> Option<LiveClient> {
        let now = self.shared.clock_reading();
        let roster = self.shared.live.roster();
        let here = roster
            .answering_seat()
            .is_some_and(|asked| asked.seat == self.id);
        roster.asked_client(now).filter(|_| here)
    }

    /// Returns the name of that client, if it attached under one.
    pub fn asked_name(&self) -> Option<String> {
        let roster = self.shared.live.roster();
        let here = roster
            .answering_seat()
            .is_some_and(|asked| asked.seat == self.id);
        roster.asked_name().filter(|_| here).map(str::to_owned)
    }

    /// Returns a handle that may only watch, and outlives the seat.
    pub fn observer(&self) -> Observer {
        self.session.observer()
    }

    /// The same as [`Controller::add_servers`].
    pub fn add_servers(&self, servers: Vec<McpServerSpec>) {
        self.session.add_servers(servers);
    }

    /// The same as [`Controller::set_directories`].
    pub async fn set_directories(&self, additional: Vec<PathBuf>) {
        self.session.set_directories(additional).await;
    }

    /// The same as [`Controller::notify_skills_updated`].
    pub fn notify_skills_updated(&self) {
        self.session.notify_skills_updated();
    }

    /// The same as [`Controller::record_route`].
    pub async fn record_route(&self, route: PermissionRoute) {
        self.session.record_route(route).await;
    }

    /// Answers a question that was sent here in this term. Ignored if another seat receives the questions by now.
    pub async fn answer(&self, ask: AskId, decision: Decision, term: SeatTerm) {
        let msg = TaskRequest::Answer(ask, decision, Some(term));
        self.session.notify(msg).await;
    }

    /// Answers a request to a person that was sent here in this term, as [`Controller::hitl_respond`].
    pub async fn hitl_respond(
        &self,
        response: HitlResponse,
        term: SeatTerm,
    ) -> Result<Seq, HitlError> {
        self.session.respond(response, Some(term)).await
    }

    /// The same as [`Controller::report_hitl_unavailable`], for a request that was sent here in this term.
    pub async fn report_hitl_unavailable(
        &self,
        request_id: &str,
        why: impl Into<String>,
        term: SeatTerm,
    ) {
        let end = HitlEnd::withdrawn(why);
        self.session
            .end_hitl(request_id, end, true, Some(term))
            .await;
    }

    /// The same as [`Controller::decline_hitl`], for a request that was sent here in this term.
    pub async fn decline_hitl(&self, request_id: &str, term: SeatTerm) {
        let end = HitlEnd::declined();
        self.session
            .end_hitl(request_id, end, false, Some(term))
            .await;
    }

    /// Attaches or reattaches a client, which may take or give up control; returns the position of its event
    /// once it is published.
    pub async fn attach(
        &self,
        client: AttachClient,
    ) -> Result<(LiveClientChange, Seq), LiveClientError> {
        self.send_live_request(LiveAction::Attach(client)).await
    }

    /// Detaches a client of this connection; published when this returns.
    pub async fn detach(
        &self,
        client_id: &str,
        reason: &str,
        metadata: Value,
    ) -> Result<(LiveClientChange, Seq), LiveClientError> {
        let gone = LiveClientLeft {
            client_id: client_id.to_owned(),
            reason: reason.to_owned(),
            metadata,
        };
        self.send_live_request(LiveAction::Detach(gone)).await
    }

    /// Records a heartbeat of a client of this connection; published when this returns.
    pub async fn heartbeat(
        &self,
        client_id: &str,
        metadata: Option<Value>,
    ) -> Result<(LiveClientChange, Seq), LiveClientError> {
        let client_id = client_id.to_owned();
        self.send_live_request(LiveAction::Heartbeat(client_id, metadata))
            .await
    }

    /// Ends the connection and detaches its clients, which is published when this returns.
    pub async fn leave(&self) {
        if self.leave_without_event() {
            return;
        }
        let left = |reply| TaskRequest::Leave(self.id, Some(reply));
        // Without a reply the session has ended and has no clients.
        let _ = self.session.request(left).await;
    }

    /// Leaves if no event is needed, and returns whether it did.
    fn leave_without_event(&self) -> bool {
        self.shared.amend(|roster, _| {
            let quiet = !roster.has_clients(self.id);
            if quiet {
                roster.leave(self.id);
            }
            quiet
        })
    }

    async fn send_live_request(
        &self,
        wanted: LiveAction,
    ) -> Result<(LiveClientChange, Seq), LiveClientError> {
        let request = |reply| LiveRequest {
            seat: self.id,
            wanted,
            reply,
        };
        let done = self
            .session
            .request(|reply| TaskRequest::Live(Box::new(request(reply))));
        done.await.unwrap_or(Err(LiveClientError::Closed))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.leave_without_event() {
            return;
        }
        let (session, msg) = (self.session.clone(), TaskRequest::Leave(self.id, None));
        // Without a runtime the session has ended as well.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { session.notify(msg).await });
        }
    }
}

/// Waits for changes of who receives questions.
pub struct ControlWatch(watch::Receiver<AnsweringState>);

impl ControlWatch {
    /// Resolves after the next change. Never resolves once the session is gone.
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Whether there was a change since the last call.
    pub fn has_changed(&mut self) -> bool {
        let changed = self.0.has_changed().unwrap_or_default();
        if changed {
            self.0.mark_unchanged();
        }
        changed
    }
}

/// A session in the hands of its controller: messages to the agent carry the controller's name.
pub struct Driver<'a> {
    session: &'a Controller,
    author: Option<Box<LiveAuthor>>,
}

impl Deref for Driver<'_> {
    type Target = Controller;

    fn deref(&self) -> &Controller {
        self.session
    }
}

impl Driver<'_> {
    /// Returns the client in control, if it attached under a name.
    pub fn client_id(&self) -> Option<&str> {
        self.author.as_ref().map(|author| author.client_id.as_str())
    }

    /// The same as [`Controller::prompt`].
    pub async fn prompt(
        self,
        prompt: impl Into<PromptSubmission>,
        registered: impl FnOnce(&TurnId),
    ) -> Result<TurnId, PromptError> {
        let prompt = prompt.into();
        self.session.submit(prompt, self.author, registered).await
    }

    /// The same as [`Controller::inject`].
    pub async fn inject(
        self,
        mode: DeliveryMode,
        content: Vec<ContentBlock>,
        actor: Actor,
        named: impl FnOnce(&MessageId),
    ) -> Result<(MessageId, AppliedControl), ControlError> {
        let said = (content, self.author);
        self.session
            .send_message(mode, said, actor, named, false)
            .await
    }

    /// The same as [`Controller::steer`].
    pub async fn steer(
        self,
        content: Vec<ContentBlock>,
        actor: Actor,
        named: impl FnOnce(&MessageId),
    ) -> Result<(MessageId, AppliedControl), ControlError> {
        let said = (content, self.author);
        let mode = DeliveryMode::FinishStep;
        self.session
            .send_message(mode, said, actor, named, true)
            .await
    }
}
