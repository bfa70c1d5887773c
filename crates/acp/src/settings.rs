//! Modes and options in ACP's form. The mode is an option too: a client that shows options hides the modes.

use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};
use harn_runtime::{Observer, modes};

/// The id of the option for the mode.
pub(crate) const MODE_OPTION: &str = "mode";

pub(crate) fn mode_state(session: &Observer) -> SessionModeState {
    let available = modes()
        .into_iter()
        .map(|mode| SessionMode::new(mode.id, mode.name).description(mode.description));
    SessionModeState::new(session.mode(), available.collect())
}

pub(crate) fn config_options(session: &Observer) -> Vec<SessionConfigOption> {
    let modes = modes().into_iter().map(|mode| {
        SessionConfigSelectOption::new(mode.id, mode.name).description(mode.description)
    });
    let mode = SessionConfigOption::select(
        MODE_OPTION,
        "Mode",
        session.mode(),
        modes.collect::<Vec<_>>(),
    )
    .description("What the agent may do without asking".to_owned())
    .category(SessionConfigOptionCategory::Mode);
    let own = session.options().into_iter().map(|(option, value)| {
        let choices = option.choices.into_iter();
        let choices = choices.map(|c| SessionConfigSelectOption::new(c.value, c.name));
        SessionConfigOption::select(option.id, option.name, value, choices.collect::<Vec<_>>())
            .description(option.description)
    });
    std::iter::once(mode).chain(own).collect()
}
