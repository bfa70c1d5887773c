//! A connection's place in a session: it watches freely, and drives while it, or a client that came through
//! it, is in control.

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
    shared::lock,
};
use crate::{
    ControlError, HitlError, HostPort, LiveClientError, NotInControl, PromptError, hitl::HitlEnd,
};

/// A connection's place in a session. Gone, its clients are detached.
pub struct Seat {
    session: Controller,
    id: SeatId,
    standing: watch::Receiver<AnsweringState>,
}

/// Since when a seat is asked: an answer counts while it still is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatTerm(pub(crate) u64);

/// What a session looks like to those who look for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveState {
    /// The last event that was written.
    pub last_event: Seq,
    /// Whether a prompt runs or waits.
    pub active_prompt: bool,
    /// Who is in control, if anybody is.
    pub controller: Option<ControllerInfo>,
    /// How many clients are on it under a name.
    pub clients: usize,
}

/// Who is in control of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerInfo {
    /// Its name.
    pub client_id: String,
    /// Since when.
    pub since: Timestamp,
}

impl Observer {
    /// The clients that are on it under a name, in the order they came.
    #[must_use]
    pub fn clients(&self) -> Vec<LiveClient> {
        self.shared.live.roster().clients()
    }

    /// What it looks like to those who look for one.
    #[must_use]
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

    /// How often control has changed.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.shared.live.roster().epoch()
    }
}

impl Controller {
    /// Takes a place at the session for a connection. `name` is what it is called while it is in control
    /// and has no client that says otherwise; `host` is what it offers then.
    #[must_use]
    pub fn sit(&self, name: &str, host: Arc<dyn HostPort>, claim: SeatClaim) -> Seat {
        let standing = self.shared.live.standing();
        let id = self
            .shared
            .amend(|roster, now| roster.sit(name, host, claim, now));
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
    /// The session for somebody who may do this with it: whoever is in control. `client` is who says to do
    /// it; where it is none of the clients that came through here, it is only a label. A connection that
    /// opened the session takes control by this where nobody has it.
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

    /// Has the connection drive whenever nobody else does: it opened the session. One that has clients
    /// goes by what they want.
    pub fn claim(&self) {
        self.shared.amend(|roster, now| roster.claim(self.id, now));
    }

    /// Whether it is in control, or a client that came through it.
    #[must_use]
    pub fn has_control(&self) -> bool {
        self.shared.live.roster().has_control(self.id)
    }

    /// Whether clients are on the session through it.
    #[must_use]
    pub fn has_clients(&self) -> bool {
        self.shared.live.roster().has_clients(self.id)
    }

    /// Whether questions are put here, and since which change of that; told when what led to it was
    /// published, together with the place it was published at.
    #[must_use]
    pub fn asked(&self) -> (Option<SeatTerm>, Seq) {
        let standing = self.standing.borrow();
        let here = standing.asked.filter(|asked| asked.seat == self.id);
        (here.map(|asked| SeatTerm(asked.term)), standing.at)
    }

    /// Hears of it when [`Seat::asked`] may say something else, and once at first. Each watcher has its own.
    #[must_use]
    pub fn watch(&self) -> ControlWatch {
        ControlWatch(self.standing.clone())
    }

    /// The client that is asked, if it is one here.
    #[must_use]
    pub fn asked_client(&self) -> Option<LiveClient> {
        let now = self.shared.instant();
        let roster = self.shared.live.roster();
        let here = roster.asked().is_some_and(|asked| asked.seat == self.id);
        roster.asked_client(now).filter(|_| here)
    }

    /// The name of that client, where it has one of its own.
    #[must_use]
    pub fn asked_name(&self) -> Option<String> {
        let roster = self.shared.live.roster();
        let here = roster.asked().is_some_and(|asked| asked.seat == self.id);
        roster.asked_name().filter(|_| here).map(str::to_owned)
    }

    /// A handle that may only watch, and outlives the seat.
    #[must_use]
    pub fn observer(&self) -> Observer {
        self.session.observer()
    }

    /// As [`Controller::add_servers`].
    pub fn add_servers(&self, servers: Vec<McpServerSpec>) {
        self.session.add_servers(servers);
    }

    /// As [`Controller::set_directories`].
    pub async fn set_directories(&self, additional: Vec<PathBuf>) {
        self.session.set_directories(additional).await;
    }

    /// As [`Controller::skills_updated`].
    pub fn skills_updated(&self) {
        self.session.skills_updated();
    }

    /// As [`Controller::routed`].
    pub async fn routed(&self, route: PermissionRoute) {
        self.session.routed(route).await;
    }

    /// Answers a question that was put here in this term. Dropped where somebody else is asked by now.
    pub async fn answer(&self, ask: AskId, decision: Decision, term: SeatTerm) {
        let msg = TaskRequest::Answer(ask, decision, Some(term));
        self.session.notify(msg).await;
    }

    /// Answers what a person was asked here in this term, as [`Controller::hitl_respond`].
    pub async fn hitl_respond(
        &self,
        response: HitlResponse,
        term: SeatTerm,
    ) -> Result<Seq, HitlError> {
        self.session.respond(response, Some(term)).await
    }

    /// As [`Controller::hitl_unavailable`], of what was put here in this term.
    pub async fn hitl_unavailable(&self, request_id: &str, why: impl Into<String>, term: SeatTerm) {
        let end = HitlEnd::withdrawn(why);
        self.session
            .end_hitl(request_id, end, true, Some(term))
            .await;
    }

    /// As [`Controller::hitl_declined`], of what was put here in this term.
    pub async fn hitl_declined(&self, request_id: &str, term: SeatTerm) {
        let end = HitlEnd::declined();
        self.session
            .end_hitl(request_id, end, false, Some(term))
            .await;
    }

    /// A client comes, comes again, or takes or gives up control; told when this returns, with the place of
    /// its event.
    pub async fn attach(
        &self,
        client: AttachClient,
    ) -> Result<(LiveClientChange, Seq), LiveClientError> {
        self.live(LiveAction::Attach(client)).await
    }

    /// A client that came through here leaves; told when this returns.
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
        self.live(LiveAction::Detach(gone)).await
    }

