//! Evaluates one policy by itself: its lists and its rules. Knows no other policy and no mode.

use std::cell::OnceCell;

use harn_model::{PolicyAction, RiskLabel, SideEffectLevel, ToolKind};

use super::{Opinion, OpinionSource, PolicyCall, StrongestOpinion, guard};
use crate::{
    CommandFindings, PathScope,
    command::{CommandPattern, MatchStrictness, stay_inside},
    compile::{CompiledRule, PolicyLayer, PolicyLayers},
    line_folders::{entered_folders, start_folders},
    path::normalise_text,
    pattern::{CallPath, CallPaths, NamePattern, PathPattern, PathSets, PatternHits, PossibleHits},
    shell::{ShellLine, SimpleCommand},
};

/// A call, with facts that are computed once for all rules.
pub(super) struct CallFacts<'a> {
    pub(super) call: &'a PolicyCall<'a>,
    /// The patterns that match its tool.
    tool: PatternHits,
    /// The path patterns of the policy.
    sets: &'a PathSets,
    /// Its paths, ready for patterns.
    pub(super) paths: CallPaths<'a>,
    /// The patterns that the words of its line may match; computed for the first rule that needs them.
    words: OnceCell<PossibleHits>,
    /// The programs of its line, each once: long lines repeat a few, and most rules match none of them.
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
            tool: layers.tools.find_matches(call.tool),
            sets: &layers.paths,
            paths: layers.paths.match_paths(call.paths),
            words: OnceCell::new(),
            programs,
        }
    }

    /// Whether an ask or deny pattern may match a word of its line, or a redirected file. A command may do
    /// anything with its words, so naming is enough.
    fn words_may_match(&self, pattern: PathPattern) -> bool {
        let Some(line) = self.line() else {
            return false;
        };
        let words = self.words.get_or_init(|| {
            let argv = line.commands.iter().flat_map(|command| &command.argv);
            let redirects = line.redirects.iter().map(|redirect| &redirect.path);
            let words = argv.chain(redirects).map(String::as_str);
            let targets = self
                .call
                .findings
                .into_iter()
                .flat_map(CommandFindings::targets);
            let words = words.chain(targets);
            // A declared folder may be the one in which it runs, and the line itself may change the directory.
            let workspace = &*normalise_text(self.call.workspace);
            let starts = start_folders(workspace, self.call.paths, line);
            let entered = entered_folders(line, &starts);
            let folders = entered.as_ref().map(|entered| {
                let entered = entered.iter().map(String::as_str);
                let folders = starts.iter().skip(1).copied().chain(entered);
                folders.collect::<Vec<_>>()
            });
            self.sets.match_words(words, workspace, folders.as_deref())
        });
        words.is_hit(pattern)
    }

    fn line(&self) -> Option<&'a ShellLine> {
        self.call.command.map(|(_, line)| line)
    }
}

/// Evaluates a policy. Records its ask and deny opinions, and returns its allow opinion, which counts only
/// if others agree.
pub(super) fn evaluate<'a>(
    layer: &'a PolicyLayer,
    facts: &CallFacts<'a>,
    strongest: &mut StrongestOpinion<'a>,
) -> Option<Opinion<'a>> {
    let tool = &facts.tool;
    if let Some((at, pattern)) = layer.auto_deny.find(tool) {
        strongest.record(PolicyAction::Deny, OpinionSource::AutoDeny(at, pattern));
    }
    if let Some(path) = first_unlisted_path(layer, facts) {
        let (label, source) = (
            RiskLabel::WritePathNotAllowed,
            OpinionSource::WritePaths(path),
        );
        strongest.record_risk(label, PolicyAction::Deny, source);
    }
    let mut allowed = None;
    for (index, rule) in layer.rules.iter().enumerate() {
        match rule.action {
            PolicyAction::Allow if allowed.is_some() => {}
            PolicyAction::Allow => {
                let holds = match rule.has_command_patterns() {
                    true => {
                        // No rule covers a line that is more than its commands. This check is quick, so it is
                        // first.
                        facts.line().is_some_and(is_plain)
                            && covers_any_command(rule, facts)
                            && covers_line(layer, facts)
                    }
                    false => applies(rule, facts),
                };
                let opinion = Opinion::new(PolicyAction::Allow, OpinionSource::Rule(index, rule));
                allowed = holds.then_some(opinion);
            }
            action @ (PolicyAction::Ask | PolicyAction::Deny) => {
                if applies(rule, facts) {
                    strongest.record(action, OpinionSource::Rule(index, rule));
                }
            }
        }
    }
    if let Some((at, pattern)) = layer.require_approval.find(tool) {
        strongest.record(
            PolicyAction::Ask,
            OpinionSource::RequireApproval(at, pattern),
        );
    }
    // A list of tools covers no access that only the arguments of a call state.
    allowed.or_else(|| {
        if facts.call.access().is_more() {
            return None;
        }
        let (at, pattern) = layer.auto_approve.find(tool)?;
        let source = OpinionSource::AutoApprove(at, pattern);
        Some(Opinion::new(PolicyAction::Allow, source))
    })
}

