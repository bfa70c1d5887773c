//! Judges a call: looks where its paths lead, takes its command apart, and asks the rules.

use std::{borrow::Cow, sync::Arc};

use harn_model::{
    Grant, GrantEffect, JudgedAct, PolicyAction, PolicyContext, PolicyDecision, ReceiptType,
    RuleSource,
};
use harn_policy::{
    Call, Located, PolicyError, narrow,
    shell::{self, Doubt, Line},
    visible_line,
};

use super::{Act, Declared, Permit, locate};
use crate::session::Shared;

pub(crate) struct Judged {
    /// What was decided, and why.
    pub(crate) receipt: PolicyDecision,
    /// What an answer that is to be remembered would say.
    pub(crate) grant: Option<Grant>,
    /// What the call may do if it runs.
    pub(crate) permit: Permit,
    /// The files it declares, where they can be told.
    pub(crate) locations: Vec<String>,
    /// The command and the paths, for whoever is asked.
    pub(crate) shown: JudgedAct,
    /// Whether it may change something; what does not say counts as if it did.
    writes: bool,
}

impl Judged {
    /// Nothing was judged, so nothing may run.
    fn refused(tool: &str, reason: String) -> Self {
        let receipt = PolicyDecision {
            receipt: ReceiptType::V1,
            action: PolicyAction::Deny,
            reason,
            matched_rule: None,
            risk_labels: Vec::new(),
            context: PolicyContext {
                tool_name: tool.to_owned(),
                ..PolicyContext::default()
            },
        };
        Self {
            receipt,
            grant: None,
            permit: Permit::default(),
            locations: Vec::new(),
            shown: JudgedAct::default(),
            writes: true,
        }
    }

    /// Whether it is worth a record: what merely reads, and nothing but the mode lets it, is not.
    pub(crate) fn is_told(&self) -> bool {
        let by_mode = match &self.receipt.matched_rule {
            Some(rule) => rule.source == RuleSource::Mode,
            None => true,
        };
        !by_mode || self.writes
    }
}

/// Judges a call of a session. Looks at the disk, so not on this thread.
pub(crate) async fn judge(shared: &Arc<Shared>, act: Act) -> Judged {
    let session = shared.clone();
    let judged = tokio::task::spawn_blocking(move || judge_now(&session, &act));
    judged
        .await
        .unwrap_or_else(|_| Judged::refused("", "the call could not be judged".to_owned()))
}

/// What the rules say of reading this file. Looks at files.
pub(crate) fn judge_read(shared: &Shared, file: &Located) -> PolicyDecision {
    judge_located(shared, &Act::read(), vec![file.clone()]).receipt
}

fn judge_now(shared: &Shared, act: &Act) -> Judged {
    let mut inputs = act.paths();
    // What a command does depends on where, and people who are asked know the session's own directory.
    if act.command().is_some() && *shared.cwd != *shared.root().cwd {
        inputs.push(shared.cwd.to_string_lossy().into_owned());
    }
    judge_located(shared, act, locate(shared, &inputs))
}

fn judge_located(shared: &Shared, act: &Act, paths: Vec<Located>) -> Judged {
    let config = &shared.config;
    let top = shared.root();
    let command = act.command().map(|command| match command {
        Declared::Line(text) => {
            let line = shell::read(&text);
            (text, line)
        }
        Declared::Unreadable => {
            let doubts = vec![Doubt::Unparsable];
            let line = Line {
                doubts,
                ..Line::default()
            };
            (Cow::Borrowed(""), line)
        }
    });
    let capabilities = act.capabilities();
    let workspace = top.cwd.to_string_lossy();
    let annotations = act.annotations.as_ref();
    let call = Call {
        tool: &act.tool,
        kind: act.kind(),
        side_effect: annotations.map(|known| known.side_effect_level),
        capabilities: &capabilities,
        arguments: &act.input,
        paths: &paths,
        command: command.as_ref().map(|(text, line)| (&**text, line)),
        workspace: &workspace,
        mode: shared.mode(),
        agent: shared.worker_name(),
        grants: &[],
    };
    let writes = call.writes();
    let policy = match config.rules.policy(&top.cwd) {
        Ok(policy) => policy,
        Err(error) => return unreadable(act, &paths, &error),
    };
    top.note_policy(&policy);
    let lasting = match config.rules.grants(&top.cwd) {
        Ok(lasting) => lasting,
        Err(error) if writes => return unreadable(act, &paths, &error),
        // What only reads needs nothing that was remembered.
        Err(_) => Vec::new(),
    };
    let session = top.view().grants.clone();
    let grants = [session, lasting].concat();
    let call = Call {
        grants: &grants,
        ..call
    };
    let receipt = policy.decide(&call);
    let grant = match receipt.action {
        PolicyAction::Ask => narrow(&call, GrantEffect::Allow),
        PolicyAction::Allow | PolicyAction::Deny => None,
    };
    let locations = paths.iter().filter_map(|path| path.info.host_path.clone());
    let locations = locations.collect();
    let command = match act.command() {
        Some(Declared::Line(line)) => Some(line.into_owned()),
        Some(Declared::Unreadable) | None => None,
    };
    let (tool, input) = (act.tool.clone(), act.input.clone());
    let judged = receipt.context.paths.iter();
    let shown = JudgedAct {
        line: act.shown_command(),
        paths: judged.map(|path| visible_line(path.display())).collect(),
    };
    Judged {
        receipt,
        grant,
        permit: Permit::granted(tool, input, writes, paths, command),
        locations,
        shown,
        writes,
    }
}

/// Rules that cannot be read may forbid anything.
fn unreadable(act: &Act, paths: &[Located], error: &PolicyError) -> Judged {
    let reason =
        format!("the rules cannot be read, so nothing runs until they are mended: {error}");
    let mut judged = Judged::refused(&act.tool, reason);
    let context = &mut judged.receipt.context;
    context.tool_kind = act.kind();
    context.paths = paths.iter().map(|path| path.info.clone()).collect();
    judged
}
