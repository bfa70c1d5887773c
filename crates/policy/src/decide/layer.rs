//! What one policy says of a call by itself: its lists and its rules. Knows no other policy and no mode.

use std::cell::OnceCell;

use harn_model::{PolicyAction, RiskLabel, ToolKind};

use super::{Opinion, OpinionSource, PolicyCall, StrongestOpinion, guard};
use crate::{
    PathScope,
    command::{CommandPattern, MatchStrictness, stays},
    compile::{CompiledRule, PolicyLayer, PolicyLayers},
    named,
    pattern::{CallPath, CallPaths, NamePattern, PathPattern, PathSets, PatternHits, PossibleHits},
    shell::{ShellLine, SimpleCommand},
};

/// A call, with what is found out about it once for all rules.
pub(super) struct CallFacts<'a> {
    pub(super) call: &'a PolicyCall<'a>,
    /// What its tool is among the patterns.
    tool: PatternHits,
    /// The patterns that its paths are held against.
    sets: &'a PathSets,
    /// Its paths, ready for patterns.
    pub(super) paths: CallPaths<'a>,
    /// What the words of its line may name, looked up by the first rule that has to know.
    words: OnceCell<PossibleHits>,
    /// The programs of its line, each once: long lines repeat a few, and most rules are of none of them.
    programs: Vec<&'a str>,
}

impl<'a> CallFacts<'a> {
    pub(super) fn new(call: &'a PolicyCall<'a>, layers: &'a PolicyLayers) -> Self {
        let commands = call.command.iter().flat_map(|(_, line)| &line.commands);
        let mut programs: Vec<_> = commands
            .filter_map(|command| command.argv.first().map(String::as_str))
            .collect();
        programs.sort_unstable();
        programs.dedup();
        Self {
            call,
            tool: layers.tools.look(call.tool),
            sets: &layers.paths,
            paths: layers.paths.look(call.paths),
            words: OnceCell::new(),
            programs,
        }
    }

    /// Whether a word of its line, or a file that is redirected, may be what a pattern that takes away
    /// means. What a command does with its words is not known, so naming is enough.
    fn words_touch(&self, pattern: PathPattern) -> bool {
        let Some(line) = self.line() else {
            return false;
        };
        let words = self.words.get_or_init(|| {
            let argv = line.commands.iter().flat_map(|command| &command.argv);
            let redirects = line.redirects.iter().map(|redirect| &redirect.path);
            let words = argv.chain(redirects).map(String::as_str);
            // A declared folder may be the one it runs in, and the line itself may go elsewhere.
            let entered = entered(line, self.call.workspace);
            let declared = self.call.paths.iter();
            let mut folders: Vec<_> = declared
                .filter(|path| !line.redirects.iter().any(|it| it.path == path.info.input))
                .filter_map(|path| path.info.host_path.as_deref())
                .filter(|path| *path != self.call.workspace)
                .chain(entered.iter().map(String::as_str))
                .collect();
            folders.dedup();
            self.sets.look_words(words, self.call.workspace, &folders)
        });
        words.by(pattern)
    }

    fn line(&self) -> Option<&'a ShellLine> {
        self.call.command.map(|(_, line)| line)
    }
}

/// The folders a line goes into, one from the other, as far as its words tell.
fn entered(line: &ShellLine, workspace: &str) -> Vec<String> {
    /// More are not followed: rules of `**/` patterns hold for them too.
    const MOST: usize = 8;
    let mut folders: Vec<String> = Vec::new();
    for command in &line.commands {
        if let [program, .., folder] = &command.argv[..]
            && matches!(program.as_str(), "cd" | "pushd")
            && folders.len() < MOST
        {
            let here = folders.last().map_or(workspace, String::as_str);
            let there = named::absolute(folder, here).into_owned();
            folders.push(there);
        }
    }
    folders
}

