//! A host that lends tools and can be an editor.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use harn_model::{HostCapabilities, HostTool, SessionId};
use harn_runtime::{
    CommandExit, CommandSink, CommandSpec, HostError, HostOffers, HostPort, RootedPath, async_trait,
};
use serde_json::{Value, json};

/// How the host answers a request.
#[derive(Clone)]
pub(crate) enum Answer<T> {
    Says(T),
    Fails(HostError),
    Never,
}

impl<T> Answer<T> {
    async fn give(self) -> Result<T, HostError> {
        match self {
            Self::Says(answer) => Ok(answer),
            Self::Fails(error) => Err(error),
            Self::Never => std::future::pending().await,
        }
    }
}

/// A host with adjustable answers that records its calls.
pub(crate) struct Desk {
    pub(crate) offers: HostOffers,
    pub(crate) tools: Mutex<Answer<Vec<HostTool>>>,
    /// Whether the host has `process.exec`, which returns `result`.
    pub(crate) executes: bool,
    pub(crate) result: Mutex<Answer<Value>>,
    pub(crate) listed: AtomicUsize,
    pub(crate) called: Mutex<Vec<(String, Value)>>,
    /// The editor's text, which it formats when it saves.
    pub(crate) text: Mutex<String>,
}

impl Desk {
    /// Creates a host that lends tools with these names, which take an `n`.
    pub(crate) fn with_tools(names: &[&str]) -> Arc<Self> {
        let offers = HostOffers {
            tools: true,
            ..HostOffers::default()
        };
        let desk = Self::new(offers);
        desk.lend(names);
        Arc::new(desk)
    }

    /// Creates a host that edits files.
    pub(crate) fn with_editor_text(text: &str) -> Arc<Self> {
        let offers = HostOffers {
            read_text: true,
            write_text: true,
            ..HostOffers::default()
        };
        let desk = Self::new(offers);
        *desk.text.lock().unwrap() = text.to_owned();
        Arc::new(desk)
    }

    /// Creates a host without a terminal that runs commands over its bridge.
    pub(crate) fn with_exec() -> Arc<Self> {
        let offers = HostOffers {
            tools: true,
            ..HostOffers::default()
        };
        Arc::new(Self {
            executes: true,
            ..Self::new(offers)
        })
    }

    fn new(offers: HostOffers) -> Self {
        Self {
            offers,
            executes: false,
            tools: Mutex::new(Answer::Says(Vec::new())),
            result: Mutex::new(Answer::Says(json!({"done": true}))),
            listed: AtomicUsize::new(0),
            called: Mutex::default(),
            text: Mutex::default(),
        }
    }

    pub(crate) fn lend(&self, names: &[&str]) {
        let tool = |name: &&str| HostTool {
            name: (*name).to_owned(),
            description: format!("Does {name}."),
            schema: json!({"properties": {"n": {"type": "integer"}}, "required": ["n"]}),
            deprecated: false,
        };
        *self.tools.lock().unwrap() = Answer::Says(names.iter().map(tool).collect());
    }
}

#[async_trait]
impl HostPort for Desk {
    fn offers(&self) -> HostOffers {
        self.offers
    }

    async fn read_text(&self, _: &SessionId, _: &RootedPath) -> Result<String, HostError> {
        Ok(self.text.lock().unwrap().clone())
    }

    async fn write_text(&self, _: &SessionId, _: &RootedPath, text: &str) -> Result<(), HostError> {
        *self.text.lock().unwrap() = format!("{}\n", text.trim_end());
        Ok(())
    }

    async fn run(
        &self,
        _: &SessionId,
        _: CommandSpec,
        _: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        Err(HostError::Unsupported("running commands"))
    }

    async fn call_tool(&self, _: &SessionId, name: &str, args: Value) -> Result<Value, HostError> {
        self.called.lock().unwrap().push((name.to_owned(), args));
        let answer = self.result.lock().unwrap().clone();
        answer.give().await
    }

    async fn list_tools(&self, _: &SessionId) -> Result<Vec<HostTool>, HostError> {
        self.listed.fetch_add(1, Ordering::SeqCst);
        let answer = self.tools.lock().unwrap().clone();
        answer.give().await
    }

    async fn capabilities(&self, _: &SessionId) -> Result<HostCapabilities, HostError> {
        if !self.executes {
            return Err(HostError::Host("method not found".to_owned()));
        }
        let operations = [("process".to_owned(), ["exec".to_owned()].into())];
        Ok(HostCapabilities(operations.into()))
    }

    async fn host_call(
        &self,
        session: &SessionId,
        operation: &str,
        args: Value,
    ) -> Result<Value, HostError> {
        self.call_tool(session, operation, args).await
    }
}
