//! One prompt from beginning to end: updates are shown, questions answered, Ctrl-C heard.
//!
//! The SDK's dispatch loop only hands things over; nothing is waited for inside it.

use std::{path::PathBuf, process::ExitCode};

use agent_client_protocol::{
    Agent, Client, on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            AgentNotification, CancelNotification, ClientCapabilities, ContentBlock,
            CreateElicitationRequest, CreateElicitationResponse, ElicitationAction,
            ElicitationCapabilities, ElicitationFormCapabilities, Implementation,
            InitializeRequest, NewSessionRequest, PromptRequest, RequestPermissionOutcome,
            RequestPermissionRequest, RequestPermissionResponse, SessionId, SessionNotification,
            SessionUpdate, StopReason, TextContent,
        },
    },
};
use anyhow::{Context, Result, anyhow};
use harn_acp::{AcpConfig, ProfileChoice, serve_connection, transport};
use tokio::sync::mpsc;

use super::{
    activity::Activity,
    ask::{self, Typed},
    form,
    keyboard::Keyboard,
    pair,
    show::Show,
};
use crate::{
    cli::{note, paint::Style},
    signals::{Signal, Signals},
    workshop::Workshop,
};

/// What was heard from the agent.
enum Heard {
    Update(Box<SessionUpdate>),
    Activity(Activity),
    Ask(Box<Question>),
}

/// A question that waits for an answer.
enum Question {
    /// Whether a tool may run.
    Permission(
        RequestPermissionRequest,
        Responder<RequestPermissionResponse>,
    ),
    /// What the agent wants to know of a person.
    Form(
        CreateElicitationRequest,
        Responder<CreateElicitationResponse>,
    ),
}

impl Question {
    fn cancel(self) {
        match self {
            Self::Permission(_, to) => permit(to, RequestPermissionOutcome::Cancelled),
            Self::Form(_, to) => fill_in(to, ElicitationAction::Cancel),
        }
    }
}

fn permit(to: Responder<RequestPermissionResponse>, outcome: RequestPermissionOutcome) {
    // The agent may have gone on without us.
    let _ = to.respond(RequestPermissionResponse::new(outcome));
}

fn fill_in(to: Responder<CreateElicitationResponse>, action: ElicitationAction) {
    // As above.
    let _ = to.respond(CreateElicitationResponse::new(action));
}

/// How many updates may wait to be shown.
const WAITING: usize = 64;
/// What a shell makes of a program that was interrupted.
const INTERRUPTED: u8 = 130;

/// See the module.
pub(super) struct Conversation {
    show: Show,
    keyboard: Keyboard,
    signals: Signals,
    asked: Option<Box<Question>>,
    cancelled: bool,
    /// Whether it was said how to have things run where nobody can be asked.
    hinted: bool,
}

impl Conversation {
    /// Must be called on a runtime.
    pub(super) fn new(show: Show, keyboard: Keyboard) -> Result<Self> {
        Ok(Self {
            show,
            keyboard,
            signals: Signals::listen().context("listening for signals")?,
            asked: None,
            cancelled: false,
            hinted: false,
        })
    }

