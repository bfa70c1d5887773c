//! Decodes a YAML tree into a scenario, and rejects every error in its steps.

mod hitl;
mod host;
mod steering;
mod worker;

use std::{sync::Arc, time::Duration};

use harn_model::{AgentEvent, ConfigOption, HitlKind, SlashCommand};
use harn_tools::yaml::{YamlEntry, YamlFault, YamlNode, YamlValue};
use regex::Regex;

use super::{
    scenario::{
        EventRole, PermissionStep, Scenario, ScenarioDiff, ScenarioStep, ScenarioTurn, TURN,
    },
    scenario_workers::ScenarioWorkers,
    typed_yaml::parse_typed,
};

const STEPS: &str = "say, think, emit, ask, question, approval, dual_control, escalation, seam, \
                     idle, tell_delivered, skip_if_interrupted, remind, sleep_ms, await_cancel, host_tool, host_call, write, run, worker, await_workers, trigger, stop_worker, cancel_worker, repeat, \
                     stop, fail";
/// The maximum depth of nested steps.
const MAX_NESTING: usize = 32;
const MAX_TIMES: u64 = 10_000_000;
/// The name under which the front-ends offer the session's mode.
const MODE_OPTION: &str = "mode";

pub(super) fn scenario(text: &str) -> Result<Scenario, YamlFault> {
    let root = YamlNode::parse(text)?;
    let fields = MapFields::parse(&root, "a scenario", "name, commands, options, turns")?;
    let name = fields.required("name", non_empty_text)?;
    let turns = fields.required("turns", |node, what| {
        let turns = list(node, what)?;
        if turns.is_empty() {
            let reason = "a scenario needs at least one turn";
            return Err(YamlFault::new(node.at, reason));
        }
        turns.iter().map(turn).collect::<Result<Vec<_>, _>>()
    })?;
    Ok(Scenario {
        name,
        commands: fields.parse_list("commands", command)?,
        options: fields.parse_list("options", option)?,
        cast: Arc::new(ScenarioWorkers::from_turns(&turns)?),
        turns,
    })
}

fn turn(node: &YamlNode) -> Result<ScenarioTurn, YamlFault> {
    let fields = MapFields::parse(node, "a turn", "match, steps")?;
    Ok(ScenarioTurn {
        pattern: fields.optional("match", regex)?,
        steps: fields.required("steps", |node, _| steps(node, 0))?,
    })
}

fn regex(node: &YamlNode, what: &str) -> Result<Regex, YamlFault> {
    let pattern = text(node, what)?;
    Regex::new(&pattern).map_err(|error| {
        // The whole message draws the pattern over several lines; its last line has the reason.
        let drawn = error.to_string();
        let reason = drawn.lines().last().unwrap_or_default();
        let reason = reason.trim_start_matches("error: ");
        YamlFault::new(
            node.at,
            format_args!("{what} is not a regular expression: {reason}"),
        )
    })
}

fn steps(node: &YamlNode, depth: usize) -> Result<Vec<ScenarioStep>, YamlFault> {
    if depth > MAX_NESTING {
        let reason = format_args!("steps are nested more than {MAX_NESTING} deep");
        return Err(YamlFault::new(node.at, reason));
    }
    let steps = list(node, "steps")?.iter();
    steps.map(|node| step(node, depth)).collect()
}

