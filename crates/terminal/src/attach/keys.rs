//! What a key means, by what is on the screen. Nothing is done here.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{picker::Picker, state::Screen};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Nothing,
    Type(char),
    Backspace,
    BackspaceWord,
    Delete,
    Clear,
    Move(isize),
    Home,
    End,
    /// Sends what was typed; while the agent works, for when it is done.
    Send,
    /// Sends what was typed; while the agent works, for its next safe place.
    Steer,
    /// Answers a question with the text that was typed.
    AnswerText,
    /// Answers a question with the option at this place.
    Answer(usize),
    /// Reports a key that does not answer the question that stands.
    NoAnswer(String),
    /// Keys go to the question, or to the prompt again.
    SwitchFocus,
    /// Moves the body of the question by so many lines.
    ScrollQuestion(isize),
    Cancel,
    /// Leaves, if it is the second time in a row.
    Interrupt,
    Leave,
    TakeOver,
    HandBack,
    /// Moves the transcript by so many pages, or by lines.
    Page(isize),
    Line(isize),
    ToEnd,
    Unfold,
    Help,
}

/// What is to be done with the list of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    Nothing,
    Move(isize),
    Open,
    New,
    Leave,
}

pub(super) fn action(screen: &Screen, key: KeyEvent) -> Action {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let other = key.modifiers.contains(KeyModifiers::ALT);
    let anywhere = match key.code {
        KeyCode::Char('c') if control => Action::Interrupt,
        KeyCode::Char('t') if control => Action::TakeOver,
        KeyCode::Char('r') if control => Action::HandBack,
        KeyCode::Char('o') if control => Action::Unfold,
        KeyCode::Char('d') if control && screen.prompt.is_empty() => Action::Leave,
        KeyCode::PageUp => Action::Page(-1),
        KeyCode::PageDown => Action::Page(1),
        KeyCode::F(1) => Action::Help,
        KeyCode::Esc if screen.help.is_some() => Action::Help,
        KeyCode::Esc => Action::Cancel,
        KeyCode::Tab if !screen.questions.is_empty() => Action::SwitchFocus,
        _ => Action::Nothing,
    };
    if anywhere != Action::Nothing {
        return anywhere;
    }
    if screen.ended.is_some() || !screen.in_control() {
        return watching(key.code, control || other);
    }
    if let Some((question, answerable)) = screen.question()
        && screen.answering
    {
        let asked = match key.code {
            KeyCode::Up => Action::ScrollQuestion(-1),
            KeyCode::Down => Action::ScrollQuestion(1),
            KeyCode::Enter if question.takes_text && answerable => Action::AnswerText,
            KeyCode::Char('?') if !question.takes_text => Action::Help,
            // What is typed to a question that takes no text would be sent to the agent later.
            KeyCode::Char(_) | KeyCode::Enter if !question.takes_text => match key.code {
                // Somebody who was typing when it came has not read it.
                _ if !answerable || control || other => Action::Nothing,
                KeyCode::Char(c) => {
                    let key = c.to_string();
                    let at = question.position(&key);
                    at.map_or(Action::NoAnswer(key), Action::Answer)
                }
                _ => Action::NoAnswer("Enter".to_owned()),
            },
            _ => editing(screen, key.code, control, other),
        };
        return match asked {
            Action::Send | Action::Steer => Action::Nothing,
            asked => asked,
        };
    }
    editing(screen, key.code, control, other)
}

/// Without control there is nothing to type.
fn watching(code: KeyCode, modified: bool) -> Action {
    match code {
        KeyCode::Char('q') if !modified => Action::Leave,
        KeyCode::Char('t') if !modified => Action::TakeOver,
        KeyCode::Char('?') if !modified => Action::Help,
        KeyCode::Char('k') if !modified => Action::Line(-1),
        KeyCode::Char('j') if !modified => Action::Line(1),
        KeyCode::Up => Action::Line(-1),
        KeyCode::Down => Action::Line(1),
        KeyCode::End => Action::ToEnd,
        _ => Action::Nothing,
    }
}

fn editing(screen: &Screen, code: KeyCode, control: bool, other: bool) -> Action {
    let empty = screen.prompt.is_empty();
    match code {
        KeyCode::Char('s') if control => Action::Steer,
        KeyCode::Char('j') if control => Action::Type('\n'),
        KeyCode::Char('w') if control => Action::BackspaceWord,
        KeyCode::Char('u') if control => Action::Clear,
        KeyCode::Char('a') if control => Action::Home,
        KeyCode::Char('e') if control => Action::End,
        KeyCode::Char(_) if control => Action::Nothing,
        KeyCode::Enter if other => Action::Type('\n'),
        KeyCode::Enter => Action::Send,
        KeyCode::Char('?') if empty => Action::Help,
        KeyCode::Char(c) if !other => Action::Type(c),
        KeyCode::Backspace if other => Action::BackspaceWord,
        KeyCode::Backspace => Action::Backspace,
        KeyCode::Delete => Action::Delete,
        KeyCode::Left => Action::Move(-1),
        KeyCode::Right => Action::Move(1),
        KeyCode::Up if empty => Action::Line(-1),
        KeyCode::Down if empty => Action::Line(1),
        KeyCode::End if empty => Action::ToEnd,
        KeyCode::Home => Action::Home,
        KeyCode::End => Action::End,
        _ => Action::Nothing,
    }
}

/// What a key means in the list of sessions.
pub(super) fn pick(picker: &Picker, key: KeyEvent) -> Pick {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c' | 'd') if control => Pick::Leave,
        KeyCode::Char('q') | KeyCode::Esc => Pick::Leave,
        KeyCode::Char('n') if picker.can_begin() => Pick::New,
        KeyCode::Up | KeyCode::Char('k') => Pick::Move(-1),
        KeyCode::Down | KeyCode::Char('j') => Pick::Move(1),
        KeyCode::PageUp => Pick::Move(-10),
        KeyCode::PageDown => Pick::Move(10),
        KeyCode::Enter => Pick::Open,
        _ => Pick::Nothing,
    }
}

#[cfg(test)]
mod tests;
