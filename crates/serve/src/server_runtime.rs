//! Assembles the hub of an agent, and owns the worker threads and child processes of the server.
//!
//! The front-ends wait on a separate thread, so that an agent that blocks every worker cannot keep the process
//! from ending.

use std::{
    collections::BTreeMap,
    future::Future,
    io,
    sync::{Arc, LazyLock},
    time::Duration,
};

use anyhow::Result;
use harn_runtime::{Agent, Equipment, EquipmentProvider, Hub, HubConfig, NewEquipment};
use harn_tools::{
    DiskProbe, LocalHost, ToolboxConfig, Toolboxes, shells::LocalShellWorld, skills::SkillLibrary,
};
use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::JoinHandle,
};

use crate::{
    RandomIds, SandboxMode, ServeOptions, SystemClock,
    options::{TOKEN_VARIABLE, read_env_var},
    rules::{self, FileRules},
    sandbox,
    session_store::{self, SessionStorage},
    trust::WorkspaceTrustStore,
};

/// Assembles a hub around an agent, for callers with their own runtime and connections. Touches nothing on disk
/// until the first session is created. Call [`Hub::shutdown`] when done.
pub fn hub(agent: impl Agent, options: &ServeOptions) -> Hub {
    let rules = Arc::new(FileRules::new(options));
    let local = local_host(options, &rules);
    assemble(Arc::new(agent), options, local, rules)
}

/// Returns this machine as a host, with the shells that the environment names, and with a sandbox unless it is off.
fn local_host(options: &ServeOptions, rules: &Arc<FileRules>) -> LocalHost {
    let named = LocalShellWorld::VARIABLES.map(|name| {
        let value = read_env_var(name)?.into_string().ok()?;
        Some((name.to_owned(), value))
    });
    let world = LocalShellWorld::new(named.into_iter().flatten());
    let local = LocalHost::new().with_shells(Arc::new(world));
    match sandbox::configure(options, rules.clone()) {
        Some(config) => local.with_sandbox(config),
        None => local,
    }
}

fn assemble(
    agent: Arc<dyn Agent>,
    options: &ServeOptions,
    local: LocalHost,
    rules: Arc<FileRules>,
) -> Hub {
    let clock = Arc::new(SystemClock::new());
    let SessionStorage { store, believed } = session_store::select_storage(options);
    let mut config = HubConfig::new(
        agent,
        store,
        clock.clone(),
        Arc::new(RandomIds::default()),
        Arc::new(local.clone()),
        Arc::new(DiskProbe),
    );
    config.rules = rules;
    config.protected = rules::protected_paths(options);
    config.default_mode = options.mode;
    config.ask_deadline = options.ask_timeout;
    config.forgetful = !believed;
    config.equip = Arc::new(LazyToolboxes::new(options.clone(), local, clock));
    Hub::new(config)
}

/// Equips sessions from toolboxes that are built for the first session, because the start does not need them.
struct LazyToolboxes(LazyLock<Toolboxes, Box<dyn FnOnce() -> Toolboxes + Send>>);

impl LazyToolboxes {
    fn new(options: ServeOptions, local: LocalHost, clock: Arc<SystemClock>) -> Self {
        let toolboxes = move || build_toolboxes(&options, local, clock);
        Self(LazyLock::new(Box::new(toolboxes)))
    }
}

impl EquipmentProvider for LazyToolboxes {
    fn equip(&self, session: NewEquipment) -> Arc<dyn Equipment> {
        self.0.equip(session)
    }
}

/// Builds the toolboxes: tools, skills and MCP servers, from the environment of this process.
fn build_toolboxes(options: &ServeOptions, local: LocalHost, clock: Arc<SystemClock>) -> Toolboxes {
    #[allow(
        clippy::disallowed_methods,
        reason = "the environment enters the project here"
    )]
    // MCP servers and skills must not receive the token.
    let vars = std::env::vars_os().filter(|(name, _)| name != TOKEN_VARIABLE);
    let inherited: Arc<[_]> = vars.collect();
    let text = inherited.iter().filter_map(|(name, value)| {
        let (name, value) = (name.to_str()?, value.to_str()?);
        Some((name.to_owned(), value.to_owned()))
    });
    let env: BTreeMap<_, _> = text.collect();
    Toolboxes::new(ToolboxConfig {
        local,
        env: Arc::new(env),
        inherited,
        trust: Arc::new(WorkspaceTrustStore::new(&options.state_dir)),
        host_deadlines: options.deadlines(),
        skills: Some(Arc::new(SkillLibrary::new(options.skills.clone(), clock))),
        matching: options.skill_matching,
        search: options.tool_search.clone(),
        ..ToolboxConfig::default()
    })
}

