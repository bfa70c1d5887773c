//! `harn-serve trust`: shows which files of a workspace run programs, and trusts, lists and revokes them.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Result, bail};
use harn_runtime::Clock;
use harn_terminal::{
    console::{print, print_error, print_note},
    paint::escape_controls,
};
use harn_tools::{
    FileHashes, LinkPolicy, TrustLookup, TrustRefusal, read_regular_file,
    skills::{TrustScope, WorkspaceSkills},
};

use super::one_line;
use crate::{
    SystemClock, options::home_dir, skill_places::skill_places, trust::WorkspaceTrustStore,
};

/// The most lines of one difference.
const MOST_LINES: usize = 400;
/// Larger files are shown by their hashes only.
const LARGEST_SHOWN: u64 = 256 * 1024;

/// The arguments of `trust`.
#[derive(Debug, clap::Args)]
pub(super) struct TrustArgs {
    /// The workspace's folder [default: the root of the workspace that contains this directory]
    #[arg(value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Trust the files as they are, without a question
    #[arg(long, conflicts_with = "revoke")]
    yes: bool,
    /// Revoke trust in the workspace
    #[arg(long)]
    revoke: bool,
    /// List the trusted workspaces
    #[arg(long, conflicts_with_all = ["workspace", "revoke", "yes"])]
    list: bool,
}

