//! What is open in the turn that runs: calls, questions and composition runs that have not been settled. The fold
//! over events is in `transcript.rs`.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    AskId, CompositionRun, Lineage, MutationSession, PermissionAsked, Seq, SideEffectLevel,
    Timestamp, ToolCallId, TurnId,
};

/// A turn that has begun and not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenTurn {
    /// Its id.
    pub id: TurnId,
    /// Calls that were announced and not settled, with their tool and what is known of their times.
    pub calls: BTreeMap<ToolCallId, OpenCall>,
    /// The same of workers.
    pub worker_calls: BTreeMap<ToolCallId, OpenWorkerCall>,
    /// Asks that were put and not settled.
    pub asks: BTreeMap<AskId, Box<PermissionAsked>>,
    /// Composition runs that have not ended.
    pub runs: BTreeMap<String, OpenRun>,
    /// Questions to a person that have no answer.
    pub questions: BTreeMap<String, OpenQuestion>,
}

impl OpenTurn {
    pub(crate) fn new(id: TurnId) -> Self {
        Self {
            id,
            calls: BTreeMap::new(),
            worker_calls: BTreeMap::new(),
            asks: BTreeMap::new(),
            runs: BTreeMap::new(),
            questions: BTreeMap::new(),
        }
    }

    /// The event that announced an open call or an open question to a person. The session announces a worker's
    /// call again before it asks about it; without `of_workers`, that second announcement counts.
    #[must_use]
    pub fn announced(&self, id: &str, of_workers: bool) -> Option<Seq> {
        let call = self.calls.get(id).map(|call| call.seq);
        let of_worker = || match (self.worker_calls.get(id)?, of_workers) {
            (call, true) => Some(call.seq),
            (call, false) => call.asked,
        };
        let question = || self.questions.get(id).map(|question| question.seq);
        call.or_else(of_worker).or_else(question)
    }
}

/// A question to a person that has not been settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    /// Its kind.
    pub kind: String,
    /// What is asked, or the kind where the payload does not say it.
    pub subject: String,
    /// The event that announced it.
    pub seq: Seq,
}

/// A tool call that has not been settled.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// The tool.
    pub tool_name: String,
    /// What a person is shown, where it is not the tool's name.
    pub title: Option<String>,
    /// Whether its arguments are still streaming in.
    pub parsing: bool,
    /// The mutation session it was announced under.
    pub audit: Option<Arc<MutationSession>>,
    /// The event that announced it.
    pub seq: Seq,
    /// When it was announced.
    pub announced_at: Timestamp,
    /// When it started to run.
    pub started_at: Option<Timestamp>,
}

/// A worker's tool call that has not been settled.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenWorkerCall {
    /// The tool.
    pub tool_name: String,
    /// What a person is shown, where it is not the tool's name.
    pub title: Option<String>,
    /// The workers from the session down to the one that makes the call.
    pub lineage: Vec<Lineage>,
    /// The event that announced it.
    pub seq: Seq,
    /// The event that announced it again because the session asks about it.
    pub asked: Option<Seq>,
}

/// A composition run that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    /// The snippet's language.
    pub language: String,
    /// The snippet's hash.
    pub snippet_hash: String,
    /// The manifest's hash.
    pub binding_manifest_hash: String,
    /// How far children may reach.
    pub ceiling: SideEffectLevel,
    /// When it began.
    pub started_at: Timestamp,
    /// Children that have not ended.
    pub children: BTreeMap<String, OpenChild>,
}

impl OpenRun {
    pub(crate) fn new(run: &CompositionRun, at: Timestamp) -> Self {
        Self {
            language: run.language.clone(),
            snippet_hash: run.snippet_hash.clone(),
            binding_manifest_hash: run.binding_manifest_hash.clone(),
            ceiling: run.requested_side_effect_ceiling,
            started_at: at,
            children: BTreeMap::new(),
        }
    }
}

/// A child of a composition run that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenChild {
    /// The tool.
    pub tool_name: String,
    /// Its place.
    pub operation_index: u64,
    /// When it began.
    pub started_at: Timestamp,
}
