//! From a YAML tree to a scenario. Everything a file can get wrong about its steps is refused here.

mod host;
mod person;
mod steering;
mod worker;

use std::{sync::Arc, time::Duration};

use harn_model::{AgentEvent, Command, ConfigOption, HitlKind};
use harn_tools::yaml::{Data, Entry, Fault, Node};
use regex::Regex;

use super::{
    cast::Cast,
    scenario::{Ask, Diff, Role, Scenario, Step, TURN, Turn},
    typed::typed,
};

const STEPS: &str = "say, think, emit, ask, question, approval, dual_control, escalation, seam, \
                     idle, tell_delivered, skip_if_interrupted, remind, sleep_ms, await_cancel, host_tool, host_call, write, run, worker, await_workers, trigger, stop_worker, cancel_worker, repeat, \
                     stop, fail";
/// How deep steps may hold each other.
const MAX_NESTING: usize = 32;
const MAX_TIMES: u64 = 10_000_000;
/// The front-ends offer the session's mode under this name.
const MODE_OPTION: &str = "mode";

pub(super) fn scenario(text: &str) -> Result<Scenario, Fault> {
    let what = "a scenario";
    let root = Node::parse(text)?;
    let [name, commands, options, turns] =
        fields(&root, what, ["name", "commands", "options", "turns"])?;
    let name = filled(required(&root, what, "name", name)?, "name")?;
    let turns_node = required(&root, what, "turns", turns)?;
    let turns = list(turns_node, "turns")?;
    if turns.is_empty() {
        let reason = "a scenario needs at least one turn";
        return Err(Fault::new(turns_node.at, reason));
    }
    let turns = turns.iter().map(turn).collect::<Result<Vec<_>, _>>()?;
    Ok(Scenario {
        name,
        commands: each(commands, "commands", command)?,
        options: each(options, "options", option)?,
        cast: Arc::new(Cast::of(&turns)?),
        turns,
    })
}

fn turn(node: &Node) -> Result<Turn, Fault> {
    let [pattern, steps] = fields(node, "a turn", ["match", "steps"])?;
    let steps_node = required(node, "a turn", "steps", steps)?;
    Ok(Turn {
        pattern: pattern.map(regex).transpose()?,
        steps: self::steps(steps_node, 0)?,
    })
}

fn regex(node: &Node) -> Result<Regex, Fault> {
    let pattern = text(node, "match")?;
    Regex::new(&pattern).map_err(|error| {
        // The whole message draws the pattern over several lines; its last one has the reason.
        let drawn = error.to_string();
        let reason = drawn.lines().last().unwrap_or_default();
        let reason = reason.trim_start_matches("error: ");
        Fault::new(
            node.at,
            format_args!("match is not a regular expression: {reason}"),
        )
    })
}

fn steps(node: &Node, depth: usize) -> Result<Vec<Step>, Fault> {
    if depth > MAX_NESTING {
        let reason = format_args!("steps are nested more than {MAX_NESTING} deep");
        return Err(Fault::new(node.at, reason));
    }
    let steps = list(node, "steps")?.iter();
    steps.map(|node| step(node, depth)).collect()
}

