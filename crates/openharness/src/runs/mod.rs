//! Starts, joins, answers, continues and stops runs; each request takes effect once.
//!
//! A separate task carries out a request: a Shell that disconnects in the middle changes nothing. The request
//! itself only waits, and its response is computed from the session's events.

mod fold;
mod index;
mod names;
mod question_action;
mod recent_sessions;
mod replies;
mod run;
mod session_runs;

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use harn_lines::pace::ClientQuotas;
use harn_model::{ContentBlock, Principal, SessionId, Timestamp, TurnId};
use harn_runtime::{Hub, NewSession, PromptSubmission};

use self::{
    index::RequestHistory,
    names::RequestFingerprint,
    recent_sessions::RecentSessions,
    replies::{
        CachedReply, ReplyCache, RequestAdmission, RequestKey, RequestStart, RequestStartSlot,
    },
    run::{ActiveRun, WaitCondition},
    session_runs::{SessionRuns, TurnLookup},
};
use crate::{
    continuation::RunCursor,
    error::OpenHarnessError,
    report::{RunPhase, RunReport},
    request::ShellRequest,
    router::OpenHarnessConfig,
    to_wire,
};

/// All runs of all principals.
pub(crate) struct RunRegistry {
    config: OpenHarnessConfig,
    lines: RecentSessions,
    replies: ReplyCache,
    under_way: ClientQuotas<Principal>,
}

/// The time for runs to settle when the process ends.
const FAREWELL: Duration = Duration::from_millis(600);

/// The entry of a request in the reply cache, if it has an id.
type RequestTicket = Option<(RequestKey, Arc<RequestStartSlot>)>;

impl RunRegistry {
    pub(crate) fn new(config: OpenHarnessConfig) -> Self {
        Self {
            lines: RecentSessions::with_limit(config.sessions),
            under_way: ClientQuotas::new(config.runs),
            config,
            replies: ReplyCache::default(),
        }
    }

    pub(crate) fn config(&self) -> &OpenHarnessConfig {
        &self.config
    }

