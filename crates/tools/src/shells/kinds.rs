//! The properties of a shell that follow from its name: label, arguments and abilities.

use harn_model::{ShellPlatform, ShellSource, SystemShell};

use super::ShellWorld;

/// Describes a shell by its name or path; returns `None` if that has no file name.
pub(super) fn describe(
    world: &dyn ShellWorld,
    named: &str,
    source: ShellSource,
) -> Option<SystemShell> {
    let (path, available) = locate(world, named);
    let id = id_of(world.platform(), &path)?;
    Some(SystemShell {
        label: label(&id),
        supports_login: is_posix(&id),
        supports_interactive: is_posix(&id),
        default_args: default_args(&id),
        login_args: login_args(&id),
        id,
        path,
        platform: world.platform(),
        available,
        source,
    })
}

/// Returns the file name in lower case, without `.exe`.
pub(super) fn id_of(platform: ShellPlatform, path: &str) -> Option<String> {
    let file = path.rsplit(separators(platform)).next()?;
    let lower = file.trim().to_lowercase();
    let id = lower.strip_suffix(".exe").unwrap_or(&lower);
    (!id.is_empty()).then(|| id.to_owned())
}

/// Returns the display name. PowerShell exists in two versions.
pub(super) fn label(id: &str) -> String {
    match id {
        "pwsh" => "PowerShell",
        "powershell" => "Windows PowerShell",
        other => other,
    }
    .to_owned()
}

/// Returns the arguments before a command.
pub(super) fn default_args(id: &str) -> Vec<String> {
    let args: &[&str] = match id {
        "cmd" => &["/C"],
        "pwsh" | "powershell" => &["-NoProfile", "-Command"],
        _ => &["-c"],
    };
    args.iter().map(|arg| (*arg).to_owned()).collect()
}

/// Returns the arguments before a command in a login shell, if the shell supports that.
pub(super) fn login_args(id: &str) -> Vec<String> {
    let mut args = default_args(id);
    if is_posix(id) {
        args.insert(0, "-l".to_owned());
    }
    args
}

/// Returns whether it can be a login shell and interactive, like the shells of Unix.
pub(super) fn is_posix(id: &str) -> bool {
    !matches!(id, "cmd" | "pwsh" | "powershell")
}

/// Returns the path of a shell and whether it exists. A plain name is searched in `PATH`. A relative path would be
/// a different file in each folder, so it never exists.
pub(super) fn locate(world: &dyn ShellWorld, named: &str) -> (String, bool) {
    let platform = world.platform();
    if is_absolute(platform, named) {
        return (named.to_owned(), world.is_file(named));
    }
    if named.contains(separators(platform)) {
        return (named.to_owned(), false);
    }
    match find_in_path(world, named) {
        Some(path) => (path, true),
        None => (named.to_owned(), false),
    }
}

fn find_in_path(world: &dyn ShellWorld, program: &str) -> Option<String> {
    let platform = world.platform();
    let (between, slash, endings): (char, char, &[&str]) = match platform {
        ShellPlatform::Windows => (';', '\\', &["", ".exe"]),
        ShellPlatform::Darwin | ShellPlatform::Linux => (':', '/', &[""]),
    };
    let path = world.env("PATH")?;
    let folders = path.split(between).map(|folder| folder.trim_matches('"'));
    for folder in folders.filter(|folder| is_absolute(platform, folder)) {
        let folder = folder.trim_end_matches(separators(platform));
        for ending in endings {
            let file = format!("{folder}{slash}{program}{ending}");
            if world.is_file(&file) {
                return Some(file);
            }
        }
    }
    None
}

/// Returns whether a path is absolute.
fn is_absolute(platform: ShellPlatform, path: &str) -> bool {
    match platform {
        ShellPlatform::Darwin | ShellPlatform::Linux => path.starts_with('/'),
        ShellPlatform::Windows => {
            let mut chars = path.chars();
            let drive = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
            let rooted =
                drive && chars.next() == Some(':') && matches!(chars.next(), Some('\\' | '/'));
            rooted || path.starts_with(r"\\")
        }
    }
}

fn separators(platform: ShellPlatform) -> &'static [char] {
    match platform {
        ShellPlatform::Darwin | ShellPlatform::Linux => &['/'],
        ShellPlatform::Windows => &['/', '\\'],
    }
}
