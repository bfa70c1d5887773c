//! Wrong scenario files, and the error that their author receives.

use harn_engines::ScriptAgent;

fn refusal(text: &str) -> String {
    match ScriptAgent::parse("t.yaml", text) {
        Ok(_) => panic!("this was not refused:\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// Returns a file whose one turn has this step, at line 4 and column 7.
fn with_step(step: &str) -> String {
    format!("name: t\nturns:\n  - steps:\n    - {step}\n")
}

#[test]
fn wrong_file_is_rejected_with_its_position() {
    let table = [
        ("", "t.yaml:1:1: the file is empty"),
        ("# nothing\n", "t.yaml:1:1: the file is empty"),
        (
            "just words",
            "t.yaml:1:1: a scenario must be a map, not text",
        ),
        (
            "name: t\nturns: [",
            "t.yaml:3:1: invalid YAML: while parsing a node, did not find expected node content",
        ),
        (
            "name: 'open",
            "t.yaml:1:7: invalid YAML: while scanning a quoted scalar, found unexpected end of stream",
        ),
        ("turns: [{steps: []}]", "t.yaml:1:1: a scenario needs name"),
        ("name: t", "t.yaml:1:1: a scenario needs turns"),
        ("name: ''\nturns: []", "t.yaml:1:7: name must not be empty"),
        (
            "name: 7\nturns: []",
            "t.yaml:1:7: name must be text, in quotes if need be, not 7",
        ),
        (
            "name: t\nturns: []",
            "t.yaml:2:8: a scenario needs at least one turn",
        ),
        (
            "name: t\nturns: {}",
            "t.yaml:2:8: turns must be a list, not a map",
        ),
        (
            "name: t\nname: u\nturns: []",
            "t.yaml:2:1: the key \"name\" is given twice",
        ),
        (
            "name: t\nturn: []",
            "t.yaml:2:1: unknown field \"turn\" in a scenario; its fields are name, commands, options, turns",
        ),
        (
            "name: t\nturns: [{steps: []}]\n---\nname: u\n",
            "t.yaml:3:1: a file must contain one document, not several",
        ),
        (
            "name: &n t\nturns: *n\n",
            "t.yaml:1:7: anchors and aliases are not supported; write the value out",
        ),
        (
            "name: !!str t\n",
            "t.yaml:1:7: tags are not supported; write plain values",
        ),
        ("? [a]\n: b\n", "t.yaml:1:3: a key must be plain text"),
        (
            "name: t\nturns:\n  - match: '(a'\n    steps: []\n",
            "t.yaml:3:12: match is not a regular expression: unclosed group",
        ),
        (
            "name: t\nturns:\n  - match: a\n",
            "t.yaml:3:5: a turn needs steps",
        ),
        (
            "name: t\nturns:\n  - step: []\n",
            "t.yaml:3:5: unknown field \"step\" in a turn; its fields are match, steps",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(refusal(text), expected, "for:\n{text}");
    }
}

#[test]
fn wrong_step_is_rejected_with_its_position() {
    let table = [
        (
            "sya: hello",
            "t.yaml:4:7: unknown step \"sya\"; the steps are say, think, emit, ask, question, \
             approval, dual_control, escalation, seam, idle, tell_delivered, skip_if_interrupted, remind, sleep_ms, \
             await_cancel, host_tool, host_call, write, run, worker, await_workers, trigger, stop_worker, cancel_worker, repeat, stop, fail",
        ),
        (
            "await_cancel",
            "t.yaml:4:7: a step must be a map with one key, not text",
        ),
        ("{}", "t.yaml:4:7: a step needs a key, such as say"),
        (
            "{say: a, think: b}",
            "t.yaml:4:16: a step has one key; make \"think\" a step of its own",
        ),
        ("say: [a]", "t.yaml:4:12: say must be text, not a list"),
        (
            "say: 42",
            "t.yaml:4:12: say must be text, in quotes if need be, not 42",
        ),
        (
            "think:",
            "t.yaml:4:12: think must be text, in quotes if need be, not nothing",
        ),
        (
            "seam: lunch",
            "t.yaml:4:13: seam: unknown variant `lunch`, expected one of `turn_start`, `pre_compact`, \
             `post_compact`, `pre_tool_dispatch`, `post_tool_dispatch`, `turn_end`, `daemon_idle_pre`, \
             `daemon_idle_post`, `loop_exit`",
        ),
        (
            "stop: now",
            "t.yaml:4:13: stop: unknown variant `now`, expected one of `end_turn`, `max_tokens`, \
             `max_turn_requests`, `refusal`, `cancelled`",
        ),
        (
            "sleep_ms: -1",
            "t.yaml:4:17: sleep_ms must be a whole number, 0 or more, not -1",
        ),
        (
            "sleep_ms: 1.5",
            "t.yaml:4:17: sleep_ms must be a whole number, 0 or more, not 1.5",
        ),
        (
            "await_cancel: {after: 1}",
            "t.yaml:4:22: unknown field \"after\" in await_cancel; it has none",
        ),
        ("host_tool: {args: {}}", "t.yaml:4:18: host_tool needs name"),
        (
            "repeat: {times: 0, steps: [{say: a}]}",
            "t.yaml:4:23: times must be a whole number, 1 to 10000000, not 0",
        ),
        (
            "repeat: {times: -3, steps: [{say: a}]}",
            "t.yaml:4:23: times must be a whole number, 1 to 10000000, not -3",
        ),
        (
            "repeat: {times: 10000001, steps: [{say: a}]}",
            "t.yaml:4:23: times must be a whole number, 1 to 10000000, not 10000001",
        ),
        (
            "repeat: {times: many, steps: [{say: a}]}",
            "t.yaml:4:23: times must be a whole number, 1 to 10000000, not text",
        ),
        (
            "repeat: {times: 2, steps: []}",
            "t.yaml:4:33: repeat needs at least one step",
        ),
        (
            "repeat: {times: 2, steps: [{sya: a}]}",
            "t.yaml:4:35: unknown step \"sya\"; the steps are say, think, emit, ask, question, \
             approval, dual_control, escalation, seam, idle, tell_delivered, skip_if_interrupted, remind, sleep_ms, await_cancel, host_tool, host_call, \
             write, run, worker, await_workers, trigger, stop_worker, cancel_worker, repeat, stop, fail",
        ),
        ("host_call: {args: {}}", "t.yaml:4:18: host_call needs op"),
        (
            "worker: {name: a, steps: []}",
            "t.yaml:4:15: worker needs task",
        ),
        (
            "worker: {name: a, task: ' ', steps: []}",
            "t.yaml:4:31: task must not be blank",
        ),
        (
            "worker: {name: a, task: b, retriggerable: 1, steps: []}",
            "t.yaml:4:49: retriggerable must be true or false, not 1",
        ),
        (
            "worker: {name: a, task: b, steps: [{sya: c}]}",
            "t.yaml:4:43: unknown step \"sya\"; the steps are say, think, emit, ask, question, \
             approval, dual_control, escalation, seam, idle, tell_delivered, skip_if_interrupted, remind, sleep_ms, await_cancel, host_tool, host_call, \
             write, run, worker, await_workers, trigger, stop_worker, cancel_worker, repeat, stop, fail",
        ),
        (
            "worker: {name: a, task: b, cwd: c, steps: []}",
            "t.yaml:4:34: unknown field \"cwd\" in worker; its fields are name, task, mode, \
             retriggerable, steps",
        ),
        (
            "await_workers: []",
            "t.yaml:4:22: await_workers needs a name, or {} for all that run",
        ),
        (
            "await_workers: a",
            "t.yaml:4:22: await_workers must be a list of names, or {} for all that run, not text",
        ),
        (
            "await_workers: [a]",
            "t.yaml:4:23: no worker step of this file starts \"a\"",
        ),
        (
            "trigger: {worker: a, task: b}",
            "t.yaml:4:25: no worker step of this file starts \"a\"",
        ),
        ("trigger: {worker: a}", "t.yaml:4:16: trigger needs task"),
        (
            "stop_worker: {worker: a}",
            "t.yaml:4:20: stop_worker needs handoff",
        ),
        (
            "stop_worker: {worker: a, handoff: {raeson: b}}",
            "t.yaml:4:42: handoff: unknown field \"raeson\"",
        ),
        (
            "cancel_worker: {worker: a}",
            "t.yaml:4:31: no worker step of this file starts \"a\"",
        ),
        (
            "repeat: {times: 2, steps: [{worker: {name: a, task: b, steps: []}}, {worker: {name: a, \
             task: c, steps: [{trigger: {worker: a, task: d}}]}}]}",
            "t.yaml:4:130: several worker steps start \"a\"; give the trigger steps of its own",
        ),
        ("ask: {kind: edit}", "t.yaml:4:12: ask needs tool"),
        (
            "ask: {tool: w, kind: edti}",
            "t.yaml:4:28: kind: unknown variant `edti`, expected one of `read`, `edit`, `delete`, `move`, \
             `search`, `execute`, `think`, `fetch`, `other`",
        ),
        (
            "ask: {tool: w, on_alow: []}",
            "t.yaml:4:22: unknown field \"on_alow\" in ask; its fields are tool, kind, title, input, path, \
             diff, on_allow, on_reject",
        ),
        (
            "ask: {tool: w, diff: {path: a}}",
            "t.yaml:4:28: diff: missing field `new_text`",
        ),
        (
            "ask: {tool: w, diff: {path: a, new_text: b, old: c}}",
            "t.yaml:4:51: diff: unknown field \"old\"",
        ),
    ];
    for (step, expected) in table {
        assert_eq!(refusal(&with_step(step)), expected, "for: {step}");
    }
}

#[test]
fn wrong_event_is_rejected_with_its_position() {
    let table = [
        (
            "emit: hello",
            "t.yaml:4:13: emit must be a map with a type, not text",
        ),
        (
            "emit: {content: hello}",
            "t.yaml:4:13: emit needs a type, such as tool_call",
        ),
        (
            "emit: {type: 3}",
            "t.yaml:4:20: emit: invalid type: integer `3`, expected variant identifier",
        ),
        (
            "emit: {type: agent_message_chunk}",
            "t.yaml:4:13: emit agent_message_chunk: missing field `content`",
        ),
        (
            "emit: {type: agent_message_chunk, content: [a]}",
            "t.yaml:4:50: emit agent_message_chunk: invalid type: sequence, expected a string",
        ),
        (
            "emit: {type: agent_message_chunk, content: a, contents: b}",
            "t.yaml:4:53: emit agent_message_chunk: unknown field \"contents\"",
        ),
        // Empty values do not make an unknown field known; those of known fields are accepted, see below.
        (
            "emit: {type: agent_message_chunk, content: a, contents: null}",
            "t.yaml:4:53: emit agent_message_chunk: unknown field \"contents\"",
        ),
        (
            "emit: {type: tool_call, tool_call_id: t1, tool_name: look, kind: rd}",
            "t.yaml:4:72: emit tool_call: unknown variant `rd`, expected one of `read`, `edit`, `delete`, \
             `move`, `search`, `execute`, `think`, `fetch`, `other`",
        ),
        (
            "emit: {type: tool_call, tool_call_id: t1, tool_name: look, locations: [{path: /a, line: 1}, {path: /b, line: -1}]}",
            "t.yaml:4:116: emit tool_call: invalid value: integer `-1`, expected u32",
        ),
        (
            "emit: {type: tool_call, tool_call_id: t1, tool_name: look, locations: [{path: /a}, {line: 1}]}",
            "t.yaml:4:90: emit tool_call: missing field `path`",
        ),
        (
            "emit: {type: tool_call, tool_call_id: t1, tool_name: look, locations: [{path: /a, row: 1}]}",
            "t.yaml:4:89: emit tool_call: unknown field \"row\"",
        ),
        (
            "emit: {type: plan, plan: [{content: a}, {content: b, status: half}]}",
            "t.yaml:4:68: emit plan: data did not match any variant of untagged enum Plan",
        ),
        (
            "emit: {type: turn_ended, outcome: stopped, stop_reason: end_turn}",
            "t.yaml:4:20: emit turn_ended: only the runtime writes this event; the turn ends when the agent returns",
        ),
        (
            "emit: {type: turn_started, message_id: m, prompt: []}",
            "t.yaml:4:20: emit turn_started: only the runtime writes this event; a prompt starts the turn",
        ),
        (
            "emit: {type: permission_resolved, ask_id: a, decision: cancelled}",
            "t.yaml:4:20: emit permission_resolved: only the runtime writes this event; a tool call asks for permission",
        ),
        (
            "emit: {type: permission_asked, ask_id: a, options: [], tool_call: {tool_call_id: t, tool_name: n}}",
            "t.yaml:4:20: emit permission_asked: only the runtime writes this event; a tool call asks for permission",
        ),
        (
            "emit: {type: recovered}",
            "t.yaml:4:20: emit recovered: only the runtime writes this event; opening a session after a \
             crash causes it",
        ),
        (
            "emit: {type: mode_changed, mode_id: ask}",
            "t.yaml:4:20: emit mode_changed: only the runtime writes this event; the controller changes it",
        ),
        (
            "emit: {type: config_changed, config_id: a, value: b}",
            "t.yaml:4:20: emit config_changed: only the runtime writes this event; the controller changes it",
        ),
    ];
    for (step, expected) in table {
        assert_eq!(refusal(&with_step(step)), expected, "for: {step}");
    }
    let unknown = refusal(&with_step("emit: {type: tool_cal}"));
    let start = "t.yaml:4:20: emit tool_cal: unknown variant `tool_cal`, expected one of `agent_message_chunk`, ";
    assert!(unknown.starts_with(start), "{unknown}");
}

#[test]
fn known_fields_may_be_empty() {
    let step = "emit: {type: tool_call, tool_call_id: t1, tool_name: look, title: null, raw_input: null, \
                locations: [], content: [], parsing: null, audit: null}";
    assert!(ScriptAgent::parse("t.yaml", &with_step(step)).is_ok());
}

#[test]
fn wrong_commands_and_options_are_rejected() {
    let table = [
        (
            "commands: [{name: /go, description: d}]",
            "t.yaml:1:12: commands: a name must not be empty or begin with a slash; only prompts have \
             the slash",
        ),
        (
            "commands: [{name: go}]",
            "t.yaml:1:12: commands: missing field `description`",
        ),
        (
            "commands: [{name: go, description: d, input: {hnt: x}}]",
            "t.yaml:1:46: commands: missing field `hint`",
        ),
        (
            "options: [{id: mode, name: n, description: d, choices: [{value: a, name: A}], default: a}]",
            "t.yaml:1:11: options: the id \"mode\" is taken; choose another",
        ),
        (
            "options: [{id: o, name: n, description: d, choices: [{value: a, name: A}], default: b}]",
            "t.yaml:1:11: options: the default must be the value of one of the choices",
        ),
    ];
    for (line, expected) in table {
        let text = format!("{line}\nname: t\nturns: [{{steps: []}}]\n");
        assert_eq!(refusal(&text), expected, "for: {line}");
    }
}

#[test]
fn exceeded_limit_is_reported() {
    let mut step = "{say: a}".to_owned();
    for _ in 0..32 {
        step = format!("{{repeat: {{times: 1, steps: [{step}]}}}}");
    }
    assert!(ScriptAgent::parse("t.yaml", &with_step(&step)).is_ok());
    let deeper = format!("{{repeat: {{times: 1, steps: [{step}]}}}}");
    let error = refusal(&with_step(&deeper));
    assert!(
        error.ends_with(": steps are nested more than 32 deep"),
        "{error}"
    );

    let deep = "[".repeat(200) + &"]".repeat(200);
    let error = refusal(&deep);
    assert_eq!(error, "t.yaml:1:130: values are nested more than 128 deep");
    let error = refusal(&"[".repeat(1024 * 1024));
    assert!(error.starts_with("t.yaml:1:"), "{error}");

    let big = format!(
        "name: t\nturns: [{{steps: []}}]\n#{}",
        " ".repeat(1024 * 1024)
    );
    assert_eq!(
        refusal(&big),
        "t.yaml: a scenario file must not be larger than 1 MiB"
    );
}

#[test]
fn truncated_file_does_not_panic() {
    let peer = include_str!("../../../../../fixtures/scenarios/peer.yaml");
    let workers = "name: w\nturns:\n- steps:\n  - worker: {name: a, task: b, steps: [{say: ü}]}\n  \
                   - await_workers: [a]\n  - trigger: {worker: a, task: c, steps: []}\n  \
                   - stop_worker: {worker: a, handoff: {task: d}}\n  - cancel_worker: {worker: a}\n";
    for text in [peer, workers] {
        assert!(ScriptAgent::parse("t.yaml", text).is_ok());
        for (end, _) in text.char_indices() {
            let _ = ScriptAgent::parse("t.yaml", &text[..end]);
        }
    }
}
