//! The client as a host: its files, terminals and tools, as far as it offered them.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use agent_client_protocol::{
    Client, ConnectionTo, Error, ErrorCode, UntypedMessage,
    v1::schema::{
        CreateTerminalRequest, KillTerminalRequest, ReadTextFileRequest, ReleaseTerminalRequest,
        TerminalId, TerminalOutputRequest, WaitForTerminalExitRequest, WriteTextFileRequest,
    },
};
use async_trait::async_trait;
use harn_model::{
    HostCapabilities, HostSkill, HostTool, SessionId, SkillCandidate, SkillMatchRequest, SkillRef,
};
use harn_runtime::{
    CommandExit, CommandSink, CommandSpec, HostDeadlines, HostError, HostOffers, HostPort,
    RootedPath,
};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::{
    connection::Peer,
    ext::bridge::{
        AskCapabilities, BridgeMethod, BridgeRequest, CallTool, FetchSkill, HostCall, ListSkills,
        ListTools, MatchSkills, ProcessOperation,
    },
    methods::wire_id,
};

/// The error code of a host that denies a tool.
const REFUSED: i32 = -32001;

/// The port to a client as a host. Has a weak reference to it, because a session may outlive its connection.
pub(crate) struct ClientHost {
    peer: Weak<Peer>,
    offers: HostOffers,
    deadlines: HostDeadlines,
}

impl ClientHost {
    pub(crate) fn new(peer: &Arc<Peer>) -> Self {
        Self {
            peer: Arc::downgrade(peer),
            offers: peer.facts().offers,
            deadlines: peer.config.deadlines,
        }
    }

    /// Returns the connection to the client, once everything that this session has published is queued: a
    /// request must not overtake the tool call it belongs to.
    async fn wait_for_wire(&self, session: &SessionId) -> Result<ConnectionTo<Client>, HostError> {
        let gone = || HostError::Host("the client has disconnected".to_owned());
        let peer = self.peer.upgrade().ok_or_else(gone)?;
        if let Some(attached) = peer.attached(session) {
            let caught_up =
                tokio::time::timeout(self.deadlines.request, attached.wait_until_caught_up()).await;
            caught_up.map_err(|_| HostError::TimedOut("earlier messages"))?;
        }
        peer.wire().cloned().ok_or_else(gone)
    }

    /// Waits for the answer to one of ACP's own requests.
    async fn wait_for_acp_answer<T>(
        &self,
        what: &'static str,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, HostError> {
        wait_for_answer(self.deadlines.request, what, answer).await
    }

    /// Sends a request over the bridge, if there is one. Dropping the future cancels the request.
    async fn ask<R: BridgeRequest>(
        &self,
        session: &SessionId,
        request: R,
        otherwise: &'static str,
    ) -> Result<R::Answer, HostError> {
        if !self.offers.tools {
            return Err(HostError::Unsupported(otherwise));
        }
        // A host that does not know a method that lists has no such items; it need not return an empty list.
        let lists = match R::METHOD {
            BridgeMethod::Capabilities | BridgeMethod::ToolsList | BridgeMethod::SkillsList => true,
            BridgeMethod::BuiltinCall
            | BridgeMethod::Call
            | BridgeMethod::SkillMatch
            | BridgeMethod::SkillsFetch => false,
        };
        let deadline = R::METHOD.deadline(&self.deadlines);
        let method = R::METHOD.name();
        let message = UntypedMessage::new(method, request);
        let message = message.map_err(|e| HostError::Failed(e.message))?;
        let sent = self.wait_for_wire(session).await?.send_request(message);
        let answer = async {
            match sent.block_task().await {
                Err(error) if lists && error.code == ErrorCode::METHOD_NOT_FOUND => Ok(None),
                answer => answer.map(Some),
            }
        };
        let Some(answer) = wait_for_answer(deadline, method, answer).await? else {
            return Err(HostError::Unsupported(otherwise));
        };
        R::read(answer)
            .map_err(|misfit| HostError::Host(format!("the result of {method}: {misfit}")))
    }
}

async fn wait_for_answer<T>(
    deadline: Duration,
    what: &'static str,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, HostError> {
    match tokio::time::timeout(deadline, answer).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) if i32::from(error.code) == REFUSED => Err(HostError::Denied(error.message)),
        Ok(Err(error)) => Err(HostError::Host(error.message)),
        Err(_) => Err(HostError::TimedOut(what)),
    }
}

#[async_trait]
impl HostPort for ClientHost {
    fn offers(&self) -> HostOffers {
        self.offers
    }

    async fn read_text(&self, session: &SessionId, file: &RootedPath) -> Result<String, HostError> {
        let request = ReadTextFileRequest::new(wire_id(session), file.absolute());
        let sent = self.wait_for_wire(session).await?.send_request(request);
        let response = self
            .wait_for_acp_answer("fs/read_text_file", sent.block_task())
            .await?;
        Ok(response.content)
    }

    async fn write_text(
        &self,
        session: &SessionId,
        file: &RootedPath,
        text: &str,
    ) -> Result<(), HostError> {
        let request = WriteTextFileRequest::new(wire_id(session), file.absolute(), text);
        let sent = self.wait_for_wire(session).await?.send_request(request);
        self.wait_for_acp_answer("fs/write_text_file", sent.block_task())
            .await?;
        Ok(())
    }

