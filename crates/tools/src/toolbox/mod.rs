//! The toolbox of a session: its catalogue of tools, and the one way to call any of them.
//!
//! Put together from parts, each in a file of its own: the built-in tools, those of the host, those that
//! others lend. Knows no wire; what it may do is for the session's rules to say.

mod builtins;
mod call;
mod host;
mod lender;
mod toolboxes;

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use harn_model::{
    AgentEvent, HostCapabilities, LogRecord, McpServerSpec, McpServerStatus, SessionId, ToolSpec,
};
use harn_runtime::{
    AgentError, Equipment, EquipmentChange, EquipmentLink, NewEquipment, TurnContext,
};

use crate::{
    builtin::{Builtin, Kit},
    catalogue::Catalogue,
};

use host::HostPart;
use lender::{Lender, Nobody};
pub use toolboxes::{Deadlines, NothingTrusted, ToolboxConfig, Toolboxes, Trust};

/// What a session's agent works with.
pub struct Toolbox {
    session: SessionId,
    config: Arc<ToolboxConfig>,
    link: EquipmentLink,
    kit: Kit,
    host: HostPart,
    /// MCP servers.
    servers: Arc<dyn Lender>,
    /// What skills add.
    skills: Arc<dyn Lender>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    catalogue: Arc<Catalogue>,
    /// Warnings that were told.
    told: BTreeSet<String>,
}

impl Toolbox {
    /// For a session that is being opened.
    #[must_use]
    pub fn new(config: Arc<ToolboxConfig>, session: NewEquipment) -> Self {
        let NewEquipment {
            session,
            cwd: _,
            files,
            link,
        } = session;
        Self::made(config, session, files, link)
    }

    /// One that holds the built-in tools and nothing else, for a session that was equipped with none.
    #[must_use]
    pub fn plain() -> Arc<Self> {
        let nobody = SessionId::new(String::new());
        let config = Arc::new(ToolboxConfig::default());
        Arc::new(Self::made(config, nobody, None, EquipmentLink::none()))
    }

    fn made(
        config: Arc<ToolboxConfig>,
        session: SessionId,
        files: Option<PathBuf>,
        link: EquipmentLink,
    ) -> Self {
        let toolbox = Self {
            session,
            link,
            kit: Kit::new(files, config.env.clone()),
            host: HostPart::default(),
            servers: Arc::new(Nobody),
            skills: Arc::new(Nobody),
            state: Mutex::default(),
            config,
        };
        // What is there from the start is no change.
        toolbox.lock().catalogue = Arc::new(Catalogue::new(toolbox.specs()));
        toolbox
    }

    /// The toolbox of a turn's session, if it was equipped with one. Workers share that of whom they work
    /// for.
    #[must_use]
    pub fn of(cx: &TurnContext) -> Option<Arc<Self>> {
        cx.equipment()
    }

    /// The tools there are now.
    #[must_use]
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.lock().catalogue.clone()
    }

    /// Which operations the host had when it was last asked.
    #[must_use]
    pub fn capabilities(&self) -> Arc<HostCapabilities> {
        self.host.capabilities()
    }

    /// What it is made with.
    #[must_use]
    pub fn config(&self) -> &ToolboxConfig {
        &self.config
    }

    /// Every tool, in the order in which names are taken.
    fn specs(&self) -> Vec<ToolSpec> {
        let builtins = Builtin::ALL.iter().map(|builtin| builtin.spec());
        let mut specs: Vec<_> = builtins.collect();
        specs.extend(self.host.tools());
        specs.extend(self.servers.tools());
        specs.extend(self.skills.tools());
        specs
    }

    /// Puts the catalogue together anew and tells of what changed. Returns warnings that are new.
    async fn rebuild(&self) -> Vec<String> {
        let specs = self.specs();
        let (change, warnings) = {
            let mut state = self.lock();
            let new = state.catalogue.with(specs);
            let change = new.change_from(&state.catalogue);
            let warnings: Vec<_> = new
                .warnings()
                .iter()
                .filter(|warning| !state.told.contains(*warning))
                .cloned()
                .collect();
            state.told = new.warnings().iter().cloned().collect();
            state.catalogue = Arc::new(new);
            (change, warnings)
        };
        if let Some(change) = change {
            self.link.tell(EquipmentChange::Tools(change)).await;
        }
        warnings
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Equipment for Toolbox {
    // Skills and MCP servers are plugged in here.
    fn add_servers(&self, servers: Vec<McpServerSpec>) {
        drop(servers);
    }

    fn servers(&self) -> Vec<McpServerStatus> {
        Vec::new()
    }

    async fn boundary(&self, cx: &TurnContext) -> Result<(), AgentError> {
        // A worker's turn is none of the session's; what changed is told there.
        if *cx.session_id() != self.session {
            return Ok(());
        }
        let mut warnings = self.host.look(cx, &self.config.deadlines).await?;
        self.kit.lend(&self.host.capabilities());
        warnings.extend(self.rebuild().await);
        for message in warnings {
            warn(cx, message).await?;
        }
        Ok(())
    }
}

/// A line for the host's log.
async fn warn(cx: &TurnContext, message: String) -> Result<(), AgentError> {
    let record = LogRecord {
        level: "warn".to_owned(),
        message,
        fields: None,
    };
    cx.emit(AgentEvent::Log(Box::new(record))).await
}

#[cfg(test)]
mod tests;
