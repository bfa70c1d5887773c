//! Decodes front matter into a card. Reports every problem with its line, not only the first.

mod servers;

use harn_model::HostSkill;
use serde_json::Value;

pub(super) use self::servers::read_server;
use super::{
    card::{SkillCard, SkillHook, check_name},
    front_matter::SkillFileParts,
    problem::{ProblemSeverity, SkillProblem},
};
use crate::yaml::{YamlEntry, YamlFault, YamlNode, YamlPosition, YamlValue};

/// The result of decoding: a card, unless there are errors, and the problems.
#[derive(Debug)]
pub(super) struct DecodedCard {
    pub(super) card: Option<SkillCard>,
    /// Sorted by line; without a path, which is not known here.
    pub(super) problems: Vec<SkillProblem>,
}

const KEYS: &str = "name, short, description, when_to_use, disable_model_invocation, allowed_tools, \
                    user_invocable, paths, context, agent, model, effort, shell, argument_hint, hooks, \
                    require_signature, trusted_signers, mcp_servers";

/// Decodes the card of a file. `folder` is the name of its folder, which is the skill's name if the file has none.
pub(super) fn decode_file(split: &SkillFileParts<'_>, folder: &str) -> DecodedCard {
    let mut reader = CardReader::new(folder);
    match split.front {
        None => reader.card.short = first_line(split.body),
        Some((front, before)) => {
            reader.before = before;
            reader.read_front_matter(front);
        }
    }
    reader.finish()
}

/// Decodes the card of a host's skill: its manifest is read like front matter, but needs no `short`.
pub(super) fn decode_host_skill(skill: &HostSkill) -> DecodedCard {
    let mut reader = CardReader::new(&skill.name);
    reader.card.description = skill.description.clone();
    reader.card.short = first_line(&skill.description);
    let node = YamlNode::from_value(&Value::Object(skill.manifest.clone()), YamlPosition::START);
    if let YamlValue::Map(entries) = &node.data {
        reader.read_entries(entries);
    }
    reader.finish()
}

/// Returns the first line of a text, for a menu.
fn first_line(text: &str) -> String {
    const LONGEST: usize = 120;
    let line = text.lines().map(|line| line.trim_start_matches('#').trim());
    let line = line.into_iter().find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(LONGEST).collect()
}

struct CardReader {
    card: SkillCard,
    problems: Vec<SkillProblem>,
    /// The number of lines before the text that is read.
    before: usize,
    /// Whether the card states its name.
    named: bool,
}

impl CardReader {
    fn new(name: &str) -> Self {
        Self {
            card: SkillCard::with_name(name),
            problems: Vec::new(),
            before: 0,
            named: false,
        }
    }

    fn finish(mut self) -> DecodedCard {
        if !self.named
            && let Err(wrong) = check_name(&self.card.name)
        {
            let wrong = format!("{wrong}; or give the skill another name than its folder's");
            self.add_problem(self.before.max(1), ProblemSeverity::Error, wrong);
        }
        self.problems.sort_by_key(|problem| problem.line);
        let wrong = |problem: &SkillProblem| problem.severity == ProblemSeverity::Error;
        DecodedCard {
            card: (!self.problems.iter().any(wrong)).then_some(self.card),
            problems: self.problems,
        }
    }

    fn read_front_matter(&mut self, front: &str) {
        let empty = front.lines().all(|line| {
            let line = line.trim();
            line.is_empty() || line.starts_with('#')
        });
        if !empty {
            let node = match YamlNode::parse(front) {
                Ok(node) => node,
                Err(fault) => return self.add_error(fault),
            };
            match &node.data {
                YamlValue::Null => {}
                YamlValue::Map(entries) => self.read_entries(entries),
                _ => {
                    let kind = node.kind();
                    let wrong =
                        format!("front matter must be a map of keys and values, not {kind}");
                    return self.add_error(YamlFault::new(node.at, wrong));
                }
            }
        }
        let told = |problem: &SkillProblem| problem.message.starts_with("short ");
        if self.card.short.is_empty() && !self.problems.iter().any(told) {
            let wrong = "short is required: one line that describes the purpose of the skill";
            // The line of the opening fence, as no other line is at fault.
            self.add_problem(self.before, ProblemSeverity::Error, wrong.to_owned());
        }
    }

