//! The runtime of an agent: sessions, turns, permission questions and subscriptions.
//!
//! One task owns one session; it appends an event to the journal, then publishes it. Front-ends drive a
//! session through a [`Controller`] and watch it through a [`Subscription`]. This crate contains no wire
//! protocol, never writes to stdout and opens no file except through the journal.

mod agent;
mod boxed;
mod equipment;
mod error;
mod hitl;
mod host;
mod hub;
mod mode;
mod permission;
mod ports;
mod publish;
mod session;
mod turn;
mod worker;

pub use agent::{Agent, AgentProfile};
pub use boxed::BoxFuture;
pub use equipment::{
    Equipment, EquipmentChange, EquipmentLink, EquipmentProvider, NewEquipment, NoEquipment,
};
pub use error::{
    AgentError, ControlError, HitlError, HostError, LiveClientError, NotInControl, PromptError,
    SessionError, SettingError, ToolError, WorkerError,
};
pub use hitl::{Answer, ApprovalBuilder, EscalationBuilder, QuestionBuilder, Takeover, Verdict};
pub use host::{
    CommandExit, CommandSink, CommandSpec, Host, HostDeadlines, HostOffers, HostPort, HostSandbox,
    NoHost, ReadFilter, answer_within,
};
pub use hub::{
    ArchiveFilter, Hub, HubConfig, ListedSession, NewSession, SessionFilter, SessionPage,
};
pub use mode::{ACCEPT_EDITS_MODE, ASK_MODE, AUTO_MODE, READ_ONLY_MODE, modes};
pub use permission::{CommandConfinement, NoDisk, NoRules, RuleBook};
pub use ports::{Clock, IdKind, IdSource};
pub use publish::{BatchSlice, EncodingSlot, EventBatch, SessionEnd, Subscription};
pub use session::{
    AppliedControl, AttachClient, ControlPreemption, ControlWatch, Controller, ControllerInfo,
    Driver, DriverAction, LiveState, Observer, PromptSubmission, Seat, SeatClaim, SeatTerm,
};
pub use turn::{
    IdleOutcome, IdleWait, Question, Steering, SteeringDelivery, ToolBuilder, ToolHandle,
    ToolOutput, TurnContext,
};
pub use worker::{Worker, WorkerBuilder, WorkerReport};

pub use async_trait::async_trait;
pub use harn_journal::{JournalError, SessionMeta, SessionSummary};
pub use harn_model as model;
pub use harn_model::Seam;
pub use harn_policy::{PathProbe, RootedPath, SessionMode};
