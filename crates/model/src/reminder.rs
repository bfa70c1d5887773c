//! Reminders: context for the agent that no user typed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{DeliveryMode, RenderedReminder};

/// A reminder, as its creator defined it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemReminder {
    /// Its id.
    pub id: String,
    /// Its text.
    pub body: String,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// A later reminder with this key replaces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedupe_key: Option<String>,
    /// How many turns it lasts; without a limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_turns: Option<u64>,
    /// Whether it survives a compaction.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preserve_on_compact: bool,
    /// The workers that receive it.
    #[serde(default)]
    pub propagate: ReminderPropagation,
    /// The role to render it in.
    #[serde(default)]
    pub role_hint: RoleHint,
    /// Its source.
    #[serde(default)]
    pub source: ReminderSource,
    /// The turn it was created in, as counted by its creator.
    #[serde(default)]
    pub fired_at_turn: u64,
    /// The session that an inherited reminder comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub originating_agent_id: Option<String>,
    /// Further data of its creator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

impl SystemReminder {
    /// Builds a reminder with this text and defaults for everything else.
    pub fn new(id: impl Into<String>, body: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            body: body.into(),
            tags: Vec::new(),
            dedupe_key: None,
            ttl_turns: None,
            preserve_on_compact: false,
            propagate: ReminderPropagation::default(),
            role_hint: RoleHint::default(),
            source: ReminderSource::default(),
            fired_at_turn: 0,
            originating_agent_id: None,
            meta: None,
        }
    }

    /// Returns the approximate number of bytes that this keeps in memory.
    pub fn weight(&self) -> usize {
        const FACTS: usize = 256;
        let names = [&self.dedupe_key, &self.originating_agent_id];
        let names = names.into_iter().flatten().map(String::len).sum::<usize>();
        let tags = self.tags.iter().map(String::len).sum::<usize>();
        let meta = self.meta.iter().flatten();
        let meta = meta.map(|(key, value)| key.len() + crate::event::value_weight(value));
        self.id.len() + self.body.len() + names + tags + meta.sum::<usize>() + FACTS
    }

    /// Returns the copy that a worker receives, or none: `Session` reaches the workers of the session, `All` also
    /// the workers below them.
    pub fn copy_for_worker(&self, session: &str) -> Option<Self> {
        let passed_on = match self.propagate {
            ReminderPropagation::All => true,
            ReminderPropagation::Session => self.source != ReminderSource::Inherited,
            ReminderPropagation::None => false,
        };
        let origin = self.originating_agent_id.clone();
        passed_on.then(|| Self {
            source: ReminderSource::Inherited,
            originating_agent_id: Some(origin.unwrap_or_else(|| session.to_owned())),
            ..self.clone()
        })
    }

    /// Returns the record of its rendering.
    pub fn to_rendered(&self) -> RenderedReminder {
        RenderedReminder {
            reminder_id: self.id.clone(),
            tags: self.tags.clone(),
            body: self.body.clone(),
            role_hint: self.role_hint.as_str().to_owned(),
            rendered_role: self.role_hint.rendered_role().to_owned(),
            source: self.source.as_str().to_owned(),
            ttl_turns: self
                .ttl_turns
                .map(|ttl| i64::try_from(ttl).unwrap_or(i64::MAX)),
        }
    }
}

/// The workers that receive a reminder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Propagate")]
pub enum ReminderPropagation {
    /// The workers of the session, and all below them.
    All,
    /// The workers of the session.
    #[default]
    Session,
    /// No workers.
    None,
}

/// The role to render a reminder in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoleHint {
    /// The system role.
    #[default]
    System,
    /// The developer role.
    Developer,
    /// A block among the user's own.
    UserBlock,
    /// The system role, in a position that is not cached.
    EphemeralCache,
}

impl RoleHint {
    /// Returns its wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::UserBlock => "user_block",
            Self::EphemeralCache => "ephemeral_cache",
        }
    }

    /// Returns the role that it is rendered in.
    pub fn rendered_role(self) -> &'static str {
        match self {
            Self::System | Self::EphemeralCache => "system",
            Self::Developer => "developer",
            Self::UserBlock => "user",
        }
    }
}

/// The source of a reminder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReminderSource {
    /// A component of the agent.
    StdlibProvider,
    /// A hook.
    Hook,
    /// A host.
    #[default]
    Bridge,
    /// The agent.
    InPipeline,
    /// The parent session.
    Inherited,
}

impl ReminderSource {
    /// Returns its wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StdlibProvider => "stdlib_provider",
            Self::Hook => "hook",
            Self::Bridge => "bridge",
            Self::InPipeline => "in_pipeline",
            Self::Inherited => "inherited",
        }
    }
}