/// Lets a policy speak. What takes away is said; what it allows is handed back, since that counts only
/// when others agree.
pub(super) fn speak<'a>(
    layer: &'a PolicyLayer,
    facts: &CallFacts<'a>,
    strongest: &mut StrongestOpinion<'a>,
) -> Option<Opinion<'a>> {
    let tool = &facts.tool;
    if let Some((at, pattern)) = layer.auto_deny.find(tool) {
        strongest.say(PolicyAction::Deny, OpinionSource::AutoDeny(at, pattern));
    }
    if let Some(path) = unlisted(layer, facts) {
        let (label, source) = (
            RiskLabel::WritePathNotAllowed,
            OpinionSource::WritePaths(path),
        );
        strongest.say_risk(label, PolicyAction::Deny, source);
    }
    let mut allowed = None;
    for (index, rule) in layer.rules.iter().enumerate() {
        match rule.action {
            PolicyAction::Allow if allowed.is_some() => {}
            PolicyAction::Allow => {
                let holds = match rule.is_of_commands() {
                    true => {
                        // What is more than its commands is covered by none; the quick look first.
                        facts.line().is_some_and(is_plain)
                            && takes_part(rule, facts)
                            && covers_line(layer, facts)
                    }
                    false => holds(rule, facts),
                };
                let opinion = Opinion::new(PolicyAction::Allow, OpinionSource::Rule(index, rule));
                allowed = holds.then_some(opinion);
            }
            action @ (PolicyAction::Ask | PolicyAction::Deny) => {
                if holds(rule, facts) {
                    strongest.say(action, OpinionSource::Rule(index, rule));
                }
            }
        }
    }
    if let Some((at, pattern)) = layer.require_approval.find(tool) {
        strongest.say(
            PolicyAction::Ask,
            OpinionSource::RequireApproval(at, pattern),
        );
    }
    allowed.or_else(|| {
        let (at, pattern) = layer.auto_approve.find(tool)?;
        let source = OpinionSource::AutoApprove(at, pattern);
        Some(Opinion::new(PolicyAction::Allow, source))
    })
}

/// The first path that would be written, declared or by redirection, and is not among those that may be.
/// Which of its other words a command writes cannot be known; those are for rules of commands.
fn unlisted<'a>(layer: &PolicyLayer, facts: &CallFacts<'a>) -> Option<&'a str> {
    if layer.write_paths.is_empty() || !facts.call.writes() {
        return None;
    }
    let call = facts.call;
    let listed = |target: &CallPath<'_>| layer.write_paths.iter().any(|at| target.is_named(*at));
    let mut targets = facts.paths.targets.iter();
    let declared = targets.find(|target| !listed(target));
    let shown = declared.map(|target| target.located.info.display());
    shown.or_else(|| {
        let redirects = facts.line().into_iter().flat_map(|line| &line.redirects);
        let mut written = redirects
            .filter(|redirect| guard::writes_file(redirect))
            .map(|redirect| redirect.path.as_str())
            // A declared one was judged by where it leads.
            .filter(|path| !call.paths.iter().any(|it| it.info.input == *path));
        written.find(|path| !facts.sets.lists(&layer.write_paths, path, call.workspace))
    })
}

/// Whether a rule is about this call.
fn holds(rule: &CompiledRule, facts: &CallFacts<'_>) -> bool {
    is_of_call(rule, facts) && is_of_paths(rule, facts) && is_of_line(rule, facts)
}

/// Whether an `allow` or `ask` rule names this outside path, by an absolute pattern.
pub(super) fn names_outside(
    rule: &CompiledRule,
    facts: &CallFacts<'_>,
    target: &CallPath<'_>,
) -> bool {
    let mut named = rule.path.iter();
    rule.action != PolicyAction::Deny
        && named.any(|at| matches!(at, PathPattern::Absolute(_)) && target.is_named(*at))
        && is_of_call(rule, facts)
        && is_of_line(rule, facts)
}

/// Everything but paths and commands.
fn is_of_call(rule: &CompiledRule, facts: &CallFacts<'_>) -> bool {
    let call = facts.call;
    let any = |names: &[NamePattern], text: &str| names.iter().any(|name| name.matches(text));
    let kind = call.kind.unwrap_or(ToolKind::Other);
    (rule.tool.is_empty() || rule.tool.iter().any(|at| facts.tool.has(*at)))
        && (rule.tool_kind.is_empty() || rule.tool_kind.contains(&kind))
        && (rule.side_effect.is_empty()
            || call
                .side_effect
                .is_some_and(|it| rule.side_effect.contains(&it)))
        && (rule.agent.is_empty() || call.agent.is_some_and(|agent| any(&rule.agent, agent)))
        && (rule.mode.is_empty() || rule.mode.contains(&call.mode))
        && (rule.capability.is_empty()
            || of_many(rule.action, call.capabilities, |it| {
                any(&rule.capability, it)
            }))
}

