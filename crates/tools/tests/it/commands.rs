//! Commands on this machine: their output, how they end, and that no process remains.

use std::{path::Path, sync::Arc, time::Duration};

use harn_model::SessionId;
use harn_runtime::{CommandExit, CommandSink, CommandSpec, HostError, HostPort};
use harn_tools::LocalHost;
use rustix::process::{Pid, test_kill_process};
use tokio::sync::Notify;

/// Collects a command's output and notifies the test.
#[derive(Clone, Default)]
struct Heard {
    text: Arc<std::sync::Mutex<String>>,
    more: Arc<Notify>,
}

impl CommandSink for Heard {
    fn on_terminal(&mut self, _: &str) {
        panic!("this machine has no terminals");
    }

    fn on_output(&mut self, chunk: &str) {
        self.text.lock().unwrap().push_str(chunk);
        self.more.notify_one();
    }
}

impl Heard {
    /// Waits for `count` process ids, one per line.
    async fn wait_for_pids(&self, count: usize) -> Vec<Pid> {
        loop {
            let pids: Vec<_> = {
                let text = self.text.lock().unwrap();
                let whole = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
                whole.lines().filter_map(parse_pid).collect()
            };
            if pids.len() >= count {
                return pids;
            }
            self.more.notified().await;
        }
    }
}

fn parse_pid(line: &str) -> Option<Pid> {
    Pid::from_raw(line.trim().parse().ok()?)
}

fn shell(command: &str) -> CommandSpec {
    CommandSpec {
        program: "/bin/sh".to_owned(),
        args: vec!["-c".to_owned(), command.to_owned()],
        cwd: Path::new("/").to_owned(),
        output_limit: 1024,
        confinement: None,
    }
}

async fn run(spec: CommandSpec) -> Result<CommandExit, HostError> {
    let session = SessionId::new("s");
    LocalHost::new()
        .run(&session, spec, &mut Heard::default())
        .await
}

/// Returns whether a process is running. A zombie is not.
fn is_running(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let ended = stat.is_ok_and(|stat| {
        let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
        state.is_some_and(|rest| rest.starts_with('Z'))
    });
    !ended && test_kill_process(pid).is_ok()
}