    /// A client that came through here is still there; told when this returns.
    pub async fn heartbeat(
        &self,
        client_id: &str,
        metadata: Option<Value>,
    ) -> Result<(LiveClientChange, Seq), LiveClientError> {
        let client_id = client_id.to_owned();
        self.live(LiveAction::Heartbeat(client_id, metadata)).await
    }

    /// The connection has ended: its clients are detached, which is told when this returns.
    pub async fn leave(&self) {
        if self.get_up() {
            return;
        }
        let left = |reply| TaskRequest::Leave(self.id, Some(reply));
        // Without a reply the session has ended, and has no clients any more.
        let _ = self.session.request(left).await;
    }

    /// Leaves, if nobody has to be told of it.
    fn get_up(&self) -> bool {
        self.shared.amend(|roster, _| {
            let quiet = !roster.has_clients(self.id);
            if quiet {
                roster.leave(self.id);
            }
            quiet
        })
    }

    async fn live(&self, wanted: LiveAction) -> Result<(LiveClientChange, Seq), LiveClientError> {
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
        if self.get_up() {
            return;
        }
        let (session, msg) = (self.session.clone(), TaskRequest::Leave(self.id, None));
        // Without a runtime the session is gone as well.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { session.notify(msg).await });
        }
    }
}

/// Waits for changes of who is asked.
pub struct ControlWatch(watch::Receiver<AnsweringState>);

impl ControlWatch {
    /// Resolves after the next change. Never, once the session is gone.
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Whether there was a change since it was last asked.
    pub fn has_changed(&mut self) -> bool {
        let changed = self.0.has_changed().unwrap_or_default();
        if changed {
            self.0.mark_unchanged();
        }
        changed
    }
}

/// A session in the hands of who is in control of it: what is said to the agent says whose it is.
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
    /// The client that is in control, where it came under a name.
    #[must_use]
    pub fn client_id(&self) -> Option<&str> {
        self.author.as_ref().map(|author| author.client_id.as_str())
    }

    /// As [`Controller::prompt`].
    pub async fn prompt(
        self,
        prompt: impl Into<PromptSubmission>,
        registered: impl FnOnce(&TurnId),
    ) -> Result<TurnId, PromptError> {
        let prompt = prompt.into();
        self.session.submit(prompt, self.author, registered).await
    }

    /// As [`Controller::inject`].
    pub async fn inject(
        self,
        mode: DeliveryMode,
        content: Vec<ContentBlock>,
        actor: Actor,
        named: impl FnOnce(&MessageId),
    ) -> Result<(MessageId, AppliedControl), ControlError> {
        let said = (content, self.author);
        self.session.put(mode, said, actor, named, false).await
    }

    /// As [`Controller::steer`].
    pub async fn steer(
        self,
        content: Vec<ContentBlock>,
        actor: Actor,
        named: impl FnOnce(&MessageId),
    ) -> Result<(MessageId, AppliedControl), ControlError> {
        let said = (content, self.author);
        let mode = DeliveryMode::FinishStep;
        self.session.put(mode, said, actor, named, true).await
    }
}
