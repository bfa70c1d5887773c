//! Tool calls for agent authors: describe, ask, run. The runtime tracks durations and failures and settles open calls.

use std::{future::Future, path::Path};

use harn_model::{
    AgentEvent, Decision, ErrorCategory, Location, PermissionRecord, PolicyAction, PolicyDecision,
    ToolAnnotations, ToolCall, ToolCallId, ToolCallStatus, ToolCallUpdate, ToolContent,
    ToolExecutor, ToolKind,
};
use serde_json::Value;

use super::{TurnContext, TurnItem};
use crate::{
    AgentError, BoxFuture, Host, IdKind, ToolError,
    permission::{CallJudgement, CallPermit, DeclaredCommand, ProposedCall},
};

/// A tool call that has been described but not announced.
///
/// ```
/// # mod harn_serve {
/// #     pub use harn_runtime::*;
/// #     pub use harn_runtime::model::*;
/// # }
/// use harn_serve::{AgentError, ToolKind, TurnContext};
///
/// async fn read_readme(cx: &TurnContext) -> Result<String, AgentError> {
///     let call = cx.tool("read_file").kind(ToolKind::Read).path("README.md");
///     let call = call.title("Read README.md").start().await?;
///     call.run(|host| host.read_text("README.md")).await
/// }
/// ```
#[must_use = "a tool call is announced by `start`"]
pub struct ToolBuilder {
    cx: TurnContext,
    call: ToolCall,
    annotations: Option<ToolAnnotations>,
    declared: Vec<String>,
    by_client: bool,
}

impl ToolBuilder {
    pub(super) fn new(cx: TurnContext, name: String) -> Self {
        let id = cx.mint(IdKind::ToolCall);
        Self {
            cx,
            call: ToolCall::new(id, name),
            annotations: None,
            declared: Vec::new(),
            by_client: false,
        }
    }

    /// Sets the kind of the tool; a tool without a kind counts as writing.
    pub fn kind(mut self, kind: ToolKind) -> Self {
        self.call.kind = Some(kind);
        self
    }

