//! Maps keys to actions, depending on the screen. It carries out none.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{picker::Picker, state::AttachScreen};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyAction {
    Nothing,
    Type(char),
    Backspace,
    BackspaceWord,
    Delete,
    Clear,
    Move(isize),
    Home,
    End,
    /// Sends the typed text; during a turn, as the next prompt.
    Send,
    /// Sends the typed text; during a turn, to the agent's next seam.
    Steer,
    /// Answers a question with the typed text.
    AnswerText,
    /// Answers a question with the option at this index.
    Answer(usize),
    /// Reports a key that does not answer the open question.
    NoAnswer(String),
    /// Switches the keys between the question and the prompt.
    SwitchFocus,
    /// Scrolls the body of the question by this many lines.
    ScrollQuestion(isize),
    Cancel,
    /// Cancels the turn; the second in a row leaves.
    Interrupt,
    Leave,
    TakeOver,
    HandBack,
    /// Scrolls the transcript by this many pages.
    Page(isize),
    Line(isize),
    ToEnd,
    Unfold,
    Help,
}

/// An action in the list of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PickerAction {
    Nothing,
    Move(isize),
    Open,
    New,
    Leave,
}

pub(super) fn action_for_key(screen: &AttachScreen, key: KeyEvent) -> KeyAction {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let other = key.modifiers.contains(KeyModifiers::ALT);
    let anywhere = match key.code {
        KeyCode::Char('c') if control => KeyAction::Interrupt,
        KeyCode::Char('t') if control => KeyAction::TakeOver,
        KeyCode::Char('r') if control => KeyAction::HandBack,
        KeyCode::Char('o') if control => KeyAction::Unfold,
        KeyCode::Char('d') if control && screen.prompt.is_empty() => KeyAction::Leave,
        KeyCode::PageUp => KeyAction::Page(-1),
        KeyCode::PageDown => KeyAction::Page(1),
        KeyCode::F(1) => KeyAction::Help,
        KeyCode::Esc if screen.help.is_some() => KeyAction::Help,
        KeyCode::Esc => KeyAction::Cancel,
        KeyCode::Tab if !screen.questions.is_empty() => KeyAction::SwitchFocus,
        _ => KeyAction::Nothing,
    };
    if anywhere != KeyAction::Nothing {
        return anywhere;
    }
    if screen.ended.is_some() || !screen.is_controller() {
        return observer_action(key.code, control || other);
    }
    if let Some((question, answerable)) = screen.question()
        && screen.answering
    {
        let asked = match key.code {
            KeyCode::Up => KeyAction::ScrollQuestion(-1),
            KeyCode::Down => KeyAction::ScrollQuestion(1),
            KeyCode::Enter if question.takes_text && answerable => KeyAction::AnswerText,
            KeyCode::Char('?') if !question.takes_text => KeyAction::Help,
            // Text typed at a question that takes none would reach the agent later as a prompt.
            KeyCode::Char(_) | KeyCode::Enter if !question.takes_text => match key.code {
                // A user who was typing when the question appeared has not read it.
                _ if !answerable || control || other => KeyAction::Nothing,
                KeyCode::Char(c) => {
                    let key = c.to_string();
                    let at = question.position(&key);
                    at.map_or(KeyAction::NoAnswer(key), KeyAction::Answer)
                }
                _ => KeyAction::NoAnswer("Enter".to_owned()),
            },
            _ => editor_action(screen, key.code, control, other),
        };
        return match asked {
            KeyAction::Send | KeyAction::Steer => KeyAction::Nothing,
            asked => asked,
        };
    }
    editor_action(screen, key.code, control, other)
}

/// Maps the keys of an observer, which has no prompt.
fn observer_action(code: KeyCode, modified: bool) -> KeyAction {
    match code {
        KeyCode::Char('q') if !modified => KeyAction::Leave,
        KeyCode::Char('t') if !modified => KeyAction::TakeOver,
        KeyCode::Char('?') if !modified => KeyAction::Help,
        KeyCode::Char('k') if !modified => KeyAction::Line(-1),
        KeyCode::Char('j') if !modified => KeyAction::Line(1),
        KeyCode::Up => KeyAction::Line(-1),
        KeyCode::Down => KeyAction::Line(1),
        KeyCode::End => KeyAction::ToEnd,
        _ => KeyAction::Nothing,
    }
}

fn editor_action(screen: &AttachScreen, code: KeyCode, control: bool, other: bool) -> KeyAction {
    let empty = screen.prompt.is_empty();
    match code {
        KeyCode::Char('s') if control => KeyAction::Steer,
        KeyCode::Char('j') if control => KeyAction::Type('\n'),
        KeyCode::Char('w') if control => KeyAction::BackspaceWord,
        KeyCode::Char('u') if control => KeyAction::Clear,
        KeyCode::Char('a') if control => KeyAction::Home,
        KeyCode::Char('e') if control => KeyAction::End,
        KeyCode::Char(_) if control => KeyAction::Nothing,
        KeyCode::Enter if other => KeyAction::Type('\n'),
        KeyCode::Enter => KeyAction::Send,
        KeyCode::Char('?') if empty => KeyAction::Help,
        KeyCode::Char(c) if !other => KeyAction::Type(c),
        KeyCode::Backspace if other => KeyAction::BackspaceWord,
        KeyCode::Backspace => KeyAction::Backspace,
        KeyCode::Delete => KeyAction::Delete,
        KeyCode::Left => KeyAction::Move(-1),
        KeyCode::Right => KeyAction::Move(1),
        KeyCode::Up if empty => KeyAction::Line(-1),
        KeyCode::Down if empty => KeyAction::Line(1),
        KeyCode::End if empty => KeyAction::ToEnd,
        KeyCode::Home => KeyAction::Home,
        KeyCode::End => KeyAction::End,
        _ => KeyAction::Nothing,
    }
}

/// Maps a key in the list of sessions.
pub(super) fn picker_action(picker: &Picker, key: KeyEvent) -> PickerAction {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c' | 'd') if control => PickerAction::Leave,
        KeyCode::Char('q') | KeyCode::Esc => PickerAction::Leave,
        KeyCode::Char('n') if picker.can_begin() => PickerAction::New,
        KeyCode::Up | KeyCode::Char('k') => PickerAction::Move(-1),
        KeyCode::Down | KeyCode::Char('j') => PickerAction::Move(1),
        KeyCode::PageUp => PickerAction::Move(-10),
        KeyCode::PageDown => PickerAction::Move(10),
        KeyCode::Enter => PickerAction::Open,
        _ => PickerAction::Nothing,
    }
}

#[cfg(test)]
mod tests;