/// A change of a reminder; only in the transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum ReminderChange {
    /// It was delivered: it is in the transcript and, unless it is only recorded, active.
    Injected {
        /// Its delivery mode.
        mode: DeliveryMode,
        /// The reminder.
        reminder: SystemReminder,
    },
    /// It came from the parent session and is active.
    Inherited {
        /// The reminder.
        reminder: SystemReminder,
    },
    /// A later reminder with the same key replaced it.
    Deduped {
        /// The id of the replaced reminder.
        reminder_id: String,
        /// The id of the later reminder.
        by: String,
    },
    /// A turn passed: each active reminder has one turn less to last.
    Aged,
    /// It is no longer active.
    Expired {
        /// The id of the reminder.
        reminder_id: String,
        /// The reason.
        reason: ExpiryReason,
    },
}

/// Why a reminder is no longer active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpiryReason {
    /// Its number of turns has passed.
    Ttl,
    /// The transcript was compacted, and it was not marked to survive that.
    Compaction,
    /// A client or the agent removed it.
    Cleared,
}

/// A reminder that is active.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveReminder {
    /// The reminder; its `ttl_turns` is the number of turns left.
    pub reminder: SystemReminder,
    /// Whether an agent has received it.
    pub rendered: bool,
}

impl ActiveReminder {
    fn is_in_its_last_turn(&self) -> bool {
        self.reminder.ttl_turns.is_some_and(|left| left <= 1)
    }

    fn expiry_change(&self, reason: ExpiryReason) -> ReminderChange {
        ReminderChange::Expired {
            reminder_id: self.reminder.id.clone(),
            reason,
        }
    }
}

/// The active reminders, the oldest first. Lookups by id, by key, and of those that no agent has received, do not
/// scan the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActiveReminders {
    rows: BTreeMap<u64, ActiveReminder>,
    ids: HashMap<String, u64>,
    keys: BTreeSet<(String, u64)>,
    fresh: BTreeSet<u64>,
    bytes: usize,
}

impl ActiveReminders {
    /// Returns all reminders.
    pub fn iter(&self) -> impl Iterator<Item = &ActiveReminder> {
        self.rows.values()
    }

    /// Returns those that no agent has received.
    pub fn iter_unrendered(&self) -> impl Iterator<Item = &ActiveReminder> {
        self.fresh.iter().filter_map(|at| self.rows.get(at))
    }

    /// Returns the number of reminders.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the approximate number of bytes that they keep in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the reminder with this id.
    pub fn get(&self, id: &str) -> Option<&ActiveReminder> {
        self.rows.get(self.ids.get(id)?)
    }

    /// Whether a reminder with this id is active.
    pub fn contains(&self, id: &str) -> bool {
        self.ids.contains_key(id)
    }

    /// Applies a change.
    pub fn apply(&mut self, change: &ReminderChange) {
        match change {
            ReminderChange::Injected {
                mode: DeliveryMode::AuditOnly,
                ..
            } => {}
            ReminderChange::Injected { reminder, .. } | ReminderChange::Inherited { reminder } => {
                self.push(reminder.clone());
            }
            ReminderChange::Deduped { reminder_id, .. }
            | ReminderChange::Expired { reminder_id, .. } => self.remove(reminder_id),
            ReminderChange::Aged => {
                for active in self.rows.values_mut() {
                    if let Some(left) = &mut active.reminder.ttl_turns {
                        *left = left.saturating_sub(1);
                    }
                }
            }
        }
    }

    fn push(&mut self, reminder: SystemReminder) {
        // A reminder that no id refers to would be active forever.
        self.remove(&reminder.id);
        let at = self.rows.last_key_value().map_or(0, |(last, _)| last + 1);
        self.ids.insert(reminder.id.clone(), at);
        self.keys
            .extend(reminder.dedupe_key.clone().map(|key| (key, at)));
        self.fresh.insert(at);
        self.bytes += reminder.weight();
        let rendered = false;
        self.rows.insert(at, ActiveReminder { reminder, rendered });
    }

    fn remove(&mut self, id: &str) {
        let at = self.ids.remove(id);
        let Some((at, active)) = at.and_then(|at| self.rows.remove_entry(&at)) else {
            return;
        };
        self.bytes -= active.reminder.weight();
        self.fresh.remove(&at);
        if let Some(key) = active.reminder.dedupe_key {
            self.keys.remove(&(key, at));
        }
    }

    pub(crate) fn mark_rendered(&mut self, id: &str) {
        let at = self.ids.get(id);
        if let Some((at, active)) = at.and_then(|at| Some((at, self.rows.get_mut(at)?))) {
            active.rendered = true;
            self.fresh.remove(at);
        }
    }

