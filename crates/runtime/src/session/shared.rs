//! What a session's task and its handles share, and what follows from it: the mode in force, what a prompt may
//! hold, the right a turn acts under.

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

/// What the task and its handles share.
pub(crate) struct SharedSession {
    pub(crate) meta: SessionMeta,
    pub(crate) cwd: Arc<Path>,
    /// Its directories, and what in them is never written. A client that opens the session again may name
    /// others beside the first.
    pub(crate) roots: Mutex<Arc<SessionRoots>>,
    /// The rules that were in force at the last call, as audits tell them.
    pub(crate) rules: Mutex<Option<(Arc<Policy>, ApprovalPolicy)>>,
    pub(crate) view: Mutex<SessionView>,
    pub(crate) feed: Arc<SessionFeed>,
    /// Turns that were submitted and have not ended, oldest first. A cancel binds to the oldest at the
    /// moment it is read, so that a late one cannot reach a later turn.
    pub(crate) unfinished: Mutex<VecDeque<TurnId>>,
    pub(crate) host: Mutex<Arc<dyn HostPort>>,
    /// Who is on it. Of this process, like its clients: a session that is opened again is controlled by
    /// nobody.
    pub(crate) live: LiveRoster,
    /// Tools, skills and servers; a worker's are those of the session at the top.
    pub(crate) equipment: Arc<dyn Equipment>,
    /// What people are being asked: what of the open questions of the view can be answered.
    pub(crate) hitl: Mutex<BTreeMap<String, Arc<HitlRequest>>>,
    pub(crate) config: Arc<HubConfig>,
    /// Who works on its prompts.
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) profile: Arc<AgentProfile>,
    /// Whose worker it is, while it works for somebody.
    pub(crate) lineage: Option<ParentLink>,
    pub(crate) hub: WeakHub,
    /// Places for workers at every depth below it; those of the session at the top count.
    pub(crate) places: Arc<Semaphore>,
}

impl SharedSession {
    pub(crate) fn view(&self) -> MutexGuard<'_, SessionView> {
        lock(&self.view)
    }

    /// Its directories as they are now.
    pub(crate) fn roots(&self) -> Arc<SessionRoots> {
        lock(&self.roots).clone()
    }

    /// The session above, for which it works.
    fn parent(&self) -> Option<&Arc<Self>> {
        self.lineage
            .as_ref()
            .map(|child_of| &child_of.parent.shared)
    }

    /// The session at the top: the one that clients know.
    pub(crate) fn root(&self) -> &Self {
        self.above().last().unwrap_or(self)
    }

    /// The sessions above it, the next first.
    fn above(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(self.parent(), |above| above.parent()).map(|above| &**above)
    }

    /// How many sessions are above it.
    pub(crate) fn depth(&self) -> usize {
        self.above().count()
    }

    /// Whether it works for this session, or for one that does.
    pub(crate) fn is_below(&self, session: &SessionId) -> bool {
        self.above().any(|above| above.meta.thread_id == *session)
    }

    /// The mode in force. A worker may never do more than the session it works for.
    pub(crate) fn mode(&self) -> SessionMode {
        let above = self.parent().map(|above| above.mode());
        let chosen = self.view().mode.as_deref().map(|id| {
            // A mode of a later version may be anything; the strictest is safe.
            SessionMode::of(id).unwrap_or(SessionMode::ReadOnly)
        });
        match (chosen, above) {
            (Some(chosen), Some(above)) => chosen.min(above),
            (Some(mode), None) | (None, Some(mode)) => mode,
            (None, None) => self.config.default_mode,
        }
    }

    /// The worker that acts in it, by name.
    pub(crate) fn worker_name(&self) -> Option<&str> {
        self.lineage.as_ref().map(|child_of| &*child_of.worker_name)
    }

    /// Notes which rules are in force.
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

    /// The slash commands of the agent itself.
    pub(crate) fn own_commands(&self) -> Vec<SlashCommand> {
        let own = self.view().commands.clone();
        own.unwrap_or_else(|| self.profile.commands.clone())
    }

    /// The same beside those of the equipment, whose names are told too. Workers have none of these.
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

    /// Refuses what the agent does not take.
    pub(crate) fn check(&self, blocks: &[ContentBlock]) -> Result<(), PromptError> {
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

    /// The right a turn acts under; none where nothing may change. A worker's is lent by the session it
    /// works for.
    pub(crate) fn mutation(&self, turn: &TurnId) -> Option<Arc<MutationSession>> {
        if self.mode() == SessionMode::ReadOnly {
            return None;
        }
        if let Some(child_of) = &self.lineage {
            let lent = child_of.parent.shared.mutation(&child_of.turn)?;
            let own = lent.delegated(Some(&self.meta.thread_id), &child_of.worker_id);
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

/// A policy as an audit has it. An audit goes with every call, so lists that would be most of it are left out.
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
        _ => ApprovalLists::too_large(bytes),
    })
}

/// Waits for a future, for ever where there is none.
pub(crate) async fn or_never<F: Future>(future: Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// A lock that survives a panic of whoever held it: what it guards is replaced whole or appended to.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
