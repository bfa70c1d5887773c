//! The shapes of this wire: what methods take and give, what is told unasked. Types only.

mod item;
mod notification;
mod params;
mod results;

pub use item::{
    ApprovalData, ApprovalEnd, ApprovalReply, ArtifactData, AssistantData, AssistantEnd, Diff,
    Item, ItemEnd, ItemStart, Pending, ToolData, ToolEnd, ToolOutcome, UserData,
};
pub use notification::{
    Approval, AskedCall, BrokenStatus, CompletedStatus, Delta, Notification, ToolLogData, Turn,
    TurnStatus, TurnTime,
};
pub use params::{
    ApprovalRespondParams, ClientInfo, Decide, InitializeParams, InputPart, ModelChoice,
    ThreadCreateParams, ThreadGetParams, ThreadListParams, TurnCancelParams, TurnStartParams,
};
pub use results::{
    Capabilities, Done, Event, InitializeResult, ServerInfo, Thread, ThreadGetResult,
    ThreadListResult, ThreadResult, ThreadTime, TurnStartResult,
};
