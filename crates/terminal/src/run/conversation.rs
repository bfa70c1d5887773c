//! One prompt from beginning to end: shows updates, answers questions, handles Ctrl-C.
//!
//! Handlers in the SDK's dispatch loop only forward to a channel and wait for no answer.

use std::{path::PathBuf, process::ExitCode};

use agent_client_protocol::{
    Agent, Client, Error, ErrorCode, UntypedMessage, on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo,
        schema::{
            CancelNotification, ClientCapabilities, ContentBlock, CreateElicitationRequest,
            ElicitationAction, ElicitationCapabilities, ElicitationFormCapabilities,
            Implementation, InitializeRequest, NewSessionRequest, PromptRequest,
            RequestPermissionRequest, ResumeSessionRequest, SessionId, SessionNotification,
            SessionUpdate, SetSessionModeRequest, StopReason, TextContent,
        },
    },
};
use anyhow::{Context, Result, anyhow};
use harn_acp::{
    ProfileChoice,
    client::vendor_meta,
    transport::{self, ConnectionInput, PieceSender},
};
use harn_model::Timestamp;
use serde::Serialize;
use serde_json::{Map, value::RawValue};
use tokio::sync::mpsc;

use super::{
    RunTarget,
    exit_code::{INTERRUPTED, exit_code},
    keyboard::Keyboard,
    question::{RunQuestion, send_form_action, wait_for_withdrawal},
    transport::build_transport,
    turn_calls::TurnCalls,
    turn_printer::TurnPrinter,
};
use crate::{
    agent_messages::{
        activity::{AgentActivity, lineage},
        call_text::escape_line_breaks,
    },
    paint::PaintStyle,
    signals::{Signal, Signals},
};

pub(super) enum ConversationEvent {
    Update(Box<SessionUpdate>),
    /// The params of a notification of the session's stream, to print.
    Line(Box<RawValue>),
    Activity(AgentActivity),
    Ask(Box<RunQuestion>),
    /// The agent rejected a line that was typed.
    Undelivered(Error),
}

/// The capacity of the channel to the agent, in lines.
const WAITING: usize = 64;
/// The capacity of the channel of events to show. It is large because events wait while a question is open;
/// if it were full, the withdrawal of the question could not arrive.
const UNSHOWN: usize = 8192;
/// The error for a permission question without a user to ask; it is stored in the journal.
const NOBODY: &str = "there is no terminal to ask on; allow calls with --mode or --policy";

/// The agent, and the channel for its rejections of typed lines.
struct AgentLink {
    agent: ConnectionTo<Agent>,
    steers: mpsc::Sender<ConversationEvent>,
}

/// A prompt for the agent, with its session and the output options.
pub struct RunRequest {
    /// The profile that the client declares.
    pub profile: ProfileChoice,
    /// The session to prompt.
    pub start: RunTarget,
    /// The session's directory.
    pub cwd: PathBuf,
    /// The text of the prompt.
    pub prompt: String,
    /// Prints the notifications of the session's stream as JSON lines instead of showing them.
    pub json: bool,
    /// Shows only the answer and questions.
    pub quiet: bool,
    /// Turns colour off, even on a terminal.
    pub no_color: bool,
}

/// Passes the agent its ends of the connection.
pub(super) type AgentConnector<'a> =
    Box<dyn FnOnce(mpsc::Receiver<ConnectionInput>, PieceSender) + 'a>;

pub(super) struct Conversation {
    show: TurnPrinter,
    quiet: bool,
    calls: TurnCalls,
    keyboard: Keyboard,
    signals: Signals,
    asked: Option<Box<RunQuestion>>,
    cancelled: bool,
    /// Whether the hint about `--mode` and `--policy` for calls of workers was shown.
    hinted: bool,
    /// Whether the agent has waited for more to do.
    waited: bool,
    /// Whether lines that answer no question are sent to the agent.
    listening: bool,
}