    async fn run(
        &self,
        session: &SessionId,
        spec: CommandSpec,
        sink: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        let wire = self.wait_for_wire(session).await?;
        let request = CreateTerminalRequest::new(wire_id(session), spec.program)
            .args(spec.args)
            .cwd(spec.cwd)
            .output_byte_limit(u64::try_from(spec.output_limit).unwrap_or(u64::MAX));
        let terminal = ClientTerminal::create(wire.clone(), session, request);
        let mut terminal = self
            .wait_for_acp_answer("terminal/create", terminal)
            .await?;
        sink.on_terminal(&terminal.id.0);
        let id = terminal.id.clone();
        // Without a time limit: the end of the turn drops this future, and the terminal with it.
        let wait = WaitForTerminalExitRequest::new(wire_id(session), id.clone());
        let exit = wire.send_request(wait).block_task().await;
        let exit = exit.map_err(|e| HostError::Host(e.message))?.exit_status;
        terminal.exited = true;
        let output = wire.send_request(TerminalOutputRequest::new(wire_id(session), id));
        let output = self
            .wait_for_acp_answer("terminal/output", output.block_task())
            .await?;
        Ok(CommandExit {
            code: exit.exit_code.and_then(|code| i32::try_from(code).ok()),
            signal: exit.signal,
            output: output.output,
            truncated: output.truncated,
        })
    }

    async fn call_tool(
        &self,
        session: &SessionId,
        name: &str,
        args: Value,
    ) -> Result<Value, HostError> {
        let args = [args];
        self.ask(session, CallTool { name, args }, "tools").await
    }

    async fn host_call(
        &self,
        session: &SessionId,
        operation: &str,
        args: Value,
    ) -> Result<Value, HostError> {
        if !self.offers.tools {
            return Err(HostError::Unsupported("operations"));
        }
        // Only advertised operations are requested.
        let Some(known) = ProcessOperation::from_name(operation) else {
            return Err(HostError::Unsupported("that operation"));
        };
        let misfit = |what: &str, e: String| format!("the {what} of {operation}: {e}");
        let args = known.prepare_args(&args);
        let call = HostCall {
            session_id: session.as_str(),
            name: known.name(),
            args: args.map_err(|e| HostError::Failed(misfit("arguments", e)))?,
        };
        let result = self.ask(session, call, "operations").await?;
        let fits = known.check_result(&result);
        fits.map_err(|e| HostError::Host(misfit("result", e)))?;
        Ok(result)
    }

    async fn list_tools(&self, session: &SessionId) -> Result<Vec<HostTool>, HostError> {
        self.ask(session, ListTools {}, "tools").await
    }

    /// An error means that nothing is known; callers treat it as a host without operations.
    async fn capabilities(&self, session: &SessionId) -> Result<HostCapabilities, HostError> {
        let session_id = session.as_str();
        self.ask(session, AskCapabilities { session_id }, "operations")
            .await
    }

    async fn list_skills(&self, session: &SessionId) -> Result<Vec<SkillRef>, HostError> {
        self.ask(session, ListSkills {}, "skills").await
    }

    async fn fetch_skill(&self, session: &SessionId, id: &str) -> Result<HostSkill, HostError> {
        self.ask(session, FetchSkill { id }, "skills").await
    }

    async fn match_skills(
        &self,
        session: &SessionId,
        request: SkillMatchRequest,
    ) -> Result<Vec<SkillCandidate>, HostError> {
        self.ask(session, MatchSkills(request), "ranking skills")
            .await
    }
}

/// A terminal of the client. Dropping it kills the command if it still runs, and releases the terminal.
struct ClientTerminal {
    wire: ConnectionTo<Client>,
    session: SessionId,
    id: TerminalId,
    exited: bool,
}

impl ClientTerminal {
    /// Creates a terminal. A separate task waits for the answer: if the caller is dropped first, the new
    /// terminal is killed all the same.
    async fn create(
        wire: ConnectionTo<Client>,
        session: &SessionId,
        request: CreateTerminalRequest,
    ) -> Result<Self, Error> {
        let (reply, created) = oneshot::channel();
        let sent = wire.send_request(request);
        let session = session.clone();
        tokio::spawn(async move {
            let answer = sent.block_task().await;
            let created = answer.map(|answer| Self {
                wire,
                session,
                id: answer.terminal_id,
                exited: false,
            });
            // If the caller is gone, this drops the terminal.
            let _ = reply.send(created);
        });
        let gone = |_| Error::internal_error().data("the client has disconnected");
        created.await.map_err(gone)?
    }
}

impl Drop for ClientTerminal {
    fn drop(&mut self) {
        let (session, id) = (wire_id(&self.session), self.id.clone());
        if !self.exited {
            let kill = KillTerminalRequest::new(session.clone(), id.clone());
            self.wire.send_request(kill).detach();
        }
        let release = ReleaseTerminalRequest::new(session, id);
        self.wire.send_request(release).detach();
    }
}
