//! The files of a workspace that cause programs to run, each with everything that these programs are made of as far
//! as the workspace names it. Trust applies to all of it.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::{Path, PathBuf},
    sync::Mutex,
    time::SystemTime,
};

use harn_model::{McpServerSpec, McpTransport};

use super::{
    card::{Skill, SkillLayer, SkillOrigin},
    disk::{EntryKind, ReadBoundary, is_unreadable},
    manifest::{ManifestOrigin, normalize_path},
    registry::DiskSkills,
};
use crate::{
    FileStamp,
    lock::lock,
    regular_file::{check_regular_file, read_limited},
    trust::{ContentHash, FileHashes, TrustRefusal},
};

/// The largest file that is hashed, such as the program of a server.
const LARGEST: u64 = 64 * 1024 * 1024;
/// How many files a skill with hooks or servers may have.
const MOST_FILES: usize = 2000;
const MAX_DEPTH: usize = 16;
/// How many hashes are remembered.
const MOST_KNOWN: usize = 4096;
/// The folder of the skill in its hooks.
const SKILL_DIR: [&str; 2] = ["${HARN_SKILL_DIR}", "$HARN_SKILL_DIR"];

/// A file of a workspace that causes programs to run, or that may insert values of the environment into its text.
pub(super) struct ProgramSource<'a> {
    file: &'a Path,
    hash: ContentHash,
    /// The folder of a skill, which its hooks may use as a whole.
    folder: Option<&'a Path>,
    /// The command lines, arguments and values of variables.
    lines: Vec<&'a str>,
}

impl<'a> ProgramSource<'a> {
    /// Returns a skill as a source; none if it is not a file of a workspace.
    pub(super) fn of_skill(skill: &'a Skill) -> Option<Self> {
        let (SkillOrigin::File(file), Some(hash), true) =
            (&skill.origin, skill.hash, skill.layer.is_from_workspace())
        else {
            return None;
        };
        let hooks = skill.card.hooks.iter().map(|hook| hook.command.as_str());
        let lines: Vec<_> = hooks.chain(server_lines(&skill.card.mcp_servers)).collect();
        let runs = !skill.card.hooks.is_empty() || !skill.card.mcp_servers.is_empty();
        Some(Self {
            file,
            hash,
            folder: file.parent().filter(|_| runs),
            lines,
        })
    }

    /// Returns a manifest with its servers as a source.
    pub(super) fn of_manifest(origin: &'a ManifestOrigin, servers: &'a [McpServerSpec]) -> Self {
        Self {
            file: &origin.path,
            hash: origin.hash,
            folder: None,
            lines: server_lines(servers).collect(),
        }
    }

    /// Returns the paths that its commands may name, which need not exist. `cwd` is the directory in which they run.
    pub(super) fn named_paths(&self, cwd: &Path) -> Vec<PathBuf> {
        let mut named = Vec::new();
        for word in self.lines.iter().flat_map(|line| path_words(line)) {
            if let Some(path) = file_url_path(word) {
                named.push(normalize_path(&path));
            }
            if word.contains("://") {
                continue;
            }
            let of_skill = SKILL_DIR.iter().find_map(|dir| word.strip_prefix(dir));
            named.push(match (of_skill, self.folder) {
                (Some(inside), Some(folder)) => {
                    normalize_path(&folder.join(inside.trim_start_matches('/')))
                }
                _ => normalize_path(&cwd.join(word)),
            });
        }
        named.sort_unstable();
        named.dedup();
        named
    }
}

/// Returns the parts of a line that may be paths: the line, its words, values of flags (`--import=x`, `-rx`), and
/// entries of lists (`a:b`).
fn path_words(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| c.is_whitespace() || "\"'`;&|()<>=,".contains(c));
    let value = line.split_once('=').map(|(_, value)| value);
    let texts = std::iter::once(line).chain(value).chain(words);
    let parts = texts.flat_map(|text| {
        let text = text.trim();
        let entries = text.split(':').filter(move |_| !text.contains("://"));
        std::iter::once(text).chain(entries)
    });
    let parts = parts.filter_map(|part| match part.strip_prefix('-') {
        // The value of a flag of one letter.
        Some(flag) => flag.strip_prefix(|letter: char| letter != '-'),
        None => Some(part),
    });
    parts.filter(|part| !part.is_empty() && part.len() <= 1024)
}

