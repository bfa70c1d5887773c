//! From front matter to a card. Everything it can get wrong is told with its line, not only the first thing.

mod servers;

use harn_model::HostSkill;
use serde_json::Value;

pub(super) use self::servers::server;
use super::{
    card::{Card, Hook, check_name},
    front::Split,
    problem::{Problem, Severity},
};
use crate::yaml::{Data, Entry, Fault, Node, Pos};

/// A card, if what was given makes one, and what is wrong with it.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) card: Option<Card>,
    /// By line; no path is known here.
    pub(super) problems: Vec<Problem>,
}

const KEYS: &str = "name, short, description, when_to_use, disable_model_invocation, allowed_tools, \
                    user_invocable, paths, context, agent, model, effort, shell, argument_hint, hooks, \
                    require_signature, trusted_signers, mcp_servers";

/// The card of a file. `folder` is the name of the folder it lies in, which counts where the file has none.
pub(super) fn file(split: &Split<'_>, folder: &str) -> Decoded {
    let mut reader = Reader::of(folder);
    match split.front {
        None => reader.card.short = first_line(split.body),
        Some((front, before)) => {
            reader.before = before;
            reader.front_matter(front);
        }
    }
    reader.finish()
}

/// The card of a host's skill: its manifest is read like front matter, and needs no `short`.
pub(super) fn host(skill: &HostSkill) -> Decoded {
    let mut reader = Reader::of(&skill.name);
    reader.card.description = skill.description.clone();
    reader.card.short = first_line(&skill.description);
    let node = Node::of_value(&Value::Object(skill.manifest.clone()), Pos::START);
    if let Data::Map(entries) = &node.data {
        reader.entries(entries);
    }
    reader.finish()
}

/// What a menu can show of a text.
fn first_line(text: &str) -> String {
    const LONGEST: usize = 120;
    let line = text.lines().map(|line| line.trim_start_matches('#').trim());
    let line = line.into_iter().find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(LONGEST).collect()
}

struct Reader {
    card: Card,
    problems: Vec<Problem>,
    /// How many lines come before what is read.
    before: usize,
    /// Whether it says its name itself.
    named: bool,
}

impl Reader {
    fn of(name: &str) -> Self {
        Self {
            card: Card::named(name),
            problems: Vec::new(),
            before: 0,
            named: false,
        }
    }

    fn finish(mut self) -> Decoded {
        if !self.named
            && let Err(wrong) = check_name(&self.card.name)
        {
            let wrong = format!("{wrong}; or give the skill another name than its folder's");
            self.problem(self.before.max(1), Severity::Error, wrong);
        }
        self.problems.sort_by_key(|problem| problem.line);
        let wrong = |problem: &Problem| problem.severity == Severity::Error;
        Decoded {
            card: (!self.problems.iter().any(wrong)).then_some(self.card),
            problems: self.problems,
        }
    }

    fn front_matter(&mut self, front: &str) {
        let empty = front.lines().all(|line| {
            let line = line.trim();
            line.is_empty() || line.starts_with('#')
        });
        if !empty {
            let node = match Node::parse(front) {
                Ok(node) => node,
                Err(fault) => return self.error(fault),
            };
            match &node.data {
                Data::Null => {}
                Data::Map(entries) => self.entries(entries),
                _ => {
                    let kind = node.kind();
                    let wrong =
                        format!("front matter must be a map of keys and values, not {kind}");
                    return self.error(Fault::new(node.at, wrong));
                }
            }
        }
        let told = |problem: &Problem| problem.message.starts_with("short ");
        if self.card.short.is_empty() && !self.problems.iter().any(told) {
            let wrong = "short is required: one line that says what the skill is for";
            // The fence above: there is no line to blame.
            self.problem(self.before, Severity::Error, wrong.to_owned());
        }
    }

    fn entries(&mut self, entries: &[Entry]) {
        let mut seen: Vec<String> = Vec::new();
        for entry in entries {
            if !entry.key_is_text {
                let wrong = format!(
                    "a key must be text, not {}; put it in quotes if it is meant so",
                    entry.key
                );
                self.error(Fault::new(entry.key_at, wrong));
                continue;
            }
            let key = entry.key.replace('-', "_");
            if seen.contains(&key) {
                let wrong = format!("{key} is given twice; `-` and `_` are the same in a key");
                self.error(Fault::new(entry.key_at, wrong));
                continue;
            }
            if let Err(fault) = self.entry(&key, entry) {
                self.error(fault);
            }
            seen.push(key);
        }
    }

