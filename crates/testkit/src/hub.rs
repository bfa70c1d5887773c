//! A hub in a temporary folder, which a test can restart.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use harn_acp::AcpConfig;
use harn_journal::JsonlStore;
use harn_model::SessionId;
use harn_runtime::{Agent, Hub, HubConfig, NoDisk, NoHost};
use tempfile::TempDir;

use crate::{CountedIds, FakeClock, MemoryRules, Recorder, StrictClient, must};

/// A hub over a journal in a temporary folder, with a fake clock and counted ids. The last hub that uses the
/// folder deletes it.
pub struct TestHub {
    hub: Hub,
    parts: TestHubParts,
}

/// The parts that hubs on one folder share.
#[derive(Clone)]
struct TestHubParts {
    folder: Arc<TempDir>,
    agent: Arc<dyn Agent>,
    clock: FakeClock,
    ids: CountedIds,
    acp: AcpConfig,
    adjust: Arc<dyn Fn(&mut HubConfig) + Send + Sync>,
    recorder: Recorder,
}

/// Builds a [`TestHub`]; see [`TestHub::builder`].
pub struct TestHubBuilder(TestHubParts);

impl TestHub {
    /// Returns a hub around an agent, with the defaults.
    pub fn new(agent: impl Agent) -> Self {
        Self::builder(agent).build()
    }

    /// Returns a builder of a hub around an agent.
    pub fn builder(agent: impl Agent) -> TestHubBuilder {
        let folder = must(tempfile::tempdir(), "no temporary folder");
        let recorder = Recorder::default();
        // The name of the folder differs from run to run.
        for (name, stands_for) in [("workspace", "/workspace"), ("state", "/state")] {
            let path = folder.path().join(name);
            must(std::fs::create_dir(&path), path.display());
            recorder.rename(path.display().to_string(), stands_for);
        }
        TestHubBuilder(TestHubParts {
            folder: Arc::new(folder),
            agent: Arc::new(agent),
            clock: FakeClock::new(),
            ids: CountedIds::default(),
            acp: AcpConfig::default(),
            adjust: Arc::new(|_| ()),
            recorder,
        })
    }

    /// Returns the hub.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Returns its clock.
    pub fn clock(&self) -> &FakeClock {
        &self.parts.clock
    }

    /// Returns the recorder of everything that its clients sent and received.
    pub fn recorder(&self) -> &Recorder {
        &self.parts.recorder
    }

    /// Returns an empty directory for sessions to work in; `/workspace` in a transcript.
    pub fn workspace(&self) -> PathBuf {
        self.parts.folder.path().join("workspace")
    }

    /// Returns the directory of the stored sessions; `/state` in a transcript.
    pub fn state_dir(&self) -> PathBuf {
        self.parts.folder.path().join("state")
    }

    /// Returns the path of a session's journal.
    pub fn log_path(&self, session: &SessionId) -> PathBuf {
        let threads = self.state_dir().join("threads");
        threads.join(session.as_str()).join("events.jsonl")
    }

    /// Connects a client in memory.
    #[must_use]
    pub fn connect(&self) -> StrictClient {
        let (hub, acp) = (self.hub.clone(), self.parts.acp.clone());
        StrictClient::in_memory(hub, acp, self.parts.recorder.clone())
    }

    /// Connects a client whose bytes go through the line reader, with this limit on a line. The reader blocks a
    /// thread, so it is not for tests with a paused clock.
    #[must_use]
    pub fn connect_framed(&self, line_limit: usize) -> StrictClient {
        let (hub, acp) = (self.hub.clone(), self.parts.acp.clone());
        StrictClient::with_line_reader(hub, acp, line_limit, self.parts.recorder.clone())
    }

    /// Starts a second runtime on the same folder, like another process.
    #[must_use]
    pub fn start_second(&self) -> Self {
        TestHubBuilder(self.parts.clone()).build()
    }

    /// Shuts the hub down and starts another one on the same folder.
    pub async fn restart(&mut self) {
        self.hub.shutdown().await;
        *self = self.start_second();
    }
}

impl TestHubBuilder {
    /// Sets the configuration of ACP connections.
    #[must_use]
    pub fn acp(mut self, config: AcpConfig) -> Self {
        self.0.acp = config;
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(mut self, clock: FakeClock) -> Self {
        self.0.clock = clock;
        self
    }

    /// Sets the rules, in TOML; a later [`config`](Self::config) replaces them.
    #[must_use]
    pub fn rules(self, rules: &str) -> Self {
        let rules = MemoryRules::new(rules);
        self.config(move |config| config.rules = rules.clone())
    }

    /// Adjusts the configuration, such as limits or the host; also for later hubs on the same folder.
    #[must_use]
    pub fn config(mut self, adjust: impl Fn(&mut HubConfig) + Send + Sync + 'static) -> Self {
        self.0.adjust = Arc::new(adjust);
        self
    }

    /// Returns the folder of the hub.
    pub fn folder(&self) -> &Path {
        self.0.folder.path()
    }

    /// Builds the hub.
    pub fn build(self) -> TestHub {
        let parts = self.0;
        let mut config = HubConfig::new(
            parts.agent.clone(),
            Arc::new(JsonlStore::new(parts.folder.path().join("state"))),
            Arc::new(parts.clock.clone()),
            Arc::new(parts.ids.clone()),
            Arc::new(NoHost),
            Arc::new(NoDisk),
        );
        (parts.adjust)(&mut config);
        TestHub {
            hub: Hub::new(config),
            parts,
        }
    }
}
