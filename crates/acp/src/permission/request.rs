//! The permission request: canonical ACP in every profile, with the contract's fields beside it in the
//! profile `harn`.

use crate::JsonSchema;
use agent_client_protocol::{Error, UntypedMessage};
use harn_model::{
    ApprovalRequest, ContentBlock, PermissionAsked, PermissionOption, PermissionOptionKind,
    SessionId, ToolCallStatus, ToolContent, code_fence,
};
use serde::Serialize;

use super::METHOD;
use crate::{
    EventId, Profile,
    ext::{
        HarnMeta,
        permission::{PermissionContext, PermissionMeta},
        tool::ToolMeta,
    },
    wire::{ToolCallWire, ToolContents},
};

/// The params of the request. They repeat the whole call: a bare id would leave the client nothing to show.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "PermissionRequest")]
pub(crate) enum PermissionRequestParams<'a> {
    Harn(HarnPermissionParams<'a>),
    Plain(PlainPermissionParams<'a>),
}

/// The params in the profile `harn`: the contract's fields beside ACP's.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "HarnPermissionRequest", deny_unknown_fields)]
pub(crate) struct HarnPermissionParams<'a> {
    /// The session of the call; for a worker's call, the session that the person talks to.
    session_id: &'a str,
    /// The call that waits for the decision.
    tool_call: NamedCall<'a>,
    /// The possible answers.
    options: Vec<OptionWire<'a>>,
    #[serde(flatten)]
    approval: PermissionContext<'a>,
    #[serde(rename = "_meta")]
    meta: HarnMeta<PermissionMeta<'a>>,
}

/// The params in the profiles `meta` and `acp`: ACP's own fields.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PlainPermissionRequest", deny_unknown_fields)]
pub(crate) struct PlainPermissionParams<'a> {
    /// The session of the call; for a worker's call, the session that the person talks to.
    session_id: &'a str,
    /// The call that waits for the decision.
    tool_call: ToolCallWire<'a>,
    /// The possible answers.
    options: Vec<OptionWire<'a>>,
    #[serde(rename = "_meta")]
    meta: HarnMeta<PermissionMeta<'a>>,
}

/// A call with the name of its tool, for which ACP has no member.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
struct NamedCall<'a> {
    #[serde(flatten)]
    call: ToolCallWire<'a>,
    /// The name of the tool.
    tool_name: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PermissionOption", deny_unknown_fields)]
struct OptionWire<'a> {
    option_id: &'a str,
    name: &'a str,
    kind: PermissionOptionKind,
}

impl<'a> From<&'a PermissionOption> for OptionWire<'a> {
    fn from(option: &'a PermissionOption) -> Self {
        Self {
            option_id: &option.option_id,
            name: &option.name,
            kind: option.kind,
        }
    }
}

/// Builds the message that asks a client of this profile about a tool call.
pub(crate) fn message(
    session: &SessionId,
    ask: &PermissionAsked,
    profile: Profile,
    to: QuestionAddressee<'_>,
) -> Result<UntypedMessage, Error> {
    let approval = ApprovalRequest::from_permission_asked(session, ask);
    approval_message(session, ask, &approval, profile, to)
}

/// Builds the message that asks a client of this profile to approve the action in `approval`.
pub(crate) fn approval_message(
    session: &SessionId,
    ask: &PermissionAsked,
    approval: &ApprovalRequest,
    profile: Profile,
    to: QuestionAddressee<'_>,
) -> Result<UntypedMessage, Error> {
    let command = unshown_command(ask);
    let params = params(session, ask, approval, command.as_deref(), profile, to);
    UntypedMessage::new(METHOD, params)
}

/// The client that receives a question, and the question's position in the stream.
#[derive(Clone, Copy, Default)]
pub(crate) struct QuestionAddressee<'a> {
    /// The client's name, if it has one.
    pub(crate) client: Option<&'a str>,
    /// The question's position in the stream, if it has one.
    pub(crate) place: Option<EventId>,
}

fn params<'a>(
    session: &'a SessionId,
    ask: &'a PermissionAsked,
    approval: &'a ApprovalRequest,
    command: Option<&'a str>,
    profile: Profile,
    to: QuestionAddressee<'a>,
) -> PermissionRequestParams<'a> {
    let session_id = session.as_str();
    let tool_call = tool_call(&ask.tool_call, command);
    let options = ask.options.iter().map(OptionWire::from).collect();
    let approval = PermissionContext::new(ask, approval);
    let meta = HarnMeta::new(PermissionMeta::new(
        ask,
        approval.clone(),
        to.client,
        to.place,
    ));
    match profile {
        Profile::Harn => PermissionRequestParams::Harn(HarnPermissionParams {
            session_id,
            tool_call: NamedCall {
                call: tool_call,
                tool_name: &ask.tool_call.tool_name,
            },
            options,
            approval,
            meta,
        }),
        Profile::Meta | Profile::Acp => PermissionRequestParams::Plain(PlainPermissionParams {
            session_id,
            tool_call,
            options,
            meta,
        }),
    }
}

fn tool_call<'a>(call: &'a harn_model::ToolCall, command: Option<&'a str>) -> ToolCallWire<'a> {
    let contents = call.content.as_slice();
    ToolCallWire {
        tool_call_id: call.tool_call_id.as_str(),
        title: Some(call.title.as_deref().unwrap_or(&call.tool_name)),
        name: None,
        kind: Some(call.kind.unwrap_or_default()),
        status: ToolCallStatus::Pending,
        content: match (command, contents) {
            (None, []) => None,
            (None, contents) => Some(ToolContents::Given {
                contents,
                terminals: true,
            }),
            (Some(command), contents) => Some(ToolContents::Headed {
                text: command,
                contents,
            }),
        },
        locations: (!call.locations.is_empty()).then_some(call.locations.as_slice()),
        raw_input: (!call.raw_input.is_null()).then_some(&call.raw_input),
        raw_output: None,
        meta: ToolMeta::from_asked_call(call).map(HarnMeta::new),
    }
}

/// Returns the command of a call if the title does not show it completely, to be shown as content: the person
/// must see all of it, and many clients show nothing of `rawInput`.
fn unshown_command(ask: &PermissionAsked) -> Option<String> {
    let call = &ask.tool_call;
    let command = ask.command()?;
    // Clients cut a title at a line break or at the edge of the window.
    const SHOWN: usize = 80;
    let fits = !command.contains(['\n', '\r']) && command.chars().count() <= SHOWN;
    if call.title.as_deref() == Some(command) && fits {
        return None;
    }
    let shown = fence_command(command);
    let given = call.content.iter().any(|content| match content {
        ToolContent::Content {
            content: ContentBlock::Text { text },
        } => text == command || *text == shown,
        ToolContent::Content { .. }
        | ToolContent::Diff { .. }
        | ToolContent::Terminal { .. }
        | ToolContent::Output(_) => false,
    });
    (!given).then_some(shown)
}

/// Returns the command as a code block: clients read text as Markdown, which would swallow the stars of `rm
/// *.o *.a`. Nothing in the command closes the block.
fn fence_command(command: &str) -> String {
    let fence = code_fence(command);
    format!("{fence}sh\n{command}\n{fence}")
}
