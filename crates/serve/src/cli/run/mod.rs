//! `harn-serve run`: starts the agent and connects the terminal client to it, in the same process.
//!
//! Everything passes through the same front-end as for an editor. The client offers neither files nor
//! terminals, so the agent works on this machine directly.

mod args;
mod target;

use std::process::ExitCode;

use anyhow::Result;
use harn_acp::{AcpConfig, ProfileChoice, serve_connection};
use harn_terminal::run::{self, RunRequest};

use super::{acp_flags::DialectFlags, args::AgentArgs, is_color_disabled, load};
use crate::{
    SystemClock, limits,
    server_runtime::{ServerRuntime, build_waiting_runtime},
};

pub(super) use self::args::RunArgs;

pub(super) fn run(serve: AgentArgs, dialect: &DialectFlags, args: RunArgs) -> Result<ExitCode> {
    let prompt = run::read_prompt(&args.prompt)?;
    let mode = serve.permissions.mode;
    let (agent, options) = load(serve)?;
    let session = args.session.as_deref();
    let cwd = args.cwd.as_deref();
    let (cwd, start) = target::select_session(&options, cwd, args.go_on, session, mode)?;
    let profile = match dialect.profile {
        ProfileChoice::Auto if args.json => ProfileChoice::Harn,
        // This client uses a typed SDK, which delivers extensions on known updates only.
        ProfileChoice::Auto => ProfileChoice::Meta,
        chosen => chosen,
    };
    limits::raise_open_files();
    let workshop = ServerRuntime::open(agent, &options)?;
    let config = AcpConfig {
        profile,
        on_this_machine: true,
        ..AcpConfig::default()
    };
    let request = RunRequest {
        profile,
        start,
        cwd,
        prompt,
        json: args.json,
        quiet: args.quiet,
        no_color: is_color_disabled(),
    };
    build_waiting_runtime()?.block_on(async {
        let connect = |incoming, outgoing| {
            let hub = workshop.hub().clone();
            workshop.spawn(serve_connection(hub, config, incoming, outgoing));
        };
        let ended = run::run(request, SystemClock::new(), connect).await;
        workshop.close().await;
        ended
    })
}
