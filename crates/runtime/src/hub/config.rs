//! The parts and the limits of a hub.

use std::{path::PathBuf, sync::Arc, time::Duration};

use harn_journal::Store;
use harn_policy::{PathProbe, SessionMode};

use crate::{Agent, Clock, EquipmentProvider, HostPort, IdSource, NoEquipment, NoRules, RuleBook};

/// The parts and limits of a hub, including its ports to the outside.
pub struct HubConfig {
    /// The agent that serves every session.
    pub agent: Arc<dyn Agent>,
    /// Stores the sessions.
    pub store: Arc<dyn Store>,
    /// Reads the time.
    pub clock: Arc<dyn Clock>,
    /// Mints ids.
    pub ids: Arc<dyn IdSource>,
    /// Files and commands of this machine, used when the host offers none.
    pub local_host: Arc<dyn HostPort>,
    /// How long a cancelled agent may take to stop before the runtime settles its turn without it.
    pub cancel_deadline: Duration,
    /// The maximum number of prompts that wait while a turn runs.
    pub max_waiting_prompts: usize,
    /// The maximum number of messages and reminders that wait for delivery to an agent.
    pub max_pending: usize,
    /// The maximum number of bytes of waiting messages and reminders.
    pub max_pending_bytes: usize,
    /// How often in a row an idle agent may wake without doing anything before the runtime ends its turn. The
    /// agent may choose its own limit.
    pub daemon_watchdog: u64,
    /// The size of the in-memory ring of a session's recent events.
    pub ring_bytes: usize,
    /// The maximum number of a session's workers that run at once.
    pub max_workers: usize,
    /// The maximum number of workers that run at once below a root session, at every depth.
    pub max_workers_below: usize,
    /// The maximum nesting depth of workers; a session's own workers have depth 1.
    pub max_worker_depth: usize,
    /// Resolves paths on disk.
    pub probe: Arc<dyn PathProbe>,
    /// Provides the rules and the remembered grants.
    pub rules: Arc<dyn RuleBook>,
    /// The mode a session begins in.
    pub default_mode: SessionMode,
    /// How long a question about a tool call waits for an answer.
    pub ask_deadline: Duration,
    /// Whether an opened session drops its grants and any mode that is laxer than the default. For journals
    /// that others may have written.
    pub forgetful: bool,
    /// Paths that no tool may write, in any session.
    pub protected: Vec<PathBuf>,
    /// Equips sessions with tools, skills and servers.
    pub equip: Arc<dyn EquipmentProvider>,
}

impl HubConfig {
    /// Returns a configuration of these parts with the usual limits.
    pub fn new(
        agent: Arc<dyn Agent>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        local_host: Arc<dyn HostPort>,
        probe: Arc<dyn PathProbe>,
    ) -> Self {
        Self {
            agent,
            store,
            clock,
            ids,
            local_host,
            cancel_deadline: Duration::from_secs(5),
            max_waiting_prompts: 64,
            max_pending: 32 * 1024,
            max_pending_bytes: 64 * 1024 * 1024,
            daemon_watchdog: 100,
            ring_bytes: 1024 * 1024,
            max_workers: 16,
            max_workers_below: 64,
            max_worker_depth: 4,
            probe,
            rules: Arc::new(NoRules::default()),
            default_mode: SessionMode::default(),
            ask_deadline: Duration::from_secs(30 * 60),
            forgetful: false,
            protected: Vec::new(),
            equip: Arc::new(NoEquipment),
        }
    }
}
