//! Keys as a table.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

use super::{
    super::{picker::Picker, state::tests::Played},
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

fn no_answer(key: &str) -> Action {
    Action::NoAnswer(key.to_owned())
}

fn check(played: &Played, table: &[(KeyEvent, Action)]) {
    for (key, wanted) in table {
        assert_eq!(action(&played.screen, *key), *wanted, "{key:?}");
    }
}

#[test]
fn in_control() {
    let mut played = Played::joined("me");
    let alt = KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT);
    let always = [
        (control('c'), Action::Interrupt),
        (key(KeyCode::F(1)), Action::Help),
        (control('t'), Action::TakeOver),
        (control('r'), Action::HandBack),
        (control('o'), Action::Unfold),
        (control('s'), Action::Steer),
        (control('j'), Action::Type('\n')),
        (alt, Action::Type('\n')),
        (key(KeyCode::Enter), Action::Send),
        (key(KeyCode::Esc), Action::Cancel),
        (key(KeyCode::PageUp), Action::Page(-1)),
        (key(KeyCode::PageDown), Action::Page(1)),
        (key(KeyCode::Backspace), Action::Backspace),
        (control('w'), Action::BackspaceWord),
        (control('u'), Action::Clear),
        (control('x'), Action::Nothing),
        (char('1'), Action::Type('1')),
        (char('q'), Action::Type('q')),
        (char('t'), Action::Type('t')),
        (key(KeyCode::Tab), Action::Nothing),
        (key(KeyCode::F(5)), Action::Nothing),
    ];
    check(&played, &always);
    let empty = [
        (char('?'), Action::Help),
        (control('d'), Action::Leave),
        (key(KeyCode::Up), Action::Line(-1)),
        (key(KeyCode::End), Action::ToEnd),
    ];
    check(&played, &empty);
    played.types("x");
    check(&played, &always);
    let typed = [
        (char('?'), Action::Type('?')),
        (control('d'), Action::Nothing),
        (key(KeyCode::Up), Action::Nothing),
        (key(KeyCode::End), Action::End),
        (key(KeyCode::Left), Action::Move(-1)),
    ];
    check(&played, &typed);
}

#[test]
fn watching() {
    let played = Played::joined("desk");
    let table = [
        (char('t'), Action::TakeOver),
        (control('t'), Action::TakeOver),
        (char('q'), Action::Leave),
        (char('?'), Action::Help),
        (char('x'), Action::Nothing),
        (char('1'), Action::Nothing),
        (key(KeyCode::Enter), Action::Nothing),
        (control('s'), Action::Nothing),
        (key(KeyCode::Down), Action::Line(1)),
        (key(KeyCode::PageUp), Action::Page(-1)),
    ];
    check(&played, &table);
}

#[test]
fn a_question_stands() {
    let mut played = Played::joined("me");
    played.ask("q");
    // Whatever was on its way when it came is no answer.
    let early = [(char('y'), Action::Nothing), (char('q'), Action::Nothing)];
    check(&played, &early);
    played.wait(400);
    let table = [
        (char('y'), Action::Answer(0)),
        (char('Y'), Action::Answer(0)),
        (char('s'), Action::Answer(1)),
        (char('n'), Action::Answer(2)),
        (char('S'), no_answer("S")),
        (char('w'), no_answer("w")),
        (char('1'), no_answer("1")),
        (key(KeyCode::Enter), no_answer("Enter")),
        (control('s'), Action::Nothing),
        (key(KeyCode::Down), Action::ScrollQuestion(1)),
        (key(KeyCode::Tab), Action::SwitchFocus),
        (key(KeyCode::Esc), Action::Cancel),
        (char('?'), Action::Help),
    ];
    check(&played, &table);
    // What somebody has begun to write is no answer, and in no answer's way.
    played.types("a prompt");
    check(&played, &[(char('y'), Action::Answer(0))]);
    // In the prompt, letters are text.
    played.screen.answering = false;
    check(
        &played,
        &[
            (char('y'), Action::Type('y')),
            (key(KeyCode::Enter), Action::Send),
        ],
    );
}

#[test]
fn a_key_without_a_meaning_is_reported_and_answers_nothing() {
    let mut played = Played::joined("me");
    played.sent();
    played.ask("q");
    played.wait(400);
    for (typed, shown) in [('q', "q"), ('W', "W"), ('1', "1")] {
        let action = action(&played.screen, char(typed));
        played.act(action);
        let told = format!("`{shown}` is not an answer here: y, s or n");
        assert_eq!(played.screen.notice, Some(told));
    }
    assert!(played.sent().is_empty());
    let action = action(&played.screen, char('N'));
    played.act(action);
    let sent = &played.sent()[0]["result"]["outcome"];
    assert_eq!(sent["optionId"], "reject_once");
}

#[test]
fn a_question_that_wants_words() {
    let mut played = Played::joined("me");
    played.choose(&["red", "blue"]);
    let table = [
        (char('2'), Action::Type('2')),
        (char('b'), Action::Type('b')),
        (key(KeyCode::Enter), Action::AnswerText),
        (control('s'), Action::Nothing),
    ];
    check(&played, &table);
    played.types("b");
    check(&played, &[(char('2'), Action::Type('2'))]);
}

#[test]
fn a_digit_that_begins_an_answer_is_none() {
    let many: Vec<_> = ('a'..='l').map(String::from).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let table: [(&[&str], &str, &str); 4] = [
        (&[], "8080", "8080"),
        (&["8080", "1234", "9090"], "1234", "1234"),
        (&["red", "blue"], "2", "blue"),
        (&many, "12", "l"),
    ];
    for (choices, typed, answer) in table {
        let mut played = Played::joined("me");
        played.choose(choices);
        for code in typed.chars().map(KeyCode::Char).chain([KeyCode::Enter]) {
            let action = action(&played.screen, key(code));
            played.act(action);
        }
        let sent = &played.sent()[0]["result"];
        assert_eq!(sent["content"]["answer"], answer, "{choices:?}");
    }
}

#[test]
fn help_and_the_end() {
    let mut played = Played::joined("me");
    played.act(Action::Help);
    check(&played, &[(key(KeyCode::Esc), Action::Help)]);
    played.types("x");
    assert_eq!(played.screen.help, None, "whoever types has read enough");
    played.event(json!({"kind": "session_closed", "reason": "closed", "status": "closed"}));
    check(
        &played,
        &[(char('q'), Action::Leave), (char('x'), Action::Nothing)],
    );
}

#[test]
fn the_list() {
    let picker = Picker::default();
    let table = [
        (key(KeyCode::Up), Pick::Move(-1)),
        (char('j'), Pick::Move(1)),
        (key(KeyCode::Enter), Pick::Open),
        (char('q'), Pick::Leave),
        (control('c'), Pick::Leave),
        (key(KeyCode::Esc), Pick::Leave),
        // Without a server there is no beginning.
        (char('n'), Pick::Nothing),
    ];
    for (key, wanted) in table {
        assert_eq!(pick(&picker, key), wanted, "{key:?}");
    }
}
