//! The agent uses the files and terminals that a client offers instead of those of this machine.

use std::sync::{Arc, Mutex};

use harn_model::{SessionId, ToolContent, ToolExecutor};
use harn_runtime::{
    CommandExit, CommandSink, CommandSpec, HostError, HostOffers, HostPort, RootedPath, async_trait,
};
use serde_json::Value;

use crate::explore::test_session::{Rig, assert_failed, shown_text};

/// An editor with one unsaved text, which records the texts that were written through it.
#[derive(Default)]
struct Editor {
    unsaved: String,
    written: Mutex<Vec<(String, String)>>,
    broken_terminal: bool,
    full_disk: bool,
}

#[async_trait]
impl HostPort for Editor {
    fn offers(&self) -> HostOffers {
        HostOffers {
            read_text: true,
            write_text: true,
            terminal: true,
            tools: false,
            same_machine: false,
        }
    }

    async fn read_text(&self, _: &SessionId, file: &RootedPath) -> Result<String, HostError> {
        match file.inside.file_name() {
            Some(name) if name == "store.rs" => Ok(self.unsaved.clone()),
            _ => Err(HostError::Host("Resource not found".to_owned())),
        }
    }

    async fn write_text(
        &self,
        _: &SessionId,
        file: &RootedPath,
        text: &str,
    ) -> Result<(), HostError> {
        if self.full_disk {
            return Err(HostError::Host("no space left".to_owned()));
        }
        let written = (file.absolute().display().to_string(), text.to_owned());
        self.written.lock().unwrap().push(written);
        Ok(())
    }

    async fn run(
        &self,
        _: &SessionId,
        spec: CommandSpec,
        sink: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        if self.broken_terminal {
            return Err(HostError::Host("no terminal left".to_owned()));
        }
        sink.on_terminal("term-1");
        sink.on_output("not shown twice");
        // Yield so that the engine shows the terminal before the command ends.
        tokio::task::yield_now().await;
        Ok(CommandExit {
            code: Some(0),
            signal: None,
            output: spec.args.join(" "),
            truncated: false,
        })
    }

    async fn call_tool(&self, _: &SessionId, _: &str, _: Value) -> Result<Value, HostError> {
        Err(HostError::Unsupported("tools"))
    }
}

async fn rig(editor: Editor) -> (Rig, Arc<Editor>) {
    let rig = Rig::new(&[("src/store.rs", "/// Keeps apples.\nfn store_apple() {}\n")]).await;
    let editor = Arc::new(editor);
    rig.session.set_host(editor.clone());
    (rig, editor)
}

#[tokio::test]
async fn answer_uses_unsaved_text_of_the_client() {
    let unsaved = "// new\n// lines\n\n/// Keeps every apple.\nfn store_apple() {}\n";
    let (mut rig, _) = rig(Editor {
        unsaved: unsaved.to_owned(),
        ..Editor::default()
    })
    .await;
    let turn = rig.play("what does store_apple do?").await;
    let answer = turn.answer();
    assert!(
        answer.contains("1. `src/store.rs:5` — Keeps every apple."),
        "{answer}"
    );
    let end = turn.final_update(turn.calls()[1]);
    assert_eq!(end.executor, Some(ToolExecutor::HostBridge));
}

#[tokio::test]
async fn write_uses_the_client() {
    let (mut rig, editor) = rig(Editor {
        unsaved: "unsaved".to_owned(),
        ..Editor::default()
    })
    .await;
    let turn = rig.play_allowing("/write src/store.rs new").await;
    let asked = &turn.permission_question().unwrap().tool_call.content;
    let [ToolContent::Diff { old_text, .. }] = &asked[..] else {
        panic!("{asked:?}");
    };
    assert_eq!(old_text.as_deref(), Some("unsaved"));
    let path = rig.path_of("src/store.rs").display().to_string();
    assert_eq!(*editor.written.lock().unwrap(), [(path, "new".to_owned())]);
    assert!(rig.get("src/store.rs").unwrap().contains("Keeps apples"));

    // A client has its own message for a missing file.
    let turn = rig.play_allowing("/write fresh.txt hello").await;
    assert_eq!(turn.titles(), ["Create fresh.txt"]);
    assert_eq!(editor.written.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn run_uses_the_terminal_of_the_client() {
    let (mut rig, _) = rig(Editor::default()).await;
    let turn = rig.play_allowing("/run make all").await;
    let terminal = vec![ToolContent::Terminal {
        terminal_id: "term-1".to_owned(),
    }];
    let updates = turn.updates();
    assert!(
        updates
            .iter()
            .any(|update| update.content.as_ref() == Some(&terminal))
    );
    let (_, end) = turn.only_call();
    assert_eq!(shown_text(end), "```\n-c make all\n```\n\nexit code 0\n");
    assert_eq!(end.executor, Some(ToolExecutor::HostBridge));
}

#[tokio::test]
async fn broken_client_terminal_fails_the_call() {
    let (mut rig, _) = rig(Editor {
        broken_terminal: true,
        ..Editor::default()
    })
    .await;
    let turn = rig.play_allowing("/run make all").await;
    let (_, end) = turn.only_call();
    assert_failed(end, "no terminal left");
    assert_eq!(end.executor, Some(ToolExecutor::HostBridge));
    assert!(
        turn.answer().contains("could not be run"),
        "{}",
        turn.answer()
    );
}

#[tokio::test]
async fn failure_names_its_executor() {
    let (mut rig, _) = rig(Editor {
        full_disk: true,
        ..Editor::default()
    })
    .await;
    rig.put("shut.txt", "a file the editor will not read");
    let by_client = Some(ToolExecutor::HostBridge);

    let turn = rig.play("/read shut.txt").await;
    let (_, end) = turn.only_call();
    assert_failed(end, "Resource not found");
    assert_eq!(end.executor, by_client);

    // The editor cannot show the change, so the agent does not ask.
    let turn = rig.play("/write shut.txt new").await;
    let (_, end) = turn.only_call();
    assert_failed(end, "Resource not found");
    assert_eq!(end.executor, by_client);

    let turn = rig.play_allowing("/write fresh.txt new").await;
    let (_, end) = turn.only_call();
    assert_failed(end, "no space left");
    assert_eq!(end.executor, by_client);

    // No executor was called for a path that is not allowed.
    let turn = rig.play("/read ../outside.txt").await;
    assert_eq!(turn.only_call().1.executor, None);

    let turn = rig.play("/grep (").await;
    let (_, end) = turn.only_call();
    assert_eq!(end.executor, Some(ToolExecutor::HarnBuiltin));
}
