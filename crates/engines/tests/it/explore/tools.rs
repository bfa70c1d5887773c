//! `/tools` lists the tools that the session can call; `/tool` calls one of them.

use std::sync::Arc;

use expect_test::expect;
use harn_model::{ErrorCategory, HostTool, SessionId, ToolCallStatus, ToolExecutor};
use harn_runtime::{
    CommandExit, CommandSink, CommandSpec, HostError, HostOffers, HostPort, NoEquipment,
    RootedPath, async_trait,
};
use serde_json::{Value, json};

use crate::explore::test_session::{Rig, assert_failed, shown_text};

/// A host that lends two tools.
struct Bench;

#[async_trait]
impl HostPort for Bench {
    fn offers(&self) -> HostOffers {
        HostOffers {
            tools: true,
            ..HostOffers::default()
        }
    }

    async fn read_text(&self, _: &SessionId, _: &RootedPath) -> Result<String, HostError> {
        Err(HostError::Unsupported("reading files"))
    }

    async fn write_text(&self, _: &SessionId, _: &RootedPath, _: &str) -> Result<(), HostError> {
        Err(HostError::Unsupported("writing files"))
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
        Ok(json!({ "called": name, "with": args }))
    }

    async fn list_tools(&self, _: &SessionId) -> Result<Vec<HostTool>, HostError> {
        let tool = |name: &str, description: &str, deprecated| HostTool {
            name: name.to_owned(),
            description: description.to_owned(),
            schema: json!({"properties": {"unit": {"type": "string"}}}),
            deprecated,
        };
        Ok(vec![
            tool("ide.format", "Format a file.\nKeeps the cursor.", false),
            tool("ide.beep", "", true),
        ])
    }
}

#[tokio::test]
async fn tools_are_listed_with_their_source() {
    let mut rig = Rig::new(&[]).await;
    rig.session.set_host(Arc::new(Bench));
    let turn = rig.play("/tools").await;
    expect![[r#"
        11 tools (`/tool NAME {json}` calls one):

        - `read_file` (built in, read): Read a text file, or some lines of it. Also reads the files in which run_command keeps long output.
        - `write_file` (built in, edit): Write a whole text file; create it and its folders if they are missing. To change a part of a file…
        - `edit_file` (built in, edit): Change a part of a text file: replace old_text, which must occur in the file exactly once unless…
        - `run_command` (built in, execute): Run a command line with a shell, /bin/sh unless another was chosen, in the working directory and…
        - `search` (built in, search): Find the places in the workspace that match some words best, ranked: definitions first.
        - `grep` (built in, search): Find the lines of the workspace's files that match a regular expression.
        - `glob` (built in, search): List the files of the workspace whose paths match a glob such as src/**/*.rs. Hidden and ignored…
        - `list_files` (built in, search): List the files and folders directly in a folder; folders end with a slash. Hidden and ignored files…
        - `fetch` (built in, fetch): Get a text from a web address with http or https. Redirects to another host are reported and not…
        - `ide.format` (host, kind unknown): Format a file.
        - `ide.beep` (host, kind unknown, deprecated)
    "#]]
    .assert_eq(&turn.answer());
    assert!(turn.calls().is_empty());
}

#[tokio::test]
async fn a_tool_of_the_host_is_called_after_asking() {
    let mut rig = Rig::new(&[]).await;
    rig.session.set_host(Arc::new(Bench));
    let turn = rig
        .play_allowing("/tool ide.format {\"unit\": \"a\"}")
        .await;
    let (call, end) = turn.only_call();
    assert_eq!(call.raw_input, json!({"unit": "a"}));
    assert_eq!(end.executor, Some(ToolExecutor::HostBridge));
    let result = "```json\n{\n  \"called\": \"ide.format\",\n  \"with\": {\n    \"unit\": \"a\"\n  }\n}\n```\n";
    assert_eq!(shown_text(end), result);
    assert_eq!(
        turn.answer(),
        format!("`ide.format` succeeded.\n\n{result}")
    );
    // Without arguments, the call has an empty object.
    let turn = rig.play_allowing("/tool ide.beep").await;
    assert_eq!(turn.only_call().0.raw_input, json!({}));
}

#[tokio::test]
async fn tool_command_calls_a_built_in_tool() {
    let mut rig = Rig::new(&[("a.rs", "fn apple() {}\n")]).await;
    let turn = rig.play("/tool read_file {\"path\": \"a.rs\"}").await;
    let expected = "`read_file` succeeded.\n\n```rust\nfn apple() {}\n```\n";
    assert_eq!(turn.answer(), expected);
    let edit =
        "/tool edit_file {\"path\": \"a.rs\", \"old_text\": \"apple\", \"new_text\": \"pear\"}";
    let turn = rig.play_allowing(edit).await;
    assert_eq!(turn.only_call().1.status, ToolCallStatus::Completed);
    assert!(
        turn.answer()
            .contains("is now:\n\n```\nfn pear() {}\n```\n")
    );
    let turn = rig.play("/tool grep {\"patern\": \"x\"}").await;
    let (_, end) = turn.only_call();
    assert_failed(end, "`patern` is not expected; known arguments: `pattern`");
    assert_eq!(end.error_category, Some(ErrorCategory::SchemaValidation));
    assert!(
        turn.answer()
            .starts_with("`grep` failed: the arguments of grep do not fit")
    );
}

#[tokio::test]
async fn wrong_tool_calls_are_reported_with_the_reason() {
    let mut rig = Rig::new(&[]).await;
    // A call of an unknown tool is a failed call, for clients that read only calls.
    let turn = rig.play("/tool red_file {}").await;
    let words = "unknown tool \"red_file\"; similar names: read_file";
    assert!(turn.answer().contains(words), "{}", turn.answer());
    assert_failed(turn.only_call().1, words);
    for (prompt, words) in [
        (
            "/tool grep {pattern}",
            "the arguments are not JSON: key must be a string",
        ),
        ("/tool", "`/tool NAME {json}`"),
    ] {
        let turn = rig.play(prompt).await;
        assert!(turn.answer().contains(words), "{}", turn.answer());
        assert!(turn.calls().is_empty());
    }
}

/// An embedder may build a hub without an equipment provider.
#[tokio::test]
async fn session_without_equipment_has_the_built_in_tools() {
    let files = [("a.rs", "fn apple() {}\n")];
    let mut rig = Rig::with_config(&files, |config| config.equip = Arc::new(NoEquipment)).await;
    rig.session.set_host(Arc::new(Bench));
    let turn = rig.play("/tools").await;
    assert!(turn.answer().starts_with("9 tools"), "{}", turn.answer());
    let turn = rig.play("/read a.rs").await;
    assert!(turn.answer().contains("fn apple()"));
    let turn = rig.play("where is the apple?").await;
    assert!(turn.answer().contains("`a.rs:1`"), "{}", turn.answer());
}
