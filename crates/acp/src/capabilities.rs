//! The answer to `initialize`: only features that work.

use agent_client_protocol::{
    Error,
    schema::ProtocolVersion,
    v1::schema::{
        AgentCapabilities, AuthMethod, Implementation, InitializeResponse, McpCapabilities,
        PromptCapabilities, SessionAdditionalDirectoriesCapabilities, SessionArchiveCapabilities,
        SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities,
        SessionForkCapabilities, SessionListCapabilities, SessionResumeCapabilities,
        SessionTitleCapabilities,
    },
};
use harn_runtime::AgentProfile;
use serde_json::Value;

use crate::{connection::InitializeFacts, ext};

pub(crate) fn initialize(
    agent: &AgentProfile,
    client: InitializeFacts,
    auth: Vec<AuthMethod>,
) -> Result<Value, Error> {
    let prompt = PromptCapabilities::new()
        .image(agent.prompt.image)
        .audio(agent.prompt.audio)
        .embedded_context(agent.prompt.embedded);
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .additional_directories(SessionAdditionalDirectoriesCapabilities::new())
        .fork(SessionForkCapabilities::new());
    // Schema 0.12.2 does not have these. The methods are served to every client.
    let newer = client.dialect.newer.members;
    let sessions = sessions
        .archive(newer.then(SessionArchiveCapabilities::new))
        .title(newer.then(SessionTitleCapabilities::new));
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(prompt)
        .mcp_capabilities(McpCapabilities::new().http(true).sse(false))
        .session_capabilities(sessions)
        .meta(ext::capabilities::build_initialize_meta(
            client.dialect,
            client.offers.tools,
        ));
    let info = Implementation::new(agent.name.clone(), agent.version.clone());
    let response = InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(info.title(agent.title.clone()))
        .auth_methods(auth)
        .meta(ext::capabilities::steering_meta());
    let mut response = serde_json::to_value(response)?;
    // ACP has no member for it; typed clients ignore it.
    response["agentCapabilities"]["session"] = ext::capabilities::session()?;
    Ok(response)
}