    /// Does what the request asks, unless that is done already, and waits until there is something to report:
    /// the run is over, waits for a decision, or takes longer than a Shell waits.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        principal: &Principal,
        asked: ShellRequest,
    ) -> Result<Vec<u8>, OpenHarnessError> {
        if self.config.ending.is_cancelled() {
            return Err(OpenHarnessError::Ending);
        }
        let asked = Arc::new(asked);
        let id = asked.echo.request_id.as_ref();
        let entered = id.map(|id| self.replies.admit(principal, id, &asked.digest));
        let ending = self.config.ending.cancelled();
        match entered {
            Some(RequestAdmission::Conflict) => Err(OpenHarnessError::RequestIdConflict),
            Some(RequestAdmission::Answered(reply)) => {
                Ok(to_wire::run_response(&asked, &reply.told, reply.at))
            }
            Some(RequestAdmission::Again(key, slot)) => {
                let known = async {
                    let begun = slot.wait_for_start().await?;
                    let run = begun.run.upgrade();
                    Ok((begun, run))
                };
                let begun = tokio::select! {
                    biased;
                    known = known => known?,
                    () = ending => return Err(OpenHarnessError::Ending),
                };
                self.respond(principal, &asked, begun, &Some((key, slot)))
                    .await
            }
            Some(RequestAdmission::First(key, slot)) => {
                self.do_once(principal, &asked, Some((key, slot))).await
            }
            None => self.do_once(principal, &asked, None).await,
        }
    }

    async fn do_once(
        self: &Arc<Self>,
        principal: &Principal,
        asked: &Arc<ShellRequest>,
        ticket: RequestTicket,
    ) -> Result<Vec<u8>, OpenHarnessError> {
        let (runs, wanted, whose) = (self.clone(), asked.clone(), principal.clone());
        let mut promise = RequestStartGuard {
            runs: self.clone(),
            ticket: ticket.clone(),
        };
        let doing = tokio::spawn(async move {
            let begun = runs.begin(&whose, &wanted).await;
            promise.report_start(begun.as_ref().map(|(begun, _)| begun));
            begun
        });
        let begun = tokio::select! {
            biased;
            done = doing => done.map_err(|_| OpenHarnessError::Unavailable)??,
            () = self.config.ending.cancelled() => return Err(OpenHarnessError::Ending),
        };
        self.respond(principal, asked, begun, &ticket).await
    }

    /// Waits until there is something to report, and returns the response.
    async fn respond(
        &self,
        principal: &Principal,
        asked: &ShellRequest,
        (begun, run): (RequestStart, Option<Arc<ActiveRun>>),
        ticket: &RequestTicket,
    ) -> Result<Vec<u8>, OpenHarnessError> {
        let told = match run {
            Some(run) => self.wait(&run, &begun).await,
            None => self.report_finished(principal, &begun.place).await,
        };
        let (told, at) = match (told, ticket) {
            (Ok(told), _) => told,
            (Err(fault), None) | (Err(fault @ OpenHarnessError::Ending), _) => return Err(fault),
            (Err(fault), Some((key, slot))) => {
                self.replies.forget(key, slot);
                return Err(fault);
            }
        };
        let answer = to_wire::run_response(asked, &told, at);
        if let Some((key, slot)) = ticket.as_ref().filter(|_| !begun.kept) {
            self.replies.forget(key, slot);
            return Ok(answer);
        }
        match (&told.state, ticket) {
            // The run continues: a repeat of the request gets the newer state.
            (RunPhase::Running, _) | (_, None) => {}
            (
                RunPhase::Parked | RunPhase::Ended(_) | RunPhase::Failed(_) | RunPhase::Interrupted,
                Some((key, slot)),
            ) => {
                let bytes = answer.len();
                self.replies
                    .store(key, slot, CachedReply { told, at }, bytes);
            }
        }
        Ok(answer)
    }

    async fn wait(
        &self,
        run: &ActiveRun,
        begun: &RequestStart,
    ) -> Result<(RunReport, Timestamp), OpenHarnessError> {
        tokio::select! {
            biased;
            rested = run.wait_until_settled(&begun.until) => rested?,
            // The shutdown cancels the run, and all later responses report it as cancelled.
            () = self.config.ending.cancelled() => {
                let over = tokio::time::timeout(FAREWELL, run.wait_until_settled(&begun.until)).await;
                over.map_err(|_| OpenHarnessError::Ending)??;
            }
            () = tokio::time::sleep(self.config.patience) => {}
        }
        Ok(run.report(begun.place.after))
    }

    /// Returns the report of a run that was over when its Shell asked again.
    async fn report_finished(
        &self,
        principal: &Principal,
        place: &RunCursor,
    ) -> Result<(RunReport, Timestamp), OpenHarnessError> {
        let hub = self.config.hub.for_principal(principal.clone());
        let line = self.open_existing(&hub, &place.session).await?;
        match line.find_turn(&place.turn) {
            TurnLookup::UnderWay(run) => {
                let begun = RequestStart::new(place.clone(), WaitCondition::default(), Some(&run));
                self.wait(&run, &begun).await
            }
            TurnLookup::Over => line.report_finished(&place.turn, place.after).await,
            TurnLookup::No => Err(OpenHarnessError::ContinuationUnknown),
        }
    }

    /// Starts what a request asks for.
    async fn begin(
        &self,
        principal: &Principal,
        asked: &ShellRequest,
    ) -> Result<(RequestStart, Option<Arc<ActiveRun>>), OpenHarnessError> {
        let hub = self.config.hub.for_principal(principal.clone());
        let Some(place) = &asked.continuation else {
            if let Some(name) = asked.line.as_ref().filter(|_| asked.cancel) {
                let id = names::conversation_session_id(principal, name);
                return self.cancel_in_session(&hub, &id).await;
            }
            let line = self.open_session_of(&hub, asked).await?;
            line.catch_up().await?;
            return self.begin_run(&hub, &line, asked).await;
        };
        let line = self.open_existing(&hub, &place.session).await?;
        let known = line.find_turn(&place.turn);
        let until = match &known {
            TurnLookup::No => return Err(OpenHarnessError::ContinuationUnknown),
            TurnLookup::Over if !asked.verdicts.is_empty() => {
                return Err(OpenHarnessError::QuestionUnknown);
            }
            TurnLookup::Over if has_input(asked) && !asked.cancel => {
                return self.begin_run(&hub, &line, asked).await;
            }
            TurnLookup::Over => WaitCondition::default(),
            TurnLookup::UnderWay(_) if asked.cancel => {
                line.cancel(&place.turn).await;
                WaitCondition {
                    over: true,
                    ..WaitCondition::default()
                }
            }
            TurnLookup::UnderWay(run) if !asked.verdicts.is_empty() => {
                line.apply_answers(run, &asked.verdicts, principal).await?
            }
            // Further text of the user is not queued: the user sees the state of the run first.
            TurnLookup::UnderWay(_) => WaitCondition::default(),
        };
        let run = match known {
            TurnLookup::UnderWay(run) => Some(run),
            TurnLookup::Over | TurnLookup::No => None,
        };
        Ok((RequestStart::new(place.clone(), until, run.as_ref()), run))
    }

    /// Stops the current run of a session, for a Shell that does not know the run's id yet.
    async fn cancel_in_session(
        &self,
        hub: &Hub,
        id: &SessionId,
    ) -> Result<(RequestStart, Option<Arc<ActiveRun>>), OpenHarnessError> {
        let line = self
            .lines
            .open(hub, id)
            .await?
            .ok_or(OpenHarnessError::Idle)?;
        line.catch_up().await?;
        let (turn, run) = line.current_run().ok_or(OpenHarnessError::Idle)?;
        line.cancel(&turn).await;
        let until = WaitCondition {
            over: true,
            ..WaitCondition::default()
        };
        Ok((
            RequestStart::new(line.start_of_run(turn), until, Some(&run)),
            Some(run),
        ))
    }

    /// Starts a run with the user's input, unless this very request started one in the session before.
    async fn begin_run(
        &self,
        hub: &Hub,
        line: &Arc<SessionRuns>,
        asked: &ShellRequest,
    ) -> Result<(RequestStart, Option<Arc<ActiveRun>>), OpenHarnessError> {
        let id = asked.echo.request_id.as_deref();
        let mark = id.map(|id| RequestFingerprint::new(id, &asked.digest));
        let began = |turn: TurnId, run: Option<Arc<ActiveRun>>| {
            let place = line.start_of_run(turn);
            (
                RequestStart::new(place, WaitCondition::default(), run.as_ref()),
                run,
            )
        };
        match mark
            .as_ref()
            .map_or(RequestHistory::Never, |mark| line.request_history(mark))
        {
            RequestHistory::Never => {}
            RequestHistory::Otherwise => return Err(OpenHarnessError::RequestIdConflict),
            RequestHistory::As(turn) => {
                let run = match line.find_turn(&turn) {
                    TurnLookup::UnderWay(run) => Some(run),
                    TurnLookup::Over | TurnLookup::No => None,
                };
                return Ok(began(turn, run));
            }
        }
        if !has_input(asked) {
            return Err(OpenHarnessError::Invalid {
                field: "request.context.user_intent".to_owned(),
                problem: "is missing; send what the user wants, or the continuation of a run",
            });
        }
        // The prompt would wait until the decision. Its user sees first what to decide.
        if let Some((turn, run)) = line.current_run().filter(|(_, run)| run.is_parked()) {
            let (begun, run) = began(turn, Some(run));
            return Ok((
                RequestStart {
                    kept: false,
                    ..begun
                },
                run,
            ));
        }
        let prompt = PromptSubmission {
            blocks: prompt_blocks(asked, hub.profile().prompt.embedded),
            message: mark.as_ref().map(RequestFingerprint::message_id),
            behind: Some(self.config.waiting),
        };
        // A run outlives the request that started it, and so does its slot.
        let place = self.under_way.join(hub.principal());
        let place = place.ok_or(OpenHarnessError::TooMany)?;
        let (turn, run) = line.begin(prompt, mark.as_ref(), place).await?;
        Ok(began(turn, Some(run)))
    }

    /// Opens or creates the session that a request belongs to.
    async fn open_session_of(
        &self,
        hub: &Hub,
        asked: &ShellRequest,
    ) -> Result<Arc<SessionRuns>, OpenHarnessError> {
        let new = NewSession {
            cwd: self.config.directory.clone(),
            additional_directories: Vec::new(),
        };
        let principal = hub.principal();
        let id = match (&asked.line, &asked.echo.request_id) {
            (Some(name), _) => names::conversation_session_id(principal, name),
            (None, Some(id)) => names::request_session_id(principal, id),
            (None, None) => return self.lines.create(hub, new).await,
        };
        self.lines.open_or_create(hub, &id, new).await
    }

    /// Opens the session of a continuation and folds its whole journal.
    async fn open_existing(
        &self,
        hub: &Hub,
        id: &SessionId,
    ) -> Result<Arc<SessionRuns>, OpenHarnessError> {
        let line = self.lines.open(hub, id).await?;
        let line = line.ok_or(OpenHarnessError::ContinuationUnknown)?;
        line.catch_up().await?;
        Ok(line)
    }
}

