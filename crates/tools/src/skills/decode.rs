//! From front matter to a card. Everything it can get wrong is told with its line, not only the first thing.

mod servers;

use harn_model::HostSkill;
use serde_json::Value;

pub(super) use self::servers::server;
use super::{
    card::{Card, Hook, check_name},
    front::Split,
    problem::Severity,
};
use crate::yaml::{Data, Entry, Fault, Node, Pos};

/// Something wrong at a line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remark {
    pub(super) line: usize,
    pub(super) severity: Severity,
    pub(super) message: String,
}

/// A card, if what was given makes one, and what is wrong with it.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) card: Option<Card>,
    pub(super) remarks: Vec<Remark>,
}

const KEYS: &str = "name, short, description, when_to_use, disable_model_invocation, allowed_tools, \
                    user_invocable, paths, context, agent, model, effort, shell, argument_hint, hooks, \
                    require_signature, trusted_signers, mcp_servers";

/// The card of a file. `folder` is the name of the folder it lies in, which counts where the file has none.
pub(super) fn file(split: &Split<'_>, folder: &str) -> Decoded {
    let mut reader = Reader {
        card: Card::named(folder),
        remarks: Vec::new(),
        before: 0,
        named: false,
    };
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
    let mut reader = Reader {
        card: Card::named(skill.name.clone()),
        remarks: Vec::new(),
        before: 0,
        named: false,
    };
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
    remarks: Vec<Remark>,
    /// How many lines come before what is read.
    before: usize,
    /// Whether it says its name itself.
    named: bool,
}

impl Reader {
    fn finish(mut self) -> Decoded {
        if !self.named
            && let Err(wrong) = check_name(&self.card.name)
        {
            self.remarks.push(Remark {
                line: self.before.max(1),
                severity: Severity::Error,
                message: format!("{wrong}; or give the skill another name than its folder's"),
            });
        }
        self.remarks.sort_by_key(|remark| remark.line);
        let wrong = |remark: &Remark| remark.severity == Severity::Error;
        Decoded {
            card: (!self.remarks.iter().any(wrong)).then_some(self.card),
            remarks: self.remarks,
        }
    }

    fn front_matter(&mut self, front: &str) {
        let empty = front.lines().all(|line| {
            let line = line.trim();
            line.is_empty() || line.starts_with('#')
        });
        let node = match empty {
            true => Ok(Node {
                at: Pos::START,
                data: Data::Null,
            }),
            false => Node::parse(front),
        };
        match node {
            Err(fault) => return self.error(fault.at, fault.reason),
            Ok(Node {
                data: Data::Null, ..
            }) => {}
            Ok(Node {
                data: Data::Map(entries),
                ..
            }) => self.entries(&entries),
            Ok(other) => {
                let kind = other.kind();
                let wrong = format!("front matter must be a map of keys and values, not {kind}");
                return self.error(other.at, wrong);
            }
        }
        let told = |remark: &Remark| remark.message.starts_with("short ");
        if self.card.short.is_empty() && !self.remarks.iter().any(told) {
            let wrong = "short is required: one line that says what the skill is for";
            // The fence above: there is no line to blame.
            self.remarks.push(Remark {
                line: self.before,
                severity: Severity::Error,
                message: wrong.to_owned(),
            });
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
                self.error(entry.key_at, wrong);
                continue;
            }
            let key = entry.key.replace('-', "_");
            if seen.contains(&key) {
                let wrong = format!("{key} is given twice; `-` and `_` are the same in a key");
                self.error(entry.key_at, wrong);
                continue;
            }
            if let Err(fault) = self.entry(&key, entry) {
                self.error(fault.at, fault.reason);
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
                let line = self.before + entry.key_at.line;
                self.remarks.push(Remark {
                    line,
                    severity: Severity::Warning,
                    message,
                });
            }
        }
        Ok(())
    }

    fn error(&mut self, at: Pos, message: impl Into<String>) {
        self.remarks.push(Remark {
            line: self.before + at.line,
            severity: Severity::Error,
            message: message.into(),
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
        Data::Null | Data::Bool(_) | Data::Number(_) | Data::Text(_) => {
            Err(wrong(node, "hooks", FORMS))
        }
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
        Data::Null | Data::Bool(_) | Data::Number(_) | Data::List(_) | Data::Map(_) => {
            Err(wrong(node, what, "text, in quotes if need be"))
        }
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
        Data::Null | Data::Number(_) | Data::Text(_) | Data::List(_) | Data::Map(_) => {
            Err(wrong(node, what, "true or false"))
        }
    }
}

fn texts(node: &Node, what: &str) -> Result<Vec<String>, Fault> {
    match &node.data {
        Data::List(items) => {
            let what = format!("each of {what}");
            items.iter().map(|item| filled(item, &what)).collect()
        }
        Data::Null | Data::Bool(_) | Data::Number(_) | Data::Text(_) | Data::Map(_) => {
            Err(wrong(node, what, "a list, such as [a, b]"))
        }
    }
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
    match globs.iter().any(|glob| glob.len() > LONGEST) {
        true => {
            let reason = format_args!("each of {what} must be at most {LONGEST} bytes long");
            Err(Fault::new(node.at, reason))
        }
        false => Ok(globs),
    }
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
