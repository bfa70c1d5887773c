//! What keys do: to the screen, and to what is said to the server.

use serde_json::Value;

use super::{
    draw,
    keys::Action,
    state::{Link, Screen, View},
    talk::Talk,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Stay,
    Leave,
}

pub(super) fn act(screen: &mut Screen, talk: &mut Talk, action: Action) -> Flow {
    if action == Action::Nothing {
        return Flow::Stay;
    }
    screen.notice = None;
    screen.notice_stays = false;
    let leaving = std::mem::take(&mut screen.leaving);
    match action {
        Action::Leave => return Flow::Leave,
        Action::Interrupt if leaving => return Flow::Leave,
        Action::Interrupt => interrupt(screen, talk),
        Action::Send => send(screen, talk, false),
        Action::Steer => send(screen, talk, true),
        Action::Cancel => cancel(screen, talk),
        Action::TakeOver => take_over(screen, talk),
        Action::HandBack => hand_back(screen, talk),
        Action::Answer(at) => answer(screen, talk, at),
        Action::AnswerText => answer_text(screen, talk),
        Action::NoAnswer(key) => {
            let question = screen.questions.front();
            screen.notice = question.map(|it| it.not_an_answer(&key));
        }
        Action::SwitchFocus => screen.answering = !screen.answering,
        Action::ScrollQuestion(by) => {
            let last = draw::sight(screen).last;
            screen.question_from = screen.question_from.saturating_add_signed(by).min(last);
        }
        Action::Page(by) => page(screen, by),
        Action::Line(by) => screen.scroll(by, height(screen)),
        Action::ToEnd => screen.view = View::End,
        Action::Unfold => screen.unfold(),
        Action::Help => screen.help = screen.help.is_none().then_some(0),
        other => {
            // Whoever types has read enough.
            screen.help = None;
            edit(screen, other);
        }
    }
    Flow::Stay
}

/// Takes in a paste, and says where it went when that is not where keys go.
pub(super) fn paste(screen: &mut Screen, text: &str) {
    if screen.ended.is_some() || !screen.in_control() {
        return screen.notify("nothing was pasted: you only watch");
    }
    screen.help = None;
    let whole = screen.prompt.insert(text);
    // A question that wants a key is not answered by a text.
    let beside = screen.answering && screen.questions.front().is_some_and(|it| !it.takes_text);
    match (whole, beside) {
        (false, _) => screen.notify("the paste is cut: the prompt holds 64 KiB"),
        (true, true) => screen.notify("pasted into the prompt; Tab goes there"),
        (true, false) => {}
    }
}

fn edit(screen: &mut Screen, action: Action) {
    let prompt = &mut screen.prompt;
    match action {
        Action::Type(c) => {
            prompt.insert(c.encode_utf8(&mut [0; 4]));
        }
        Action::Backspace => prompt.backspace(),
        Action::BackspaceWord => prompt.backspace_word(),
        Action::Delete => prompt.delete(),
        Action::Clear => {
            prompt.take();
        }
        Action::Move(by) => prompt.go(by),
        Action::Home => prompt.home(),
        Action::End => prompt.end(),
        // All others were done above.
        _ => {}
    }
}

fn height(screen: &Screen) -> usize {
    usize::from(draw::areas(screen).transcript.height)
}

fn page(screen: &mut Screen, by: isize) {
    let height = height(screen);
    // A line of the last page stays in sight.
    let lines = by * isize::try_from(height.saturating_sub(1).max(1)).unwrap_or(1);
    match &mut screen.help {
        Some(from) => {
            let last = draw::HELP_LINES.saturating_sub(height);
            *from = from.saturating_add_signed(lines).min(last);
        }
        None => screen.scroll(lines, height),
    }
}

fn interrupt(screen: &mut Screen, talk: &mut Talk) {
    screen.leaving = true;
    screen.notify(match screen.turn.is_some() && screen.in_control() {
        true if screen.link == Link::Up => {
            talk.cancel();
            "cancelling; Ctrl-C again leaves"
        }
        _ if screen.ended.is_some() => "Ctrl-C again leaves",
        _ => "Ctrl-C again leaves; the session goes on without you",
    });
}

fn cancel(screen: &mut Screen, talk: &mut Talk) {
    match screen.turn.is_some() && screen.in_control() {
        true if screen.link == Link::Up => {
            talk.cancel();
            screen.notify("cancelling");
        }
        true => screen.notify("there is no connection; the turn goes on"),
        false => screen.view = View::End,
    }
}

fn send(screen: &mut Screen, talk: &mut Talk, steer: bool) {
    if screen.prompt.text().trim().is_empty() {
        return;
    }
    if screen.link != Link::Up {
        return screen.notify("there is no connection; send it when it is back");
    }
    let text = screen.prompt.take();
    screen.view = View::End;
    if screen.turn.is_some() {
        talk.inject(steer, &text);
    } else {
        let number = talk.prompt(&text);
        screen.sent.push_back((number, text));
    }
}

/// Answers with an option, if whoever pressed the key can read it.
fn answer(screen: &mut Screen, talk: &mut Talk, at: usize) {
    let sight = draw::sight(screen);
    if sight.too_small {
        screen.notify(TOO_SMALL);
    } else if !sight.answers.contains(&at) {
        screen.notify("↓ goes to that answer; read it first");
    } else if let Some(answer) = screen.questions.front().and_then(|it| it.choose(at)) {
        send_answer(screen, talk, &answer);
    }
}

fn send_answer(screen: &mut Screen, talk: &mut Talk, answer: &Value) {
    if let Some(question) = screen.questions.pop_front() {
        talk.answer(&question.id, answer);
        screen.next_question();
    }
}

const TOO_SMALL: &str = "make the window larger to read the question";

fn answer_text(screen: &mut Screen, talk: &mut Talk) {
    if draw::sight(screen).too_small {
        return screen.notify(TOO_SMALL);
    }
    let text = screen.prompt.take();
    match screen.questions.front().and_then(|it| it.typed(&text)) {
        Some(answer) => send_answer(screen, talk, &answer),
        None => {
            screen.prompt.set(&text);
            screen.notify("that is none of the answers");
        }
    }
}

fn take_over(screen: &mut Screen, talk: &mut Talk) {
    screen.notify(match screen.in_control() {
        _ if screen.ended.is_some() => ENDED,
        _ if screen.observe => "this client only watches: it was started with --observe",
        _ if screen.link != Link::Up => "there is no connection",
        true => "you control it already",
        false => return talk.take_over(),
    });
}

fn hand_back(screen: &mut Screen, talk: &mut Talk) {
    screen.notify(match screen.in_control() {
        _ if screen.ended.is_some() => ENDED,
        _ if screen.link != Link::Up => "there is no connection",
        true => return talk.hand_back(),
        false => "you do not control it",
    });
}

const ENDED: &str = "the session has ended; there is nothing to control";
