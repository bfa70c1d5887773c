//! Guards: calls that no rule can allow, and calls that always ask. Checks paths by their targets, redirections
//! by their words, commands by the doubts about them.

use std::ffi::OsStr;

use harn_model::{PolicyAction, RiskLabel};

use super::{CallFacts, OpinionSource, PolicyCall, StrongestOpinion, layer};
use crate::{
    CommandFindings, PathScope, command_paths,
    compile::PolicyLayer,
    path::is_protected_name,
    shell::{self, LineDoubt, Redirect, ShellLine},
};

/// Files that discard or display what is written.
const SINKS: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];

pub(super) fn check_paths<'a>(
    facts: &CallFacts<'a>,
    layers: &[PolicyLayer],
    strongest: &mut StrongestOpinion<'a>,
) {
    for target in &facts.paths.targets {
        let path = target.located;
        match path.standing {
            PathScope::Inside => {}
            PathScope::Dangling | PathScope::Invalid => {
                let label = RiskLabel::InvalidPath;
                strongest.record_risk(label, PolicyAction::Deny, OpinionSource::Untold(path));
            }
            PathScope::Outside => {
                strongest.labels.push(RiskLabel::ExternalPath);
                let mut giving = layers.iter().filter(|layer| layer.gives);
                let named = giving.any(|layer| {
                    let mut rules = layer.rules.iter();
                    rules.any(|rule| layer::names_outside(rule, facts, target))
                });
                if !named {
                    strongest.record(PolicyAction::Deny, OpinionSource::Outside(path));
                }
            }
        }
        if path.protected && facts.call.writes() {
            let source = OpinionSource::Protected(path.info.display());
            strongest.record_risk(RiskLabel::ProtectedPath, PolicyAction::Deny, source);
        }
    }
}

/// Whether a person must answer about a call each time, whatever they answered before.
pub(crate) fn must_ask(call: &PolicyCall<'_>) -> bool {
    let mut strongest = StrongestOpinion::default();
    check_configuration(call, &mut strongest);
    strongest.must_ask
}

/// Asks about a call that may write a path whose content decides what the server runs.
pub(super) fn check_configuration<'a>(call: &PolicyCall<'a>, strongest: &mut StrongestOpinion<'a>) {
    let line = call.command.map(|(_, line)| line);
    let redirects = line.map_or(&[][..], |line| &line.redirects);
    let declared = call
        .paths
        .iter()
        .filter(|path| path.configures && call.writes());
    // The folder in which a command runs is declared too, and not written itself.
    let declared = declared
        .filter(|path| line.is_none() || redirects.iter().any(|it| it.path == path.info.input));
    let declared = declared.map(|path| path.info.display());
    let written = redirects
        .iter()
        .enumerate()
        .filter(|(_, it)| writes_file(it));
    let written = written.filter_map(|(at, redirect)| {
        let linked = || call.findings?.configuration_redirect(at);
        command_paths::find_configuration(&redirect.path).or_else(linked)
    });
    let commands = line
        .map_or(&[][..], |line| &line.commands)
        .iter()
        .enumerate();
    let named = commands.filter(|(_, command)| !shell::is_read_only(command));
    let named = named.filter_map(|(at, command)| {
        let mut words = command.argv.iter();
        let linked = || call.findings?.configuration_word(at);
        words
            .find_map(|word| command_paths::find_configuration(word))
            .or_else(linked)
    });
    for path in declared.chain(written).chain(named) {
        let source = OpinionSource::Configuration(path);
        strongest.record_question(RiskLabel::ProtectedPath, source);
    }
}

/// Checks the command, its redirections and its doubts.
pub(super) fn check_command<'a>(call: &PolicyCall<'a>, strongest: &mut StrongestOpinion<'a>) {
    let Some((_, line)) = call.command else {
        return;
    };
    let redirects = line.redirects.iter().enumerate();
    for (at, redirect) in redirects.filter(|(_, redirect)| writes_file(redirect)) {
        let path = redirect.path.as_str();
        let found = |is: fn(&CommandFindings, usize) -> bool| {
            call.findings.is_some_and(|findings| is(findings, at))
        };
        if path_names(path).any(|name| is_protected_name(OsStr::new(name)))
            || found(CommandFindings::is_redirect_protected)
        {
            let source = OpinionSource::Protected(path);
            strongest.record_risk(RiskLabel::ProtectedPath, PolicyAction::Deny, source);
        } else if may_leave(path) || found(CommandFindings::redirect_leads_out) {
            let source = OpinionSource::OutsideRedirect(path);
            strongest.record_risk(RiskLabel::ExternalPath, PolicyAction::Ask, source);
        }
    }
    for (at, command) in line.commands.iter().enumerate() {
        let mut words = command.argv.iter();
        let found = words.find_map(|word| command_paths::find_protected(word, call.workspace));
        let linked = || {
            call.findings
                .and_then(|findings| findings.protected_word(at))
        };
        let found = found.or_else(linked);
        // Only a program knows which words it writes, unless it is known to write none.
        if let Some(path) = found.filter(|_| !shell::is_read_only(command)) {
            let source = OpinionSource::ProtectedWord(path);
            strongest.record_risk(RiskLabel::ProtectedPath, PolicyAction::Ask, source);
        }
    }
    for doubt in &line.doubts {
        let (label, about) = match doubt {
            LineDoubt::TooLong => (RiskLabel::UnparsableCommand, "it is too long"),
            LineDoubt::TooMuch => (RiskLabel::UnparsableCommand, "it has too many parts"),
            LineDoubt::Unparsable => (RiskLabel::UnparsableCommand, "it could not be parsed"),
            LineDoubt::Dynamic(what) | LineDoubt::Environment(what) => {
                (RiskLabel::DynamicCommand, what.as_str())
            }
        };
        strongest.record_risk(label, PolicyAction::Ask, OpinionSource::Doubt(about));
    }
    if line
        .commands
        .iter()
        .any(|command| command.exec_capable.is_some())
    {
        strongest.labels.push(RiskLabel::ExecCapable);
    }
}

/// Whether a redirection writes a file that exists afterwards.
pub(super) fn writes_file(redirect: &Redirect) -> bool {
    redirect.write && !SINKS.contains(&redirect.path.as_str())
}

/// Whether every file that a line would write by redirection is a declared path inside the session's
/// directories: words alone do not show a link.
pub(crate) fn writes_only_located(call: &PolicyCall<'_>, line: &ShellLine) -> bool {
    let mut written = line
        .redirects
        .iter()
        .filter(|redirect| writes_file(redirect));
    written.all(|redirect| {
        let mut located = call.paths.iter();
        located.any(|path| {
            path.info.input == redirect.path
                && path.standing == PathScope::Inside
                && !path.protected
        })
    })
}

fn path_names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
}

/// Whether a file may be outside the directory in which the command runs, judged by its words.
fn may_leave(path: &str) -> bool {
    path.is_empty()
        || path.starts_with(['/', '~'])
        || path.contains(['$', '`', '*', '?', '[', '{', '\\'])
        || path_names(path).any(|name| name == "..")
}
