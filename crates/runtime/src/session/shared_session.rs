//! The state that a session task and its handles share, and what derives from it: the mode in force, the
//! content a prompt may have, the audit record of a turn.

use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use harn_journal::SessionMeta;
use harn_model::{
    ApprovalLists, ApprovalPolicy, ContentBlock, ExecutionKind, HitlRequest, MutationScope,
    MutationSession, SessionId, SessionView, SlashCommand, TurnId,
};
use harn_policy::{Policy, SessionMode, SessionRoots};
use tokio::sync::Semaphore;

use super::live::LiveRoster;
use crate::{
    Agent, AgentProfile, Equipment, HostPort, HubConfig, PromptError, hub::WeakHub,
    publish::SessionFeed, worker::ParentLink,
};

/// The state that the task and its handles share.
pub(crate) struct SharedSession {
    pub(crate) meta: SessionMeta,
    pub(crate) cwd: Arc<Path>,
    /// Its directories, and the paths in them that are never written. A client that reopens the session may
    /// change all but the first.
    pub(crate) roots: Mutex<Arc<SessionRoots>>,
    /// The rules in force at the last call, with their form for audits.
    pub(crate) rules: Mutex<Option<(Arc<Policy>, ApprovalPolicy)>>,
    pub(crate) view: Mutex<SessionView>,
    pub(crate) feed: Arc<SessionFeed>,
    /// Submitted turns that have not ended, oldest first. A cancel binds to the oldest when it is read, so
    /// that a late cancel cannot reach a later turn.
    pub(crate) unfinished: Mutex<VecDeque<TurnId>>,
    pub(crate) host: Mutex<Arc<dyn HostPort>>,
    /// The clients on it. Belongs to this process: a reopened session has no controller.
    pub(crate) live: LiveRoster,
    /// Tools, skills and servers; a worker uses those of the root session.
    pub(crate) equipment: Arc<dyn Equipment>,
    /// The open requests to people that can be answered.
    pub(crate) hitl: Mutex<BTreeMap<String, Arc<HitlRequest>>>,
    pub(crate) config: Arc<HubConfig>,
    /// The agent that works on its prompts.
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) profile: Arc<AgentProfile>,
    /// The link to the parent, if it is a worker's session.
    pub(crate) lineage: Option<ParentLink>,
    pub(crate) hub: WeakHub,
    /// The permits of running workers at every depth below; only the root session's are used.
    pub(crate) places: Arc<Semaphore>,
}