    /// Sets the tool's annotations: its kind, its reach, which arguments are paths, which capabilities it
    /// needs. Without annotations the argument `path` is a path.
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.call.kind.get_or_insert(annotations.kind);
        self.annotations = Some(annotations);
        self
    }

    /// Sets the title that a person sees.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.call.title = Some(title.into());
        self
    }

    /// Sets the arguments.
    pub fn input(mut self, input: Value) -> Self {
        self.call.raw_input = input;
        self
    }

    /// Declares a file it touches: a location, and the argument `path` if the call has no arguments. A call
    /// cannot write undeclared files.
    pub fn path(mut self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        if self.call.raw_input.is_null() {
            self.call.raw_input = serde_json::json!({ "path": path });
        } else {
            self.declared.push(path.display().to_string());
        }
        self.location(path, None)
    }

    /// Declares the line it runs in a shell: the argument `command` if the call has no arguments, and the
    /// kind `Execute`. A call cannot run undeclared commands.
    pub fn command(mut self, line: &str) -> Self {
        if self.call.raw_input.is_null() {
            self.call.raw_input = serde_json::json!({ "command": line });
        }
        let mut this = self.kind(ToolKind::Execute);
        if this.call.title.is_none() {
            this.call.title = Some(this.proposed_call().command_title(line));
        }
        this
    }

    /// States that the client runs the command of this call, although it has no terminal: the command is not confined.
    pub fn by_client(mut self) -> Self {
        self.by_client = true;
        self
    }

    /// Adds a location to show.
    pub fn location(mut self, path: impl AsRef<Path>, line: Option<u32>) -> Self {
        let path = self.cx.host().absolute(path);
        self.call.locations.push(Location {
            path: path.display().to_string(),
            line,
        });
        self
    }

    /// Adds content to show before the call runs, such as the diff it would make.
    pub fn content(mut self, content: ToolContent) -> Self {
        self.call.content.push(content);
        self
    }

    /// The same as [`ToolBuilder::start`], for a call that likely needs a permission.
    pub fn ask(self) -> BoxFuture<'static, Result<ToolHandle, AgentError>> {
        self.start()
    }

    /// Announces the call and starts it if the session's rules or the asked controller allow it. Otherwise
    /// the call fails and this returns [`AgentError::Denied`]; the turn may continue.
    pub fn start(self) -> BoxFuture<'static, Result<ToolHandle, AgentError>> {
        Box::pin(self.announce())
    }

    async fn announce(self) -> Result<ToolHandle, AgentError> {
        let act = self.proposed_call();
        let judged = self.cx.judge(act.clone()).await;
        let Self { cx, mut call, .. } = self;
        show_paths(&mut call.locations, &judged.locations);
        let handle = ToolHandle::new(&cx, &call);
        let asks = judged.receipt.action == PolicyAction::Ask;
        let record = permission_record(handle.id(), &act, &judged.receipt, None, asks);
        match judged.receipt.action {
            PolicyAction::Allow => {
                call.status = ToolCallStatus::InProgress;
                let mut items = vec![announcement(call)];
                if judged.needs_record() {
                    items.push(TurnItem::Event(AgentEvent::PermissionGrant(record)));
                }
                cx.push_all(items).await?;
                Ok(handle.with_permit(act, judged.permit))
            }
            PolicyAction::Deny => {
                let denied = TurnItem::Event(AgentEvent::PermissionDeny(record));
                cx.push_all(vec![announcement(call), denied]).await?;
                handle.deny(judged.receipt.reason).await
            }
            PolicyAction::Ask => {
                let escalated = TurnItem::Event(AgentEvent::PermissionEscalation(record));
                let announced = announcement(call.clone());
                cx.push_all(vec![announced, escalated]).await?;
                let decision = cx.ask_about_call(call, &judged).await?;
                handle.apply_decision(act, judged, decision).await
            }
        }
    }

    /// Announces a call that is invalid, with the error, and asks for no permission. Returns the failure so
    /// that the turn can continue.
    pub async fn refuse(self, error: ToolError) -> Result<AgentError, AgentError> {
        let Self { cx, call, .. } = self;
        let handle = ToolHandle::new(&cx, &call);
        cx.push(announcement(call)).await?;
        handle.fail(&error.message, error.category).await?;
        Ok(error.into())
    }

    fn proposed_call(&self) -> ProposedCall {
        ProposedCall {
            annotations: self.annotations.clone(),
            declared: self.declared.clone(),
            by_client: self.by_client,
            ..ProposedCall::from(&self.call)
        }
    }
}

/// Adds every judged file to the locations, so that the controller sees it even if the agent shows none.
fn show_paths(shown: &mut Vec<Location>, judged: &[String]) {
    for path in judged {
        if !shown.iter().any(|location| location.path == *path) {
            shown.push(Location {
                path: path.clone(),
                line: None,
            });
        }
    }
}

fn announcement(call: ToolCall) -> TurnItem {
    TurnItem::Event(AgentEvent::ToolCall(Box::new(call)))
}

fn permission_record(
    call: &ToolCallId,
    act: &ProposedCall,
    receipt: &PolicyDecision,
    reason: Option<String>,
    escalated: bool,
) -> Box<PermissionRecord> {
    Box::new(PermissionRecord {
        tool_call_id: call.clone(),
        tool_name: act.tool.clone(),
        arguments: act.input.clone(),
        reason: reason.unwrap_or_else(|| receipt.reason.clone()),
        escalated,
        policy_decision: Some(receipt.clone()),
    })
}