fn step(node: &Node, depth: usize) -> Result<Step, Fault> {
    let Entry {
        key, key_at, value, ..
    } = match &node.data {
        Data::Map(entries) => match entries.as_slice() {
            [entry] => entry,
            [] => return Err(Fault::new(node.at, "a step needs a key, such as say")),
            [_, second, ..] => {
                let reason = format_args!(
                    "a step has one key; make {:?} a step of its own",
                    second.key
                );
                return Err(Fault::new(second.key_at, reason));
            }
        },
        _ => return Err(wrong(node, "a step", "a map with one key")),
    };
    Ok(match key.as_str() {
        "say" => Step::Emit(AgentEvent::message(text(value, key)?)),
        "think" => Step::Emit(AgentEvent::thought(text(value, key)?)),
        "emit" => emit(value)?,
        "ask" => Step::Ask(Box::new(ask(value, depth)?)),
        "question" => person::question(value, depth)?,
        "approval" => person::approval(value, HitlKind::Approval, depth)?,
        "dual_control" => person::approval(value, HitlKind::DualControl, depth)?,
        "escalation" => person::escalation(value, depth)?,
        "seam" => Step::Seam(typed(value, key)?),
        "idle" => steering::idle(value)?,
        "tell_delivered" => {
            nothing(value, key)?;
            Step::TellDelivered
        }
        "skip_if_interrupted" => Step::SkipIfInterrupted(self::steps(value, depth + 1)?),
        "remind" => steering::remind(value)?,
        "sleep_ms" => Step::Sleep(Duration::from_millis(number(value, key, 0, u64::MAX)?)),
        "await_cancel" => {
            nothing(value, key)?;
            Step::AwaitCancel
        }
        "host_tool" => Step::Act(host::tool(value)?),
        "host_call" => Step::Act(host::call(value)?),
        "write" => Step::Act(host::write(value)?),
        "run" => Step::Act(host::run(value)?),
        "worker" => Step::Worker(Box::new(worker::start(value, depth)?)),
        "await_workers" => worker::awaited(value)?,
        "trigger" => worker::trigger(value, depth)?,
        "stop_worker" => worker::stop(value)?,
        "cancel_worker" => worker::cancel(value)?,
        "repeat" => {
            let [times, steps] = fields(value, key, ["times", "steps"])?;
            let steps_node = required(value, key, "steps", steps)?;
            let steps = self::steps(steps_node, depth + 1)?;
            if steps.is_empty() {
                return Err(Fault::new(steps_node.at, "repeat needs at least one step"));
            }
            Step::Repeat {
                times: number(required(value, key, "times", times)?, "times", 1, MAX_TIMES)?,
                steps,
            }
        }
        "stop" => Step::Stop(typed(value, key)?),
        "fail" => Step::Fail(text(value, key)?),
        other => {
            let reason = format_args!("unknown step {other:?}; the steps are {STEPS}");
            return Err(Fault::new(*key_at, reason));
        }
    })
}

fn emit(node: &Node) -> Result<Step, Fault> {
    let kind = match &node.data {
        Data::Map(entries) => entries.iter().find(|entry| entry.key == "type"),
        _ => return Err(wrong(node, "emit", "a map with a type")),
    };
    let Some(kind) = kind else {
        return Err(Fault::new(node.at, "emit needs a type, such as tool_call"));
    };
    let what = match &kind.value.data {
        Data::Text(name) => format!("emit {name}"),
        _ => "emit".to_owned(),
    };
    let mut event = typed(node, &what)?;
    let in_turn = match Role::of(&mut event) {
        Role::Reserved(instead) => {
            let reason = format_args!("{what}: only the runtime writes this event; {instead}");
            return Err(Fault::new(kind.value.at, reason));
        }
        Role::OfCall(id) => id.as_str().contains(TURN),
        Role::OfChild(id) => id.contains(TURN),
        Role::Free => false,
    };
    Ok(if in_turn {
        Step::EmitInTurn(event)
    } else {
        Step::Emit(event)
    })
}

fn ask(node: &Node, depth: usize) -> Result<Ask, Fault> {
    let names = [
        "tool",
        "kind",
        "title",
        "input",
        "path",
        "diff",
        "on_allow",
        "on_reject",
    ];
    let [tool, kind, title, input, path, diff, on_allow, on_reject] = fields(node, "ask", names)?;
    let diff: Option<Diff> = diff.map(|diff| typed(diff, "diff")).transpose()?;
    let path = path.map(|path| filled(path, "path")).transpose()?;
    let branch = |steps: Option<&Node>| match steps {
        Some(steps) => self::steps(steps, depth + 1),
        None => Ok(Vec::new()),
    };
    Ok(Ask {
        tool: filled(required(node, "ask", "tool", tool)?, "tool")?,
        kind: kind.map_or(Ok(Default::default()), |kind| typed(kind, "kind"))?,
        title: title.map(|title| text(title, "title")).transpose()?,
        input: input.map(Node::to_value),
        path: path.or_else(|| diff.as_ref().map(|diff| diff.path.clone())),
        diff,
        on_allow: branch(on_allow)?,
        on_reject: branch(on_reject)?,
    })
}

