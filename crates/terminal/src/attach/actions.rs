//! Applies key actions to the screen and to the messages for the server.

use serde_json::Value;

use super::{
    draw,
    keys::KeyAction,
    protocol::AttachProtocol,
    state::{AttachScreen, ConnectionStatus, ScrollPosition},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyOutcome {
    Stay,
    Leave,
}

pub(super) fn act(
    screen: &mut AttachScreen,
    talk: &mut AttachProtocol,
    action: KeyAction,
) -> KeyOutcome {
    if action == KeyAction::Nothing {
        return KeyOutcome::Stay;
    }
    screen.notice = None;
    screen.notice_stays = false;
    let leaving = std::mem::take(&mut screen.leaving);
    match action {
        KeyAction::Leave => return KeyOutcome::Leave,
        KeyAction::Interrupt if leaving => return KeyOutcome::Leave,
        KeyAction::Interrupt => interrupt(screen, talk),
        KeyAction::Send => send(screen, talk, false),
        KeyAction::Steer => send(screen, talk, true),
        KeyAction::Cancel => cancel(screen, talk),
        KeyAction::TakeOver => take_over(screen, talk),
        KeyAction::HandBack => hand_back(screen, talk),
        KeyAction::Answer(at) => answer(screen, talk, at),
        KeyAction::AnswerText => answer_text(screen, talk),
        KeyAction::NoAnswer(key) => {
            let question = screen.questions.front();
            screen.notice = question.map(|it| it.invalid_key_message(&key));
        }
        KeyAction::SwitchFocus => screen.answering = !screen.answering,
        KeyAction::ScrollQuestion(by) => {
            let last = draw::question_view(screen).last;
            screen.question_from = screen.question_from.saturating_add_signed(by).min(last);
        }
        KeyAction::Page(by) => scroll_page(screen, by),
        KeyAction::Line(by) => screen.scroll(by, transcript_height(screen)),
        KeyAction::ToEnd => screen.view = ScrollPosition::End,
        KeyAction::Unfold => screen.toggle_unfolded(),
        KeyAction::Help => screen.help = screen.help.is_none().then_some(0),
        other => {
            // The first typed character closes the help.
            screen.help = None;
            edit(screen, other);
        }
    }
    KeyOutcome::Stay
}

/// Inserts pasted text into the prompt; shows a notice if the keys do not go there.
pub(super) fn paste(screen: &mut AttachScreen, text: &str) {
    if screen.ended.is_some() || !screen.is_controller() {
        return screen.notify("not pasted: you only watch");
    }
    screen.help = None;
    let whole = screen.prompt.insert(text);
    // Pasted text does not answer a question that takes a key.
    let beside = screen.answering && screen.questions.front().is_some_and(|it| !it.takes_text);
    match (whole, beside) {
        (false, _) => screen.notify("the pasted text is cut: the prompt is limited to 64 KiB"),
        (true, true) => screen.notify("pasted into the prompt; Tab moves there"),
        (true, false) => {}
    }
}

fn edit(screen: &mut AttachScreen, action: KeyAction) {
    let prompt = &mut screen.prompt;
    match action {
        KeyAction::Type(c) => {
            prompt.insert(c.encode_utf8(&mut [0; 4]));
        }
        KeyAction::Backspace => prompt.backspace(),
        KeyAction::BackspaceWord => prompt.backspace_word(),
        KeyAction::Delete => prompt.delete(),
        KeyAction::Clear => {
            prompt.take();
        }
        KeyAction::Move(by) => prompt.move_cursor(by),
        KeyAction::Home => prompt.move_to_line_start(),
        KeyAction::End => prompt.move_to_line_end(),
        // `act` handles all others.
        _ => {}
    }
}

fn transcript_height(screen: &AttachScreen) -> usize {
    usize::from(draw::divide_screen(screen).transcript.height)
}

fn scroll_page(screen: &mut AttachScreen, by: isize) {
    let height = transcript_height(screen);
    // One line of the last page stays visible.
    let lines = by * isize::try_from(height.saturating_sub(1).max(1)).unwrap_or(1);
    match &mut screen.help {
        Some(from) => {
            let last = draw::HELP_LINES.saturating_sub(height);
            *from = from.saturating_add_signed(lines).min(last);
        }
        None => screen.scroll(lines, height),
    }
}

fn interrupt(screen: &mut AttachScreen, talk: &mut AttachProtocol) {
    screen.leaving = true;
    screen.notify(match screen.turn.is_some() && screen.is_controller() {
        true if screen.link == ConnectionStatus::Up => {
            talk.cancel();
            "cancelling; Ctrl-C again leaves"
        }
        _ if screen.ended.is_some() => "Ctrl-C again leaves",
        _ => "Ctrl-C again leaves; the session continues without you",
    });
}

fn cancel(screen: &mut AttachScreen, talk: &mut AttachProtocol) {
    match screen.turn.is_some() && screen.is_controller() {
        true if screen.link == ConnectionStatus::Up => {
            talk.cancel();
            screen.notify("cancelling");
        }
        true => screen.notify("not connected; the turn continues"),
        false => screen.view = ScrollPosition::End,
    }
}

fn send(screen: &mut AttachScreen, talk: &mut AttachProtocol, steer: bool) {
    if screen.prompt.text().trim().is_empty() {
        return;
    }
    if screen.link != ConnectionStatus::Up {
        return screen.notify("not connected; send it after the reconnect");
    }
    let text = screen.prompt.take();
    screen.view = ScrollPosition::End;
    if screen.turn.is_some() {
        talk.inject(steer, &text);
    } else {
        let number = talk.prompt(&text);
        screen.sent.push_back((number, text));
    }
}

/// Answers with an option, if the user can read that option.
fn answer(screen: &mut AttachScreen, talk: &mut AttachProtocol, at: usize) {
    let sight = draw::question_view(screen);
    if sight.too_small {
        screen.notify(TOO_SMALL);
    } else if !sight.answers.contains(&at) {
        screen.notify("scroll down with ↓ and read that answer first");
    } else if let Some(answer) = screen.questions.front().and_then(|it| it.choose(at)) {
        send_answer(screen, talk, &answer);
    }
}

fn send_answer(screen: &mut AttachScreen, talk: &mut AttachProtocol, answer: &Value) {
    if let Some(question) = screen.questions.pop_front() {
        talk.answer(&question.id, answer);
        screen.show_next_question();
    }
}

const TOO_SMALL: &str = "make the window larger to read the question";

fn answer_text(screen: &mut AttachScreen, talk: &mut AttachProtocol) {
    if draw::question_view(screen).too_small {
        return screen.notify(TOO_SMALL);
    }
    let text = screen.prompt.take();
    match screen
        .questions
        .front()
        .and_then(|it| it.answer_from_text(&text))
    {
        Some(answer) => send_answer(screen, talk, &answer),
        None => {
            screen.prompt.set(&text);
            screen.notify("not one of the answers");
        }
    }
}

fn take_over(screen: &mut AttachScreen, talk: &mut AttachProtocol) {
    screen.notify(match screen.is_controller() {
        _ if screen.ended.is_some() => ENDED,
        _ if screen.observe => "this client only watches: it was started with --observe",
        _ if screen.link != ConnectionStatus::Up => "not connected",
        true => "you already control the session",
        false => return talk.take_over(),
    });
}

fn hand_back(screen: &mut AttachScreen, talk: &mut AttachProtocol) {
    screen.notify(match screen.is_controller() {
        _ if screen.ended.is_some() => ENDED,
        _ if screen.link != ConnectionStatus::Up => "not connected",
        true => return talk.hand_back(),
        false => "you do not control the session",
    });
}

const ENDED: &str = "the session has ended; there is nothing to control";
