//! The status line, and the keys there are.

use ratatui::{
    style::Modifier,
    text::{Line, Span},
};

use crate::cli::{
    attach::{
        lines::style,
        measure::{cut, tame_line, width},
        state::{Link, Screen, Usage},
    },
    paint::Style,
};

/// The title on the left, and on the right as much as there is room for: what is known is listed with what
/// matters most last, and the rest goes first.
pub(super) fn line(screen: &Screen) -> Line<'static> {
    let columns = usize::from(screen.size.0);
    let title = match screen.title.trim() {
        "" => screen.session.clone(),
        title => tame_line(title),
    };
    let mut facts = facts(screen);
    let room_for_title = width(&title).min(columns / 4);
    while facts.len() > 1 && width(&facts.join(" · ")) + 3 + room_for_title > columns {
        facts.remove(0);
    }
    let facts = cut(&facts.join(" · "), columns.saturating_sub(2));
    let room = columns.saturating_sub(width(&facts) + 3);
    let title = cut(&title, room);
    let gap = columns.saturating_sub(width(&title) + width(&facts) + 2);
    let line = format!(" {title}{}{facts} ", " ".repeat(gap));
    Line::styled(line, style(Style::Plain).add_modifier(Modifier::REVERSED))
}

fn facts(screen: &Screen) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(screen.usage.iter().flat_map(usage));
    facts.extend(screen.mode.as_deref().map(tame_line));
    let working = screen.turn.map(|began| {
        let seconds = screen.now.saturating_sub(began).as_secs();
        match screen.idle {
            _ if !screen.questions.is_empty() => "asks".to_owned(),
            // Whoever else is asked: a call that nobody has to allow waits too short to be seen.
            _ if screen.transcript.call_waits() => "waits for an answer".to_owned(),
            true => "the agent waits".to_owned(),
            false if seconds < 1 => "working".to_owned(),
            false => format!("working {}", time(seconds)),
        }
    });
    facts.extend(working);
    facts.push(match &screen.controller {
        Some(_) if screen.in_control() => "you control".to_owned(),
        Some(who) => format!("{} controls", cut(&tame_line(who), 24)),
        None => "nobody controls".to_owned(),
    });
    facts.push(match (&screen.ended, &screen.link) {
        (Some(_), _) => "ended".to_owned(),
        (None, Link::Joining) => "connecting".to_owned(),
        (None, Link::Up) => "connected".to_owned(),
        (None, Link::Lost { again }) => {
            let left = again.saturating_sub(screen.now).as_millis().div_ceil(1000);
            match left {
                0 => "lost, trying again".to_owned(),
                left => format!("lost, again in {left} s"),
            }
        }
    });
    facts
}

fn time(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        _ => format!("{} min", seconds / 60),
    }
}

fn usage(usage: &Usage) -> Vec<String> {
    let cost = usage.cost.as_ref();
    let cost = cost.map(|(amount, currency)| match currency.as_str() {
        "USD" => format!("${amount:.2}"),
        other => format!("{amount:.2} {}", cut(&tame_line(other), 4)),
    });
    let used = format!("{}/{}", thousands(usage.used), thousands(usage.size));
    cost.into_iter().chain([used]).collect()
}

fn thousands(tokens: u64) -> String {
    match tokens {
        0..1000 => tokens.to_string(),
        1000..1_000_000 => format!("{}k", tokens / 1000),
        _ => format!("{}M", tokens / 1_000_000),
    }
}

/// What stands in an empty prompt box.
pub(super) fn hint(screen: &Screen) -> &'static str {
    let question = screen.questions.front();
    match question {
        _ if screen.ended.is_some() => "the session has ended",
        _ if !screen.in_control() && screen.observe => "watching",
        _ if !screen.in_control() => "watching; Ctrl-T takes over",
        Some(question) if screen.answering && question.takes_text => "your answer",
        Some(_) if screen.answering => "",
        _ if screen.turn.is_some() => "say more while it works",
        _ => "what is to be done?",
    }
}

/// The keys there are now; help is always among them.
pub(super) fn keys(screen: &Screen) -> Line<'static> {
    const HELP: (&str, &str) = ("?", "help");
    let columns = usize::from(screen.size.0);
    let mut keys = offered(screen);
    let length = |keys: &[(&str, &str)]| -> usize {
        let all = keys.iter().chain([&HELP]);
        all.map(|(key, what)| width(key) + width(what) + 3).sum()
    };
    while !keys.is_empty() && length(&keys) > columns + 2 {
        keys.pop();
    }
    keys.push(HELP);
    let mut spans = Vec::new();
    for (at, (key, what)) in keys.into_iter().enumerate() {
        if at > 0 {
            spans.push(Span::raw("  "));
        }
        spans.push(Span::styled(key, style(Style::Cyan)));
        spans.push(Span::styled(format!(" {what}"), style(Style::Dim)));
    }
    Line::from(spans)
}

fn offered(screen: &Screen) -> Vec<(&'static str, &'static str)> {
    let works = screen.turn.is_some();
    let question = screen.questions.front();
    let mut keys = Vec::new();
    if screen.help.is_some() {
        return vec![("Esc", "back"), ("PgUp PgDn", "scroll")];
    }
    if screen.ended.is_some() {
        return vec![("q", "leave"), ("PgUp PgDn", "scroll"), ("^O", "unfold")];
    }
    if !screen.in_control() {
        let take = [("^T", "take over"), ("q", "leave")];
        return [&take[..], &[("PgUp PgDn", "scroll"), ("^O", "unfold")]].concat();
    }
    match question {
        Some(question) if screen.answering => {
            keys.push(match (question.options.is_empty(), question.takes_text) {
                (true, _) => ("Enter", "answer"),
                (false, true) => ("1-9 Enter", "answer"),
                (false, false) => ("1-9", "answer"),
            });
            keys.push(("↑↓", "read"));
            keys.push(("Tab", "prompt"));
        }
        Some(_) => keys.extend([("Tab", "answer the question"), ("Enter", "queue")]),
        None if works => keys.extend([("Enter", "queue"), ("^S", "steer")]),
        None => keys.push(("Enter", "send")),
    }
    if works {
        keys.push(("Esc", "cancel"));
    }
    keys.extend([("^R", "hand back"), ("^O", "unfold"), ("PgUp", "scroll")]);
    keys.push(("^C^C", "leave"));
    keys
}
