//! Guards: what no rule can allow, and what always asks. Paths by where they lead, redirections by their
//! words, commands by how well they are understood.

use std::ffi::OsStr;

use harn_model::{PolicyAction, RiskLabel};

use super::{Call, Facts, Source, Strongest, layer};
use crate::{
    Standing,
    compile::Layer,
    named,
    path::is_protected_name,
    shell::{self, Doubt, Line, Redirect},
};

/// Files that swallow what is written, or show it.
const SINKS: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];

pub(super) fn paths<'a>(facts: &Facts<'a>, layers: &[Layer], strongest: &mut Strongest<'a>) {
    for target in &facts.paths.targets {
        let path = target.located;
        match path.standing {
            Standing::Inside => {}
            Standing::Dangling | Standing::Invalid => {
                let label = RiskLabel::InvalidPath;
                strongest.say_risk(label, PolicyAction::Deny, Source::Untold(path));
            }
            Standing::Outside => {
                strongest.labels.push(RiskLabel::ExternalPath);
                let mut giving = layers.iter().filter(|layer| layer.gives);
                let named = giving.any(|layer| {
                    let mut rules = layer.rules.iter();
                    rules.any(|rule| layer::names_outside(rule, facts, target))
                });
                if !named {
                    strongest.say(PolicyAction::Deny, Source::Outside(path));
                }
            }
        }
        if path.protected && facts.call.writes() {
            let source = Source::Protected(path.info.display());
            strongest.say_risk(RiskLabel::ProtectedPath, PolicyAction::Deny, source);
        }
    }
}

/// The command, its redirections and doubts.
pub(super) fn command<'a>(call: &Call<'a>, strongest: &mut Strongest<'a>) {
    let Some((_, line)) = call.command else {
        return;
    };
    for redirect in line
        .redirects
        .iter()
        .filter(|redirect| writes_file(redirect))
    {
        let path = redirect.path.as_str();
        if names(path).any(|name| is_protected_name(OsStr::new(name))) {
            let source = Source::Protected(path);
            strongest.say_risk(RiskLabel::ProtectedPath, PolicyAction::Deny, source);
        } else if may_leave(path) {
            let source = Source::OutsideRedirect(path);
            strongest.say_risk(RiskLabel::ExternalPath, PolicyAction::Ask, source);
        }
    }
    for command in &line.commands {
        let mut words = command.argv.iter();
        let found = words.find_map(|word| named::protected(word, call.workspace));
        // Which words a program writes only it knows, unless it is known to write none.
        if let Some(path) = found.filter(|_| !shell::read_only(command)) {
            let source = Source::ProtectedWord(path);
            strongest.say_risk(RiskLabel::ProtectedPath, PolicyAction::Ask, source);
        }
    }
    for doubt in &line.doubts {
        let (label, about) = match doubt {
            Doubt::TooLong => (RiskLabel::UnparsableCommand, "it is longer than is read"),
            Doubt::TooMuch => (
                RiskLabel::UnparsableCommand,
                "it has more parts than are followed",
            ),
            Doubt::Unparsable => (RiskLabel::UnparsableCommand, "it could not be read"),
            Doubt::Dynamic(what) | Doubt::Environment(what) => {
                (RiskLabel::DynamicCommand, what.as_str())
            }
        };
        strongest.say_risk(label, PolicyAction::Ask, Source::Doubt(about));
    }
    if line
        .commands
        .iter()
        .any(|command| command.exec_capable.is_some())
    {
        strongest.labels.push(RiskLabel::ExecCapable);
    }
}

/// Whether a redirection writes a file that is there afterwards.
pub(super) fn writes_file(redirect: &Redirect) -> bool {
    redirect.write && !SINKS.contains(&redirect.path.as_str())
}

/// Whether every file that a line would write by redirection is a declared path inside the session's
/// directories: words alone do not show a link.
pub(crate) fn writes_only_located(call: &Call<'_>, line: &Line) -> bool {
    let mut written = line
        .redirects
        .iter()
        .filter(|redirect| writes_file(redirect));
    written.all(|redirect| {
        let mut located = call.paths.iter();
        located.any(|path| {
            path.info.input == redirect.path && path.standing == Standing::Inside && !path.protected
        })
    })
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
}

/// Whether a file may be elsewhere than below the directory the command runs in, by its words.
fn may_leave(path: &str) -> bool {
    path.is_empty()
        || path.starts_with(['/', '~'])
        || path.contains(['$', '`', '*', '?', '[', '{', '\\'])
        || names(path).any(|name| name == "..")
}
