//! A hub in a folder of its own, which can be left and entered again.

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

/// A hub over a journal in a temporary folder, with a fake clock and counted ids. The folder goes with
/// the last hub that uses it.
pub struct TestHub {
    hub: Hub,
    parts: TestHubParts,
}

/// What hubs on one folder share.
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

/// See [`TestHub::builder`].
pub struct TestHubBuilder(TestHubParts);

impl TestHub {
    /// A hub around an agent, with nothing out of the ordinary.
    pub fn new(agent: impl Agent) -> Self {
        Self::builder(agent).build()
    }

    /// The same, to be adjusted first.
    pub fn builder(agent: impl Agent) -> TestHubBuilder {
        let folder = must(tempfile::tempdir(), "no temporary folder");
        let recorder = Recorder::default();
        // The folder's name differs from run to run.
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

    /// The hub.
    #[must_use]
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Its clock.
    #[must_use]
    pub fn clock(&self) -> &FakeClock {
        &self.parts.clock
    }

    /// What all its clients said and heard.
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        &self.parts.recorder
    }

    /// An empty directory for sessions to work in; `/workspace` in a transcript.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.parts.folder.path().join("workspace")
    }

    /// Where sessions are kept; `/state` in a transcript.
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        self.parts.folder.path().join("state")
    }

    /// The log of a session on disk.
    #[must_use]
    pub fn log_of(&self, session: &SessionId) -> PathBuf {
        let threads = self.state_dir().join("threads");
        threads.join(session.as_str()).join("events.jsonl")
    }

    /// A client in memory.
    #[must_use]
    pub fn connect(&self) -> StrictClient {
        let (hub, acp) = (self.hub.clone(), self.parts.acp.clone());
        StrictClient::in_memory(hub, acp, self.parts.recorder.clone())
    }

    /// A client whose bytes go through the line reader, with this limit on a line. The reader blocks a
    /// thread: not for tests with a paused clock.
    #[must_use]
    pub fn connect_framed(&self, line_limit: usize) -> StrictClient {
        let (hub, acp) = (self.hub.clone(), self.parts.acp.clone());
        StrictClient::framed(hub, acp, line_limit, self.parts.recorder.clone())
    }

    /// A second runtime on the same folder, as another process would be.
    #[must_use]
    pub fn beside(&self) -> Self {
        TestHubBuilder(self.parts.clone()).build()
    }

    /// Shuts the hub down and starts another one on the same folder.
    pub async fn restart(&mut self) {
        self.hub.shutdown().await;
        *self = self.beside();
    }
}

impl TestHubBuilder {
    /// Serves clients like this.
    #[must_use]
    pub fn acp(mut self, config: AcpConfig) -> Self {
        self.0.acp = config;
        self
    }

    /// With this clock.
    #[must_use]
    pub fn clock(mut self, clock: FakeClock) -> Self {
        self.0.clock = clock;
        self
    }

    /// Under these rules, in TOML; those of a later [`config`](Self::config) count instead.
    #[must_use]
    pub fn rules(self, rules: &str) -> Self {
        let rules = MemoryRules::new(rules);
        self.config(move |config| config.rules = rules.clone())
    }

    /// With other limits or another host; also for the hubs that come after this one.
    #[must_use]
    pub fn config(mut self, adjust: impl Fn(&mut HubConfig) + Send + Sync + 'static) -> Self {
        self.0.adjust = Arc::new(adjust);
        self
    }

    /// The folder everything will be in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.0.folder.path()
    }

    /// Puts it together.
    #[must_use]
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
