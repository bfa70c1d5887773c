//! Compiles a written policy into one that decides quickly: patterns compiled, nested policies flattened into
//! a list. Enforces the limits; a policy that exceeds one is rejected.

use harn_model::{PolicyAction, SideEffectLevel, ToolKind};

use crate::{
    PolicyError, SessionMode, ToolApprovalPolicy,
    command::{CommandPattern, MatchStrictness, ProgramPattern},
    pattern::{
        NamePattern, PathPattern, PathSets, PathSetsBuilder, PatternHits, PatternIndex, PatternSet,
        PatternSetBuilder,
    },
    rule::{PolicyRule, RuleMatcher},
};

/// The limits of nested policies: their number and their depth.
const MOST_LAYERS: usize = 64;
const DEEPEST: usize = 16;
/// The limit of patterns in all policies together.
const MOST_PATTERNS: usize = 10_000;
/// The limit of rules in one policy.
const MOST_RULES: usize = 2_000;

/// A policy and the policies in it, as a list.
#[derive(Debug)]
pub(crate) struct PolicyLayers {
    pub(crate) layers: Vec<PolicyLayer>,
    pub(crate) tools: PatternSet,
    pub(crate) paths: PathSets,
}

/// One policy by itself.
#[derive(Debug)]
pub(crate) struct PolicyLayer {
    pub(crate) auto_approve: ToolNameList,
    pub(crate) auto_deny: ToolNameList,
    pub(crate) require_approval: ToolNameList,
    pub(crate) write_paths: Vec<PathPattern>,
    pub(crate) rules: Vec<CompiledRule>,
    /// Whether its approvals count by themselves, or only narrow those of others.
    pub(crate) gives: bool,
    /// Whether it allows anything. If so, others allow nothing that it does not.
    pub(crate) approves: bool,
}

#[derive(Debug)]
pub(crate) struct ToolNameList {
    places: Vec<PatternIndex>,
    texts: Vec<String>,
}

impl ToolNameList {
    fn read(
        tools: &mut PatternSetBuilder,
        name: &str,
        patterns: &[String],
    ) -> Result<Self, PolicyError> {
        let places = tools
            .add_names(patterns)
            .map_err(|error| with_list_name(error, name))?;
        Ok(Self {
            places,
            texts: patterns.to_vec(),
        })
    }

    /// Returns the first pattern that matches this tool, and its index.
    pub(crate) fn find(&self, tool: &PatternHits) -> Option<(usize, &str)> {
        let at = self.places.iter().position(|at| tool.has(*at))?;
        self.texts.get(at).map(|text| (at, text.as_str()))
    }
}

#[derive(Debug)]
pub(crate) struct CompiledRule {
    pub(crate) id: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) action: PolicyAction,
    pub(crate) tool: Vec<PatternIndex>,
    pub(crate) tool_kind: Vec<ToolKind>,
    pub(crate) side_effect: Vec<SideEffectLevel>,
    pub(crate) path: Vec<PathPattern>,
    pub(crate) command: Vec<CommandPattern>,
    pub(crate) identity: Vec<ProgramPattern>,
    pub(crate) agent: Vec<NamePattern>,
    pub(crate) mode: Vec<SessionMode>,
    pub(crate) capability: Vec<NamePattern>,
    /// Whether it is for commands in the sandbox, or for those outside; none for both.
    pub(crate) sandbox: Option<bool>,
}

impl CompiledRule {
    fn read(
        rule: &PolicyRule,
        tools: &mut PatternSetBuilder,
        paths: &mut PathSetsBuilder,
    ) -> Result<Self, PolicyError> {
        let RuleMatcher {
            tool,
            tool_kind,
            side_effect,
            path,
            command,
            command_identity,
            agent,
            mode,
            capability,
            sandbox,
        } = &rule.matcher;
        let reading = strictness_for(rule.action);
        let commands = command
            .iter()
            .map(|text| CommandPattern::read(text, reading));
        let programs = command_identity
            .iter()
            .map(|text| ProgramPattern::read(text, reading));
        Ok(Self {
            id: rule.id.clone(),
            reason: rule.reason.clone(),
            action: rule.action,
            tool: tools.add_names(tool)?,
            tool_kind: tool_kind.clone(),
            side_effect: side_effect.clone(),
            path: match rule.action {
                PolicyAction::Allow => paths.add_all(path)?,
                PolicyAction::Ask | PolicyAction::Deny => paths.add_restricting(path)?,
            },
            command: commands.collect::<Result<_, _>>()?,
            identity: programs.collect::<Result<_, _>>()?,
            agent: NamePattern::read_all(agent)?,
            mode: mode.clone(),
            capability: NamePattern::read_all(capability)?,
            sandbox: *sandbox,
        })
    }

    /// Whether it checks what a call runs.
    pub(crate) fn has_command_patterns(&self) -> bool {
        !self.command.is_empty() || !self.identity.is_empty()
    }