/// Returns the path of a `file:` URL.
fn file_url_path(word: &str) -> Option<PathBuf> {
    let (scheme, rest) = word.split_once("://")?;
    let path = rest.get(rest.find('/')?..)?.split(['?', '#']).next()?;
    let mut bytes = Vec::new();
    let mut pieces = path.split('%');
    bytes.extend(pieces.next()?.bytes());
    for piece in pieces {
        let code = piece
            .get(..2)
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(b'%'));
        bytes.extend(piece.bytes().skip(if code.is_some() { 2 } else { 0 }));
    }
    let path = String::from_utf8(bytes).ok()?;
    scheme.eq_ignore_ascii_case("file").then(|| path.into())
}

fn server_lines(servers: &[McpServerSpec]) -> impl Iterator<Item = &str> {
    servers.iter().flat_map(|server| {
        let words: Vec<&str> = match &server.transport {
            McpTransport::Stdio { command, args, env } => std::iter::once(command)
                .chain(args)
                .map(String::as_str)
                // A variable such as `NODE_OPTIONS` names files too.
                .chain(env.iter().map(|(_, value)| value.reveal()))
                .collect(),
            McpTransport::Http { .. } | McpTransport::Unsupported(_) => Vec::new(),
        };
        words
    })
}

/// Reads the files of a workspace that programs are made of. Remembers the hashes of unchanged files.
pub(super) struct ProgramFiles<'a> {
    pub(super) root: &'a Path,
    /// The directory of the session, in which commands run.
    pub(super) cwd: &'a Path,
    pub(super) ground: ReadBoundary,
    pub(super) known: &'a HashCache,
    pub(super) now: SystemTime,
}

/// The hashes of files, with stamps that show whether they still apply.
#[derive(Debug, Default)]
pub(super) struct HashCache(Mutex<HashMap<PathBuf, (FileStamp, ContentHash)>>);

impl ProgramFiles<'_> {
    /// Returns the hashes of a source and of the files that its programs are made of.
    pub(super) fn hashes(&self, source: &ProgramSource<'_>) -> Result<FileHashes, TrustRefusal> {
        let mut files = BTreeMap::new();
        if let Some(folder) = source.folder {
            self.add_folder(folder, 0, &mut files)?;
        }
        for path in source.named_paths(self.cwd) {
            // Other programs are not part of the workspace; folders and missing files are not run.
            if path.starts_with(self.root)
                && let Some(hash) = self.hash(&path)?
            {
                files.insert(self.relative(&path), hash);
            }
        }
        // The content that was parsed, not the one that the file has now.
        files.insert(self.relative(source.file), source.hash);
        Ok(files)
    }

    fn add_folder(
        &self,
        folder: &Path,
        depth: usize,
        files: &mut FileHashes,
    ) -> Result<(), TrustRefusal> {
        let refuse = |why: String| TrustRefusal::Unreadable {
            path: self.relative(folder),
            why,
        };
        if depth == MAX_DEPTH {
            return Err(refuse(format!("more than {MAX_DEPTH} folders deep")));
        }
        let entries = self
            .ground
            .list_entries(folder)
            .map_err(|error| refuse(error.to_string()))?;
        for (name, kind) in entries {
            let path = folder.join(name);
            match kind {
                EntryKind::Folder => self.add_folder(&path, depth + 1, files)?,
                EntryKind::File | EntryKind::Link => {
                    if let Some(hash) = self.hash(&path)? {
                        files.insert(self.relative(&path), hash);
                    }
                }
                EntryKind::Special => {}
            }
            if files.len() > MOST_FILES {
                return Err(refuse(format!("it has more than {MOST_FILES} files")));
            }
        }
        Ok(())
    }

    /// Returns the hash of a file, or of a link and the file behind it; none for anything else.
    fn hash(&self, path: &Path) -> Result<Option<ContentHash>, TrustRefusal> {
        let content = self.hash_content(path);
        let content = content.map_err(|error| TrustRefusal::Unreadable {
            path: self.relative(path),
            why: error.to_string(),
        })?;
        let Some(target) = self.ground.read_link(path) else {
            return Ok(content);
        };
        let mut link = target.into_os_string().into_encoded_bytes();
        link.push(0);
        link.extend(
            content
                .map(|hash| hash.to_string())
                .unwrap_or_default()
                .into_bytes(),
        );
        Ok(Some(ContentHash::of(&link)))
    }

    fn hash_content(&self, path: &Path) -> io::Result<Option<ContentHash>> {
        let file = match self.ground.open(path) {
            Ok(file) => file,
            // It may still be executable.
            Err(error) if is_unreadable(&error) => return Err(error),
            // It is missing, no file, or outside of the workspace.
            Err(_) => return Ok(None),
        };
        let found = file.metadata()?;
        if check_regular_file(&found).is_err() {
            return Ok(None);
        }
        let stamp = FileStamp::from_metadata(&found);
        if let Some((_, hash)) = lock(&self.known.0).get(path).filter(|(at, _)| *at == stamp) {
            return Ok(Some(*hash));
        }
        let hash = ContentHash::of(&read_limited(file, LARGEST)?);
        if stamp.is_settled(self.now) {
            let mut known = lock(&self.known.0);
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            known.insert(path.to_owned(), (stamp, hash));
        }
        Ok(Some(hash))
    }

    pub(super) fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.root).unwrap_or(path).to_owned()
    }
}