pub(super) fn run(state_dir: &Path, args: TrustArgs) -> Result<ExitCode> {
    let trusted = WorkspaceTrustStore::new(state_dir);
    if args.list {
        return list(&trusted);
    }
    let home = home_dir();
    let here = match &args.workspace {
        Some(named) => named.clone(),
        None => std::env::current_dir()?,
    };
    let clock = Arc::new(SystemClock::new());
    if args.revoke {
        let workspace = match args.workspace {
            Some(named) => named,
            None => harn_tools::skills::workspace_root(&here, home.as_deref()),
        };
        return revoke(&trusted, &workspace);
    }
    let here = WorkspaceTrustStore::check_folder(&here, None)?;
    let found = WorkspaceSkills::find(skill_places(Vec::new()), &here, clock.clone());
    let scope = found.trust_scope();
    let folder = match &args.workspace {
        Some(_) => here,
        None => scope.root.clone(),
    };
    let folder = WorkspaceTrustStore::check_folder(&folder, home.as_deref())?;
    let files = files_in(&scope, &folder);
    let shown = folder.display();
    if !scope.root.starts_with(&folder) {
        print_note(format_args!(
            "sessions there belong to the workspace {}, which this does not cover",
            scope.root.display()
        ));
    }
    if files.is_empty() {
        print(&format!(
            "nothing to trust in {shown}: no harn.toml and no skills run programs there\n"
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let known = trusted
        .find(&folder)?
        .map(|known| known.hashes())
        .unwrap_or_default();
    let changes = TrustChanges::new(&files, &known);
    print(&describe(&scope, &folder, &files, &trusted))?;
    if changes.is_empty() {
        print(&format!("{shown} is trusted as it is\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&changes.describe(&folder, &trusted))?;
    if !args.yes && !confirm()? {
        print_error(format_args!("{shown} is not trusted as it is now"));
        return Ok(ExitCode::FAILURE);
    }
    // The hashes of what was shown: a file that changed meanwhile is not trusted.
    trusted.trust_files(&folder, &files, clock.now())?;
    print(&format!(
        "trusted {shown}: these files may run hooks and add MCP servers, until they change\n\
         revoke this with `harn-serve trust --revoke {shown}`\n"
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the files of a scope in a folder, by their paths relative to it. The scope may begin above it.
fn files_in(scope: &TrustScope, folder: &Path) -> FileHashes {
    let root = scope
        .root
        .canonicalize()
        .unwrap_or_else(|_| scope.root.clone());
    let files = scope.files().into_iter().filter_map(|(path, hash)| {
        let path = root.join(path);
        Some((path.strip_prefix(folder).ok()?.to_owned(), hash))
    });
    files.collect()
}

/// Describes what the files cause, and problems that keep some from being trusted.
fn describe(
    scope: &TrustScope,
    folder: &Path,
    files: &FileHashes,
    trusted: &WorkspaceTrustStore,
) -> String {
    let mut out = format!("{}\n", folder.display());
    let trust = trusted.trust(&scope.root);
    for source in &scope.sources {
        let state = match (&source.files, source.check(&trust)) {
            (Err(refusal), _) => format!("cannot be trusted: {refusal}"),
            (Ok(own), _)
                if !own
                    .keys()
                    .any(|path| files.contains_key(&inside(scope, folder, path))) =>
            {
                format!("not in {}", folder.display())
            }
            (Ok(_), Ok(())) => "trusted".to_owned(),
            (Ok(_), Err(TrustRefusal::Untrusted)) => "not trusted yet".to_owned(),
            (Ok(_), Err(refusal)) => refusal.to_string(),
        };
        // Writing to a string does not fail.
        let _ = writeln!(out, "  {} ({})", one_line(&source.name), one_line(&state));
        for effect in &source.effects {
            let _ = writeln!(out, "    {}", one_line(effect));
        }
    }
    out.push('\n');
    out
}

/// Returns the path of a file of the scope relative to a folder; the path itself if it is elsewhere.
fn inside(scope: &TrustScope, folder: &Path, path: &Path) -> PathBuf {
    let root = scope
        .root
        .canonicalize()
        .unwrap_or_else(|_| scope.root.clone());
    let path = root.join(path);
    path.strip_prefix(folder)
        .map(Path::to_owned)
        .unwrap_or(path)
}

/// The difference between the files of a workspace and those that are trusted.
struct TrustChanges<'a> {
    files: &'a FileHashes,
    known: &'a FileHashes,
}

impl<'a> TrustChanges<'a> {
    fn new(files: &'a FileHashes, known: &'a FileHashes) -> Self {
        Self { files, known }
    }

    fn is_empty(&self) -> bool {
        self.files
            .iter()
            .all(|(path, hash)| self.known.get(path) == Some(hash))
    }

    /// Returns the changed and new files with their differences.
    fn describe(&self, folder: &Path, trusted: &WorkspaceTrustStore) -> String {
        let mut out = String::new();
        for (path, hash) in self.files {
            let before = self.known.get(path);
            if before == Some(hash) {
                continue;
            }
            let name = one_line(&path.display().to_string());
            let word = match before {
                Some(_) => "changed",
                None => "new",
            };
            let _ = writeln!(out, "{word}: {name}");
            let old = before.map(|before| trusted.trusted_text(*before));
            let now = read_text(&folder.join(path), *hash);
            out.push_str(&match (old, now) {
                (_, None) => format!("  (not shown: no text, or too large; SHA-256 {hash})\n"),
                (Some(None), Some(now)) => {
                    format!(
                        "  (no copy of the trusted text; this is all of it)\n{}",
                        difference("", &now)
                    )
                }
                (None, Some(now)) => difference("", &now),
                (Some(Some(old)), Some(now)) => difference(&old, &now),
            });
            out.push('\n');
        }
        out
    }
}

/// Returns the text with this hash, if the file still has it.
fn read_text(path: &Path, hash: harn_tools::ContentHash) -> Option<String> {
    let content = read_regular_file(path, LinkPolicy::Follow, LARGEST_SHOWN).ok()?;
    let whole = harn_tools::ContentHash::of(&content) == hash;
    String::from_utf8(content)
        .ok()
        .filter(|text| whole && !text.contains('\0'))
}

/// Returns a unified difference without its head, escaped for a terminal.
fn difference(old: &str, now: &str) -> String {
    let patch = diffy::create_patch(old, now).to_string();
    let lines: Vec<_> = patch.lines().skip(2).collect();
    let mut out = String::new();
    for line in lines.iter().take(MOST_LINES) {
        let _ = writeln!(out, "  {}", escape_controls(line));
    }
    if let Some(rest) = lines.len().checked_sub(MOST_LINES).filter(|rest| *rest > 0) {
        let _ = writeln!(
            out,
            "  ({rest} more lines; read the file before you answer)"
        );
    }
    out
}

/// Asks the person at the terminal.
fn confirm() -> Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("this is no terminal; read the files above, and repeat the command with --yes");
    }
    print("Trust these files? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn revoke(trusted: &WorkspaceTrustStore, workspace: &Path) -> Result<ExitCode> {
    if trusted.revoke(workspace)? {
        print(&format!("{} is no longer trusted\n", workspace.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    match trusted.find_covering(workspace)? {
        Some(above) => print_error(format_args!(
            "{} is trusted because {} is trusted; revoke that one",
            workspace.display(),
            above.display()
        )),
        None => print_error(format_args!("{} was not trusted", workspace.display())),
    }
    Ok(ExitCode::FAILURE)
}

fn list(trusted: &WorkspaceTrustStore) -> Result<ExitCode> {
    let all = trusted.all()?;
    if all.is_empty() {
        print(&format!(
            "no trusted workspaces in {}\n",
            trusted.path().display()
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = String::new();
    for workspace in all {
        let files = match workspace.files.len() {
            0 => "trusted by an earlier version, for no content; trust it again".to_owned(),
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{}  since {}  {files}",
            workspace.path.display(),
            workspace.since
        );
    }
    print(&out)?;
    Ok(ExitCode::SUCCESS)
}