    /// Returns how strictly it compares commands.
    pub(crate) fn strictness(&self) -> MatchStrictness {
        strictness_for(self.action)
    }
}

/// Returns the strictness for an action: an allow rule must be certain, an ask or deny rule must miss nothing.
fn strictness_for(action: PolicyAction) -> MatchStrictness {
    match action {
        PolicyAction::Allow => MatchStrictness::Whole,
        PolicyAction::Ask | PolicyAction::Deny => MatchStrictness::Wide,
    }
}

impl PolicyLayers {
    pub(crate) fn read(policy: &ToolApprovalPolicy) -> Result<Self, PolicyError> {
        let mut reader = LayerCompiler::default();
        reader.compile_policy(policy, true, 0)?;
        Ok(Self {
            layers: reader.layers,
            tools: reader.tools.build()?,
            paths: reader.paths.build()?,
        })
    }
}

#[derive(Default)]
struct LayerCompiler {
    layers: Vec<PolicyLayer>,
    tools: PatternSetBuilder,
    paths: PathSetsBuilder,
    patterns: usize,
}

impl LayerCompiler {
    /// Compiles a policy and those in it. `gives` is false inside of a policy that only tightens.
    fn compile_policy(
        &mut self,
        policy: &ToolApprovalPolicy,
        gives: bool,
        depth: usize,
    ) -> Result<(), PolicyError> {
        let ToolApprovalPolicy {
            auto_approve,
            auto_deny,
            require_approval,
            write_path_allowlist,
            rules,
            // Not about decisions; `SandboxSettings` combines the sections.
            sandbox: _,
            only_tightens,
            all_of,
        } = policy;
        if depth > DEEPEST || self.layers.len() >= MOST_LAYERS {
            let message = format!(
                "too many nested policies; at most {MOST_LAYERS} policies, {DEEPEST} deep, are supported"
            );
            return Err(PolicyError::Limit { message });
        }
        if rules.len() > MOST_RULES {
            let message = format!(
                "too many rules: {}; at most {MOST_RULES} are supported",
                rules.len()
            );
            return Err(PolicyError::Limit { message });
        }
        let lists = [
            auto_approve,
            auto_deny,
            require_approval,
            write_path_allowlist,
        ];
        self.patterns += lists.iter().map(|list| list.len()).sum::<usize>();
        self.patterns += rules
            .iter()
            .map(|rule| count_entries(&rule.matcher))
            .sum::<usize>();
        if self.patterns > MOST_PATTERNS {
            let message = format!("too many patterns; at most {MOST_PATTERNS} are supported");
            return Err(PolicyError::Limit { message });
        }
        let gives = gives && !only_tightens;
        let write_paths = self.paths.add_all(write_path_allowlist);
        let layer = PolicyLayer {
            auto_approve: ToolNameList::read(&mut self.tools, "auto_approve", auto_approve)?,
            auto_deny: ToolNameList::read(&mut self.tools, "auto_deny", auto_deny)?,
            require_approval: ToolNameList::read(
                &mut self.tools,
                "require_approval",
                require_approval,
            )?,
            write_paths: write_paths
                .map_err(|error| with_list_name(error, "write_path_allowlist"))?,
            rules: self.compile_rules(rules)?,
            gives,
            approves: !auto_approve.is_empty()
                || rules.iter().any(|rule| rule.action == PolicyAction::Allow),
        };
        self.layers.push(layer);
        for inner in all_of {
            self.compile_policy(inner, gives, depth + 1)?;
        }
        Ok(())
    }

    fn compile_rules(&mut self, rules: &[PolicyRule]) -> Result<Vec<CompiledRule>, PolicyError> {
        let mut compiled = Vec::with_capacity(rules.len());
        for (index, rule) in rules.iter().enumerate() {
            if rule.matcher.is_empty() {
                let message = "it has no condition; `tool = \"*\"` matches every call";
                return Err(PolicyError::Rule {
                    index,
                    message: message.to_owned(),
                });
            }
            let rule = CompiledRule::read(rule, &mut self.tools, &mut self.paths);
            compiled.push(rule.map_err(|error| PolicyError::Rule {
                index,
                message: error.to_string(),
            })?);
        }
        Ok(compiled)
    }
}

fn count_entries(matcher: &RuleMatcher) -> usize {
    matcher.tool.len()
        + matcher.path.len()
        + matcher.command.len()
        + matcher.command_identity.len()
        + matcher.agent.len()
        + matcher.capability.len()
}

/// Adds the name of the list to the error about a pattern.
fn with_list_name(error: PolicyError, list: &str) -> PolicyError {
    match error {
        PolicyError::Pattern { pattern, message } => PolicyError::Pattern {
            pattern,
            message: format!("{message} (in {list})"),
        },
        other => other,
    }
}