impl Conversation {
    /// Must be called on a Tokio runtime.
    pub(super) fn new(show: TurnPrinter, keyboard: Keyboard, request: &RunRequest) -> Result<Self> {
        Ok(Self {
            show,
            quiet: request.quiet,
            calls: TurnCalls::for_prompt(&request.prompt),
            keyboard,
            signals: Signals::listen().context("listening for signals")?,
            asked: None,
            cancelled: false,
            hinted: false,
            waited: false,
            listening: false,
        })
    }

    /// Runs the conversation and returns the exit code.
    pub(super) async fn run(
        mut self,
        connect: AgentConnector<'_>,
        request: RunRequest,
    ) -> Result<ExitCode> {
        let (lines, incoming) = mpsc::channel(WAITING);
        let (outgoing, queue) = transport::outgoing();
        connect(incoming, outgoing);

        let (heard, mut events) = mpsc::channel(UNSHOWN);
        let (asks, forms, activities) = (heard.clone(), heard.clone(), heard.clone());
        let steers = heard.clone();
        let printed = request.json.then(|| heard.clone());
        let held = Client
            .v1()
            .on_receive_notification(
                async move |it: SessionNotification, _| {
                    send_event(&heard, ConversationEvent::Update(Box::new(it.update))).await
                },
                on_receive_notification!(),
            )
            .on_receive_notification(
                async move |it: UntypedMessage, _| match AgentActivity::from_notification(&it) {
                    Some(activity) => {
                        send_event(&activities, ConversationEvent::Activity(activity)).await
                    }
                    None => Ok(()),
                },
                on_receive_notification!(),
            )
            .on_receive_request(
                async move |request: RequestPermissionRequest, to, _| {
                    let question = Box::new(RunQuestion::Permission(request, to));
                    send_event(&asks, ConversationEvent::Ask(question)).await
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: CreateElicitationRequest, to, _| {
                    let question = Box::new(RunQuestion::Form(request, to));
                    send_event(&forms, ConversationEvent::Ask(question)).await
                },
                on_receive_request!(),
            )
            .connect_with(
                build_transport(lines, queue, printed),
                async |agent: ConnectionTo<Agent>| {
                    let talk = AgentLink { agent, steers };
                    Ok(self.prompt_agent(&talk, &mut events, request).await)
                },
            )
            .await;
        let written = self.show.screen.finish();
        let code = match held.map_err(to_plain_error)?? {
            Some(end) => exit_code(end, self.calls.problem()),
            None => ExitCode::from(INTERRUPTED),
        };
        written.context("writing to stdout")?;
        Ok(code)
    }

    /// Returns why the agent stopped; none if the user did not wait for it.
    async fn prompt_agent(
        &mut self,
        talk: &AgentLink,
        events: &mut mpsc::Receiver<ConversationEvent>,
        request: RunRequest,
    ) -> Result<Option<StopReason>> {
        let agent = &talk.agent;
        let hello = agent.send_request(initialize_request(request.profile, request.json));
        hello.block_task().await.map_err(to_plain_error)?;
        let session = open_session(agent, request.start, request.cwd).await?;
        let prompt = vec![ContentBlock::Text(TextContent::new(request.prompt))];
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
                // While a question is open, nothing is printed below it.
                Some(heard) = events.recv(), if self.asked.is_none() => self.handle_event(heard),
                () = wait_for_withdrawal(self.asked.as_deref()) => self.withdraw(),
                line = self.keyboard.next_line(), if self.asked.is_some() || self.listening => {
                    match &self.asked {
                        Some(_) => self.handle_answer(line.as_deref()),
                        None => self.steer(line.as_deref(), talk, &session),
                    }
                }
                ended = &mut ended => {
                    // All events of the turn arrive before its end.
                    self.withdraw();
                    while let Ok(heard) = events.try_recv() {
                        self.handle_event(heard);
                    }
                    return Ok(Some(ended.map_err(to_plain_error)?.stop_reason));
                }
            }
        }
    }

    fn handle_event(&mut self, heard: ConversationEvent) {
        match heard {
            ConversationEvent::Update(update) => {
                self.calls.apply_update(&update);
                self.show_unless_quiet(|this| this.show.show_update(*update));
            }
            ConversationEvent::Line(params) => self.print(&params),
            ConversationEvent::Activity(AgentActivity::Idle) => {
                self.show_unless_quiet(Self::handle_idle)
            }
            ConversationEvent::Activity(activity) => {
                self.show_unless_quiet(|this| this.show.show_activity(&activity))
            }
            ConversationEvent::Undelivered(error) => {
                let words = format!("not delivered: {}", escape_line_breaks(&error.message));
                self.show.screen.write_line(&[(PaintStyle::Yellow, &words)]);
            }
            ConversationEvent::Ask(question) if self.cancelled => question.cancel(),
            ConversationEvent::Ask(question) if question.withdrawal().is_cancelled() => {
                self.close_question(*question)
            }
            ConversationEvent::Ask(question) => self.ask_user(question),
        }
    }

    /// Shows something that `--quiet` leaves out.
    fn show_unless_quiet(&mut self, show: impl FnOnce(&mut Self)) {
        self.show.screen.mute(self.quiet);
        show(self);
        self.show.screen.mute(false);
    }

    fn print(&mut self, params: &RawValue) {
        self.show
            .screen
            .write_output(&format!("{}\n", params.get()));
        // Updates of kinds that the SDK does not know concern no call.
        if let Ok(line) = serde_json::from_str::<SessionNotification>(params.get()) {
            self.calls.apply_update(&line.update);
        }
    }

    /// Handles the agent's wait for more to do: from now on, typed lines are sent to it. Not earlier: the
    /// system stops a background program that reads its terminal, and without a question there was no need
    /// to read.
    fn handle_idle(&mut self) {
        if self.waited || self.cancelled {
            return;
        }
        self.waited = true;
        self.listening = self.keyboard.is_present();
        let words = match self.listening {
            true => "the agent waits; type a line to send it a message, Ctrl-C ends it",
            false => "the agent waits; Ctrl-C ends it",
        };
        let line = [(PaintStyle::Dim, "· "), (PaintStyle::Dim, words)];
        self.show.screen.write_line(&line);
    }

    /// Sends a line to the agent. At the end of input, stops reading lines.
    fn steer(&mut self, line: Option<&str>, talk: &AgentLink, session: &SessionId) {
        let Some(line) = line else {
            self.listening = false;
            return;
        };
        self.show.screen.mark_line_ended();
        let content = line.trim();
        if content.is_empty() {
            return;
        }
        let params = InjectRequest {
            session_id: session,
            mode: "steer",
            content,
        };
        let Ok(request) = UntypedMessage::new("session/inject", params) else {
            return;
        };
        let steers = talk.steers.clone();
        let sent = talk.agent.send_request(request);
        // A closed connection is noticed elsewhere.
        let _ = sent.on_receiving_result(async move |result| match result {
            Err(error) => send_event(&steers, ConversationEvent::Undelivered(error)).await,
            Ok(_) => Ok(()),
        });
    }

    /// Closes the open question, so that the next one can be shown.
    fn withdraw(&mut self) {
        if let Some(question) = self.asked.take() {
            self.close_question(*question);
        }
    }

    /// Shows that a question is over, and why.
    fn close_question(&mut self, question: RunQuestion) {
        /// Tolerance for clocks that differ by some milliseconds.
        const ABOUT: Timestamp = 500;
        let now = self.show.clock.now() + ABOUT;
        let how = match question.deadline() {
            Some(deadline) if deadline <= now => "no answer in time",
            _ => "withdrawn",
        };
        let words = format!("{how}: {}", escape_line_breaks(question.title()));
        self.show.screen.write_line(&[(PaintStyle::Yellow, &words)]);
        question.confirm_withdrawal();
    }

    /// Shows a question, or rejects it and shows why.
    fn ask_user(&mut self, question: Box<RunQuestion>) {
        let present = self.keyboard.is_present();
        if present {
            self.keyboard.forget();
            if question.show(&mut self.show) {
                self.asked = Some(question);
                return;
            }
        }
        let title = question.title().to_owned();
        match *question {
            RunQuestion::Permission(request, to) => {
                let title = escape_line_breaks(&title);
                self.calls.record_rejection(&title);
                let words = format!("rejected, because there is no terminal to ask on: {title}");
                self.show.screen.write_line(&[(PaintStyle::Yellow, &words)]);
                // Calls of workers have no line of their own; other calls show this hint when they fail.
                let unseen = !lineage(request.meta.as_ref()).is_empty();
                if unseen && !std::mem::replace(&mut self.hinted, true) {
                    let hint = "  --mode and --policy set which calls run without a question";
                    self.show.screen.write_line(&[(PaintStyle::Dim, hint)]);
                }
                // An error and no refusal: the journal must not record that a person refused.
                let nobody = Error::new(ErrorCode::INTERNAL_ERROR, NOBODY);
                let _ = to.respond_with_error(nobody);
            }
            RunQuestion::Form(_, to) => {
                let why = match present {
                    true => "because a typed line cannot answer it",
                    false => "because there is no terminal to ask on",
                };
                let words = format!("declined, {why}: {title}");
                self.show.screen.write_line(&[(PaintStyle::Yellow, &words)]);
                send_form_action(to, ElicitationAction::Decline);
            }
        }
    }

    fn handle_answer(&mut self, line: Option<&str>) {
        let Some(question) = self.asked.take() else {
            return;
        };
        if line.is_some() {
            self.show.screen.mark_line_ended();
        }
        if let Err((question, why)) = question.answer(line) {
            self.show.screen.write_line(&[(PaintStyle::Yellow, &why)]);
            question.show_answers(&mut self.show);
            self.asked = Some(question);
        }
    }

    fn cancel(&mut self, agent: &ConnectionTo<Agent>, session: &SessionId) {
        self.cancelled = true;
        if let Some(question) = self.asked.take() {
            question.cancel();
        }
        self.show
            .screen
            .write_line(&[(PaintStyle::Yellow, "cancelling; Ctrl-C again exits at once")]);
        // A closed connection has nothing to cancel.
        let _ = agent.send_notification(CancelNotification::new(session.clone()));
    }
}

