//! Tests of the keys, as tables.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

use super::{
    super::{picker::Picker, state::tests::TestAttachClient},
    *,
};

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn char(c: char) -> KeyEvent {
    key(KeyCode::Char(c))
}

fn control(c: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)
}

fn no_answer(key: &str) -> KeyAction {
    KeyAction::NoAnswer(key.to_owned())
}

fn check(played: &TestAttachClient, table: &[(KeyEvent, KeyAction)]) {
    for (key, wanted) in table {
        assert_eq!(action_for_key(&played.screen, *key), *wanted, "{key:?}");
    }
}

#[test]
fn keys_of_a_controller_edit_and_send() {
    let mut played = TestAttachClient::new_joined("me");
    let alt = KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT);
    let always = [
        (control('c'), KeyAction::Interrupt),
        (key(KeyCode::F(1)), KeyAction::Help),
        (control('t'), KeyAction::TakeOver),
        (control('r'), KeyAction::HandBack),
        (control('o'), KeyAction::Unfold),
        (control('s'), KeyAction::Steer),
        (control('j'), KeyAction::Type('\n')),
        (alt, KeyAction::Type('\n')),
        (key(KeyCode::Enter), KeyAction::Send),
        (key(KeyCode::Esc), KeyAction::Cancel),
        (key(KeyCode::PageUp), KeyAction::Page(-1)),
        (key(KeyCode::PageDown), KeyAction::Page(1)),
        (key(KeyCode::Backspace), KeyAction::Backspace),
        (control('w'), KeyAction::BackspaceWord),
        (control('u'), KeyAction::Clear),
        (control('x'), KeyAction::Nothing),
        (char('1'), KeyAction::Type('1')),
        (char('q'), KeyAction::Type('q')),
        (char('t'), KeyAction::Type('t')),
        (key(KeyCode::Tab), KeyAction::Nothing),
        (key(KeyCode::F(5)), KeyAction::Nothing),
    ];
    check(&played, &always);
    let empty = [
        (char('?'), KeyAction::Help),
        (control('d'), KeyAction::Leave),
        (key(KeyCode::Up), KeyAction::Line(-1)),
        (key(KeyCode::End), KeyAction::ToEnd),
    ];
    check(&played, &empty);
    played.type_text("x");
    check(&played, &always);
    let typed = [
        (char('?'), KeyAction::Type('?')),
        (control('d'), KeyAction::Nothing),
        (key(KeyCode::Up), KeyAction::Nothing),
        (key(KeyCode::End), KeyAction::End),
        (key(KeyCode::Left), KeyAction::Move(-1)),
    ];
    check(&played, &typed);
}

#[test]
fn keys_of_an_observer_scroll_and_take_over() {
    let played = TestAttachClient::new_joined("desk");
    let table = [
        (char('t'), KeyAction::TakeOver),
        (control('t'), KeyAction::TakeOver),
        (char('q'), KeyAction::Leave),
        (char('?'), KeyAction::Help),
        (char('x'), KeyAction::Nothing),
        (char('1'), KeyAction::Nothing),
        (key(KeyCode::Enter), KeyAction::Nothing),
        (control('s'), KeyAction::Nothing),
        (key(KeyCode::Down), KeyAction::Line(1)),
        (key(KeyCode::PageUp), KeyAction::Page(-1)),
    ];
    check(&played, &table);
}

#[test]
fn letters_answer_an_open_question() {
    let mut played = TestAttachClient::new_joined("me");
    played.receive_permission_request("q");
    // A key pressed before the question could be read is no answer.
    let early = [
        (char('y'), KeyAction::Nothing),
        (char('q'), KeyAction::Nothing),
    ];
    check(&played, &early);
    played.advance_clock(400);
    let table = [
        (char('y'), KeyAction::Answer(0)),
        (char('Y'), KeyAction::Answer(0)),
        (char('s'), KeyAction::Answer(1)),
        (char('n'), KeyAction::Answer(2)),
        (char('S'), no_answer("S")),
        (char('w'), no_answer("w")),
        (char('1'), no_answer("1")),
        (key(KeyCode::Enter), no_answer("Enter")),
        (control('s'), KeyAction::Nothing),
        (key(KeyCode::Down), KeyAction::ScrollQuestion(1)),
        (key(KeyCode::Tab), KeyAction::SwitchFocus),
        (key(KeyCode::Esc), KeyAction::Cancel),
        (char('?'), KeyAction::Help),
    ];
    check(&played, &table);
    // Text in the prompt is no answer and does not block one.
    played.type_text("a prompt");
    check(&played, &[(char('y'), KeyAction::Answer(0))]);
    // In the prompt, letters are text.
    played.screen.answering = false;
    check(
        &played,
        &[
            (char('y'), KeyAction::Type('y')),
            (key(KeyCode::Enter), KeyAction::Send),
        ],
    );
}