/// Returns the first path, declared or redirected, that would be written and is not in the allowlist.
/// Which of its other words a command writes is unknown; rules for commands cover those.
fn first_unlisted_path<'a>(layer: &PolicyLayer, facts: &CallFacts<'a>) -> Option<&'a str> {
    if layer.write_paths.is_empty() || !facts.call.writes() {
        return None;
    }
    let call = facts.call;
    let listed =
        |target: &CallPath<'_>| layer.write_paths.iter().any(|at| target.is_matched_by(*at));
    let mut targets = facts.paths.targets.iter();
    let declared = targets.find(|target| !listed(target));
    let shown = declared.map(|target| target.located.info.display());
    shown.or_else(|| {
        let redirects = facts.line().into_iter().flat_map(|line| &line.redirects);
        let mut written = redirects
            .filter(|redirect| guard::writes_file(redirect))
            .map(|redirect| redirect.path.as_str())
            // A declared path is already checked, by its target.
            .filter(|path| !call.paths.iter().any(|it| it.info.input == *path));
        written.find(|path| {
            !facts
                .sets
                .is_listed(&layer.write_paths, path, call.workspace)
        })
    })
}

/// Whether a rule applies to this call.
fn applies(rule: &CompiledRule, facts: &CallFacts<'_>) -> bool {
    matches_call(rule, facts) && matches_paths(rule, facts) && matches_line(rule, facts)
}

/// Whether an `allow` or `ask` rule names this outside path, by an absolute pattern.
pub(super) fn names_outside(
    rule: &CompiledRule,
    facts: &CallFacts<'_>,
    target: &CallPath<'_>,
) -> bool {
    let mut named = rule.path.iter();
    rule.action != PolicyAction::Deny
        && named.any(|at| matches!(at, PathPattern::Absolute(_)) && target.is_matched_by(*at))
        && matches_call(rule, facts)
        && matches_line(rule, facts)
}

/// Whether a rule matches everything but paths and commands.
fn matches_call(rule: &CompiledRule, facts: &CallFacts<'_>) -> bool {
    let call = facts.call;
    let any = |names: &[NamePattern], text: &str| names.iter().any(|name| name.matches(text));
    let kind = call.kind.unwrap_or(ToolKind::Other);
    (rule.tool.is_empty() || rule.tool.iter().any(|at| facts.tool.has(*at)))
        && (rule.tool_kind.is_empty() || rule.tool_kind.contains(&kind))
        && matches_reach(rule, call)
        && (rule.agent.is_empty() || call.agent.is_some_and(|agent| any(&rule.agent, agent)))
        && (rule.mode.is_empty() || rule.mode.contains(&call.mode))
        && (rule.capability.is_empty()
            || matches_list(rule.action, call.capabilities, |it| {
                any(&rule.capability, it)
            }))
}

/// Whether a rule matches the side effects of a call and the access that its command requests. An ask or deny rule
/// matches by either. An allow rule covers the network and the outside of the sandbox only if it names them.
fn matches_reach(rule: &CompiledRule, call: &PolicyCall<'_>) -> bool {
    let access = call.access();
    let names = |level| rule.side_effect.contains(&level);
    let by_level = rule.side_effect.is_empty() || call.side_effect.is_some_and(names);
    let by_network = access.is_more() && names(SideEffectLevel::Network);
    let placed = rule
        .sandbox
        .is_none_or(|inside| call.command.is_some() && inside != access.outside);
    let granted = match rule.action {
        PolicyAction::Allow if access.outside => rule.sandbox == Some(false),
        PolicyAction::Allow if access.network => by_network,
        PolicyAction::Allow | PolicyAction::Ask | PolicyAction::Deny => true,
    };
    (by_level || by_network) && placed && granted
}

fn matches_paths(rule: &CompiledRule, facts: &CallFacts<'_>) -> bool {
    if rule.path.is_empty() {
        return true;
    }
    // Most rules match no path at all, and this check is quick.
    let touched = rule.path.iter().any(|at| facts.paths.may_match(*at));
    match rule.action {
        PolicyAction::Ask | PolicyAction::Deny => {
            touched || rule.path.iter().any(|at| facts.words_may_match(*at))
        }
        PolicyAction::Allow => {
            touched
                && facts.paths.targets.iter().all(|target| {
                    let told = matches!(
                        target.located.standing,
                        PathScope::Inside | PathScope::Outside
                    );
                    told && rule.path.iter().any(|at| target.is_matched_by(*at))
                })
        }
    }
}

