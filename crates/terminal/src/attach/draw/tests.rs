//! Tests of drawn screens.

use expect_test::{Expect, expect};
use ratatui::{Terminal, backend::TestBackend};
use serde_json::{Value, json};

use super::{
    super::{
        address::ServerAddress,
        keys::KeyAction,
        picker::Picker,
        servers::{RunningServer, ServerSession},
        state::tests::{TestAttachClient, author, client_change},
    },
    *,
};

fn screen_text(terminal: &Terminal<TestBackend>) -> String {
    let buffer = terminal.backend().buffer();
    let columns = usize::from(buffer.area.width).max(1);
    let mut text = String::new();
    for row in buffer.content.chunks(columns) {
        let mut line = String::new();
        let mut hidden = 0;
        for cell in row {
            if hidden == 0 {
                line.push_str(cell.symbol());
            }
            hidden = width(cell.symbol()).max(hidden).saturating_sub(1);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn draw_to_text(played: &mut TestAttachClient, columns: u16, rows: u16) -> String {
    played.screen.size = (columns, rows);
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, &played.screen)).unwrap();
    screen_text(&terminal)
}

fn check(played: &mut TestAttachClient, (columns, rows): (u16, u16), expected: Expect) {
    expected.assert_eq(&draw_to_text(played, columns, rows));
}

/// Returns a client in the middle of a turn.
fn client_in_turn() -> TestAttachClient {
    let mut played = TestAttachClient::new_joined("me");
    played.type_text("Tidy the tests, please.");
    played.act(KeyAction::Send);
    played.take_sent();
    played.receive_event(json!({"kind": "turn_started", "turnId": "t", "messageId": "u"}));
    let thought = json!({"type": "text", "text": "Where are they?"});
    played.receive_update(json!({"sessionUpdate": "agent_thought_chunk", "content": thought}));
    let entries = json!([{"content": "Find them", "priority": "high", "status": "completed"},
                         {"content": "Tidy them", "priority": "high", "status": "in_progress"}]);
    played.receive_update(json!({"sessionUpdate": "plan", "entries": entries}));
    played.receive_update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Read a.rs",
                         "kind": "read", "status": "completed",
                         "_meta": {"harn": {"durationMs": 40}}}),
    );
    let text = "one\ntwo\nthree\nfour\nfive\n\x1b[2Jsix";
    let content = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
    played.receive_update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "2", "title": "cargo test",
                         "kind": "execute", "status": "in_progress", "content": content}),
    );
    let diff = json!([{"type": "diff", "path": "/w/a.rs", "oldText": "a\n", "newText": "b\n"}]);
    played.receive_update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "3", "title": "Edit a.rs",
                         "kind": "edit", "status": "completed", "content": diff}),
    );
    let worker = json!({"workerId": "w", "workerName": "left", "workerTask": "Look left",
                        "workerMode": "delegated", "event": "WorkerSpawned",
                        "status": "running", "terminal": false,
                        "metadata": {"task": "t", "mode": "delegated"}});
    played.receive_update(json!({"sessionUpdate": "worker_update", "_meta": {"harn": worker}}));
    played.receive_update(
        json!({"sessionUpdate": "usage_update", "used": 12500, "size": 200000,
                         "cost": {"amount": 0.04, "currency": "USD"}}),
    );
    played.receive_message("I look at ディレクトリ and\twhat is in it.");
    played.advance_clock(12_000);
    played
}

