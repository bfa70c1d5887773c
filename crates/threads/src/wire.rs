//! The shapes of this wire: params and results of methods, and notifications. Types only.

mod item;
mod notification;
mod params;
mod results;

pub use item::{
    ApprovalData, ApprovalEnd, ApprovalReply, ArtifactData, AssistantData, AssistantEnd, Item,
    ItemEnd, ItemStart, PendingStatus, ToolData, ToolDiff, ToolEnd, ToolOutcome, UserData,
};
pub use notification::{
    AskedCall, BrokenStatus, CompletedStatus, ItemDelta, ThreadApproval, ThreadNotification,
    ThreadTurn, ToolLogData, TurnStatus, TurnTime,
};
pub use params::{
    ApprovalDecision, ApprovalRespondParams, ClientInfo, InitializeParams, InputPart, ModelChoice,
    ThreadCreateParams, ThreadGetParams, ThreadListParams, TurnCancelParams, TurnStartParams,
};
pub use results::{
    InitializeResult, OkResult, ServerInfo, Thread, ThreadEvent, ThreadGetResult, ThreadListResult,
    ThreadResult, ThreadTime, ThreadsCapabilities, TurnStartResult,
};