    /// Holds it, and says how to exit.
    pub(super) async fn hold(
        mut self,
        workshop: &Workshop,
        profile: ProfileChoice,
        cwd: PathBuf,
        prompt: String,
    ) -> Result<ExitCode> {
        let (lines, incoming) = mpsc::channel(WAITING);
        let (outgoing, queue) = transport::outgoing();
        let config = AcpConfig { profile };
        let agent = serve_connection(workshop.hub().clone(), config, incoming, outgoing);
        workshop.spawn(agent);

        let (heard, mut events) = mpsc::channel(WAITING);
        let (asks, forms, activities) = (heard.clone(), heard.clone(), heard.clone());
        let held = Client
            .v1()
            .on_receive_notification(
                async move |notification: SessionNotification, _| {
                    let update = Heard::Update(Box::new(notification.update));
                    // Nobody listens when we are leaving.
                    let _ = heard.send(update).await;
                    Ok(())
                },
                on_receive_notification!(),
            )
            .on_receive_notification(
                async move |notification: AgentNotification, _| {
                    if let AgentNotification::ExtNotification(notification) = notification
                        && let Some(activity) = Activity::of_notification(&notification)
                    {
                        let _ = activities.send(Heard::Activity(activity)).await;
                    }
                    Ok(())
                },
                on_receive_notification!(),
            )
            .on_receive_request(
                async move |request: RequestPermissionRequest, responder, _| {
                    let question = Box::new(Question::Permission(request, responder));
                    let _ = asks.send(Heard::Ask(question)).await;
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: CreateElicitationRequest, responder, _| {
                    let question = Box::new(Question::Form(request, responder));
                    let _ = forms.send(Heard::Ask(question)).await;
                    Ok(())
                },
                on_receive_request!(),
            )
            .connect_with(
                pair::transport(lines, queue),
                async |agent: ConnectionTo<Agent>| {
                    Ok(self.ask(&agent, &mut events, cwd, prompt).await)
                },
            )
            .await;
        let written = self.show.screen.finish();
        let code = match held.map_err(in_words)?? {
            Some(end) => exit_code(end),
            None => ExitCode::from(INTERRUPTED),
        };
        written.context("writing to stdout")?;
        Ok(code)
    }

    /// How the agent stopped; none if we did not wait for it.
    async fn ask(
        &mut self,
        agent: &ConnectionTo<Agent>,
        events: &mut mpsc::Receiver<Heard>,
        cwd: PathBuf,
        prompt: String,
    ) -> Result<Option<StopReason>> {
        let us = Implementation::new("harn-serve-run", env!("CARGO_PKG_VERSION"));
        let forms = ElicitationCapabilities::new().form(ElicitationFormCapabilities::new());
        let hello = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new().elicitation(forms))
            .client_info(us);
        agent
            .send_request(hello)
            .block_task()
            .await
            .map_err(in_words)?;
        let new = agent.send_request(NewSessionRequest::new(cwd)).block_task();
        let session = new.await.map_err(in_words)?.session_id;
        let prompt = vec![ContentBlock::Text(TextContent::new(prompt))];
        let ended = agent
            .send_request(PromptRequest::new(session.clone(), prompt))
            .block_task();
        tokio::pin!(ended);
        loop {
            tokio::select! {
                signal = self.signals.next() => {
                    if self.cancelled || signal == Signal::Terminate {
                        return Ok(None);
                    }
                    self.cancel(agent, &session);
                }
                // While a question stands, nothing is printed under it.
                Some(heard) = events.recv(), if self.asked.is_none() => self.hear(heard),
                line = self.keyboard.line(), if self.asked.is_some() => self.typed(line.as_deref()),
                ended = &mut ended => {
                    // Everything of the turn was heard before its end was.
                    while let Ok(heard) = events.try_recv() {
                        self.hear(heard);
                    }
                    return Ok(Some(ended.map_err(in_words)?.stop_reason));
                }
            }
        }
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Update(update) => self.show.update(*update),
            Heard::Activity(activity) => self.show.activity(&activity),
            Heard::Ask(question) if self.cancelled => question.cancel(),
            Heard::Ask(question) => self.put(question),
        }
    }

    /// Puts a question, or says why nobody is asked.
    fn put(&mut self, question: Box<Question>) {
        let present = self.keyboard.is_present();
        if present {
            self.keyboard.forget();
        }
        match *question {
            Question::Permission(request, to) if present => {
                ask::put(&mut self.show, &request);
                self.asked = Some(Box::new(Question::Permission(request, to)));
            }
            Question::Permission(request, to) => {
                let call = &request.tool_call;
                let title = call.fields.title.as_deref().unwrap_or("a tool call");
                let words = format!("refused, as there is no terminal to ask on: {title}");
                self.show.screen.line(&[(Style::Yellow, &words)]);
                if !std::mem::replace(&mut self.hinted, true) {
                    let hint = "  what may run unasked is for --mode and --policy to say";
                    self.show.screen.line(&[(Style::Dim, hint)]);
                }
                permit(to, ask::refusal(&request.options));
            }
            Question::Form(request, to) if present && form::put(&mut self.show, &request) => {
                self.asked = Some(Box::new(Question::Form(request, to)));
            }
            Question::Form(request, to) => {
                let why = match present {
                    true => "as it cannot be answered with a line",
                    false => "as there is no terminal to ask on",
                };
                let asked = request.message.lines().next().unwrap_or_default();
                let words = format!("declined, {why}: {asked}");
                self.show.screen.line(&[(Style::Yellow, &words)]);
                fill_in(to, ElicitationAction::Decline);
            }
        }
    }

    fn typed(&mut self, line: Option<&str>) {
        let Some(question) = self.asked.take() else {
            return;
        };
        if line.is_some() {
            self.show.screen.answered();
        }
        match *question {
            Question::Permission(request, to) => match ask::understand(line, &request.options) {
                Typed::Chosen(outcome) => permit(to, outcome),
                Typed::Unclear => {
                    ask::put_options(&mut self.show, &request.options);
                    self.asked = Some(Box::new(Question::Permission(request, to)));
                }
            },
            Question::Form(request, to) => match form::understand(line, &request) {
                Some(action) => fill_in(to, action),
                None => {
                    form::put_again(&mut self.show, &request);
                    self.asked = Some(Box::new(Question::Form(request, to)));
                }
            },
        }
    }

    fn cancel(&mut self, agent: &ConnectionTo<Agent>, session: &SessionId) {
        self.cancelled = true;
        if let Some(question) = self.asked.take() {
            question.cancel();
        }
        self.show
            .screen
            .line(&[(Style::Yellow, "cancelling; Ctrl-C again leaves at once")]);
        // A connection that is gone has nothing to cancel.
        let _ = agent.send_notification(CancelNotification::new(session.clone()));
    }
}

fn exit_code(end: StopReason) -> ExitCode {
    let words = match end {
        StopReason::EndTurn => return ExitCode::SUCCESS,
        StopReason::Cancelled => return ExitCode::from(INTERRUPTED),
        StopReason::MaxTokens => "the agent reached its token limit",
        StopReason::MaxTurnRequests => "the agent reached its request limit",
        StopReason::Refusal => "the agent refused to go on",
        _ => "the agent stopped for a reason unknown here",
    };
    note(words);
    ExitCode::FAILURE
}

/// What the agent says went wrong, without the dress of the protocol.
fn in_words(error: agent_client_protocol::Error) -> anyhow::Error {
    anyhow!(error.message)
}