async fn send_event(
    to: &mpsc::Sender<ConversationEvent>,
    heard: ConversationEvent,
) -> Result<(), Error> {
    // The receiver is closed while the program exits.
    let _ = to.send(heard).await;
    Ok(())
}

/// A line that is typed while the agent waits, as a message to it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InjectRequest<'a> {
    session_id: &'a SessionId,
    mode: &'static str,
    content: &'a str,
}

/// Returns our client info and capabilities. It declares the profile: only to a client that does, the agent
/// offers every scope of a permission.
fn initialize_request(profile: ProfileChoice, event_ids: bool) -> InitializeRequest {
    let profile = match profile {
        ProfileChoice::Auto => None,
        ProfileChoice::Harn => Some("harn"),
        ProfileChoice::Meta => Some("meta"),
        ProfileChoice::Acp => Some("acp"),
    };
    let mut ours = Map::new();
    ours.extend(profile.map(|profile| ("profile".to_owned(), profile.into())));
    ours.insert("eventIds".to_owned(), event_ids.into());
    let fills_in = ElicitationCapabilities::new().form(ElicitationFormCapabilities::new());
    let capabilities = ClientCapabilities::new()
        .elicitation(fills_in)
        .meta(vendor_meta(ours));
    InitializeRequest::new(ProtocolVersion::V1)
        .client_capabilities(capabilities)
        .client_info(Implementation::new(
            "harn-serve-run",
            env!("CARGO_PKG_VERSION"),
        ))
}