/// Waits until none of them is running; only the test's own time limit bounds the wait.
async fn wait_until_gone(pids: &[Pid]) {
    while pids.iter().any(|pid| is_running(*pid)) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn output_of_both_streams_is_in_order() {
    let mut heard = Heard::default();
    let spec = shell("echo one; echo two >&2; echo three; exit 3");
    let session = SessionId::new("s");
    let exit = LocalHost::new().run(&session, spec, &mut heard).await;
    let exit = exit.unwrap();
    assert_eq!(exit.output, "one\ntwo\nthree\n");
    assert_eq!(*heard.text.lock().unwrap(), exit.output);
    assert_eq!((exit.code, exit.signal), (Some(3), None));
    assert!(!exit.truncated);
}

#[tokio::test]
async fn only_the_end_of_long_output_is_kept() {
    let spec = CommandSpec {
        output_limit: 8,
        ..shell("i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done; printf 'ende→'")
    };
    let exit = run(spec).await.unwrap();
    assert_eq!((exit.output.as_str(), exit.truncated), ("\nende→", true));
    assert_eq!(exit.code, Some(0));
}

#[tokio::test]
async fn signal_is_named_and_stdin_is_empty() {
    let exit = run(shell("kill -KILL $$")).await.unwrap();
    assert_eq!((exit.code, exit.signal.as_deref()), (None, Some("SIGKILL")));
    let exit = run(shell("cat; echo end")).await.unwrap();
    assert_eq!(exit.output, "end\n");
}

#[tokio::test]
async fn failed_start_returns_the_reason() {
    let spec = CommandSpec {
        program: "/no/such/program".to_owned(),
        ..shell("")
    };
    let error = run(spec).await.unwrap_err().to_string();
    assert!(error.starts_with("/no/such/program: "), "{error}");
    let spec = CommandSpec {
        cwd: "/no/such/dir".into(),
        ..shell("true")
    };
    let error = run(spec).await.unwrap_err().to_string();
    assert!(
        error.contains("the working directory does not exist"),
        "{error}"
    );
}

/// A process, its child, and one that ignores SIGTERM.
const FAMILY: &str = "echo $$; sleep 600 & echo $!; \
     sh -c 'trap \"\" TERM; echo $$; while :; do sleep 600; done' & wait";

#[tokio::test]
async fn dropping_the_future_ends_all_processes() {
    let (host, heard, session) = (LocalHost::new(), Heard::default(), SessionId::new("s"));
    let mut sink = heard.clone();
    let pids = tokio::select! {
        exit = host.run(&session, shell(FAMILY), &mut sink) => panic!("it ended: {exit:?}"),
        pids = heard.wait_for_pids(3) => pids,
    };
    wait_until_gone(&pids).await;
}

#[tokio::test]
async fn background_process_ends_with_its_command() {
    let heard = Heard::default();
    let spec = shell("sleep 600 & echo $!");
    let session = SessionId::new("s");
    let exit = LocalHost::new()
        .run(&session, spec, &mut heard.clone())
        .await;
    let exit = exit.unwrap();
    assert_eq!(exit.code, Some(0));
    wait_until_gone(&[parse_pid(&exit.output).unwrap()]).await;
}

#[tokio::test]
async fn end_all_kills_commands_and_rejects_new_ones() {
    let (host, heard, session) = (LocalHost::new(), Heard::default(), SessionId::new("s"));
    let task = tokio::spawn({
        let (host, mut sink, session) = (host.clone(), heard.clone(), session.clone());
        async move { host.run(&session, shell(FAMILY), &mut sink).await }
    });
    let pids = heard.wait_for_pids(3).await;
    host.end_all();
    wait_until_gone(&pids).await;
    let exit = task.await.unwrap().unwrap();
    assert_eq!(exit.signal.as_deref(), Some("SIGKILL"));
    let mut sink = Heard::default();
    let late = host.run(&session, shell("true"), &mut sink).await;
    assert!(late.unwrap_err().to_string().contains("shutting down"));
}

/// The kernel sends the signal for a parent's death when the thread that started a process ends.
#[cfg(target_os = "linux")]
#[test]
fn command_outlives_the_thread_that_started_it() {
    if harn_testkit::skip_without("setpriv") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let heard = Heard::default();
    let (mut sink, session) = (heard.clone(), SessionId::new("s"));
    let spec = CommandSpec {
        program: "setpriv".to_owned(),
        args: ["--pdeathsig", "KILL", "sh", "-c"]
            .map(str::to_owned)
            .into_iter()
            .chain(["echo $$; until test -e go; do sleep 0.01; done; exit 7".to_owned()])
            .collect(),
        cwd: folder.path().to_owned(),
        output_limit: 1024,
        confinement: None,
    };
    let handle = runtime.handle().clone();
    let mut run = Box::pin(async move { LocalHost::new().run(&session, spec, &mut sink).await });
    let run = std::thread::spawn(move || {
        handle.block_on(async {
            tokio::select! {
                exit = &mut run => panic!("it ended: {exit:?}"),
                _ = heard.wait_for_pids(1) => {}
            }
        });
        run
    });
    let run = run.join().unwrap();
    std::fs::write(folder.path().join("go"), "").unwrap();
    assert_eq!(runtime.block_on(run).unwrap().code, Some(7));
}

#[test]
fn dropped_runtime_ends_its_commands() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let pids = runtime.block_on(async {
        let heard = Heard::default();
        let mut sink = heard.clone();
        tokio::spawn(async move {
            let session = SessionId::new("s");
            LocalHost::new()
                .run(&session, shell(FAMILY), &mut sink)
                .await
        });
        heard.wait_for_pids(3).await
    });
    drop(runtime);
    tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(wait_until_gone(&pids));
}

#[tokio::test]
async fn many_concurrent_commands_all_end() {
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..20 {
        tasks.spawn(run(shell(&format!("echo {n}; exit {n}"))));
    }
    let mut codes = Vec::new();
    while let Some(exit) = tasks.join_next().await {
        let exit = exit.unwrap().unwrap();
        assert_eq!(exit.output.trim(), exit.code.unwrap().to_string());
        codes.push(exit.code.unwrap());
    }
    codes.sort_unstable();
    assert_eq!(codes, (0..20).collect::<Vec<_>>());
}
