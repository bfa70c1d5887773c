//! The tools and MCP servers of a session, for clients that receive the extensions.

use harn_model::{McpServerStatus, ToolsChange};

use super::UpdateProjector;
use crate::{
    Profile,
    ext::{HarnMeta, agent_event::HarnEvent, mcp::McpMeta},
    wire::{InfoMeta, StandardUpdate},
};

impl UpdateProjector {
    pub(super) fn write_tools_changed(&self, change: &ToolsChange, out: &mut Vec<u8>) {
        self.write_event(HarnEvent::ToolsChanged(change.into()), out);
    }

    /// Writes the servers. Both profiles use ACP's own update: it describes the session, and typed clients
    /// deliver it.
    pub(super) fn write_mcp_servers(&self, servers: &[McpServerStatus], out: &mut Vec<u8>) {
        match self.dialect.profile {
            Profile::Harn | Profile::Meta => {
                let meta = Some(HarnMeta::new(InfoMeta::Mcp(McpMeta {
                    mcp: servers.into(),
                })));
                self.write_update(
                    &StandardUpdate::SessionInfoUpdate { title: None, meta },
                    out,
                );
            }
            Profile::Acp => {}
        }
    }
}