async fn open_session(
    agent: &ConnectionTo<Agent>,
    start: RunTarget,
    cwd: PathBuf,
) -> Result<SessionId> {
    let (id, roots, mode) = match start {
        RunTarget::New => {
            let new = agent.send_request(NewSessionRequest::new(cwd)).block_task();
            return Ok(new.await.map_err(to_plain_error)?.session_id);
        }
        RunTarget::Stored { id, roots, mode } => (SessionId::new(id.as_str()), roots, mode),
    };
    let resume = ResumeSessionRequest::new(id.clone(), cwd).additional_directories(roots);
    let resumed = agent.send_request(resume).block_task().await;
    resumed.map_err(to_plain_error)?;
    if let Some(mode) = mode {
        let set = agent.send_request(SetSessionModeRequest::new(id.clone(), mode.id()));
        set.block_task().await.map_err(to_plain_error)?;
    }
    Ok(id)
}

/// Keeps the message of a protocol error, without code and data.
fn to_plain_error(error: Error) -> anyhow::Error {
    anyhow!(error.message)
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use harn_acp::{AcpConfig, serve_connection};
    use harn_engines::ScriptAgent;
    use harn_serve::{ServeOptions, SystemClock, hub};
    use tokio::runtime::Runtime;

    use super::{
        super::screen::{RunScreen, tests::CapturedOutput},
        *,
    };

    const SCENARIO: &str = r#"
name: patient
turns:
  - steps:
      - run: {command: "touch first"}
      - run: {command: "touch second"}
      - question: {prompt: "Which door?", default: left, deadline_ms: 500}
      - say: "Over."
"#;

    /// Returns the screen after a turn of a scenario in which a user typed these lines.
    fn run_scenario(scenario: &str, typed: &[&str]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("scenario.yaml");
        fs::write(&file, scenario).unwrap();
        let work = dir.path().join("work");
        fs::create_dir(&work).unwrap();
        let options = ServeOptions {
            ask_timeout: Duration::from_millis(500),
            ..ServeOptions::new(dir.path().join("state"))
        };
        let hub = hub(ScriptAgent::load(&file).unwrap(), &options);
        let paper = CapturedOutput::default();
        let screen = RunScreen::new_shared(Box::new(paper.clone()), false);
        let show = TurnPrinter::new(screen, work.clone(), SystemClock::new());
        // The sender stays open: the user is present to the end.
        let (hands, lines) = mpsc::channel(8);
        for line in typed {
            hands.try_send((*line).to_owned()).unwrap();
        }
        Runtime::new().unwrap().block_on(async {
            let config = AcpConfig {
                profile: ProfileChoice::Meta,
                on_this_machine: true,
                ..AcpConfig::default()
            };
            let request = RunRequest {
                profile: ProfileChoice::Meta,
                start: RunTarget::New,
                cwd: work,
                prompt: "go".to_owned(),
                json: false,
                quiet: false,
                no_color: true,
            };
            let keyboard = Keyboard::from_lines(lines);
            let conversation = Conversation::new(show, keyboard, &request).unwrap();
            let connect = |incoming, outgoing| {
                tokio::spawn(serve_connection(hub.clone(), config, incoming, outgoing));
            };
            conversation.run(Box::new(connect), request).await.unwrap();
            hub.shutdown().await;
        });
        drop(hands);
        paper.text()
    }

    #[test]
    fn a_line_typed_while_the_agent_waits_is_sent_to_it() {
        let scenario = r#"
name: stayer
turns:
  - steps:
      - say: "Ready."
      - idle: {}
      - tell_delivered: {}
      - remind: {body: "Be brief"}
      - seam: turn_start
      - say: "Over."
"#;
        let text = run_scenario(scenario, &["\n", " left \n"]);
        let waits = "· the agent waits; type a line to send it a message, Ctrl-C ends it\n";
        let at = |words: &str| {
            assert_eq!(text.matches(words).count(), 1, "{words}: {text}");
            text.find(words)
        };
        let told = [
            at("Ready.\n"),
            at(waits),
            at("> left\n"),
            at("message: left\n"),
            at("· reminder: Be brief\n"),
            at("Over."),
        ];
        assert!(told.is_sorted(), "{text}");
    }

    #[test]
    fn a_withdrawn_question_is_replaced_by_the_next() {
        // The user is present and types nothing.
        let text = run_scenario(SCENARIO, &[]);
        let at = |words: &str| {
            text.find(words)
                .unwrap_or_else(|| panic!("{words}: {text}"))
        };
        let told = [
            at("Allow this? $ touch first\n"),
            at("or Enter to refuse (for 1 s): \nno answer in time: touch first\n"),
            at("Allow this? $ touch second\n"),
            at("\nno answer in time: touch second\n"),
            at("? Which door?\n"),
            at("\nwithdrawn: Which door?\n"),
            at("Over."),
        ];
        assert!(told.is_sorted(), "{text}");
    }
}
