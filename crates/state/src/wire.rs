//! The shapes of this wire: frames, operations, commands and the document. Types only.

mod command;
mod document;
mod frame;

pub use command::{Command, Configure};
pub use document::{
    Approval, ApprovalChoice, ApprovalStatus, CallStatus, Choice, Client, ClientMode, Diff, Hint,
    Message, MessageStatus, ModeInfo, Note, NoteKind, OptionInfo, PlanItem, Question, Role,
    SessionFacts, State, Status, ToolCall, UsageFacts, WorkerFacts,
};
pub use frame::{ClientMessage, Operation, ServerMessage};
