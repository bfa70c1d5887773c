//! What a hub is made of, and its limits.

use std::{path::PathBuf, sync::Arc, time::Duration};

use harn_journal::Store;
use harn_policy::{PathProbe, SessionMode};

use crate::{Agent, Clock, EquipmentProvider, HostPort, IdSource, NoEquipment, NoRules, RuleBook};

/// What a hub is made of. The world comes in here.
pub struct HubConfig {
    /// The agent that serves every session.
    pub agent: Arc<dyn Agent>,
    /// Where sessions are kept.
    pub store: Arc<dyn Store>,
    /// Reads the time.
    pub clock: Arc<dyn Clock>,
    /// Mints ids.
    pub ids: Arc<dyn IdSource>,
    /// Files and commands of this machine, for hosts that offer none.
    pub local_host: Arc<dyn HostPort>,
    /// How long a cancelled agent may take to stop before its turn is settled without it.
    pub cancel_deadline: Duration,
    /// How many prompts may wait while a turn runs.
    pub max_waiting_prompts: usize,
    /// How many messages and reminders may wait to be delivered to an agent.
    pub max_pending: usize,
    /// How many bytes of them may.
    pub max_pending_bytes: usize,
    /// How often in a row an agent that waits may wake without anything having come of it, where it does
    /// not say so itself, before its turn is ended.
    pub daemon_watchdog: u64,
    /// How much of a session's recent past is kept in memory.
    pub ring_bytes: usize,
    /// How many workers of a session may run at once.
    pub max_workers: usize,
    /// How many workers may run at once below a session that is nobody's worker, at every depth.
    pub max_workers_below: usize,
    /// How deep workers may be nested; a session's own are one deep.
    pub max_worker_depth: usize,
    /// Looks where paths lead.
    pub probe: Arc<dyn PathProbe>,
    /// Rules and what was remembered.
    pub rules: Arc<dyn RuleBook>,
    /// The mode a session begins in.
    pub default_mode: SessionMode,
    /// How long a question about a tool call waits for an answer.
    pub ask_deadline: Duration,
    /// Whether a session that is opened begins without what it was granted, and in no mode that lets more
    /// pass than the default: its journal lies where others may have written it.
    pub forgetful: bool,
    /// Places that no tool writes, wherever a session works.
    pub protected: Vec<PathBuf>,
    /// Equips sessions with tools, skills and servers.
    pub equip: Arc<dyn EquipmentProvider>,
}

impl HubConfig {
    /// The usual limits around these parts.
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