fn step(node: &YamlNode, depth: usize) -> Result<ScenarioStep, YamlFault> {
    let YamlEntry {
        key, key_at, value, ..
    } = match &node.data {
        YamlValue::Map(entries) => match entries.as_slice() {
            [entry] => entry,
            [] => return Err(YamlFault::new(node.at, "a step needs a key, such as say")),
            [_, second, ..] => {
                let reason = format_args!(
                    "a step has one key; make {:?} a step of its own",
                    second.key
                );
                return Err(YamlFault::new(second.key_at, reason));
            }
        },
        _ => return Err(wrong_type_fault(node, "a step", "a map with one key")),
    };
    Ok(match key.as_str() {
        "say" => ScenarioStep::Emit(AgentEvent::message(text(value, key)?)),
        "think" => ScenarioStep::Emit(AgentEvent::thought(text(value, key)?)),
        "emit" => emit(value)?,
        "ask" => ScenarioStep::Ask(Box::new(ask(value, depth)?)),
        "question" => hitl::hitl_step(value, HitlKind::Question, depth)?,
        "approval" => hitl::hitl_step(value, HitlKind::Approval, depth)?,
        "dual_control" => hitl::hitl_step(value, HitlKind::DualControl, depth)?,
        "escalation" => hitl::hitl_step(value, HitlKind::Escalation, depth)?,
        "seam" => ScenarioStep::Seam(parse_typed(value, key)?),
        "idle" => steering::idle(value)?,
        "tell_delivered" => {
            expect_empty(value, key)?;
            ScenarioStep::TellDelivered
        }
        "skip_if_interrupted" => ScenarioStep::SkipIfInterrupted(self::steps(value, depth + 1)?),
        "remind" => steering::remind(value)?,
        "sleep_ms" => ScenarioStep::Sleep(Duration::from_millis(number(value, key, 0, u64::MAX)?)),
        "await_cancel" => {
            expect_empty(value, key)?;
            ScenarioStep::AwaitCancel
        }
        "host_tool" => ScenarioStep::Act(host::tool(value)?),
        "host_call" => ScenarioStep::Act(host::call(value)?),
        "write" => ScenarioStep::Act(host::write(value)?),
        "run" => ScenarioStep::Act(host::run(value)?),
        "worker" => ScenarioStep::Worker(Box::new(worker::start(value, depth)?)),
        "await_workers" => worker::await_workers(value)?,
        "trigger" => worker::trigger(value, depth)?,
        "stop_worker" => worker::stop(value)?,
        "cancel_worker" => worker::cancel(value)?,
        "repeat" => {
            let fields = MapFields::parse(value, key, "times, steps")?;
            let steps = fields.required("steps", |node, _| {
                let steps = self::steps(node, depth + 1)?;
                match steps.is_empty() {
                    true => Err(YamlFault::new(node.at, "repeat needs at least one step")),
                    false => Ok(steps),
                }
            })?;
            let times = |node: &YamlNode, what: &str| number(node, what, 1, MAX_TIMES);
            ScenarioStep::Repeat {
                times: fields.required("times", times)?,
                steps,
            }
        }
        "stop" => ScenarioStep::Stop(parse_typed(value, key)?),
        "fail" => ScenarioStep::Fail(text(value, key)?),
        other => {
            let reason = format_args!("unknown step {other:?}; the steps are {STEPS}");
            return Err(YamlFault::new(*key_at, reason));
        }
    })
}

fn emit(node: &YamlNode) -> Result<ScenarioStep, YamlFault> {
    let kind = match &node.data {
        YamlValue::Map(entries) => entries.iter().find(|entry| entry.key == "type"),
        _ => return Err(wrong_type_fault(node, "emit", "a map with a type")),
    };
    let Some(kind) = kind else {
        return Err(YamlFault::new(
            node.at,
            "emit needs a type, such as tool_call",
        ));
    };
    let what = match &kind.value.data {
        YamlValue::Text(name) => format!("emit {name}"),
        _ => "emit".to_owned(),
    };
    let mut event = parse_typed(node, &what)?;
    let in_turn = match EventRole::of_event(&mut event) {
        EventRole::Reserved(instead) => {
            let reason = format_args!("{what}: only the runtime writes this event; {instead}");
            return Err(YamlFault::new(kind.value.at, reason));
        }
        EventRole::OfCall(id) => id.as_str().contains(TURN),
        EventRole::OfChild(id) => id.contains(TURN),
        EventRole::Free => false,
    };
    Ok(if in_turn {
        ScenarioStep::EmitInTurn(event)
    } else {
        ScenarioStep::Emit(event)
    })
}

fn ask(node: &YamlNode, depth: usize) -> Result<PermissionStep, YamlFault> {
    let names = "tool, kind, title, input, path, diff, on_allow, on_reject";
    let fields = MapFields::parse(node, "ask", names)?;
    let diff: Option<ScenarioDiff> = fields.optional("diff", parse_typed)?;
    let path = fields.optional("path", non_empty_text)?;
    Ok(PermissionStep {
        tool: fields.required("tool", non_empty_text)?,
        kind: fields.optional("kind", parse_typed)?.unwrap_or_default(),
        title: fields.optional("title", text)?,
        input: fields.get("input").map(YamlNode::to_value),
        path: path.or_else(|| diff.as_ref().map(|diff| diff.path.clone())),
        diff,
        on_allow: fields.steps("on_allow", depth)?.unwrap_or_default(),
        on_reject: fields.steps("on_reject", depth)?.unwrap_or_default(),
    })
}

fn command(node: &YamlNode, what: &str) -> Result<SlashCommand, YamlFault> {
    let command: SlashCommand = parse_typed(node, what)?;
    if command.name.is_empty() || command.name.starts_with('/') {
        let reason =
            "commands: a name must not be empty or begin with a slash; only prompts have the slash";
        return Err(YamlFault::new(node.at, reason));
    }
    Ok(command)
}

fn option(node: &YamlNode, what: &str) -> Result<ConfigOption, YamlFault> {
    let option: ConfigOption = parse_typed(node, what)?;
    if option.id.is_empty() || option.id == MODE_OPTION {
        let reason = format_args!("options: the id {:?} is taken; choose another", option.id);
        return Err(YamlFault::new(node.at, reason));
    }
    if !option.choices.iter().any(|c| c.value == option.default) {
        let reason = "options: the default must be the value of one of the choices";
        return Err(YamlFault::new(node.at, reason));
    }
    Ok(option)
}

/// The fields of a map, by name.
struct MapFields<'n> {
    node: &'n YamlNode,
    what: &'n str,
    entries: &'n [YamlEntry],
}