/// A running tool call. If it is dropped without an end, the runtime settles it as failed when the turn ends.
///
/// ```
/// # mod harn_serve {
/// #     pub use harn_runtime::*;
/// #     pub use harn_runtime::model::*;
/// # }
/// use harn_serve::{AgentError, ErrorCategory, ToolHandle};
///
/// async fn count_lines(call: ToolHandle) -> Result<(), AgentError> {
///     match call.host().read_text("README.md").await {
///         Ok(text) => call.complete(format!("{} lines", text.lines().count())).await,
///         Err(error) => call.fail(&error.to_string(), ErrorCategory::ToolError).await,
///     }
/// }
/// ```
pub struct ToolHandle {
    cx: TurnContext,
    call: ToolCallId,
    tool: String,
    input: Value,
    host: Host,
}

impl Drop for ToolHandle {
    fn drop(&mut self) {
        // The permission covers only this call; a retained clone of the host must lose it.
        self.host.end_permit();
    }
}

impl ToolHandle {
    fn new(cx: &TurnContext, call: &ToolCall) -> Self {
        Self {
            cx: cx.clone(),
            call: call.tool_call_id.clone(),
            tool: call.tool_name.clone(),
            input: Value::Null,
            host: cx.host().clone(),
        }
    }

    fn with_permit(mut self, act: ProposedCall, permit: CallPermit) -> Self {
        self.host = self.host.with_permit(permit);
        self.input = act.input;
        self
    }

    async fn deny(self, reason: String) -> Result<Self, AgentError> {
        let category = ErrorCategory::PermissionDenied;
        self.fail(&reason, category).await?;
        Err(AgentError::Denied { reason })
    }

    /// Applies a decision. Judges the call again if the answer replaced its arguments.
    async fn apply_decision(
        self,
        mut act: ProposedCall,
        judged: CallJudgement,
        decision: Decision,
    ) -> Result<Self, AgentError> {
        let (receipt, refusal) = match decision {
            Decision::Cancelled => return Err(AgentError::Cancelled),
            Decision::Allowed { args: None, .. } => {
                self.record_outcome(&act, &judged.receipt, None).await?;
                self.update(ToolCallStatus::InProgress, |_| ()).await?;
                return Ok(self.with_permit(act, judged.permit));
            }
            Decision::Allowed {
                args: Some(args), ..
            } => {
                act.input = args;
                // They were declared for the replaced arguments.
                act.declared.clear();
                let again = self.cx.judge(act.clone()).await;
                if again.receipt.action != PolicyAction::Deny {
                    self.record_outcome(&act, &again.receipt, None).await?;
                    let input = act.input.clone();
                    let mut locations = Vec::new();
                    show_paths(&mut locations, &again.locations);
                    let title = self.title_from_arguments(&act);
                    self.update(ToolCallStatus::InProgress, |u| {
                        u.title = Some(title);
                        u.raw_input = Some(input);
                        u.locations = Some(locations);
                    })
                    .await?;
                    return Ok(self.with_permit(act, again.permit));
                }
                let why = &again.receipt.reason;
                let refusal = format!("the arguments of the answer are not allowed: {why}");
                (again.receipt, refusal)
            }
            Decision::Rejected { reason, .. } => {
                let refusal = reason.unwrap_or_else(|| "permission was not granted".to_owned());
                (judged.receipt, refusal)
            }
            Decision::Unavailable { reason } => (judged.receipt, reason),
        };
        self.record_outcome(&act, &receipt, Some(refusal.clone()))
            .await?;
        self.deny(refusal).await
    }

    /// Returns the title of a call whose arguments were replaced, because the announced title describes the old ones.
    fn title_from_arguments(&self, act: &ProposedCall) -> String {
        match act.command() {
            Some(DeclaredCommand::Line(line)) => act.command_title(&line),
            Some(DeclaredCommand::Unreadable) | None => {
                let paths = act.paths().join(" ");
                format!("{} {paths}", self.tool).trim_end().to_owned()
            }
        }
    }