    /// Returns the changes of all active reminders when a turn has passed.
    pub fn changes_after_turn(&self) -> Vec<ReminderChange> {
        let mortal = |active: &ActiveReminder| active.reminder.ttl_turns.is_some();
        let mut changes = Vec::new();
        if self.iter().any(mortal) {
            changes.push(ReminderChange::Aged);
        }
        let over = self.iter().filter(|it| it.is_in_its_last_turn());
        changes.extend(over.map(|it| it.expiry_change(ExpiryReason::Ttl)));
        changes
    }

    /// Returns the changes when the transcript is compacted: all reminders age, and only those with
    /// `preserve_on_compact` stay.
    pub fn changes_after_compaction(&self) -> Vec<ReminderChange> {
        let mut changes = self.changes_after_turn();
        let left = self.iter().filter(|it| !it.is_in_its_last_turn());
        let lost = left.filter(|it| !it.reminder.preserve_on_compact);
        changes.extend(lost.map(|it| it.expiry_change(ExpiryReason::Compaction)));
        changes
    }

    /// Returns the reminders with this key.
    pub fn with_key(&self, key: &str) -> impl Iterator<Item = &ActiveReminder> {
        let all = (key.to_owned(), 0)..=(key.to_owned(), u64::MAX);
        let places = self.keys.range(all).map(|(_, at)| at);
        places.filter_map(|at| self.rows.get(at))
    }
}

/// Reminders that are about to become active, one after another, and the changes that each causes to earlier ones.
pub struct ComingReminders<'a> {
    active: &'a ActiveReminders,
    gone: HashSet<String>,
    came: HashSet<String>,
    /// By key, the id of the last one with it.
    keyed: HashMap<String, String>,
}

impl<'a> ComingReminders<'a> {
    /// Starts with no new reminder.
    pub fn new(active: &'a ActiveReminders) -> Self {
        Self {
            active,
            gone: HashSet::new(),
            came: HashSet::new(),
            keyed: HashMap::new(),
        }
    }

    /// Records changes that precede the new reminders.
    pub fn record_changes(&mut self, changes: &[ReminderChange]) {
        self.gone
            .extend(changes.iter().filter_map(ended_reminder_id));
    }

    /// Returns the changes that precede this reminder, which is active from here on.
    #[must_use]
    pub fn activate(&mut self, reminder: &SystemReminder) -> Vec<ReminderChange> {
        let mut changes = Vec::new();
        if let Some(key) = &reminder.dedupe_key {
            let id = &reminder.id;
            let active = self.active.with_key(key).map(|it| &it.reminder.id);
            let before = self.keyed.insert(key.clone(), id.clone());
            let older = active.filter(|it| !self.gone.contains(*it)).cloned();
            let deduped = older.chain(before).map(|reminder_id| {
                let by = id.clone();
                ReminderChange::Deduped { reminder_id, by }
            });
            changes.extend(deduped);
            self.gone
                .extend(changes.iter().filter_map(ended_reminder_id));
        }
        self.gone.remove(&reminder.id);
        self.came.insert(reminder.id.clone());
        changes
    }

    /// Whether a reminder with this id is active now.
    pub fn contains(&self, id: &str) -> bool {
        !self.gone.contains(id) && (self.came.contains(id) || self.active.contains(id))
    }
}