    fn read_entries(&mut self, entries: &[YamlEntry]) {
        let mut seen: Vec<String> = Vec::new();
        for entry in entries {
            if !entry.key_is_text {
                let wrong = format!(
                    "a key must be text, not {}; put it in quotes if it is text",
                    entry.key
                );
                self.add_error(YamlFault::new(entry.key_at, wrong));
                continue;
            }
            let key = entry.key.replace('-', "_");
            if seen.contains(&key) {
                let wrong = format!("{key} is given twice; `-` and `_` are the same in a key");
                self.add_error(YamlFault::new(entry.key_at, wrong));
                continue;
            }
            if let Err(fault) = self.read_entry(&key, entry) {
                self.add_error(fault);
            }
            seen.push(key);
        }
    }

    fn read_entry(&mut self, key: &str, entry: &YamlEntry) -> Result<(), YamlFault> {
        let value = &entry.value;
        let card = &mut self.card;
        match key {
            "name" => {
                self.named = true;
                card.name = read_text(value, key)?;
                check_name(&card.name).map_err(|wrong| YamlFault::new(value.at, wrong))?;
            }
            "short" => {
                let short = read_text(value, key)?;
                if short.trim().is_empty() {
                    let wrong =
                        "short must not be empty: describe the purpose of the skill in one line";
                    return Err(YamlFault::new(value.at, wrong));
                }
                card.short = first_line(&short);
            }
            "description" => card.description = read_text(value, key)?,
            "when_to_use" => card.when_to_use = read_text(value, key)?,
            "disable_model_invocation" => card.disable_model_invocation = read_bool(value, key)?,
            "allowed_tools" => card.allowed_tools = read_texts(value, key)?,
            "user_invocable" => card.user_invocable = read_bool(value, key)?,
            "paths" => card.paths = read_globs(value, key)?,
            "context" => card.context = Some(read_text(value, key)?),
            "agent" => card.agent = Some(read_text(value, key)?),
            "model" => card.model = Some(read_text(value, key)?),
            "effort" => card.effort = Some(read_text(value, key)?),
            "shell" => card.shell = Some(read_text(value, key)?),
            "argument_hint" => card.argument_hint = Some(read_text(value, key)?),
            "hooks" => card.hooks = read_hooks(value)?,
            "require_signature" => {
                card.require_signature = read_bool(value, key)?;
                if card.require_signature {
                    let wrong = "require_signature: signatures are not verified here, so the skill is \
                                 not offered";
                    return Err(YamlFault::new(entry.key_at, wrong));
                }
            }
            "trusted_signers" => card.trusted_signers = read_texts(value, key)?,
            "mcp_servers" => card.mcp_servers = servers::read_servers(value)?,
            _ => {
                let message = format!("unknown key {:?}; the keys are {KEYS}", entry.key);
                self.add_problem(
                    self.before + entry.key_at.line,
                    ProblemSeverity::Warning,
                    message,
                );
            }
        }
        Ok(())
    }

    fn add_error(&mut self, fault: YamlFault) {
        self.add_problem(
            self.before + fault.at.line,
            ProblemSeverity::Error,
            fault.reason,
        );
    }

    fn add_problem(&mut self, line: usize, severity: ProblemSeverity, message: String) {
        self.problems.push(SkillProblem {
            path: None,
            line: Some(line),
            severity,
            message,
        });
    }
}

fn read_hooks(node: &YamlNode) -> Result<Vec<SkillHook>, YamlFault> {
    const FORMS: &str = "a map from events to commands, or a list of maps with event and command";
    match &node.data {
        YamlValue::Map(entries) => entries
            .iter()
            .map(|entry| {
                Ok(SkillHook {
                    event: entry.key.clone(),
                    command: read_nonempty_text(&entry.value, &format!("hooks.{}", entry.key))?,
                })
            })
            .collect(),
        YamlValue::List(items) => items.iter().map(read_hook).collect(),
        _ => Err(type_fault(node, "hooks", FORMS)),
    }
}

