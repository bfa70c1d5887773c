//! The status line, the hint in the prompt, and the available keys.

use std::borrow::Cow;

use agent_client_protocol::v1::schema::UsageUpdate;
use ratatui::{
    style::Modifier,
    text::{Line, Span},
};

use crate::{
    attach::{
        draw,
        screen_text::{cut, escape_line, width},
        state::{AttachScreen, ConnectionStatus},
    },
    paint::PaintStyle,
};

/// Returns the status line: the title on the left, cut to the space that the facts leave. The most important
/// facts are last; without space for all, the first ones are dropped.
pub(super) fn line(screen: &AttachScreen) -> Line<'static> {
    let columns = usize::from(screen.size.0);
    let title = match screen.title.trim() {
        "" => screen.session.clone(),
        title => escape_line(title),
    };
    let mut facts = facts(screen);
    while facts.len() > 1 && width(&facts.join(" · ")) + 2 > columns {
        facts.remove(0);
    }
    let facts = cut(&facts.join(" · "), columns.saturating_sub(2));
    let room = columns.saturating_sub(width(&facts) + 3);
    let title = cut(&title, room);
    let gap = columns.saturating_sub(width(&title) + width(&facts) + 2);
    let line = format!(" {title}{}{facts} ", " ".repeat(gap));
    Line::styled(line, Modifier::REVERSED)
}

fn facts(screen: &AttachScreen) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(screen.usage.iter().flat_map(usage_facts));
    facts.extend(screen.mode.as_deref().map(escape_line));
    let working = screen.turn.map(|began| {
        let seconds = screen.now.saturating_sub(began).as_secs();
        match screen.idle {
            _ if !screen.questions.is_empty() => "asks".to_owned(),
            // Another client is asked: a call that needs no permission is pending too briefly to be seen.
            _ if screen.transcript.has_pending_call() => "waits for an answer".to_owned(),
            true => "the agent waits".to_owned(),
            false if seconds < 1 || !screen.turn_seen => "working".to_owned(),
            false => format!("working {}", format_seconds(seconds)),
        }
    });
    facts.extend(working);
    let controller = match &screen.controller {
        Some(_) if screen.is_controller() => "you control".to_owned(),
        Some(who) if *who == screen.me => "another client of your name controls".to_owned(),
        Some(who) => format!("{} controls", cut(&escape_line(who), 24)),
        None => "no controller".to_owned(),
    };
    match (&screen.ended, &screen.link) {
        (Some(_), _) => facts.push("ended".to_owned()),
        // The controller is not known yet.
        (None, ConnectionStatus::Joining) => facts.push("connecting".to_owned()),
        (None, ConnectionStatus::Up) => facts.push(controller),
        (None, ConnectionStatus::Lost { again }) => {
            let left = again.saturating_sub(screen.now).as_millis().div_ceil(1000);
            facts.push(controller);
            facts.push(match left {
                0 => "disconnected, retrying".to_owned(),
                left => format!("disconnected, retry in {left} s"),
            });
        }
    }
    facts
}

fn format_seconds(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        _ => format!("{} min", seconds / 60),
    }
}

fn usage_facts(usage: &UsageUpdate) -> Vec<String> {
    let cost = usage.cost.as_ref();
    let cost = cost.map(|cost| match cost.currency.as_str() {
        "USD" => format!("${:.2}", cost.amount),
        other => format!("{:.2} {}", cost.amount, cut(&escape_line(other), 4)),
    });
    let used = format!(
        "{}/{}",
        format_tokens(usage.used),
        format_tokens(usage.size)
    );
    cost.into_iter().chain([used]).collect()
}

fn format_tokens(tokens: u64) -> String {
    match tokens {
        0..1000 => tokens.to_string(),
        1000..1_000_000 => format!("{}k", tokens / 1000),
        _ => format!("{}M", tokens / 1_000_000),
    }
}