/// Returns the id of the reminder that a change ends.
fn ended_reminder_id(change: &ReminderChange) -> Option<String> {
    match change {
        ReminderChange::Deduped { reminder_id, .. }
        | ReminderChange::Expired { reminder_id, .. } => Some(reminder_id.clone()),
        ReminderChange::Injected { .. }
        | ReminderChange::Inherited { .. }
        | ReminderChange::Aged => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a session's reminder, its worker's copy, and the copy of that worker's worker.
    fn generations(propagate: ReminderPropagation) -> [Option<SystemReminder>; 3] {
        let own = SystemReminder {
            propagate,
            ..SystemReminder::new("r", "body")
        };
        let copy = own.copy_for_worker("top");
        let deeper = copy
            .as_ref()
            .and_then(|copy| copy.copy_for_worker("middle"));
        [Some(own), copy, deeper]
    }

    #[test]
    fn reminder_propagates_to_its_depth_and_keeps_its_origin() {
        for (propagate, depth) in [
            (ReminderPropagation::None, 1),
            (ReminderPropagation::Session, 2),
            (ReminderPropagation::All, 3),
        ] {
            let generations = generations(propagate);
            let reached = generations.iter().flatten().count();
            assert_eq!(reached, depth, "{propagate:?}");
            for copy in generations.iter().flatten().skip(1) {
                assert_eq!(copy.source, ReminderSource::Inherited);
                assert_eq!(copy.originating_agent_id.as_deref(), Some("top"));
                assert_eq!((&*copy.id, &*copy.body), ("r", "body"));
            }
        }
    }

    #[test]
    fn role_hint_renders_as_a_role_of_models() {
        let roles = [
            (RoleHint::System, "system"),
            (RoleHint::Developer, "developer"),
            (RoleHint::UserBlock, "user"),
            (RoleHint::EphemeralCache, "system"),
        ];
        for (hint, role) in roles {
            assert_eq!(hint.rendered_role(), role);
        }
    }

    #[test]
    fn reminder_without_ttl_does_not_age() {
        let mut active = ActiveReminders::default();
        let reminder = SystemReminder::new("r", "body");
        active.apply(&ReminderChange::Inherited { reminder });
        assert_eq!(active.changes_after_turn(), []);
        let lost = active.changes_after_compaction();
        assert_eq!(
            lost,
            [ReminderChange::Expired {
                reminder_id: "r".to_owned(),
                reason: ExpiryReason::Compaction,
            }]
        );
        lost.iter().for_each(|change| active.apply(change));
        assert!(active.is_empty());
    }

    fn reminder_with_key(id: &str, key: Option<&str>) -> SystemReminder {
        SystemReminder {
            dedupe_key: key.map(str::to_owned),
            ..SystemReminder::new(id, "body")
        }
    }

    fn ids<'a>(rows: impl Iterator<Item = &'a ActiveReminder>) -> Vec<&'a str> {
        rows.map(|it| it.reminder.id.as_str()).collect()
    }

    #[test]
    fn lookups_by_id_key_and_freshness_return_active_reminders() {
        let mut active = ActiveReminders::default();
        for (id, key) in [("a", Some("k")), ("b", None), ("c", Some("l")), ("d", None)] {
            let reminder = reminder_with_key(id, key);
            active.apply(&ReminderChange::Inherited { reminder });
        }
        active.mark_rendered("b");
        active.mark_rendered("nothing");
        assert_eq!(ids(active.iter_unrendered()), ["a", "c", "d"]);
        assert_eq!(ids(active.with_key("k")), ["a"]);
        assert!(active.get("b").unwrap().rendered && !active.get("a").unwrap().rendered);
        let cleared = |id: &str| ReminderChange::Expired {
            reminder_id: id.to_owned(),
            reason: ExpiryReason::Cleared,
        };
        for id in ["a", "d", "nothing"] {
            active.apply(&cleared(id));
        }
        assert_eq!(ids(active.iter()), ["b", "c"]);
        assert_eq!(ids(active.with_key("k")), [""; 0]);
        assert!(!active.contains("a") && active.contains("c"));
        // A reminder with the same id replaces it, at the end.
        let reminder = reminder_with_key("b", Some("l"));
        active.apply(&ReminderChange::Inherited { reminder });
        assert_eq!(ids(active.iter()), ["c", "b"]);
        assert_eq!(ids(active.with_key("l")), ["c", "b"]);
        assert_eq!(ids(active.iter_unrendered()), ["c", "b"]);
        let weight = active.iter().map(|it| it.reminder.weight()).sum::<usize>();
        assert_eq!((active.len(), active.bytes()), (2, weight));
        for id in ["b", "c"] {
            active.apply(&cleared(id));
        }
        assert_eq!(active, ActiveReminders::default());
    }

    #[test]
    fn last_new_reminder_with_a_key_replaces_the_others() {
        let mut active = ActiveReminders::default();
        for id in ["old", "gone"] {
            let reminder = reminder_with_key(id, Some("k"));
            active.apply(&ReminderChange::Inherited { reminder });
        }
        let mut coming = ComingReminders::new(&active);
        coming.record_changes(&[ReminderChange::Expired {
            reminder_id: "gone".to_owned(),
            reason: ExpiryReason::Ttl,
        }]);
        let mut deduped = |id| {
            let changes = coming.activate(&reminder_with_key(id, Some("k")));
            let ids = changes.iter().filter_map(ended_reminder_id);
            ids.collect::<Vec<_>>()
        };
        assert_eq!(deduped("one"), ["old"]);
        assert_eq!(deduped("two"), ["one"]);
        assert_eq!(coming.activate(&reminder_with_key("free", None)), []);
        for (id, stays) in [
            ("old", false),
            ("gone", false),
            ("one", false),
            ("two", true),
            ("free", true),
        ] {
            assert_eq!(coming.contains(id), stays, "{id}");
        }
    }
}