impl SharedSession {
    pub(crate) fn view(&self) -> MutexGuard<'_, SessionView> {
        lock(&self.view)
    }

    /// Returns its current directories.
    pub(crate) fn roots(&self) -> Arc<SessionRoots> {
        lock(&self.roots).clone()
    }

    fn parent(&self) -> Option<&Arc<Self>> {
        self.lineage
            .as_ref()
            .map(|child_of| &child_of.parent.shared)
    }

    /// Returns the root session, which is the one that clients know.
    pub(crate) fn root(&self) -> &Self {
        self.ancestors().last().unwrap_or(self)
    }

    /// Returns its ancestors, the parent first.
    fn ancestors(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(self.parent(), |above| above.parent()).map(|above| &**above)
    }

    /// Returns the number of its ancestors.
    pub(crate) fn depth(&self) -> usize {
        self.ancestors().count()
    }

    /// Whether this session is one of its ancestors.
    pub(crate) fn is_below(&self, session: &SessionId) -> bool {
        self.ancestors()
            .any(|above| above.meta.thread_id == *session)
    }

    /// Returns the mode in force. A worker may never do more than its parent session.
    pub(crate) fn mode(&self) -> SessionMode {
        let above = self.parent().map(|above| above.mode());
        let chosen = self.view().mode.as_deref().map(|id| {
            // The mode of a later version is unknown; the strictest is safe.
            SessionMode::from_id(id).unwrap_or(SessionMode::ReadOnly)
        });
        match (chosen, above) {
            (Some(chosen), Some(above)) => chosen.min(above),
            (Some(mode), None) | (None, Some(mode)) => mode,
            (None, None) => self.config.default_mode,
        }
    }

    /// Returns the name of the worker that acts in it.
    pub(crate) fn worker_name(&self) -> Option<&str> {
        self.lineage.as_ref().map(|child_of| &*child_of.worker_name)
    }

    /// Records the rules in force.
    pub(crate) fn note_policy(&self, policy: &Arc<Policy>) {
        let mut noted = lock(&self.rules);
        if noted
            .as_ref()
            .is_some_and(|(of, _)| Arc::ptr_eq(of, policy))
        {
            return;
        }
        *noted = Some((policy.clone(), audited_policy(policy)));
    }

    /// Returns the slash commands of the agent itself.
    pub(crate) fn own_commands(&self) -> Vec<SlashCommand> {
        let own = self.view().commands.clone();
        own.unwrap_or_else(|| self.profile.commands.clone())
    }

    /// Returns the commands with those of the equipment, and the names of the latter. Workers have no
    /// equipment commands.
    pub(crate) fn with_equipment(
        &self,
        mut commands: Vec<SlashCommand>,
    ) -> (Vec<SlashCommand>, Vec<String>) {
        let mut equipped = Vec::new();
        if self.lineage.is_none() {
            for command in self.equipment.commands() {
                if !commands.iter().any(|own| own.name == command.name) {
                    equipped.push(command.name.clone());
                    commands.push(command);
                }
            }
        }
        (commands, equipped)
    }

    /// Refuses content that the agent does not accept.
    pub(crate) fn check_prompt(&self, blocks: &[ContentBlock]) -> Result<(), PromptError> {
        if blocks.is_empty() {
            return Err(PromptError::Empty);
        }
        let takes = self.profile.prompt;
        let refused = blocks.iter().find(|block| match block {
            ContentBlock::Text { .. } | ContentBlock::ResourceLink(_) => false,
            ContentBlock::Image { .. } => !takes.image,
            ContentBlock::Audio { .. } => !takes.audio,
            ContentBlock::Resource(_) => !takes.embedded,
        });
        match refused {
            Some(block) => Err(PromptError::Unsupported { kind: block.kind() }),
            None => Ok(()),
        }
    }

    /// Returns the audit record of a turn; `None` if the mode is read-only. A worker's record derives from
    /// its parent's.
    pub(crate) fn mutation_session(&self, turn: &TurnId) -> Option<Arc<MutationSession>> {
        if self.mode() == SessionMode::ReadOnly {
            return None;
        }
        if let Some(child_of) = &self.lineage {
            let lent = child_of.parent.shared.mutation_session(&child_of.turn)?;
            let own = lent.delegate_to(Some(&self.meta.thread_id), &child_of.worker_id);
            return Some(Arc::new(own));
        }
        Some(Arc::new(MutationSession {
            session_id: self.meta.thread_id.clone(),
            parent_session_id: None,
            run_id: Some(turn.clone()),
            worker_id: None,
            execution_kind: Some(ExecutionKind::Run),
            mutation_scope: MutationScope::ApplyWorkspace,
            approval_policy: lock(&self.rules)
                .as_ref()
                .map_or(ApprovalPolicy::None, |(_, audited)| audited.clone()),
        }))
    }
}

/// Returns a policy in its form for audits. An audit accompanies every call, so long lists are left out.
fn audited_policy(policy: &Policy) -> ApprovalPolicy {
    const MOST: usize = 8 * 1024;
    let source = policy.source();
    if *source == harn_policy::ToolApprovalPolicy::default() {
        return ApprovalPolicy::None;
    }
    let lists = source.lists();
    let bytes = serde_json::to_vec(&lists).map_or(usize::MAX, |written| written.len());
    ApprovalPolicy::Lists(match bytes {
        ..=MOST => lists,
        _ => ApprovalLists::deny_all(bytes),
    })
}

/// Waits for a future, forever if there is none.
pub(crate) async fn or_never<F: Future>(future: Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// Locks a mutex even after a panic of its holder: the guarded data is replaced whole or appended to.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