    fn entry(&mut self, key: &str, entry: &Entry) -> Result<(), Fault> {
        let value = &entry.value;
        let card = &mut self.card;
        match key {
            "name" => {
                self.named = true;
                card.name = text(value, key)?;
                check_name(&card.name).map_err(|wrong| Fault::new(value.at, wrong))?;
            }
            "short" => {
                let short = text(value, key)?;
                if short.trim().is_empty() {
                    let wrong = "short must not be empty: say in one line what the skill is for";
                    return Err(Fault::new(value.at, wrong));
                }
                card.short = first_line(&short);
            }
            "description" => card.description = text(value, key)?,
            "when_to_use" => card.when_to_use = text(value, key)?,
            "disable_model_invocation" => card.disable_model_invocation = truth(value, key)?,
            "allowed_tools" => card.allowed_tools = texts(value, key)?,
            "user_invocable" => card.user_invocable = truth(value, key)?,
            "paths" => card.paths = globs(value, key)?,
            "context" => card.context = Some(text(value, key)?),
            "agent" => card.agent = Some(text(value, key)?),
            "model" => card.model = Some(text(value, key)?),
            "effort" => card.effort = Some(text(value, key)?),
            "shell" => card.shell = Some(text(value, key)?),
            "argument_hint" => card.argument_hint = Some(text(value, key)?),
            "hooks" => card.hooks = hooks(value)?,
            "require_signature" => {
                card.require_signature = truth(value, key)?;
                if card.require_signature {
                    let wrong = "require_signature: signatures are not verified here, so the skill is \
                                 not offered";
                    return Err(Fault::new(entry.key_at, wrong));
                }
            }
            "trusted_signers" => card.trusted_signers = texts(value, key)?,
            "mcp_servers" => card.mcp_servers = servers::read(value)?,
            _ => {
                let message = format!("unknown key {:?}; the keys are {KEYS}", entry.key);
                self.problem(self.before + entry.key_at.line, Severity::Warning, message);
            }
        }
        Ok(())
    }

    fn error(&mut self, fault: Fault) {
        self.problem(self.before + fault.at.line, Severity::Error, fault.reason);
    }

    fn problem(&mut self, line: usize, severity: Severity, message: String) {
        self.problems.push(Problem {
            path: None,
            line: Some(line),
            severity,
            message,
        });
    }
}

fn hooks(node: &Node) -> Result<Vec<Hook>, Fault> {
    const FORMS: &str = "a map from events to commands, or a list of maps with event and command";
    match &node.data {
        Data::Map(entries) => entries
            .iter()
            .map(|entry| {
                Ok(Hook {
                    event: entry.key.clone(),
                    command: filled(&entry.value, &format!("hooks.{}", entry.key))?,
                })
            })
            .collect(),
        Data::List(items) => items.iter().map(hook).collect(),
        _ => Err(wrong(node, "hooks", FORMS)),
    }
}

/// One of a list.
fn hook(node: &Node) -> Result<Hook, Fault> {
    let Data::Map(entries) = &node.data else {
        return Err(wrong(node, "a hook", "a map with event and command"));
    };
    let (mut event, mut command) = (None, None);
    for entry in entries {
        let slot = match entry.key.as_str() {
            "event" | "name" => &mut event,
            "command" | "run" => &mut command,
            other => {
                let wrong = format!("unknown field {other:?} in a hook; it has event and command");
                return Err(Fault::new(entry.key_at, wrong));
            }
        };
        if slot.is_some() {
            let wrong = format!("{} says in a hook what is said already", entry.key);
            return Err(Fault::new(entry.key_at, wrong));
        }
        *slot = Some(filled(&entry.value, &entry.key)?);
    }
    match (event, command) {
        (Some(event), Some(command)) => Ok(Hook { event, command }),
        (None, _) => Err(Fault::new(node.at, "a hook needs event")),
        (_, None) => Err(Fault::new(node.at, "a hook needs command")),
    }
}

fn text(node: &Node, what: &str) -> Result<String, Fault> {
    match &node.data {
        Data::Text(text) => Ok(text.clone()),
        _ => Err(wrong(node, what, "text, in quotes if need be")),
    }
}

fn filled(node: &Node, what: &str) -> Result<String, Fault> {
    let text = text(node, what)?;
    match text.trim().is_empty() {
        true => Err(Fault::new(node.at, format!("{what} must not be empty"))),
        false => Ok(text),
    }
}

fn truth(node: &Node, what: &str) -> Result<bool, Fault> {
    match &node.data {
        Data::Bool(value) => Ok(*value),
        _ => Err(wrong(node, what, "true or false")),
    }
}

fn texts(node: &Node, what: &str) -> Result<Vec<String>, Fault> {
    read_list(node, what, filled)
}

/// The entries of a list, each as `read` takes it.
fn read_list<T>(
    node: &Node,
    what: &str,
    read: fn(&Node, &str) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let Data::List(items) = &node.data else {
        return Err(wrong(node, what, "a list, such as [a, b]"));
    };
    let what = format!("each of {what}");
    items.iter().map(|item| read(item, &what)).collect()
}

/// Globs are held against every file that is read, so there are few and they are short.
fn globs(node: &Node, what: &str) -> Result<Vec<String>, Fault> {
    const MOST: usize = 64;
    const LONGEST: usize = 256;
    let globs = texts(node, what)?;
    if globs.len() > MOST {
        let reason = format_args!("{what} must be at most {MOST} globs, not {}", globs.len());
        return Err(Fault::new(node.at, reason));
    }
    if globs.iter().any(|glob| glob.len() > LONGEST) {
        let reason = format_args!("each of {what} must be at most {LONGEST} bytes long");
        return Err(Fault::new(node.at, reason));
    }
    Ok(globs)
}

fn wrong(node: &Node, what: &str, wanted: &str) -> Fault {
    let found = match &node.data {
        Data::Number(number) => number.to_string(),
        _ => node.kind().to_owned(),
    };
    let reason = format_args!("{what} must be {wanted}, not {found}");
    Fault::new(node.at, reason)
}

#[cfg(test)]
mod tests;
