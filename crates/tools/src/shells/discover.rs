//! Discovers shells without the help of a host.

use harn_model::{ShellList, ShellPlatform, ShellSource, SystemShell};

use super::{ShellWorld, kinds::describe};

/// The usual paths of shells on Unix.
const USUAL: [&str; 6] = [
    "/bin/zsh",
    "/bin/bash",
    "/bin/sh",
    "/usr/bin/zsh",
    "/usr/bin/bash",
    "/usr/bin/sh",
];

/// The shells of Windows.
const WINDOWS: [&str; 3] = ["pwsh.exe", "powershell.exe", "cmd.exe"];

/// Returns the shells of a world. The first one found takes its id, even if its file is missing.
pub fn discover(world: &dyn ShellWorld) -> ShellList {
    let found = match world.platform() {
        ShellPlatform::Darwin | ShellPlatform::Linux => find_on_unix(world),
        ShellPlatform::Windows => find_on_windows(world),
    };
    let mut shells: Vec<SystemShell> = Vec::new();
    for (source, named) in found {
        let Some(shell) = describe(world, named.trim(), source) else {
            continue;
        };
        if !shells.iter().any(|known| known.id == shell.id) {
            shells.push(shell);
        }
    }
    ShellList {
        default_shell_id: default_id(&shells, None),
        shells,
    }
}

/// Returns the id of the shell to use: the chosen one if it is available, else the first available, else the first.
pub fn default_id(shells: &[SystemShell], chosen: Option<&str>) -> Option<String> {
    let there = |shell: &&SystemShell| shell.available;
    let chosen = shells
        .iter()
        .filter(there)
        .find(|shell| Some(&*shell.id) == chosen);
    let shell = chosen
        .or_else(|| shells.iter().find(there))
        .or_else(|| shells.first());
    shell.map(|shell| shell.id.clone())
}

type ShellCandidates = Vec<(ShellSource, String)>;

fn find_on_unix(world: &dyn ShellWorld) -> ShellCandidates {
    let mut found = configured_shell(world);
    let env = world.env("SHELL").map(|path| (ShellSource::Env, path));
    let login = login_shell(world).map(|path| (ShellSource::Login, path));
    let listed = world.etc_shells().unwrap_or_default();
    let listed = listed.lines().filter_map(parse_etc_shells_line);
    let listed = listed.map(|path| (ShellSource::EtcShells, path));
    let meant = env.into_iter().chain(login).chain(listed);
    // Service accounts have such a shell, and may pass it on in `SHELL`.
    found.extend(meant.filter(|(_, path)| !denies_login(path)));
    found.extend(USUAL.map(|path| (ShellSource::Fallback, path.to_owned())));
    found
}

fn find_on_windows(world: &dyn ShellWorld) -> ShellCandidates {
    let mut found = configured_shell(world);
    found.extend(world.env("COMSPEC").map(|path| (ShellSource::Env, path)));
    found.extend(WINDOWS.map(|name| (ShellSource::Fallback, name.to_owned())));
    found
}

fn configured_shell(world: &dyn ShellWorld) -> ShellCandidates {
    let configured = world.env("HARN_DEFAULT_SHELL");
    let configured = configured.map(|path| (ShellSource::Configured, path));
    configured.into_iter().collect()
}

/// Returns the shell in the user's line of `/etc/passwd`.
fn login_shell(world: &dyn ShellWorld) -> Option<String> {
    let user = world.env("USER").or_else(|| world.env("LOGNAME"))?;
    let passwd = world.passwd()?;
    let mut entries = passwd.lines().map(|line| line.split(':'));
    let mut entry = entries.find(|fields| fields.clone().next() == Some(&*user))?;
    entry.nth(6).map(str::to_owned)
}

/// Parses a line of `/etc/shells`, which may have a comment.
fn parse_etc_shells_line(line: &str) -> Option<String> {
    let path = line.split('#').next()?.trim();
    path.starts_with('/').then(|| path.to_owned())
}

fn denies_login(path: &str) -> bool {
    let path = path.trim_end();
    path.ends_with("nologin") || path.ends_with("false")
}