#[test]
fn a_running_turn_is_drawn() {
    check(
        &mut client_in_turn(),
        (80, 24),
        expect![[r#"
            > Tidy the tests, please.

            Where are they?

            [x] Find them
            [>] Tidy them
            ≡ Read a.rs  ✓ 40 ms
            $ cargo test  …
              … 3 lines above, Ctrl-O shows them
              four
              five
              \u{1b}[2Jsix
            ✎ Edit a.rs  ✓
              --- a.rs
              +++ a.rs
              @@ -1 +1 @@
              -a
              +b
            » left: Look left  …

            I look at ディレクトリ and    what is in it.
             Tidy the tests             $0.04 · 12k/200k · ask · working 12 s · you control
            > add a message while it works
            Enter queue  ^S steer  Esc cancel  ^R hand back  ^O unfold  PgUp scroll  ? help
        "#]],
    );
    check(
        &mut client_in_turn(),
        (40, 10),
        expect![[r#"
              @@ -1 +1 @@
              -a
              +b
            » left: Look left  …

            I look at ディレクトリ and    what is in
            it.
             Tidy… ask · working 12 s · you control
            > add a message while it works
            Enter queue  ^S steer  ? help
        "#]],
    );
}

#[test]
fn unfolded_output_is_drawn_whole() {
    let mut played = client_in_turn();
    played.act(KeyAction::Unfold);
    check(
        &mut played,
        (80, 30),
        expect![[r#"
            > Tidy the tests, please.

            Where are they?

            [x] Find them
            [>] Tidy them
            ≡ Read a.rs  ✓ 40 ms
            $ cargo test  …
              one
              two
              three
              four
              five
              \u{1b}[2Jsix
            ✎ Edit a.rs  ✓
              --- a.rs
              +++ a.rs
              @@ -1 +1 @@
              -a
              +b
            » left: Look left  …

            I look at ディレクトリ and    what is in it.




             Tidy the tests             $0.04 · 12k/200k · ask · working 12 s · you control
            > add a message while it works
            Enter queue  ^S steer  Esc cancel  ^R hand back  ^O unfold  PgUp scroll  ? help
        "#]],
    );
}

#[test]
fn an_observer_sees_that_a_call_waits_for_an_answer() {
    let mut played = TestAttachClient::new_joined("desk");
    played.receive_event(json!({"kind": "turn_started", "turnId": "t", "messageId": "u"}));
    let metadata = json!({"task": "t", "mode": "delegated", "started_at": "2026-01-01T00:00:09.000Z",
                          "finished_at": "2026-01-01T00:00:10.500Z"});
    let worker = json!({"workerId": "w", "workerName": "left", "workerTask": "Look left",
                        "workerMode": "delegated", "event": "WorkerCompleted",
                        "status": "completed", "terminal": true, "metadata": metadata});
    played.receive_update(json!({"sessionUpdate": "worker_update", "_meta": {"harn": worker}}));
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Edit a.rs",
                      "kind": "edit", "status": "pending"});
    played.receive_update(call);
    check(
        &mut played,
        (80, 6),
        expect![[r#"
            » left: Look left  ✓ 1.5 s
            ✎ Edit a.rs  waits

             Tidy the tests                       ask · waits for an answer · desk controls
            > watching; Ctrl-T takes over
            ^T take over  q leave  PgUp PgDn scroll  ^O unfold  ? help
        "#]],
    );
    let end = json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed"});
    played.receive_update(end);
    check(
        &mut played,
        (80, 6),
        expect![[r#"
            » left: Look left  ✓ 1.5 s
            ✎ Edit a.rs  ✗

             Tidy the tests                                   ask · working · desk controls
            > watching; Ctrl-T takes over
            ^T take over  q leave  PgUp PgDn scroll  ^O unfold  ? help
        "#]],
    );
}

#[test]
fn a_question_is_drawn_with_its_answers() {
    let mut played = client_in_turn();
    played.receive_permission_request("q");
    let early = draw_to_text(&mut played, 80, 24);
    assert!(early.contains("·  Allow this once"), "{early}");
    played.advance_clock(500);
    check(
        &mut played,
        (80, 24),
        expect![[r#"
            ≡ Read a.rs  ✓ 40 ms
            $ cargo test  …
              … 3 lines above, Ctrl-O shows them
              four
              five
              \u{1b}[2Jsix
            ✎ Edit a.rs  ✓
              --- a.rs
              +++ a.rs
              @@ -1 +1 @@
              -a
              +b
            » left: Look left  …

            I look at ディレクトリ and    what is in it.
            ? $ Clean up (for 10 min)
              $ rm -rf build && git status
              asked because the session's mode is ask
              y) Allow this once  (once)
              s) Allow it for this session  (session)
              n) Reject this once  (once)
             Tidy the tests                     $0.04 · 12k/200k · ask · asks · you control
            >
            y s n answer  Tab prompt  Esc cancel  ^R hand back  ^O unfold  ? help
        "#]],
    );
    check(
        &mut played,
        (40, 10),
        expect![[r#"
            ? $ Clean up (for 10 min)
              $ rm -rf build && git status
              asked because the session's mode is
              ask
              y) Allow this once  (once)
              s) Allow it for this session
              n) Reject this once  (once)
             T… 12k/200k · ask · asks · you control
            >
            y s n answer  Tab prompt  ? help
        "#]],
    );
}

#[test]
fn a_long_question_counts_its_hidden_lines() {
    let mut played = TestAttachClient::new_joined("me");
    let old: String = (0..40).map(|it| format!("{it}\n")).collect();
    let new: String = (0..40).map(|it| format!("line {it}\n")).collect();
    let diff = json!([{"type": "diff", "path": "/w/a.rs", "oldText": old, "newText": new}]);
    let call = json!({"toolCallId": "c", "title": "Edit a.rs", "kind": "edit", "content": diff});
    let options = json!([{"optionId": "y", "name": "Allow", "kind": "allow_once"},
                         {"optionId": "n", "name": "Reject", "kind": "reject_once"}]);
    let params = json!({"sessionId": "s", "toolCall": call, "options": options});
    played.receive(
        json!({"jsonrpc": "2.0", "id": 1, "method": "session/request_permission",
                       "params": params}),
    );
    played.advance_clock(500);
    check(
        &mut played,
        (60, 14),
        expect![[r#"
            ? ✎ Edit a.rs
              --- a.rs
              +++ a.rs
              @@ -1,40 +1,40 @@
              -0
              -1
              -2
              -3
              ↓ 76 lines not shown
              y) Allow
              n) Reject
             Tidy the tests                           ask · you control
            >
            y n answer  ↑↓ read  Tab prompt  ^R hand back  ? help
        "#]],
    );
    for _ in 0..200 {
        played.act(KeyAction::ScrollQuestion(1));
    }
    let end = draw_to_text(&mut played, 60, 14);
    assert!(
        end.contains("+line 39") && end.contains("lines above"),
        "{end}"
    );
}

#[test]
fn a_hidden_answer_cannot_be_chosen() {
    let asked = || {
        let mut played = TestAttachClient::new_joined("me");
        played.receive_permission_request("q");
        played.advance_clock(500);
        played
    };
    let mut played = asked();
    check(
        &mut played,
        (24, 6),
        expect![[r#"
            ? $ Clean up
              $ rm -rf build && git
              ↓ 7 lines not shown
             Tid… ask · you control
            >
            ↑↓ read  ? help
        "#]],
    );
    played.act(KeyAction::Answer(0));
    assert!(played.take_sent().is_empty(), "nobody has read it");
    assert!(played.screen.notice.take().is_some());
    for _ in 0..20 {
        played.act(KeyAction::ScrollQuestion(1));
    }
    check(
        &mut played,
        (24, 6),
        expect![[r#"
            ? $ Clean up
              n) Reject this once
              ↑ 7 lines above
             Tid… ask · you control
            >
            y s n answer  ? help
        "#]],
    );
    played.act(KeyAction::Answer(0));
    assert!(played.take_sent().is_empty(), "it is out of sight again");
    played.act(KeyAction::Answer(2));
    assert_eq!(played.take_sent().len(), 1);
    for (columns, rows) in [(10, 3), (10, 8), (40, 4), (3, 2), (0, 0)] {
        let mut played = asked();
        draw_to_text(&mut played, columns, rows);
        played.act(KeyAction::Answer(0));
        assert!(played.take_sent().is_empty(), "{columns}x{rows}");
    }
    check(
        &mut asked(),
        (40, 4),
        expect![[r#"
            ? make the window larger to answer

             Tidy the tests       ask · you control
            >
        "#]],
    );
    // At any size, the whole call is visible or the hidden lines are counted.
    for columns in 12..80 {
        for rows in 5..24 {
            let mut played = asked();
            let text = draw_to_text(&mut played, columns, rows);
            let words: Vec<_> = text.split_whitespace().collect();
            let words = words.join(" ");
            let whole = words.contains("rm -rf") && words.contains("mode is ask");
            assert!(whole || text.contains('↓'), "{columns}x{rows}:\n{text}");
        }
    }
}

#[test]
fn a_long_title_does_not_hide_the_result_of_a_call() {
    let mut played = TestAttachClient::new_joined("me");
    let title = "Read some/very/long/path/until/the/line/is/full.rs";
    played.receive_update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": title, "kind": "read",
               "status": "completed", "_meta": {"harn": {"durationMs": 1500}}}),
    );
    check(
        &mut played,
        (54, 6),
        expect![[r#"
            ≡ Read some/very/long/path/until/the/line/is/full.rs
              ✓ 1.5 s

             Tidy the tests                     ask · you control
            > what should the agent do?
            Enter send  ^R hand back  ^O unfold  ? help
        "#]],
    );
}

#[test]
fn observer_status_and_queued_messages_are_drawn() {
    let mut played = TestAttachClient::new_joined("desk");
    played.receive_update(client_change(
        "takeover",
        "phone",
        json!("desk"),
        json!("phone"),
    ));
    played.receive_message("Hello.");
    check(
        &mut played,
        (80, 10),
        expect![[r#"
            · phone took over

            Hello.




             Tidy the tests                                            ask · phone controls
            > watching; Ctrl-T takes over
            ^T take over  q leave  PgUp PgDn scroll  ^O unfold  ? help
        "#]],
    );
    let mut played = client_in_turn();
    for text in ["look left", "then right", "then back", "and forth"] {
        played.type_text(text);
        played.act(KeyAction::Send);
        played.answer(json!({"messageId": text, "status": "accepted"}));
    }
    played.type_text("one line\nand another one that is longer than the box");
    check(
        &mut played,
        (40, 14),
        expect![[r#"
              -a
              +b
            » left: Look left  …

            I look at ディレクトリ and    what is in
            it.
            queued: look left
            queued: then right
            … and 2 more wait
             Tidy… ask · working 12 s · you control
            > one line
              and another one that is longer than
              the box
            Enter queue  ^S steer  F1 help
        "#]],
    );
}

#[test]
fn a_lost_connection_is_shown_in_the_status() {
    let mut played = TestAttachClient::new_joined("me");
    let again = played.screen.now + std::time::Duration::from_millis(1500);
    played.screen.apply_connection_loss(again, Vec::new(), None);
    // Keys without an effect are not shown.
    check(
        &mut played,
        (80, 5),
        expect![[r#"


         Tidy the tests                  ask · you control · disconnected, retry in 2 s
        > not connected
        ^C^C leave  PgUp PgDn scroll  ^O unfold  ? help
    "#]],
    );
}

#[test]
fn the_status_fits_into_eighty_columns() {
    let mut played = client_in_turn();
    let name = "terminal-ab12cd";
    played.receive_update(client_change("takeover", name, json!("me"), json!(name)));
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "9", "title": "Edit a.rs",
                      "kind": "edit", "status": "pending"});
    played.receive_update(call);
    check(
        &mut played,
        (80, 5),
        expect![[r#"
        · terminal-ab12cd took over from you
        ✎ Edit a.rs  waits
         Tidy…  $0.04 · 12k/200k · ask · waits for an answer · terminal-ab12cd controls
        > watching; Ctrl-T takes over
        ^T take over  q leave  PgUp PgDn scroll  ^O unfold  ? help
    "#]],
    );
}

#[test]
fn only_keys_with_an_effect_are_shown() {
    let keys = |played: &mut TestAttachClient| {
        let text = draw_to_text(played, 80, 24);
        text.lines().last().unwrap_or_default().to_owned()
    };
    let mut played = TestAttachClient::new_joined("desk");
    played.screen.observe = true;
    expect!["q leave  PgUp PgDn scroll  ^O unfold  ? help"].assert_eq(&keys(&mut played));
    let mut played = TestAttachClient::new_joined("me");
    played.type_text("a");
    expect!["Enter send  ^R hand back  ^O unfold  PgUp scroll  ^C^C leave  F1 help"]
        .assert_eq(&keys(&mut played));
    played.receive_form(&["red", "blue"]);
    expect!["Tab answer the question  Enter queue  ^R hand back  ^O unfold  F1 help"]
        .assert_eq(&keys(&mut played));
    played.act(KeyAction::SwitchFocus);
    expect!["1-2 Enter answer  Tab prompt  ^R hand back  ^O unfold  PgUp scroll  F1 help"]
        .assert_eq(&keys(&mut played));
}

#[test]
fn a_turn_that_began_before_the_join_has_no_timer() {
    let mut played = TestAttachClient::new_joined("me");
    played.join("me", true);
    played.advance_clock(60_000);
    let text = draw_to_text(&mut played, 80, 5);
    assert!(text.contains("ask · working · you control"), "{text}");
}

#[test]
fn ended_turns_and_sessions_are_drawn() {
    let mut played = client_in_turn();
    played.type_text("look left");
    played.act(KeyAction::Send);
    played.answer(json!({"messageId": "i", "status": "accepted"}));
    played.receive_event(json!({"kind": "turn_ended", "turnId": "t", "stopReason": "cancelled"}));
    check(
        &mut played,
        (80, 8),
        expect![[r#"

        I look at ディレクトリ and    what is in it.

        · cancelled
        waits for the next prompt: look left
         Tidy the tests                            $0.04 · 12k/200k · ask · you control
        > what should the agent do?
        Enter send  ^R hand back  ^O unfold  PgUp scroll  ^C^C leave  ? help
    "#]],
    );
    played.receive_event(
        json!({"kind": "session_closed", "reason": "client_request", "status": "closed"}),
    );
    played.act(KeyAction::TakeOver);
    check(
        &mut played,
        (80, 8),
        expect![[r#"

            I look at ディレクトリ and    what is in it.

            · cancelled
            the session has ended; there is nothing to control
             Tidy the tests                                  $0.04 · 12k/200k · ask · ended
            > the session has ended: a client closed it
            q leave  PgUp PgDn scroll  ^O unfold  ? help
        "#]],
    );
}

#[test]
fn a_scrolled_transcript_shows_that_more_is_below() {
    let mut played = client_in_turn();
    played.screen.size = (80, 10);
    played.act(KeyAction::Line(-1));
    check(
        &mut played,
        (80, 10),
        expect![[r#"
          --- a.rs
          +++ a.rs
          @@ -1 +1 @@
          -a
          +b
        » left: Look left  …
        ↓ more below
         Tidy the tests             $0.04 · 12k/200k · ask · working 12 s · you control
        > add a message while it works
        Enter queue  ^S steer  Esc cancel  ^R hand back  ^O unfold  PgUp scroll  ? help
    "#]],
    );
    played.act(KeyAction::Line(1));
    let text = draw_to_text(&mut played, 80, 10);
    assert!(!text.contains("more below"), "{text}");
}

#[test]
fn help_lists_all_keys() {
    let mut played = TestAttachClient::new_joined("me");
    played.act(KeyAction::Help);
    check(
        &mut played,
        (80, 24),
        expect![[r#"
            Session s, you are me

            Enter              send; while the agent works: queue for the next turn
            Ctrl-S             steer: send to the agent during its turn
            Alt-Enter, Ctrl-J  a new line
            Esc                cancel the turn; without one, go to the end
            y, s, w, n, x      answer a question about a call, as listed there
            1-9                other answers; type the number if text is allowed
            Up, Down           read a long question, or scroll while the prompt is empty
            Tab                to the question and back to the prompt
            Ctrl-T             take over control
            Ctrl-R             hand control back, keep watching
            Ctrl-O             unfold or fold the output of tools
            PgUp, PgDn         scroll; End goes to the end, while the prompt is empty
            Ctrl-U, Ctrl-W     clear the prompt, delete a word
            Ctrl-C             cancel; twice: leave, the session continues
            Ctrl-D             leave, when the prompt is empty
            t                  while watching: take over
            q                  while watching: leave
            j, k               while watching: scroll by a line
            F1, ?              open or close this help; ? while the prompt is empty
             Tidy the tests                                               ask · you control
            > what should the agent do?
            Esc back  PgUp PgDn scroll
        "#]],
    );
}

#[test]
fn drawing_never_panics_at_any_size() {
    for columns in [0, 1, 2, 3, 5, 9, 20, 200] {
        for rows in [0, 1, 2, 3, 4, 5, 7, 50] {
            let mut played = client_in_turn();
            for _ in 0..2 {
                played.screen.size = (columns, rows);
                played.act(KeyAction::Page(-1));
                draw_to_text(&mut played, columns, rows);
                played.act(KeyAction::ScrollQuestion(3));
                played.type_text("日本 and more words");
                played.receive_permission_request("q");
                played.advance_clock(1000);
                draw_to_text(&mut played, columns, rows);
                played.act(KeyAction::Help);
                draw_to_text(&mut played, columns, rows);
            }
        }
    }
}

#[test]
fn drawing_with_an_outdated_size_does_not_panic() {
    let mut played = client_in_turn();
    played.screen.size = (120, 40);
    let mut terminal = Terminal::new(TestBackend::new(10, 4)).unwrap();
    terminal.draw(|frame| draw(frame, &played.screen)).unwrap();
}

#[test]
fn control_characters_are_escaped_everywhere() {
    let evil = "x\x1b[2J\x07\u{202e}y";
    let mut played = TestAttachClient::new_joined("me");
    played.receive_update(json!({"sessionUpdate": "session_info_update", "title": evil}));
    played.receive_update(json!({"sessionUpdate": "current_mode_update", "currentModeId": evil}));
    played.receive_update(client_change("takeover", evil, json!("me"), json!(evil)));
    played.receive_update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": evil,
                         "status": "failed", "_meta": {"harn": {"error": evil}}}),
    );
    let entries = json!([{"content": evil, "priority": "high", "status": "pending"}]);
    played.receive_update(json!({"sessionUpdate": "plan", "entries": entries}));
    played.receive_update(
        json!({"sessionUpdate": "log", "_meta": {"harn": {"level": "warn", "message": evil}}}),
    );
    let worker = json!({"workerId": "w", "workerName": evil, "workerTask": evil,
                        "workerMode": "delegated", "event": "WorkerFailed", "status": "failed",
                        "terminal": true,
                        "metadata": {"task": "t", "mode": "delegated", "error": evil}});
    played.receive_update(json!({"sessionUpdate": "worker_update", "_meta": {"harn": worker}}));
    played.receive_message(evil);
    let content = json!([{"type": "text", "text": evil}]);
    played.receive_update(
        json!({"sessionUpdate": "user_message", "messageId": "u", "content": content,
                         "_meta": {"harn": {"live_session": author(evil)}}}),
    );
    let text = draw_to_text(&mut played, 80, 40);
    let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(obeyed), "{text:?}");
    assert!(text.contains("x\\u{1b}[2J"), "{text}");
}

fn draw_picker_to_text(servers: Vec<RunningServer>, columns: u16, rows: u16) -> String {
    let mut picker = Picker::default();
    picker.set(servers);
    picker.move_selection(1);
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    let now = 3_600_000;
    terminal
        .draw(|frame| super::draw_picker(frame, &picker, now))
        .unwrap();
    screen_text(&terminal)
}

#[test]
fn the_picker_lists_live_sessions_first() {
    let session = |id: &str, live: bool, controller: Value, updated: u64| ServerSession {
        id: id.to_owned(),
        title: format!("About {id}"),
        cwd: "/w".into(),
        updated,
        live,
        working: id == "b",
        controller: controller.as_str().map(str::to_owned),
        since: None,
    };
    let servers = || {
        let sessions = vec![
            session("c", false, Value::Null, 3_599_000),
            session("a", true, Value::Null, 60_000),
            session("b", true, json!("desk"), 1_200_000),
        ];
        let address = ServerAddress::Socket("/s".into());
        vec![RunningServer { address, sessions }]
    };
    let expected = expect![[r#"
        Sessions
          About b                                   working, desk controls    40 min ago
        > About a                                      live, no controller    59 min ago
          About c                                                   stored      just now



        Enter attach  ↑↓ choose  n new session  q leave
    "#]];
    expected.assert_eq(&draw_picker_to_text(servers(), 80, 8));
    let expected = expect![[r#"
        Sessions
          About b   working, desk con…
        > About a   live, no controll…

        Enter attach  ↑↓ choose  n ne…
    "#]];
    expected.assert_eq(&draw_picker_to_text(servers(), 30, 5));
    let nothing = RunningServer {
        address: ServerAddress::Socket("/s".into()),
        sessions: Vec::new(),
    };
    let expected = expect![[r#"
        Sessions
        No sessions yet; n creates one in this directory.

        ↑↓ choose  n new session  q leave
    "#]];
    expected.assert_eq(&draw_picker_to_text(vec![nothing], 60, 4));
    for size in [0, 1, 2, 3] {
        draw_picker_to_text(servers(), size, size);
    }
}