/// Returns the hint in an empty prompt box.
pub(super) fn hint(screen: &AttachScreen) -> Cow<'static, str> {
    let question = screen.questions.front();
    if let Some(why) = &screen.ended {
        return format!("the session has ended: {why}").into();
    }
    let words = match question {
        _ if screen.link == ConnectionStatus::Joining => "",
        _ if !screen.is_controller() && screen.observe => "watching",
        _ if !screen.is_controller() => "watching; Ctrl-T takes over",
        Some(question) if screen.answering && question.takes_text => "your answer",
        Some(_) if screen.answering => "",
        _ if screen.link != ConnectionStatus::Up => "not connected",
        _ if screen.turn.is_some() => "add a message while it works",
        _ => "what should the agent do?",
    };
    words.into()
}

type KeyHint = (Cow<'static, str>, &'static str);

/// Returns the line of available keys; help is always among them.
pub(super) fn keys(screen: &AttachScreen) -> Line<'static> {
    let columns = usize::from(screen.size.0);
    // After other text, or in an answer, `?` is text.
    let typed = !screen.prompt.is_empty() && !screen.answering || screen.types_answer();
    let types = typed && screen.is_controller() && screen.ended.is_none();
    let help: KeyHint = (if types { "F1" } else { "?" }.into(), "help");
    let mut keys = available_keys(screen);
    let length = |keys: &[KeyHint]| -> usize {
        let all = keys.iter().chain([&help]);
        all.map(|(key, what)| width(key) + width(what) + 3).sum()
    };
    while !keys.is_empty() && length(&keys) > columns + 2 {
        keys.pop();
    }
    if screen.help.is_none() {
        keys.push(help);
    }
    let mut spans = Vec::new();
    for (at, (key, what)) in keys.into_iter().enumerate() {
        if at > 0 {
            spans.push(Span::raw("  "));
        }
        spans.push(Span::styled(key, PaintStyle::Cyan));
        spans.push(Span::styled(format!(" {what}"), PaintStyle::Dim));
    }
    Line::from(spans)
}

/// Returns the keys that have an effect, the most important first.
fn available_keys(screen: &AttachScreen) -> Vec<KeyHint> {
    let key = |key: &'static str, what| (Cow::Borrowed(key), what);
    let (unfold, scroll) = (key("^O", "unfold"), key("PgUp PgDn", "scroll"));
    if screen.help.is_some() {
        return vec![key("Esc", "back"), scroll];
    }
    if screen.ended.is_some() {
        return vec![key("q", "leave"), scroll, unfold];
    }
    if !screen.is_controller() {
        let take = (!screen.observe && screen.link == ConnectionStatus::Up)
            .then(|| key("^T", "take over"));
        let rest = [key("q", "leave"), scroll, unfold];
        return take.into_iter().chain(rest).collect();
    }
    let leave = key("^C^C", "leave");
    if screen.link != ConnectionStatus::Up {
        return vec![leave, scroll, unfold];
    }
    let works = screen.turn.is_some();
    let mut keys = Vec::new();
    match screen.questions.front() {
        Some(question) if screen.answering => {
            let sight = draw::question_view(screen);
            let options: Vec<_> = question.options.iter().map(|it| it.key.as_str()).collect();
            let offered = match (options.as_slice(), question.takes_text) {
                ([], _) => "Enter".to_owned(),
                ([first, .., last], true) => format!("{first}-{last} Enter"),
                ([one], true) => format!("{one} Enter"),
                (options, false) => options.join(" "),
            };
            if question.options.is_empty() || !sight.answers.is_empty() {
                keys.push((offered.into(), "answer"));
            }
            if sight.last > 0 {
                keys.push(key("↑↓", "read"));
            }
            keys.push(key("Tab", "prompt"));
        }
        Some(_) => keys.extend([key("Tab", "answer the question"), key("Enter", "queue")]),
        None if works => keys.extend([key("Enter", "queue"), key("^S", "steer")]),
        None => keys.push(key("Enter", "send")),
    }
    if works {
        keys.push(key("Esc", "cancel"));
    }
    keys.extend([key("^R", "hand back"), unfold, key("PgUp", "scroll"), leave]);
    keys
}
