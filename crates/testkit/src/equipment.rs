//! Fake equipment: it records the MCP servers that it receives and sends the changes that a test orders.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use harn_model::{McpServerSpec, McpServerStatus, McpState, SessionId};
use harn_runtime::{Equipment, EquipmentChange, EquipmentLink, EquipmentProvider, NewEquipment};

use crate::lock;

/// Equips sessions with fakes. Cheap to clone; clones share the same sessions.
#[derive(Clone, Default)]
pub struct FakeEquip(Arc<Mutex<BTreeMap<SessionId, Arc<FakeEquipment>>>>);

struct FakeEquipment {
    link: EquipmentLink,
    state: Mutex<FakeEquipmentState>,
}

#[derive(Default)]
struct FakeEquipmentState {
    specs: Vec<McpServerSpec>,
    servers: Vec<McpServerStatus>,
    skills_updated: usize,
}

impl FakeEquip {
    /// Returns the MCP servers that a session received, in that order.
    pub fn specs(&self, session: &SessionId) -> Vec<McpServerSpec> {
        lock(&self.find(session).state).specs.clone()
    }

    /// Returns how often a session was notified that its host's skills changed.
    pub fn skill_update_count(&self, session: &SessionId) -> usize {
        lock(&self.find(session).state).skills_updated
    }

    /// Sets the status of a session's servers and sends it.
    pub async fn set_servers(&self, session: &SessionId, servers: Vec<McpServerStatus>) {
        lock(&self.find(session).state).servers.clone_from(&servers);
        self.send_change(session, EquipmentChange::Servers(servers))
            .await;
    }

    /// Sends a change to a session.
    pub async fn send_change(&self, session: &SessionId, change: EquipmentChange) {
        self.find(session).link.report(change).await;
    }

    fn find(&self, session: &SessionId) -> Arc<FakeEquipment> {
        match lock(&self.0).get(session) {
            Some(fake) => fake.clone(),
            None => panic!("session {session} was never equipped"),
        }
    }
}

impl EquipmentProvider for FakeEquip {
    fn equip(&self, session: NewEquipment) -> Arc<dyn Equipment> {
        let fake = Arc::new(FakeEquipment {
            link: session.link,
            state: Mutex::default(),
        });
        lock(&self.0).insert(session.session, fake.clone());
        fake
    }
}

#[async_trait]
impl Equipment for FakeEquipment {
    /// Every server is connecting until a test sets its status.
    fn add_servers(&self, servers: Vec<McpServerSpec>) {
        let mut state = lock(&self.state);
        for spec in servers {
            state.servers.retain(|known| known.name != spec.name);
            state.servers.push(McpServerStatus {
                name: spec.name.clone(),
                state: McpState::Connecting,
                tools: None,
                error: None,
            });
            state.specs.push(spec);
        }
        state.servers.sort_by(|a, b| a.name.cmp(&b.name));
    }

    fn servers(&self) -> Vec<McpServerStatus> {
        lock(&self.state).servers.clone()
    }

    fn notify_skills_updated(&self) {
        lock(&self.state).skills_updated += 1;
    }
}
