//! The shapes of this wire: frames, operations, commands, the document and the timeline. Types only.

mod command;
mod document;
mod frame;
mod listing;
mod timeline;

pub use command::{ClientCommand, SettingChanges};
pub use document::{
    ApprovalChoice, ApprovalStatus, CallDiff, CallStatus, ClientFacts, ClientMode, CommandHint,
    DocumentMessage, DocumentState, DocumentStatus, DocumentToolCall, MessageNote, MessageRole,
    MessageStatus, ModeInfo, NoteKind, OptionChoice, OptionInfo, PendingApproval, PendingQuestion,
    PlanItem, SessionFacts, UsageFacts, WorkerFacts,
};
pub use frame::{ClientMessage, DocumentOperation, ServerMessage};
pub use listing::{ListingMessage, SessionListing, SessionRow, SessionStatus};
pub use timeline::{TimelineKind, TimelinePage, TimelineRow};