/// Creates a runtime for the thread that waits for signals, deadlines and the end.
pub(crate) fn build_waiting_runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// How long sessions may take to settle when the process ends. A session that did not settle does so when it is
/// next opened.
const SETTLING: Duration = Duration::from_millis(550);
/// Two are enough: an agent waits far more than it computes.
const WORKERS: usize = 2;

/// The hub with its worker threads and child processes. Dropping it ends the child processes, also after a panic.
pub(crate) struct ServerRuntime {
    hub: Hub,
    local: LocalHost,
    workers: Handle,
    /// None once it is dropped.
    runtime: Option<Runtime>,
}

impl ServerRuntime {
    pub(crate) fn open(agent: Arc<dyn Agent>, options: &ServeOptions) -> Result<Self> {
        session_store::check(options)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("harn-worker")
            .enable_all()
            .build()?;
        let rules = Arc::new(FileRules::new(options));
        let local = local_host(options, &rules);
        if options.sandbox != SandboxMode::Off {
            sandbox::protect_own_memory();
        }
        Ok(Self {
            hub: assemble(agent, options, local.clone(), rules),
            local,
            workers: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Spawns a future on the workers.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.workers.spawn(work)
    }

    /// Waits a limited time for the sessions to settle, then ends the child processes in any case.
    pub(crate) async fn close(&self) {
        let hub = self.hub.clone();
        let settled = self.spawn(async move { hub.shutdown().await });
        if tokio::time::timeout(SETTLING, settled).await.is_err() {
            tracing::warn!("a session did not close in time; opening it again recovers it");
        }
        self.local.end_all();
    }
}

impl Drop for ServerRuntime {
    fn drop(&mut self) {
        self.local.end_all();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{panic, sync::mpsc};

    use harn_model::StopReason;
    use harn_runtime::{AgentError, CommandSink, CommandSpec, HostPort, TurnContext, async_trait};

    use super::*;

    struct IdleAgent;

    #[async_trait]
    impl Agent for IdleAgent {
        async fn turn(&self, _: &mut TurnContext) -> Result<StopReason, AgentError> {
            Ok(StopReason::EndTurn)
        }
    }

    /// Signals the first output of the command.
    struct FirstOutputSink(mpsc::SyncSender<()>);

    impl CommandSink for FirstOutputSink {
        fn on_terminal(&mut self, _: &str) {}

        fn on_output(&mut self, _: &str) {
            let _ = self.0.try_send(());
        }
    }

    #[test]
    fn panic_ends_the_child_processes() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().to_owned();
        let (started, has_started) = mpsc::sync_channel(1);
        let (ended, has_ended) = mpsc::sync_channel(1);
        // Outlives the server's runtime, because it waits for the child process.
        let runtime = Runtime::new().unwrap();
        let result = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            let workshop =
                ServerRuntime::open(Arc::new(IdleAgent), &ServeOptions::new(dir.path())).unwrap();
            let local = workshop.local.clone();
            runtime.spawn(async move {
                let spec = CommandSpec {
                    program: "sh".to_owned(),
                    args: vec!["-c".to_owned(), "echo here; exec sleep 600".to_owned()],
                    cwd,
                    output_limit: 1024,
                    confinement: None,
                };
                let exit = local
                    .run(&"s".into(), spec, &mut FirstOutputSink(started))
                    .await;
                let _ = ended.try_send(exit.is_ok_and(|exit| exit.code != Some(0)));
            });
            has_started.recv_timeout(Duration::from_secs(30)).unwrap();
            panic!("the main flow fails");
        }));
        assert!(result.is_err());
        assert_eq!(has_ended.recv_timeout(Duration::from_secs(30)), Ok(true));
    }
}