/// Returns the paths whose content decides what runs: the folders of skills that a manifest names, and the files that
/// hooks and servers name. Those under protected names are left out; no tool writes them.
pub(super) fn configuration_paths(found: &DiskSkills, cwd: &Path) -> Vec<PathBuf> {
    /// A workspace with more names them to overload us.
    const MOST: usize = 256;
    let skills = found
        .skills
        .iter()
        .filter_map(|skill| ProgramSource::of_skill(skill));
    let manifest = found.manifest.as_ref();
    let servers = manifest.map(|origin| ProgramSource::of_manifest(origin, &found.servers));
    let named = servers
        .into_iter()
        .chain(skills)
        .flat_map(|source| source.named_paths(cwd));
    let folders = manifest
        .into_iter()
        .flat_map(|origin| origin.folders.iter().cloned());
    // Also one by one: a manifest may name the root, which is too wide.
    let listed = found
        .skills
        .iter()
        .filter(|skill| skill.layer == SkillLayer::Manifest);
    let listed = listed.flat_map(|skill| match &skill.origin {
        SkillOrigin::File(path) => vec![path.clone(), path.parent().unwrap_or(path).to_owned()],
        SkillOrigin::Host { .. } => Vec::new(),
    });
    let inside = |path: &PathBuf| {
        path.strip_prefix(&found.root).is_ok_and(|inside| {
            // The root itself is no file of programs, and guarding it would guard everything.
            !inside.as_os_str().is_empty() && !inside.starts_with(".harn")
        })
    };
    let mut paths: Vec<_> = folders
        .chain(listed)
        .chain(named.filter(|path| path != cwd))
        .filter(inside)
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths.truncate(MOST);
    paths
}

#[cfg(test)]
mod tests {
    use harn_model::Secret;

    use super::*;

    #[test]
    fn files_in_flags_urls_and_variables_are_named() {
        for (arg, path) in [
            ("./server.js", "/ws/server.js"),
            ("-r./hook.js", "/ws/hook.js"),
            ("-r ./hook.js", "/ws/hook.js"),
            ("-r./my hook.js", "/ws/my hook.js"),
            ("--require=./hook.js", "/ws/hook.js"),
            ("--require=./my hook.js", "/ws/my hook.js"),
            ("--import=file:///ws/x.mjs", "/ws/x.mjs"),
            ("file://localhost/ws/my%20x.mjs?v=1", "/ws/my x.mjs"),
            ("FILE:///ws/x.mjs", "/ws/x.mjs"),
            ("-javaagent:agent.jar", "/ws/agent.jar"),
            ("lib/a.jar:lib/b.jar", "/ws/lib/b.jar"),
        ] {
            for is_variable in [false, true] {
                let (args, env) = match is_variable {
                    false => (vec![arg.to_owned()], Vec::new()),
                    true => (Vec::new(), vec![("X".to_owned(), Secret::new(arg))]),
                };
                let command = "node".to_owned();
                let server = McpServerSpec {
                    name: "a".to_owned(),
                    transport: McpTransport::Stdio { command, args, env },
                };
                let source = ProgramSource {
                    file: Path::new("/ws/harn.toml"),
                    hash: ContentHash::of(&[]),
                    folder: None,
                    lines: server_lines(std::slice::from_ref(&server)).collect(),
                };
                let named = source.named_paths(Path::new("/ws"));
                assert!(named.contains(&PathBuf::from(path)), "{arg}: {named:?}");
            }
        }
        let all: Vec<_> = path_words("--fast -x -- https://a.example/b").collect();
        assert!(!all.iter().any(|word| word.starts_with('-')), "{all:?}");
    }
}
