//! The shapes of this wire: frames, operations, commands, the document and the timeline. Types only.

mod command;
mod document;
mod frame;
mod listing;
mod timeline;

pub use command::{Command, Configure};
pub use document::{
    Approval, ApprovalChoice, ApprovalStatus, CallStatus, Choice, Client, ClientMode, Diff, Hint,
    Message, MessageStatus, ModeInfo, Note, NoteKind, OptionInfo, PlanItem, Question, Role,
    SessionFacts, State, Status, ToolCall, UsageFacts, WorkerFacts,
};
pub use frame::{ClientMessage, Operation, ServerMessage};
pub use listing::{Listing, ListingMessage, SessionRow, SessionStatus};
pub use timeline::{TimelineKind, TimelinePage, TimelineRow};
