//! The smallest program with the helper in it, for the tests of this crate and for measurements.
//!
//! `sandbox-trial CONFINEMENT PROGRAM ARGS…` runs a command as a server would, with the confinement as JSON. Without
//! arguments, it prints what the system provides.

use std::{
    env,
    error::Error,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Command, ExitCode},
};

use harn_sandbox::SandboxHelper;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if let Some(code) = harn_sandbox::dispatch() {
        return Ok(code.into());
    }
    let helper = SandboxHelper::new(env::current_exe()?);
    let mut args = env::args_os().skip(1);
    let (Some(confinement), Some(program)) = (args.next(), args.next()) else {
        eprintln!("{}", serde_json::to_string(helper.probe())?);
        return Ok(ExitCode::SUCCESS);
    };
    let confinement = confinement.to_str().ok_or("the confinement is not text")?;
    let confinement = serde_json::from_str(confinement)?;
    let wrapped = helper.wrap(&confinement, &program, &Vec::from_iter(args))?;
    let status = Command::new(wrapped.program)
        .args(wrapped.args)
        .process_group(0)
        .status()?;
    if let Some(signal) = status.signal() {
        eprintln!("signal {signal}");
    }
    let code = u8::try_from(status.code().unwrap_or(128))?;
    Ok(code.into())
}