fn command(node: &Node) -> Result<Command, Fault> {
    let command: Command = typed(node, "commands")?;
    if command.name.is_empty() || command.name.starts_with('/') {
        let reason = "commands: a name is not empty and has no slash; prompts have it";
        return Err(Fault::new(node.at, reason));
    }
    Ok(command)
}

fn option(node: &Node) -> Result<ConfigOption, Fault> {
    let option: ConfigOption = typed(node, "options")?;
    if option.id.is_empty() || option.id == MODE_OPTION {
        let reason = format_args!("options: the id {:?} is taken; choose another", option.id);
        return Err(Fault::new(node.at, reason));
    }
    if !option.choices.iter().any(|c| c.value == option.default) {
        let reason = "options: the default must be the value of one of the choices";
        return Err(Fault::new(node.at, reason));
    }
    Ok(option)
}

/// The values of a map by their names. A name that is not among them is refused.
fn fields<'n, const N: usize>(
    node: &'n Node,
    what: &str,
    names: [&str; N],
) -> Result<[Option<&'n Node>; N], Fault> {
    let Data::Map(entries) = &node.data else {
        return Err(wrong(node, what, "a map"));
    };
    let mut found = [None; N];
    for entry in entries {
        match names.iter().position(|name| *name == entry.key) {
            Some(index) => found[index] = Some(&entry.value),
            None => {
                let known = match names.as_slice() {
                    [] => "it has none".to_owned(),
                    names => format!("its fields are {}", names.join(", ")),
                };
                let reason = format_args!("unknown field {:?} in {what}; {known}", entry.key);
                return Err(Fault::new(entry.key_at, reason));
            }
        }
    }
    Ok(found)
}

/// `{}` and no value are the same to a step that takes nothing.
fn nothing(node: &Node, what: &str) -> Result<(), Fault> {
    if !matches!(node.data, Data::Null) {
        let [] = fields(node, what, [])?;
    }
    Ok(())
}

fn required<'n>(
    node: &Node,
    what: &str,
    name: &str,
    found: Option<&'n Node>,
) -> Result<&'n Node, Fault> {
    found.ok_or_else(|| Fault::new(node.at, format_args!("{what} needs {name}")))
}

fn each<T>(
    node: Option<&Node>,
    what: &str,
    read: impl Fn(&Node) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let Some(node) = node else {
        return Ok(Vec::new());
    };
    list(node, what)?.iter().map(read).collect()
}

fn list<'n>(node: &'n Node, what: &str) -> Result<&'n [Node], Fault> {
    match &node.data {
        Data::List(items) => Ok(items),
        _ => Err(wrong(node, what, "a list")),
    }
}

fn text(node: &Node, what: &str) -> Result<String, Fault> {
    match &node.data {
        Data::Text(text) => Ok(text.clone()),
        Data::Null | Data::Bool(_) | Data::Number(_) => {
            Err(wrong(node, what, "text, in quotes if need be"))
        }
        Data::List(_) | Data::Map(_) => Err(wrong(node, what, "text")),
    }
}

fn filled(node: &Node, what: &str) -> Result<String, Fault> {
    let text = text(node, what)?;
    if text.is_empty() {
        return Err(Fault::new(
            node.at,
            format_args!("{what} must not be empty"),
        ));
    }
    Ok(text)
}

fn number(node: &Node, what: &str, min: u64, max: u64) -> Result<u64, Fault> {
    let whole = match &node.data {
        Data::Number(number) => number.as_u64(),
        _ => None,
    };
    whole.filter(|n| (min..=max).contains(n)).ok_or_else(|| {
        let most = match max {
            u64::MAX => "or more".to_owned(),
            max => format!("to {max}"),
        };
        wrong(node, what, &format!("a whole number, {min} {most}"))
    })
}

fn wrong(node: &Node, what: &str, wanted: &str) -> Fault {
    let found = match &node.data {
        Data::Number(number) => number.to_string(),
        _ => node.kind().to_owned(),
    };
    Fault::new(
        node.at,
        format_args!("{what} must be {wanted}, not {found}"),
    )
}