#[test]
fn a_key_without_a_meaning_is_reported_and_answers_nothing() {
    let mut played = TestAttachClient::new_joined("me");
    played.take_sent();
    played.receive_permission_request("q");
    played.advance_clock(400);
    for (typed, shown) in [('q', "q"), ('W', "W"), ('1', "1")] {
        let action = action_for_key(&played.screen, char(typed));
        played.act(action);
        let told = format!("`{shown}` is not a valid answer; answer y, s or n");
        assert_eq!(played.screen.notice, Some(told));
    }
    assert!(played.take_sent().is_empty());
    let action = action_for_key(&played.screen, char('N'));
    played.act(action);
    let sent = &played.take_sent()[0]["result"]["outcome"];
    assert_eq!(sent["optionId"], "reject_once");
}

#[test]
fn keys_type_the_answer_of_a_text_question() {
    let mut played = TestAttachClient::new_joined("me");
    played.receive_form(&["red", "blue"]);
    let table = [
        (char('2'), KeyAction::Type('2')),
        (char('b'), KeyAction::Type('b')),
        (key(KeyCode::Enter), KeyAction::AnswerText),
        (control('s'), KeyAction::Nothing),
    ];
    check(&played, &table);
    played.type_text("b");
    check(&played, &[(char('2'), KeyAction::Type('2'))]);
}

#[test]
fn a_digit_does_not_answer_before_enter() {
    let many: Vec<_> = ('a'..='l').map(String::from).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let table: [(&[&str], &str, &str); 4] = [
        (&[], "8080", "8080"),
        (&["8080", "1234", "9090"], "1234", "1234"),
        (&["red", "blue"], "2", "blue"),
        (&many, "12", "l"),
    ];
    for (choices, typed, answer) in table {
        let mut played = TestAttachClient::new_joined("me");
        played.receive_form(choices);
        for code in typed.chars().map(KeyCode::Char).chain([KeyCode::Enter]) {
            let action = action_for_key(&played.screen, key(code));
            played.act(action);
        }
        let sent = &played.take_sent()[0]["result"];
        assert_eq!(sent["content"]["answer"], answer, "{choices:?}");
    }
}

#[test]
fn typing_closes_help_and_an_ended_session_ignores_text() {
    let mut played = TestAttachClient::new_joined("me");
    played.act(KeyAction::Help);
    check(&played, &[(key(KeyCode::Esc), KeyAction::Help)]);
    played.type_text("x");
    assert_eq!(played.screen.help, None, "whoever types has read enough");
    played.receive_event(json!({"kind": "session_closed", "reason": "closed", "status": "closed"}));
    check(
        &played,
        &[
            (char('q'), KeyAction::Leave),
            (char('x'), KeyAction::Nothing),
        ],
    );
}

#[test]
fn keys_move_and_open_in_the_picker() {
    let picker = Picker::default();
    let table = [
        (key(KeyCode::Up), PickerAction::Move(-1)),
        (char('j'), PickerAction::Move(1)),
        (key(KeyCode::Enter), PickerAction::Open),
        (char('q'), PickerAction::Leave),
        (control('c'), PickerAction::Leave),
        (key(KeyCode::Esc), PickerAction::Leave),
        // Without a server no session can be created.
        (char('n'), PickerAction::Nothing),
    ];
    for (key, wanted) in table {
        assert_eq!(picker_action(&picker, key), wanted, "{key:?}");
    }
}