impl RequestStart {
    fn new(place: RunCursor, until: WaitCondition, run: Option<&Arc<ActiveRun>>) -> Self {
        let run = run.map_or_else(Weak::new, Arc::downgrade);
        Self {
            place,
            until,
            run,
            kept: true,
        }
    }
}

/// Reports the start of a request to those that wait for it, whatever happens to the task that does it.
struct RequestStartGuard {
    runs: Arc<RunRegistry>,
    ticket: RequestTicket,
}

impl RequestStartGuard {
    fn report_start(&mut self, begun: Result<&RequestStart, &OpenHarnessError>) {
        let Some((key, slot)) = self.ticket.take() else {
            return;
        };
        // Nothing was done, so the same request may be sent again.
        if begun.is_err() {
            self.runs.replies.forget(&key, &slot);
        }
        slot.set_start(begun.cloned().map_err(Clone::clone));
    }
}

impl Drop for RequestStartGuard {
    fn drop(&mut self) {
        self.report_start(Err(&OpenHarnessError::Unavailable));
    }
}

fn has_input(asked: &ShellRequest) -> bool {
    intent_text(asked).is_some() || !asked.attachments.is_empty()
}

fn intent_text(asked: &ShellRequest) -> Option<&str> {
    let words = asked.intent.as_deref();
    words.filter(|words| !words.trim().is_empty())
}

/// Returns the prompt for the agent.
fn prompt_blocks(asked: &ShellRequest, embedded: bool) -> Vec<ContentBlock> {
    let intent = intent_text(asked).into_iter().map(ContentBlock::text);
    let links = asked.attachments.iter().cloned();
    let links = links.map(ContentBlock::ResourceLink);
    let background = asked.background.iter().filter(|_| embedded).cloned();
    let background = background.map(ContentBlock::Resource);
    intent.chain(links).chain(background).collect()
}
