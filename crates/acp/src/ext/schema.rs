//! The names of the files of `spec/schemas` that `initialize` advertises.

/// The file that describes `_harn/agentEvent`.
pub(crate) const AGENT_EVENT: &str = "agent-event.schema.json";

/// The file that describes `agent/idle`.
pub(crate) const AGENT_IDLE: &str = "agent-idle.schema.json";
/// The file that describes `harn.hitl.requested`.
pub(crate) const HITL_REQUESTED: &str = "hitl-requested.schema.json";
/// The file that describes `harn.hitl.respond`.
pub(crate) const HITL_RESPOND: &str = "hitl-respond.schema.json";

/// The file that describes the bridge's requests and notifications.
pub(crate) const BRIDGE_PARAMS: &str = "host-bridge-params.schema.json";
