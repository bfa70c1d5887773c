//! The sequence rules in a second, simple form: the conditions on the messages to one client, whatever produced
//! them. It shares nothing with the checker, so that an error in one cannot hide in the other.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The messages that one client has received so far.
#[derive(Default)]
pub(crate) struct Oracle {
    /// Ids of prompts without an answer.
    prompts: Vec<Value>,
    /// Calls: whether they are open, and whether their arguments are streaming in.
    calls: BTreeMap<String, Call>,
    /// The last event of each worker.
    workers: BTreeMap<String, String>,
    /// Compositions: whether they are open, their hashes, and their open children.
    runs: BTreeMap<String, Run>,
    /// Open questions, with their kind.
    questions: BTreeMap<String, Value>,
    skills: BTreeSet<String>,
    /// Messages of the user that were accepted, delivered during a turn, and revoked.
    accepted: BTreeSet<String>,
    delivered: BTreeSet<String>,
    revoked: BTreeSet<String>,
}

#[derive(Default)]
struct Call {
    open: bool,
    parsing: bool,
}

struct Run {
    open: bool,
    hashes: [Value; 2],
    children: BTreeSet<String>,
}

type Verdict = Result<(), String>;

fn require(holds: bool, what: impl Into<String>) -> Verdict {
    if holds { Ok(()) } else { Err(what.into()) }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the key of a skill: its id, or its name without one.
fn skill(harn: &Value) -> String {
    let id = harn["skillId"].as_str();
    id.map_or_else(|| text(&harn["skillName"]), str::to_owned)
}

impl Oracle {
    pub(crate) fn check_message(&mut self, to_client: bool, message: &Value) -> Verdict {
        let method = message["method"].as_str();
        if !to_client {
            if method == Some("session/prompt") {
                self.prompts.push(message["id"].clone());
            }
            return Ok(());
        }
        let params = &message["params"];
        match method {
            Some("session/update") => self.check_update(&params["update"]),
            Some("_harn/agentEvent") => self.check_event(params),
            Some(_) => Ok(()),
            None if self.prompts.contains(&message["id"]) => {
                self.prompts.retain(|id| *id != message["id"]);
                self.check_settled()
            }
            None => Ok(()),
        }
    }

    /// Nothing that belongs to a turn may outlive it.
    pub(crate) fn check_settled(&self) -> Verdict {
        require(
            self.calls.values().all(|call| !call.open),
            "a call was left open",
        )?;
        require(
            self.runs.values().all(|run| !run.open),
            "a composition was left open",
        )?;
        require(self.questions.is_empty(), "a question was left open")?;
        let running = ["WorkerSpawned", "WorkerProgressed"];
        let mut last = self.workers.values();
        require(
            last.all(|event| !running.contains(&event.as_str())),
            "a worker was left at work",
        )
    }

    fn check_update(&mut self, update: &Value) -> Verdict {
        let harn = &update["_meta"]["harn"];
        let name = match update["sessionUpdate"].as_str() {
            Some("session_info_update") => harn["sessionUpdate"].as_str(),
            name => name,
        };
        match name {
            Some("tool_call") => self.check_call(update, harn),
            Some("tool_call_update") => self.check_call_update(update, harn),
            Some("worker_update") => self.check_worker(harn),
            Some("hitl_request") => {
                let id = text(&harn["requestId"]);
                let before = self.questions.insert(id, harn["kind"].clone());
                require(before.is_none(), "a question was put twice")
            }
            Some("hitl_resolved") => {
                let kind = self.questions.remove(&text(&harn["requestId"]));
                let Some(kind) = kind else {
                    return Err("a question was settled that was not open".to_owned());
                };
                require(
                    kind == harn["kind"],
                    "a question was settled as one of another kind",
                )
            }
            Some(name @ ("user_message" | "user_message_chunk")) => {
                let id = text(&update["messageId"]);
                require(
                    !self.revoked.contains(&id),
                    "a message was delivered that was taken back",
                )?;
                // An agent may report messages that no client sent, as often as it likes.
                let expected = name == "user_message" && self.accepted.contains(&id);
                let fresh = self.delivered.insert(id);
                require(fresh || !expected, "a message was delivered twice")
            }
            Some("skill_activated") => {
                self.skills.insert(skill(harn));
                Ok(())
            }
            Some("skill_deactivated") => {
                let active = self.skills.remove(&skill(harn));
                require(active, "a skill ended that was not active")
            }
            _ => Ok(()),
        }
    }

    fn check_outcome(&mut self, params: &Value) -> Verdict {
        let id = text(&params["target"]["messageId"]);
        match (text(&params["method"]).as_str(), params["outcome"].as_str()) {
            ("session/inject", Some("accepted")) => {
                let early = self.delivered.contains(&id);
                self.accepted.insert(id);
                require(!early, "a message was delivered before it was accepted")
            }
            ("session/revoke_inject", Some("revoked")) => {
                let late = self.delivered.contains(&id);
                self.revoked.insert(id);
                require(!late, "a message was taken back that had been delivered")
            }
            ("session/revoke_inject", Some("already_delivered")) => require(
                self.delivered.contains(&id),
                "a message was said to be delivered that was not",
            ),
            _ => Ok(()),
        }
    }

    fn check_call(&mut self, call: &Value, harn: &Value) -> Verdict {
        check_fields(call, harn)?;
        let status = text(&call["status"]);
        let fresh = Call {
            open: !is_terminal(&status),
            parsing: harn["parsing"] == true,
        };
        require(
            fresh.open || !fresh.parsing,
            "a call that has ended is parsing",
        )?;
        let before = self.calls.insert(text(&call["toolCallId"]), fresh);
        require(before.is_none(), "a call was announced twice")
    }

    fn check_call_update(&mut self, update: &Value, harn: &Value) -> Verdict {
        check_fields(update, harn)?;
        let Some(call) = self.calls.get_mut(&text(&update["toolCallId"])) else {
            return Err("an update of a call that was not announced".to_owned());
        };
        require(call.open, "an update of a call that has ended")?;
        match harn["parsing"].as_bool() {
            None => {}
            Some(parsing) => {
                require(
                    call.parsing,
                    "parsing is spoken of, and the call was not parsing",
                )?;
                call.parsing = parsing;
            }
        }
        if is_terminal(&text(&update["status"])) {
            require(!call.parsing, "a call ended while it was parsing")?;
            call.open = false;
        }
        Ok(())
    }

    fn check_worker(&mut self, harn: &Value) -> Verdict {
        let event = text(&harn["event"]);
        let before = self.workers.insert(text(&harn["workerId"]), event.clone());
        let waited = before.as_deref() == Some("WorkerWaitingForInput");
        let may = match (before.as_deref(), event.as_str()) {
            (None | Some("WorkerProgressed"), event) => event == "WorkerSpawned",
            (Some("WorkerSpawned"), event) => {
                !matches!(event, "WorkerSpawned" | "WorkerProgressed")
            }
            (Some("WorkerWaitingForInput"), event) => event != "WorkerWaitingForInput",
            (Some(_), _) => false,
        };
        require(may, format!("{event} after {before:?}"))?;
        let over = [
            "WorkerCompleted",
            "WorkerFailed",
            "WorkerStopped",
            "WorkerCancelled",
        ];
        let over = over.contains(&event.as_str());
        require(harn["terminal"] == over, "`terminal` is wrong")?;
        let metadata = &harn["metadata"];
        require(
            metadata["started_at"].is_string(),
            "a worker without a beginning",
        )?;
        require(
            metadata["finished_at"].is_string() == over,
            "`finished_at` is wrong",
        )?;
        let waits = event == "WorkerWaitingForInput" || (over && waited);
        require(
            metadata["awaiting_started_at"].is_string() == waits,
            "`awaiting_started_at` is wrong",
        )
    }

    fn check_event(&mut self, params: &Value) -> Verdict {
        if params["kind"] == "control_outcome" {
            return self.check_outcome(params);
        }
        let id = text(&params["runId"]);
        let hashes = ["snippetHash", "bindingManifestHash"].map(|key| params[key].clone());
        let child = text(&params["toolCallId"]);
        let kind = params["kind"].as_str();
        if kind == Some("composition_start") {
            let run = Run {
                open: true,
                hashes,
                children: BTreeSet::new(),
            };
            return require(
                self.runs.insert(id, run).is_none(),
                "a composition began twice",
            );
        }
        if !kind.is_some_and(|kind| kind.starts_with("composition_")) {
            return Ok(());
        }
        let Some(run) = self.runs.get_mut(&id).filter(|run| run.open) else {
            return Err("a composition is spoken of that is not open".to_owned());
        };
        match kind {
            Some("composition_child_call") => {
                require(run.children.insert(child), "a child began twice")
            }
            Some("composition_child_result") => {
                require(
                    run.children.remove(&child),
                    "a child ended that was not open",
                )?;
                let status = text(&params["status"]);
                require(is_terminal(&status), "a result that is none")?;
                let said = params["errorCategory"].is_null() || status == "failed";
                require(said, "a child that did not fail has a category")
            }
            _ => {
                require(
                    run.children.is_empty(),
                    "a composition ended before its children",
                )?;
                require(
                    run.hashes == hashes,
                    "a composition has other hashes at its end",
                )?;
                run.open = false;
                Ok(())
            }
        }
    }
}

fn is_terminal(status: &str) -> bool {
    matches!(status, "completed" | "failed")
}

/// Checks which fields may be present with which status.
fn check_fields(update: &Value, harn: &Value) -> Verdict {
    let titled = update["title"]
        .as_str()
        .is_some_and(|title| !title.is_empty());
    require(titled, "nothing to show a person")?;
    let status = text(&update["status"]);
    let timed = !harn["durationMs"].is_null() || !harn["executionDurationMs"].is_null();
    require(!timed || is_terminal(&status), "a duration before the end")?;
    let blamed = !harn["errorCategory"].is_null();
    require(
        !blamed || status == "failed",
        "a category without a failure",
    )?;
    require(
        !blamed || harn["error"].is_string(),
        "a category without an error",
    )?;
    require(
        harn["error"].is_null() || status == "failed",
        "an error without a failure",
    )?;
    let both = !update["rawInput"].is_null() && !harn["rawInputPartial"].is_null();
    require(!both, "arguments that are whole and partial")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn update(name: &str, mut members: Value, harn: Value) -> Value {
        members["sessionUpdate"] = json!(name);
        members["_meta"] = json!({"harn": harn});
        json!({"method": "session/update", "params": {"update": members}})
    }

    fn call(name: &str, status: &str, harn: Value) -> Value {
        let members = json!({"toolCallId": "a", "title": "look", "status": status});
        update(name, members, harn)
    }

    fn worker(event: &str) -> Value {
        let over = event == "WorkerCompleted";
        let waits = event == "WorkerWaitingForInput";
        let time = |told: bool| told.then_some("2026-01-01T00:00:00Z");
        let metadata = json!({
            "started_at": time(true), "finished_at": time(over), "awaiting_started_at": time(waits),
        });
        let harn = json!({"workerId": "w", "event": event, "terminal": over, "metadata": metadata});
        update("worker_update", json!({}), harn)
    }

    fn run(kind: &str) -> Value {
        let params = json!({"kind": kind, "runId": "r", "toolCallId": "c", "status": "completed"});
        json!({"method": "_harn/agentEvent", "params": params})
    }

    fn first_objection(messages: &[Value]) -> Option<String> {
        let mut oracle = Oracle::default();
        let (last, before) = messages.split_last().unwrap();
        for message in before {
            oracle.check_message(true, message).unwrap();
        }
        oracle.check_message(true, last).err()
    }

    /// An oracle that never objects proves nothing.
    #[test]
    fn illegal_messages_are_reported() {
        let announced = || call("tool_call", "pending", json!({}));
        let ended = || call("tool_call_update", "completed", json!({}));
        for illegal in [
            vec![ended()],
            vec![announced(), announced()],
            vec![announced(), ended(), ended()],
            vec![
                announced(),
                call("tool_call_update", "pending", json!({"durationMs": 1})),
            ],
            vec![
                announced(),
                call(
                    "tool_call_update",
                    "completed",
                    json!({"errorCategory": "unknown"}),
                ),
            ],
            vec![
                announced(),
                call("tool_call_update", "pending", json!({"parsing": true})),
            ],
            vec![
                call("tool_call", "pending", json!({"parsing": true})),
                ended(),
            ],
            vec![worker("WorkerProgressed")],
            vec![worker("WorkerSpawned"), worker("WorkerSpawned")],
            vec![
                worker("WorkerSpawned"),
                worker("WorkerCompleted"),
                worker("WorkerSpawned"),
            ],
            vec![run("composition_child_call")],
            vec![run("composition_start"), run("composition_start")],
            vec![run("composition_start"), run("composition_child_result")],
            vec![
                run("composition_start"),
                run("composition_child_call"),
                run("composition_finish"),
            ],
            vec![
                run("composition_start"),
                run("composition_finish"),
                run("composition_error"),
            ],
            vec![update(
                "hitl_resolved",
                json!({}),
                json!({"requestId": "q"}),
            )],
            vec![update(
                "skill_deactivated",
                json!({}),
                json!({"skillName": "s"}),
            )],
        ] {
            assert!(first_objection(&illegal).is_some(), "{illegal:?}");
        }
    }

    #[test]
    fn anything_left_open_by_a_turn_is_reported() {
        for left in [
            call("tool_call", "in_progress", json!({})),
            worker("WorkerSpawned"),
            run("composition_start"),
            update("hitl_request", json!({}), json!({"requestId": "q"})),
        ] {
            let mut oracle = Oracle::default();
            let prompt = json!({"id": 1, "method": "session/prompt"});
            oracle.check_message(false, &prompt).unwrap();
            oracle.check_message(true, &left).unwrap();
            let answer = json!({"id": 1, "result": {"stopReason": "end_turn"}});
            assert!(oracle.check_message(true, &answer).is_err(), "{left}");
        }
    }
}
