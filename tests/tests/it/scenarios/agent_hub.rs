//! The agent of every scenario, its signals to the test, and its hub.

use std::{
    future::Future,
    ops::{Deref, DerefMut},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use harn_journal::{JsonlStore, Store};
use harn_model::{AgentEvent, Envelope, ErrorCategory, SessionId, StopReason, ToolKind};
use harn_runtime::{AgentError, TurnContext};
use harn_testkit::{ScriptedAgent, TestHub};
use tokio::sync::Semaphore;

/// A limit that turns a hang into a failure. The paused clock advances only when no task can run, so a hang
/// fails at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Awaits `work`, and panics after [`PATIENCE`].
pub(crate) async fn with_timeout<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => panic!("gave up waiting for {what}"),
    }
}

pub(crate) struct Stage {
    test: TestHub,
    signs: Arc<Signs>,
}

/// The signals between the agent and its test.
struct Signs {
    /// The agent has reached the point where it waits.
    reached: Semaphore,
    /// The agent may continue.
    go: Semaphore,
    /// How often the agent wrote.
    written: AtomicUsize,
}

impl Deref for Stage {
    type Target = TestHub;

    fn deref(&self) -> &TestHub {
        &self.test
    }
}

impl DerefMut for Stage {
    fn deref_mut(&mut self) -> &mut TestHub {
        &mut self.test
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        let signs = Arc::new(Signs {
            reached: Semaphore::new(0),
            go: Semaphore::new(0),
            written: AtomicUsize::new(0),
        });
        let own = signs.clone();
        let agent = ScriptedAgent::new(move |cx| play(cx, own.clone()));
        Self {
            test: TestHub::new(agent),
            signs,
        }
    }

    /// Waits until an agent has reached the point where it waits.
    pub(crate) async fn wait_until_reached(&self) {
        with_timeout("the agent to wait", take_permit(&self.signs.reached)).await;
    }

    /// Lets a waiting agent continue.
    pub(crate) fn let_continue(&self) {
        self.signs.go.add_permits(1);
    }

    /// How often the agent wrote.
    pub(crate) fn write_count(&self) -> usize {
        self.signs.written.load(Ordering::SeqCst)
    }

    /// Returns the id of the only session.
    pub(crate) fn only_session(&self) -> SessionId {
        let threads = self.state_dir().join("threads");
        let names = std::fs::read_dir(threads).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        let [only] = &names[..] else {
            panic!("not one session: {names:?}");
        };
        SessionId::from(only.to_str().unwrap())
    }

    /// Reads the journal of a session.
    pub(crate) fn read_journal(&self, session: &SessionId) -> Vec<Envelope> {
        let (_, events) = JsonlStore::new(self.state_dir()).read(session).unwrap();
        events
    }

    /// Cuts the log in the middle of the line after the last event that satisfies the predicate, like a process
    /// that dies while it writes.
    pub(crate) fn truncate_log_after(
        &self,
        session: &SessionId,
        last: impl Fn(&AgentEvent) -> bool,
    ) {
        let events = self.read_journal(session);
        let last = events.iter().rposition(|envelope| last(&envelope.event));
        let kept = last.unwrap() + 1;
        let path = self.log_path(session);
        let log = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<_> = log.split_inclusive('\n').collect();
        assert_eq!(lines.len(), events.len(), "a line an event");
        let torn = &lines[kept][..lines[kept].len() / 2];
        std::fs::write(&path, lines[..kept].concat() + torn).unwrap();
    }
}

async fn take_permit(from: &Semaphore) {
    from.acquire().await.unwrap().forget();
}

/// Plays the part that the prompt names; the scenarios state the expected result.
async fn play(cx: TurnContext, signs: Arc<Signs>) -> Result<StopReason, AgentError> {
    match cx.prompt_text().as_str() {
        "greet" => {
            // In chunks: clients have to join them.
            cx.say("Good ").await?;
            cx.say("morning.").await?;
        }
        "look" => {
            cx.say("Let me look.").await?;
            let look = cx.tool("look").kind(ToolKind::Read).start().await?;
            look.complete("a parser".to_owned()).await?;
            cx.say("There is a parser.").await?;
        }
        "look in vain" => {
            let look = cx.tool("look").kind(ToolKind::Read).start().await?;
            look.fail("no such file", ErrorCategory::ToolError).await?;
            cx.say("There is none.").await?;
        }
        "write" => {
            let write = cx.tool("write").kind(ToolKind::Edit).path("notes.txt");
            match write.ask().await {
                Ok(write) => {
                    signs.written.fetch_add(1, Ordering::SeqCst);
                    write.complete(()).await?;
                    cx.say("It is written.").await?;
                }
                Err(AgentError::Denied { .. }) => cx.say("Then I leave it.").await?,
                Err(other) => return Err(other),
            }
        }
        "watch" => {
            cx.say("I watch.").await?;
            let _watch = cx.tool("watch").kind(ToolKind::Read).start().await?;
            cx.flush().await?;
            signs.reached.add_permits(1);
            cx.cancelled().await;
            return Err(AgentError::Cancelled);
        }
        "wonder" => {
            let port = cx.question("Which port?").choices(["8080", "9090"]);
            let port = port.ask().await?;
            cx.say(format!("Port {}.", port.text())).await?;
        }
        "hold" => {
            signs.reached.add_permits(1);
            take_permit(&signs.go).await;
            cx.say("Let go.").await?;
        }
        "fail" => {
            cx.say("Well").await?;
            return Err(AgentError::Failed("the model is away".to_owned()));
        }
        other => panic!("no such part: {other}"),
    }
    Ok(StopReason::EndTurn)
}
