//! Tool calls for agent authors: describe, ask, run; durations, failure and settling are ours.

use std::{future::Future, path::Path};

use harn_model::{
    AgentEvent, Decision, ErrorCategory, Location, PermissionOption, PermissionOptionKind,
    ToolCall, ToolCallStatus, ToolCallUpdate, ToolContent, ToolExecutor, ToolKind,
};
use serde_json::Value;

use super::{Question, TurnContext};
use crate::{AgentError, Host, IdKind, ToolError, mode};

/// A tool call that has been described but not announced.
#[must_use = "a tool call is announced by `start` or `ask`"]
pub struct ToolBuilder {
    cx: TurnContext,
    call: ToolCall,
}

impl ToolBuilder {
    pub(super) fn new(cx: TurnContext, name: String) -> Self {
        let id = cx.mint(IdKind::ToolCall);
        Self {
            cx,
            call: ToolCall::new(id, name),
        }
    }

    /// What sort of tool it is; a tool without a kind counts as writing.
    pub fn kind(mut self, kind: ToolKind) -> Self {
        self.call.kind = Some(kind);
        self
    }

    /// What to show a person.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.call.title = Some(title.into());
        self
    }

    /// Its arguments.
    pub fn input(mut self, input: Value) -> Self {
        self.call.raw_input = input;
        self
    }

    /// A file it touches: becomes a location, and the argument `path` where no arguments were given.
    pub fn path(mut self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        if self.call.raw_input.is_null() {
            self.call.raw_input = serde_json::json!({ "path": path });
        }
        self.location(path, None)
    }

    /// A place it touches.
    pub fn location(mut self, path: impl AsRef<Path>, line: Option<u32>) -> Self {
        let path = self.cx.host().absolute(path);
        self.call.locations.push(Location {
            path: path.display().to_string(),
            line,
        });
        self
    }

    /// Something to show before it runs, such as the diff it would make.
    pub fn content(mut self, content: ToolContent) -> Self {
        self.call.content.push(content);
        self
    }

    /// Announces the call as running.
    pub async fn start(mut self) -> Result<ToolHandle, AgentError> {
        self.call.status = ToolCallStatus::InProgress;
        let handle = ToolHandle::new(&self.cx, &self.call);
        self.cx
            .emit(AgentEvent::ToolCall(Box::new(self.call)))
            .await?;
        Ok(handle)
    }

    /// Announces the call and asks whether it may run. A refusal fails the call and returns
    /// [`AgentError::Denied`]; the turn may go on.
    pub async fn ask(self) -> Result<ToolHandle, AgentError> {
        let Self { cx, call } = self;
        let handle = ToolHandle::new(&cx, &call);
        cx.emit(AgentEvent::ToolCall(Box::new(call.clone())))
            .await?;
        let refusal = mode::refusal(&cx.mode(), call.kind.unwrap_or_default());
        let decision = match refusal {
            Some(reason) => Decision::Rejected {
                option_id: None,
                reason: Some(reason.to_owned()),
            },
            None => {
                let question = Question {
                    tool_call: call,
                    options: once_options(),
                };
                cx.ask(question).await?
            }
        };
        let reason = match decision {
            Decision::Allowed { .. } => {
                handle.update(ToolCallStatus::InProgress, |_| ()).await?;
                return Ok(handle);
            }
            Decision::Cancelled => return Err(AgentError::Cancelled),
            Decision::Rejected { reason, .. } => {
                reason.unwrap_or_else(|| "permission was not granted".to_owned())
            }
            Decision::Unavailable { reason } => reason,
        };
        handle
            .fail(&reason, ErrorCategory::PermissionDenied)
            .await?;
        Err(AgentError::Denied { reason })
    }
}

/// The answers that work today: this call and no other.
fn once_options() -> Vec<PermissionOption> {
    vec![
        PermissionOption {
            option_id: "allow_once".to_owned(),
            name: "Allow this once".to_owned(),
            kind: PermissionOptionKind::AllowOnce,
        },
        PermissionOption {
            option_id: "reject_once".to_owned(),
            name: "Reject this once".to_owned(),
            kind: PermissionOptionKind::RejectOnce,
        },
    ]
}

/// A running tool call. Dropped without an end, it is settled as failed when the turn ends.
pub struct ToolHandle {
    cx: TurnContext,
    call: harn_model::ToolCallId,
    tool: String,
}

impl ToolHandle {
    fn new(cx: &TurnContext, call: &ToolCall) -> Self {
        Self {
            cx: cx.clone(),
            call: call.tool_call_id.clone(),
            tool: call.tool_name.clone(),
        }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &harn_model::ToolCallId {
        &self.call
    }

    /// Shows something while it runs, replacing what it showed.
    pub async fn show(&self, content: Vec<ToolContent>) -> Result<(), AgentError> {
        self.update(ToolCallStatus::InProgress, |u| u.content = Some(content))
            .await
    }

    /// Ends it well.
    pub async fn complete(self, output: impl Into<ToolOutput>) -> Result<(), AgentError> {
        let output = output.into();
        self.update(ToolCallStatus::Completed, |u| output.fill(u))
            .await
    }

    /// Ends it badly.
    pub async fn fail(self, error: &str, category: ErrorCategory) -> Result<(), AgentError> {
        self.fail_with(error, category, ToolOutput::default()).await
    }

    /// Ends it badly, with what it produced all the same.
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

    /// Does the work and ends the call with what comes of it. When the turn is cancelled the work is
    /// dropped, and the call is settled as cancelled.
    pub async fn run<T, F, Fut, E>(self, work: F) -> Result<T, AgentError>
    where
        F: FnOnce(Host) -> Fut,
        Fut: Future<Output = Result<T, E>> + Send,
        T: Clone + Into<ToolOutput>,
        E: Into<ToolError>,
    {
        let work = work(self.cx.host().clone());
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

/// What a tool produced: a value for the agent's log, and something for a person to look at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The result as a value.
    pub raw: Option<Value>,
    /// What to show.
    pub content: Option<Vec<ToolContent>>,
    /// Files it turned out to touch.
    pub locations: Option<Vec<Location>>,
    /// A better title than before.
    pub title: Option<String>,
    /// Who ran it.
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
