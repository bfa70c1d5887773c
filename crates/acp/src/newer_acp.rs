//! The parts of ACP that the pinned schema 0.12.2 does not have. A client receives a part if it declared the
//! capability for it.

use agent_client_protocol::v1::schema::ClientCapabilities;

/// The newer parts of ACP that a client declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NewerAcp {
    /// `session.notices`: the client receives `notice`.
    pub notices: bool,
    /// `session.compaction`: the client receives `compaction_update`.
    pub compaction: bool,
    /// `plan`: the client receives `plan_update` and `plan_removed`.
    pub plans: bool,
    /// `subagents`: the client receives `subagent_update`, `session_message` and `session_message_chunk`.
    pub subagents: bool,
    /// Any capability that the pinned schema does not have. Such a client reads a newer schema, and receives
    /// the members that have no capability of their own, such as the name of a tool call, or whether a
    /// session is archived.
    pub members: bool,
}

impl NewerAcp {
    /// Returns the parts that a client declared.
    pub(crate) fn from_capabilities(client: &ClientCapabilities) -> Self {
        let session = client.session.as_ref();
        Self {
            notices: session.is_some_and(|it| it.notices.is_some()),
            compaction: session.is_some_and(|it| it.compaction.is_some()),
            plans: client.plan.is_some(),
            subagents: client.subagents.is_some(),
            members: session.is_some() || client.plan.is_some() || client.subagents.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parse_declared(capabilities: Value) -> NewerAcp {
        let capabilities: ClientCapabilities = serde_json::from_value(capabilities).unwrap();
        NewerAcp::from_capabilities(&capabilities)
    }

    #[test]
    fn capabilities_are_objects_and_the_pinned_ones_are_not_newer() {
        let old = json!({
            "fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true,
            "auth": {"terminal": true}, "elicitation": {"form": {}}, "_meta": {"terminal-auth": true},
        });
        assert_eq!(parse_declared(old), NewerAcp::default());
        let null = json!({"session": {"notices": null, "compaction": null}, "plan": null});
        let members = NewerAcp {
            members: true,
            ..NewerAcp::default()
        };
        assert_eq!(parse_declared(null), members);
        let zed = json!({"session": {"configOptions": {"boolean": {}}}});
        assert_eq!(parse_declared(zed), members);
        let all =
            json!({"session": {"notices": {}, "compaction": {}}, "plan": {}, "subagents": {}});
        let every = NewerAcp {
            notices: true,
            compaction: true,
            plans: true,
            subagents: true,
            members: true,
        };
        assert_eq!(parse_declared(all), every);
    }
}