fn is_of_paths(rule: &CompiledRule, facts: &CallFacts<'_>) -> bool {
    if rule.path.is_empty() {
        return true;
    }
    // Of no path at all is quickly told, and most rules are.
    let touched = rule.path.iter().any(|at| facts.paths.touch(*at));
    match rule.action {
        PolicyAction::Ask | PolicyAction::Deny => {
            touched || rule.path.iter().any(|at| facts.words_touch(*at))
        }
        PolicyAction::Allow => {
            touched
                && facts.paths.targets.iter().all(|target| {
                    let told = matches!(
                        target.located.standing,
                        PathScope::Inside | PathScope::Outside
                    );
                    told && rule.path.iter().any(|at| target.is_named(*at))
                })
        }
    }
}

fn is_of_line(rule: &CompiledRule, facts: &CallFacts<'_>) -> bool {
    if !rule.is_of_commands() {
        return true;
    }
    let Some(line) = facts.line() else {
        return false;
    };
    let sure = rule.action != PolicyAction::Allow || is_plain(line);
    sure && may_cover(rule, facts)
        && of_many(rule.action, &line.commands, |command| covers(rule, command))
}

/// What allows has to mean all there is, and that something; what takes away, any of it.
fn of_many<T>(action: PolicyAction, all: &[T], matches: impl Fn(&T) -> bool) -> bool {
    match action {
        PolicyAction::Allow => !all.is_empty() && all.iter().all(matches),
        PolicyAction::Ask | PolicyAction::Deny => all.iter().any(matches),
    }
}

/// Whether a rule of commands may mean any of a call's, by their programs.
fn may_cover(rule: &CompiledRule, facts: &CallFacts<'_>) -> bool {
    let reading = rule.reading();
    rule.command.is_empty()
        || rule.command.iter().any(|pattern| {
            let mut programs = facts.programs.iter();
            programs.any(|program| pattern.may_begin(program, reading))
        })
}

/// Whether a rule of commands means this one.
fn covers(rule: &CompiledRule, command: &SimpleCommand) -> bool {
    let reading = rule.reading();
    let by_words = |pattern: &CommandPattern| pattern.matches(command, reading);
    // A program's name alone spells none of its words, as an open tail does not.
    let unspelt = || {
        let words = command.argv.get(1..).unwrap_or_default();
        reading == MatchStrictness::Wide || stays(words)
    };
    let worded = match rule.command.is_empty() {
        true => unspelt(),
        false => rule.command.iter().any(by_words),
    };
    worded
        && (rule.identity.is_empty() || rule.identity.iter().any(|it| it.matches(command, reading)))
}

/// Whether an allow rule of commands means at least one command of the call.
fn takes_part(rule: &CompiledRule, facts: &CallFacts<'_>) -> bool {
    let line = facts.line();
    may_cover(rule, facts)
        && is_of_call(rule, facts)
        && is_of_paths(rule, facts)
        && line.is_some_and(|line| line.commands.iter().any(|command| covers(rule, command)))
}

/// Whether every command of the line is allowed by a rule of this policy. One rule need not know them all:
/// what may run alone may run after something else that may.
fn covers_line(layer: &PolicyLayer, facts: &CallFacts<'_>) -> bool {
    let Some(line) = facts.line() else {
        return false;
    };
    let allowed = |command: &SimpleCommand| {
        layer.rules.iter().any(|rule| {
            rule.action == PolicyAction::Allow
                && rule.is_of_commands()
                && covers(rule, command)
                && is_of_call(rule, facts)
                && is_of_paths(rule, facts)
        })
    };
    is_plain(line) && line.commands.iter().all(allowed)
}

/// Whether a line is no more than its commands: nothing doubtful, and no file written beside.
fn is_plain(line: &ShellLine) -> bool {
    line.doubts.is_empty() && !line.redirects.iter().any(guard::writes_file)
}
