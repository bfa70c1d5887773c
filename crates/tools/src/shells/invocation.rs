//! Builds the invocation of a command in a shell.

use harn_model::{
    GivenShell, InvocationShell, ShellCommand, ShellInvocation, ShellList, ShellSource, SystemShell,
};

use super::{
    ShellError, ShellWorld,
    kinds::{default_args, id_of, is_posix, label, locate, login_args},
};

/// Returns the program and arguments for a command, in the shell that it describes or one of these.
pub fn invocation(
    world: &dyn ShellWorld,
    shells: &ShellList,
    command: &ShellCommand,
) -> Result<ShellInvocation, ShellError> {
    let shell = match (&command.shell, &command.shell_id) {
        (Some(given), _) => resolve_given(world, shells, given)?,
        (None, Some(id)) => find(shells, id)?.clone(),
        (None, None) => return Err(ShellError::Unnamed),
    };
    let login = command.login && shell.supports_login && !shell.login_args.is_empty();
    let mut args = match login {
        true => shell.login_args.clone(),
        false => shell.default_args.clone(),
    };
    let interactive = command.interactive && shell.supports_interactive;
    if interactive && !args.iter().any(|arg| arg == "-i") {
        args.insert(0, "-i".to_owned());
    }
    let command_arg_index = args.len() as u64;
    args.push(command.command.clone());
    Ok(ShellInvocation {
        program: shell.path.clone(),
        args,
        command_arg_index,
        shell: InvocationShell::Described(shell),
    })
}

/// Returns the shell with this id.
pub(super) fn find<'a>(shells: &'a ShellList, id: &str) -> Result<&'a SystemShell, ShellError> {
    let found = shells.shells.iter().find(|shell| shell.id == id);
    found.ok_or_else(|| {
        let known: Vec<_> = shells.shells.iter().map(|shell| &*shell.id).collect();
        let known = match &known[..] {
            [] => "none".to_owned(),
            known => known.join(", "),
        };
        let given = id.to_owned();
        ShellError::Unknown { given, known }
    })
}

/// Resolves a described shell. With a path it need not be listed, and its id determines the missing properties;
/// with only an id it is looked up.
fn resolve_given(
    world: &dyn ShellWorld,
    shells: &ShellList,
    given: &GivenShell,
) -> Result<SystemShell, ShellError> {
    let Some(path) = given.path.as_deref().filter(|path| !path.trim().is_empty()) else {
        let id = given.id.as_deref().ok_or(ShellError::Unnamed)?;
        return find(shells, id).cloned();
    };
    let platform = given.platform.unwrap_or_else(|| world.platform());
    let id = given.id.clone().or_else(|| id_of(platform, path));
    let id = id.ok_or(ShellError::Unnamed)?;
    let given = given.clone();
    Ok(SystemShell {
        label: given.label.unwrap_or_else(|| label(&id)),
        path: path.to_owned(),
        platform,
        available: given.available.unwrap_or_else(|| locate(world, path).1),
        supports_login: given.supports_login.unwrap_or_else(|| is_posix(&id)),
        supports_interactive: given.supports_interactive.unwrap_or_else(|| is_posix(&id)),
        default_args: given.default_args.unwrap_or_else(|| default_args(&id)),
        login_args: given.login_args.unwrap_or_else(|| login_args(&id)),
        source: given.source.unwrap_or(ShellSource::Host),
        id,
    })
}