impl<'n> MapFields<'n> {
    /// Rejects a field that is not in `names`, which are separated by a comma and a space.
    fn parse(node: &'n YamlNode, what: &'n str, names: &str) -> Result<Self, YamlFault> {
        let YamlValue::Map(entries) = &node.data else {
            return Err(wrong_type_fault(node, what, "a map"));
        };
        let is_known = |key: &str| !key.is_empty() && names.split(", ").any(|name| name == key);
        if let Some(entry) = entries.iter().find(|entry| !is_known(&entry.key)) {
            let known = match names {
                "" => "it has none".to_owned(),
                names => format!("its fields are {names}"),
            };
            let reason = format_args!("unknown field {:?} in {what}; {known}", entry.key);
            return Err(YamlFault::new(entry.key_at, reason));
        }
        Ok(Self {
            node,
            what,
            entries,
        })
    }

    fn get(&self, name: &str) -> Option<&'n YamlNode> {
        let found = self.entries.iter().find(|entry| entry.key == name);
        found.map(|entry| &entry.value)
    }

    fn optional<T>(
        &self,
        name: &str,
        read: impl FnOnce(&YamlNode, &str) -> Result<T, YamlFault>,
    ) -> Result<Option<T>, YamlFault> {
        self.get(name).map(|node| read(node, name)).transpose()
    }

    fn required<T>(
        &self,
        name: &str,
        read: impl FnOnce(&YamlNode, &str) -> Result<T, YamlFault>,
    ) -> Result<T, YamlFault> {
        let missing = || YamlFault::new(self.node.at, format_args!("{} needs {name}", self.what));
        self.optional(name, read)?.ok_or_else(missing)
    }

    /// Returns the items of a list, or none if the field is missing.
    fn parse_list<T>(
        &self,
        name: &str,
        read: impl Fn(&YamlNode, &str) -> Result<T, YamlFault>,
    ) -> Result<Vec<T>, YamlFault> {
        let items = self.get(name).map(|node| list(node, name)).transpose()?;
        let items = items.unwrap_or_default().iter();
        items.map(|item| read(item, name)).collect()
    }

    /// Decodes the steps inside a step of depth `depth`.
    fn steps(&self, name: &str, depth: usize) -> Result<Option<Vec<ScenarioStep>>, YamlFault> {
        self.optional(name, |node, _| steps(node, depth + 1))
    }
}

/// Accepts `{}` and no value, for a step without fields.
fn expect_empty(node: &YamlNode, what: &str) -> Result<(), YamlFault> {
    match node.data {
        YamlValue::Null => Ok(()),
        _ => MapFields::parse(node, what, "").map(drop),
    }
}

fn list<'n>(node: &'n YamlNode, what: &str) -> Result<&'n [YamlNode], YamlFault> {
    match &node.data {
        YamlValue::List(items) => Ok(items),
        _ => Err(wrong_type_fault(node, what, "a list")),
    }
}

fn text(node: &YamlNode, what: &str) -> Result<String, YamlFault> {
    match &node.data {
        YamlValue::Text(text) => Ok(text.clone()),
        YamlValue::Null | YamlValue::Bool(_) | YamlValue::Number(_) => {
            Err(wrong_type_fault(node, what, "text, in quotes if need be"))
        }
        YamlValue::List(_) | YamlValue::Map(_) => Err(wrong_type_fault(node, what, "text")),
    }
}

fn non_empty_text(node: &YamlNode, what: &str) -> Result<String, YamlFault> {
    let text = text(node, what)?;
    if text.is_empty() {
        return Err(YamlFault::new(
            node.at,
            format_args!("{what} must not be empty"),
        ));
    }
    Ok(text)
}

fn flag(node: &YamlNode, what: &str) -> Result<bool, YamlFault> {
    match node.data {
        YamlValue::Bool(flag) => Ok(flag),
        _ => Err(wrong_type_fault(node, what, "true or false")),
    }
}

/// A whole number, 1 or more.
fn count(node: &YamlNode, what: &str) -> Result<u64, YamlFault> {
    number(node, what, 1, u64::MAX)
}

fn number(node: &YamlNode, what: &str, min: u64, max: u64) -> Result<u64, YamlFault> {
    let whole = match &node.data {
        YamlValue::Number(number) => number.as_u64(),
        _ => None,
    };
    whole.filter(|n| (min..=max).contains(n)).ok_or_else(|| {
        let most = match max {
            u64::MAX => "or more".to_owned(),
            max => format!("to {max}"),
        };
        wrong_type_fault(node, what, &format!("a whole number, {min} {most}"))
    })
}

fn wrong_type_fault(node: &YamlNode, what: &str, wanted: &str) -> YamlFault {
    let found = match &node.data {
        YamlValue::Number(number) => number.to_string(),
        _ => node.kind().to_owned(),
    };
    YamlFault::new(
        node.at,
        format_args!("{what} must be {wanted}, not {found}"),
    )
}