/// Decodes one hook of a list.
fn read_hook(node: &YamlNode) -> Result<SkillHook, YamlFault> {
    let YamlValue::Map(entries) = &node.data else {
        return Err(type_fault(node, "a hook", "a map with event and command"));
    };
    let (mut event, mut command) = (None, None);
    for entry in entries {
        let slot = match entry.key.as_str() {
            "event" | "name" => &mut event,
            "command" | "run" => &mut command,
            other => {
                let wrong = format!("unknown field {other:?} in a hook; it has event and command");
                return Err(YamlFault::new(entry.key_at, wrong));
            }
        };
        if slot.is_some() {
            let wrong = format!(
                "{} sets a field of a hook that is set already; remove one of them",
                entry.key
            );
            return Err(YamlFault::new(entry.key_at, wrong));
        }
        *slot = Some(read_nonempty_text(&entry.value, &entry.key)?);
    }
    match (event, command) {
        (Some(event), Some(command)) => Ok(SkillHook { event, command }),
        (None, _) => Err(YamlFault::new(node.at, "a hook needs event")),
        (_, None) => Err(YamlFault::new(node.at, "a hook needs command")),
    }
}

fn read_text(node: &YamlNode, what: &str) -> Result<String, YamlFault> {
    match &node.data {
        YamlValue::Text(text) => Ok(text.clone()),
        _ => Err(type_fault(node, what, "text, in quotes if need be")),
    }
}

fn read_nonempty_text(node: &YamlNode, what: &str) -> Result<String, YamlFault> {
    let text = read_text(node, what)?;
    match text.trim().is_empty() {
        true => Err(YamlFault::new(node.at, format!("{what} must not be empty"))),
        false => Ok(text),
    }
}

fn read_bool(node: &YamlNode, what: &str) -> Result<bool, YamlFault> {
    match &node.data {
        YamlValue::Bool(value) => Ok(*value),
        _ => Err(type_fault(node, what, "true or false")),
    }
}

fn read_texts(node: &YamlNode, what: &str) -> Result<Vec<String>, YamlFault> {
    read_list(node, what, read_nonempty_text)
}

/// Reads each entry of a list with `read`.
fn read_list<T>(
    node: &YamlNode,
    what: &str,
    read: fn(&YamlNode, &str) -> Result<T, YamlFault>,
) -> Result<Vec<T>, YamlFault> {
    let YamlValue::List(items) = &node.data else {
        return Err(type_fault(node, what, "a list, such as [a, b]"));
    };
    let what = format!("each of {what}");
    items.iter().map(|item| read(item, &what)).collect()
}

/// Reads globs. They are compared with every file that is read, so their number and length are limited.
fn read_globs(node: &YamlNode, what: &str) -> Result<Vec<String>, YamlFault> {
    const MOST: usize = 64;
    const LONGEST: usize = 256;
    let globs = read_texts(node, what)?;
    if globs.len() > MOST {
        let reason = format_args!("{what} must be at most {MOST} globs, not {}", globs.len());
        return Err(YamlFault::new(node.at, reason));
    }
    if globs.iter().any(|glob| glob.len() > LONGEST) {
        let reason = format_args!("each of {what} must be at most {LONGEST} bytes long");
        return Err(YamlFault::new(node.at, reason));
    }
    Ok(globs)
}

fn type_fault(node: &YamlNode, what: &str, wanted: &str) -> YamlFault {
    let found = match &node.data {
        YamlValue::Number(number) => number.to_string(),
        _ => node.kind().to_owned(),
    };
    let reason = format_args!("{what} must be {wanted}, not {found}");
    YamlFault::new(node.at, reason)
}

#[cfg(test)]
mod tests;