    /// Records the outcome of a question: a refusal or a grant.
    async fn record_outcome(
        &self,
        act: &ProposedCall,
        receipt: &PolicyDecision,
        refusal: Option<String>,
    ) -> Result<(), AgentError> {
        let event = match refusal {
            Some(_) => AgentEvent::PermissionDeny(permission_record(
                &self.call, act, receipt, refusal, true,
            )),
            None => {
                let reason = Some("the person who was asked allowed it".to_owned());
                AgentEvent::PermissionGrant(permission_record(
                    &self.call, act, receipt, reason, true,
                ))
            }
        };
        self.cx.push(TurnItem::Event(event)).await
    }

    /// Returns the effective arguments: those of the call, unless the answer replaced them.
    pub fn input(&self) -> &Value {
        &self.input
    }

    /// Returns the host, limited to the files, commands and tools that the call declared.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the id of the call.
    pub fn id(&self) -> &ToolCallId {
        &self.call
    }

    /// Shows content while the call runs, which replaces earlier content.
    pub async fn show(&self, content: Vec<ToolContent>) -> Result<(), AgentError> {
        self.update(ToolCallStatus::InProgress, |u| u.content = Some(content))
            .await
    }

    /// Ends the call successfully.
    pub async fn complete(self, output: impl Into<ToolOutput>) -> Result<(), AgentError> {
        let output = output.into();
        self.update(ToolCallStatus::Completed, |u| output.fill(u))
            .await
    }

    /// Ends the call with an error.
    pub async fn fail(self, error: &str, category: ErrorCategory) -> Result<(), AgentError> {
        self.fail_with(error, category, ToolOutput::default()).await
    }

    /// Ends the call with an error and the output it produced.
    pub async fn fail_with(
        self,
        error: &str,
        category: ErrorCategory,
        output: ToolOutput,
    ) -> Result<(), AgentError> {
        self.update(ToolCallStatus::Failed, |u| {
            output.fill(u);
            u.error = Some(error.to_owned());
            u.error_category = Some(category);
        })
        .await
    }

    /// Runs `work` and ends the call with its result. If the turn is cancelled, drops the work; the runtime
    /// settles the call as cancelled.
    pub async fn run<T, F, Fut, E>(self, work: F) -> Result<T, AgentError>
    where
        F: FnOnce(Host) -> Fut,
        Fut: Future<Output = Result<T, E>> + Send,
        T: Clone + Into<ToolOutput>,
        E: Into<ToolError>,
    {
        let work = work(self.host.clone());
        let result = tokio::select! {
            biased;
            () = self.cx.cancelled() => return Err(AgentError::Cancelled),
            result = work => result,
        };
        match result {
            Ok(output) => {
                self.complete(output.clone()).await?;
                Ok(output)
            }
            Err(error) => {
                let error = error.into();
                self.fail(&error.message, error.category).await?;
                Err(error.into())
            }
        }
    }

    async fn update(
        &self,
        status: ToolCallStatus,
        change: impl FnOnce(&mut ToolCallUpdate),
    ) -> Result<(), AgentError> {
        let mut update = ToolCallUpdate::new(self.call.clone(), self.tool.clone(), status);
        change(&mut update);
        self.cx
            .emit(AgentEvent::ToolCallUpdate(Box::new(update)))
            .await
    }
}

/// The output of a tool: a value for the agent's log, and content for a person.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The result as a value.
    pub raw: Option<Value>,
    /// The content to show.
    pub content: Option<Vec<ToolContent>>,
    /// The files that it touched in fact.
    pub locations: Option<Vec<Location>>,
    /// A more precise title.
    pub title: Option<String>,
    /// The system that ran the tool.
    pub executor: Option<ToolExecutor>,
}

impl ToolOutput {
    fn fill(self, update: &mut ToolCallUpdate) {
        update.raw_output = self.raw;
        update.content = self.content;
        update.locations = self.locations;
        update.title = self.title;
        update.executor = self.executor;
    }
}

impl From<()> for ToolOutput {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self {
            content: Some(vec![ToolContent::text(text)]),
            ..Self::default()
        }
    }
}

impl From<Value> for ToolOutput {
    fn from(raw: Value) -> Self {
        Self {
            raw: Some(raw),
            ..Self::default()
        }
    }
}