fn matches_line(rule: &CompiledRule, facts: &CallFacts<'_>) -> bool {
    if !rule.has_command_patterns() {
        return true;
    }
    let Some(line) = facts.line() else {
        return false;
    };
    let sure = rule.action != PolicyAction::Allow || is_plain(line);
    let covers = |command: &SimpleCommand, is_linked| covers_command(rule, command, is_linked);
    sure && may_cover(rule, facts)
        && match rule.action {
            PolicyAction::Allow => covers_every_command(facts, covers),
            PolicyAction::Ask | PolicyAction::Deny => {
                line.commands.iter().any(|command| covers(command, false))
            }
        }
}

/// Whether a rule matches a list: an allow rule all items and at least one, an ask or deny rule any.
fn matches_list<T>(action: PolicyAction, all: &[T], matches: impl Fn(&T) -> bool) -> bool {
    match action {
        PolicyAction::Allow => !all.is_empty() && all.iter().all(matches),
        PolicyAction::Ask | PolicyAction::Deny => all.iter().any(matches),
    }
}

/// Whether a rule for commands may match any of a call's, judged by their programs.
fn may_cover(rule: &CompiledRule, facts: &CallFacts<'_>) -> bool {
    let reading = rule.strictness();
    rule.command.is_empty()
        || rule.command.iter().any(|pattern| {
            let mut programs = facts.programs.iter();
            programs.any(|program| pattern.may_begin(program, reading))
        })
}

/// Whether a rule for commands matches this one. If a word of it is a link that leads out, an allow rule must spell
/// all its words.
fn covers_command(rule: &CompiledRule, command: &SimpleCommand, is_linked: bool) -> bool {
    let reading = rule.strictness();
    let is_linked = is_linked && reading == MatchStrictness::Whole;
    let by_words = |pattern: &CommandPattern| {
        pattern.matches(command, reading) && (!is_linked || pattern.is_plain())
    };
    // A program's name alone spells none of its words, like a trailing `*`.
    let unspelt = || {
        let words = command.argv.get(1..).unwrap_or_default();
        reading == MatchStrictness::Wide || (!is_linked && stay_inside(words))
    };
    let worded = match rule.command.is_empty() {
        true => unspelt(),
        false => rule.command.iter().any(by_words),
    };
    worded
        && (rule.identity.is_empty() || rule.identity.iter().any(|it| it.matches(command, reading)))
}

/// Whether an allow rule for commands matches at least one command of the call.
fn covers_any_command(rule: &CompiledRule, facts: &CallFacts<'_>) -> bool {
    let line = facts.line();
    may_cover(rule, facts)
        && matches_call(rule, facts)
        && matches_paths(rule, facts)
        && line.is_some_and(|line| {
            let mut commands = line.commands.iter();
            commands.any(|command| covers_command(rule, command, false))
        })
}

/// Whether `covers` holds for every command of the line, given whether it is linked. A file outside that the line
/// reads by redirection counts as the last word of one of them: `cat < ../x` is judged like `cat ../x`.
fn covers_every_command(
    facts: &CallFacts<'_>,
    covers: impl Fn(&SimpleCommand, bool) -> bool,
) -> bool {
    let Some(line) = facts.line() else {
        return false;
    };
    let is_linked = |at| {
        facts
            .call
            .findings
            .is_some_and(|findings| findings.leads_out(at))
    };
    let mut commands = line.commands.iter().enumerate();
    let mut redirects = line.redirects.iter().enumerate();
    !line.commands.is_empty()
        && commands.all(|(at, command)| covers(command, is_linked(at)))
        && redirects.all(|(at, redirect)| {
            let findings = facts.call.findings;
            let linked = findings.is_some_and(|findings| findings.redirect_leads_out(at));
            let stays = redirect.write
                || redirect.path == "/dev/null"
                || (!linked && stay_inside(std::slice::from_ref(&redirect.path)));
            stays
                || line.commands.iter().any(|command| {
                    let mut command = command.clone();
                    command.argv.push(redirect.path.clone());
                    covers(&command, linked)
                })
        })
}

/// Whether rules of this policy allow every command of the line. One rule need not match them all: a command
/// that may run alone may run after another allowed one.
fn covers_line(layer: &PolicyLayer, facts: &CallFacts<'_>) -> bool {
    let allowed = |command: &SimpleCommand, is_linked| {
        layer.rules.iter().any(|rule| {
            rule.action == PolicyAction::Allow
                && rule.has_command_patterns()
                && covers_command(rule, command, is_linked)
                && matches_call(rule, facts)
                && matches_paths(rule, facts)
        })
    };
    facts.line().is_some_and(is_plain) && covers_every_command(facts, allowed)
}

/// Whether a line is no more than its commands: it has no doubts and writes no other file.
fn is_plain(line: &ShellLine) -> bool {
    line.doubts.is_empty() && !line.redirects.iter().any(guard::writes_file)
}
