//! Reads `harn.toml`: more folders of skills, the order of the layers, and the MCP servers of the workspace.

mod tree;

use std::path::{Component, Path, PathBuf};

use harn_model::McpServerSpec;
use serde::Deserialize;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    card::{SkillLayer, check_id},
    decode::read_server,
    disk::ReadBoundary,
    problem::{ProblemSeverity, SkillProblem},
    search_paths::MANIFEST,
};
use crate::trust::ContentHash;

/// The name of the table of servers.
const SERVERS: &str = "mcp_servers";

/// The contents of a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) sources: Vec<ManifestSource>,
    /// Layers in order of precedence, without disabled ones.
    pub(super) order: Vec<SkillLayer>,
    /// The MCP servers, sorted by name.
    pub(super) servers: Vec<McpServerSpec>,
    /// The file it was read from.
    pub(super) origin: Option<ManifestOrigin>,
}

/// The file of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ManifestOrigin {
    pub(super) path: PathBuf,
    /// The hash of its text as it was read.
    pub(super) hash: ContentHash,
    /// The folders of skills that it names, or their parents.
    pub(super) folders: Vec<PathBuf>,
}

/// A folder that the manifest names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ManifestSource {
    /// The folder, or with `each` the parent of the folders.
    pub(super) folder: PathBuf,
    /// Whether each folder in it is a source.
    pub(super) each: bool,
    pub(super) namespace: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ManifestFile {
    skills: ManifestSkills,
    skill: SkillTable,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ManifestSkills {
    paths: Vec<Spanned<String>>,
    lookup_order: Vec<Spanned<String>>,
    disable: Vec<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SkillTable {
    source: Vec<SourceTable>,
}

#[derive(Deserialize)]
struct SourceTable {
    path: Spanned<String>,
    namespace: Option<Spanned<String>>,
}

impl Manifest {
    /// Returns the defaults without a manifest.
    pub(super) fn without_file() -> Self {
        Self {
            order: SkillLayer::ALL.to_vec(),
            ..Self::default()
        }
    }

    /// Reads the text of a manifest. Paths are relative to its folder and must stay in `root`.
    pub(super) fn read(text: &str, path: &Path, root: &Path) -> (Self, Vec<SkillProblem>) {
        let mut reader = ManifestReader {
            text,
            path,
            root,
            problems: Vec::new(),
        };
        let mut manifest = match toml::from_str::<ManifestFile>(text) {
            Ok(file) => reader.build_manifest(file),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                reader.add_problem(at, ProblemSeverity::Error, error.message());
                Self::without_file()
            }
        };
        manifest.origin = Some(ManifestOrigin {
            path: path.to_owned(),
            hash: ContentHash::of(text.as_bytes()),
            folders: manifest
                .sources
                .iter()
                .map(|it| it.folder.clone())
                .collect(),
        });
        (manifest, reader.problems)
    }
}

/// Returns the folders of skills that the manifest in a directory names and that are inside of it. A folder that
/// contains the whole directory is none of them.
pub(crate) fn named_skill_folders(directory: &Path) -> Vec<PathBuf> {
    let path = directory.join(MANIFEST);
    let boundary = ReadBoundary::open_root(directory);
    let Ok(Some((text, _))) = boundary.and_then(|boundary| boundary.read(&path)) else {
        return Vec::new();
    };
    let (manifest, _) = Manifest::read(&text, &path, directory);
    let folders = manifest.sources.into_iter().map(|source| source.folder);
    folders.filter(|folder| folder != directory).collect()
}

struct ManifestReader<'t> {
    text: &'t str,
    path: &'t Path,
    root: &'t Path,
    problems: Vec<SkillProblem>,
}

impl ManifestReader<'_> {
    fn build_manifest(&mut self, file: ManifestFile) -> Manifest {
        let mut sources = Vec::new();
        for path in file.skills.paths {
            sources.extend(self.read_source(&path, None));
        }
        for table in file.skill.source {
            if let Some(namespace) = &table.namespace
                && let Err(wrong) = check_id(namespace.get_ref())
            {
                let wrong = format!("namespace: {wrong}");
                self.add_problem(namespace.span().start, ProblemSeverity::Error, &wrong);
                continue;
            }
            let namespace = table.namespace.map(Spanned::into_inner);
            sources.extend(self.read_source(&table.path, namespace));
        }
        let first = self.read_layers(&file.skills.lookup_order);
        let disabled = self.read_layers(&file.skills.disable);
        let rest = SkillLayer::ALL
            .into_iter()
            .filter(|layer| !first.contains(layer));
        let mut order: Vec<SkillLayer> = Vec::new();
        for layer in first.iter().copied().chain(rest) {
            if !disabled.contains(&layer) && !order.contains(&layer) {
                order.push(layer);
            }
        }
        Manifest {
            sources,
            order,
            servers: self.read_servers(),
            origin: None,
        }
    }

    /// Returns the valid servers; an error in one does not affect the others.
    fn read_servers(&mut self) -> Vec<McpServerSpec> {
        let text = self.text;
        // Serde would repeat values in its messages, without their position.
        let Ok(file) = DeTable::parse(text) else {
            return Vec::new();
        };
        let Some(given) = file.get_ref().get(SERVERS) else {
            return Vec::new();
        };
        let DeValue::Table(table) = given.get_ref() else {
            let wrong = "mcp_servers must be a table from names to servers";
            self.add_problem(given.span().start, ProblemSeverity::Error, wrong);
            return Vec::new();
        };
        let mut servers = Vec::new();
        for entry in tree::entries(table, text) {
            match read_server(&entry) {
                Ok(server) => servers.push(server),
                Err(fault) => {
                    self.add_problem_at_line(fault.at.line, ProblemSeverity::Error, fault.reason)
                }
            }
        }
        servers
    }

    fn read_layers(&mut self, names: &[Spanned<String>]) -> Vec<SkillLayer> {
        let mut layers = Vec::new();
        for name in names {
            match SkillLayer::from_name(name.get_ref()) {
                Some(layer) => layers.push(layer),
                None => {
                    let known = SkillLayer::ALL.map(SkillLayer::as_str).join(", ");
                    let wrong =
                        format!("unknown layer {:?}; known layers: {known}", name.get_ref());
                    self.add_problem(name.span().start, ProblemSeverity::Warning, &wrong);
                }
            }
        }
        layers
    }

    fn read_source(
        &mut self,
        path: &Spanned<String>,
        namespace: Option<String>,
    ) -> Option<ManifestSource> {
        let given = path.get_ref();
        let at = path.span().start;
        let (folder, each) = match given.trim_end_matches('/').strip_suffix('*') {
            Some("") => (".", true),
            Some(folder) if folder.ends_with('/') => (folder, true),
            Some(_) | None => (given.as_str(), false),
        };
        let starred = folder.contains('*');
        let folder = self.path.parent().map(|own| own.join(folder))?;
        let folder = normalize_path(&folder);
        let wrong = if given.trim().is_empty() {
            "a path must not be empty; . is this folder".to_owned()
        } else if starred {
            format!("{given:?}: a `*` may only replace the last folder of a path")
        } else if !folder.starts_with(self.root) {
            let root = self.root.display();
            format!(
                "{given:?} leads out of the workspace {root}; name such a folder with --skill-dir"
            )
        } else {
            return Some(ManifestSource {
                folder,
                each,
                namespace,
            });
        };
        self.add_problem(at, ProblemSeverity::Error, &wrong);
        None
    }

    fn add_problem(&mut self, at: usize, severity: ProblemSeverity, message: &str) {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        self.add_problem_at_line(line, severity, message.to_owned());
    }

    fn add_problem_at_line(&mut self, line: usize, severity: ProblemSeverity, message: String) {
        self.problems.push(SkillProblem {
            path: Some(self.path.to_owned()),
            line: Some(line),
            severity,
            message,
        });
    }
}

/// Removes `.` and `..` from a path without reading the disk. Links are checked when it is opened.
pub(super) fn normalize_path(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let (manifest, problems) =
            Manifest::read(text, Path::new("/ws/pkg/harn.toml"), Path::new("/ws"));
        let mut out = String::new();
        for source in &manifest.sources {
            let each = if source.each { "/*" } else { "" };
            let namespace = source.namespace.as_deref().unwrap_or("-");
            out += &format!("{}{each} {namespace}\n", source.folder.display());
        }
        let order: Vec<_> = manifest.order.iter().map(|layer| layer.as_str()).collect();
        out += &format!("{}\n", order.join(" "));
        for server in &manifest.servers {
            out += &format!("{server:?}\n");
        }
        for problem in problems {
            out += &format!("{problem}\n");
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn folders_and_layers_are_read() {
        check(
            r#"
                [package]
                name = "anything"
                [skills]
                paths = ["skills", "../vendor/*", "/ws/more", "."]
                lookup_order = ["user", "host", "user"]
                disable = ["package"]
                [[skill.source]]
                path = "acme"
                namespace = "acme/ops"
            "#,
            expect![[r#"
                /ws/pkg/skills -
                /ws/vendor/* -
                /ws/more -
                /ws/pkg -
                /ws/pkg/acme acme/ops
                user host cli env project manifest system
            "#]],
        );
    }

    #[test]
    fn problems_are_reported_with_their_lines() {
        check(
            "[skills]\npaths = [\n  \"../..\",\n  \"a/*/b\",\n  \"x*\",\n  \"/etc\",\n  \"\",\n]\n\
             lookup_order = [\"mine\"]\n[[skill.source]]\npath = \"a\"\nnamespace = \"a b\"\n",
            expect![[r#"
                cli env project manifest user package system host
                /ws/pkg/harn.toml:3: error: "../.." leads out of the workspace /ws; name such a folder with --skill-dir
                /ws/pkg/harn.toml:4: error: "a/*/b": a `*` may only replace the last folder of a path
                /ws/pkg/harn.toml:5: error: "x*": a `*` may only replace the last folder of a path
                /ws/pkg/harn.toml:6: error: "/etc" leads out of the workspace /ws; name such a folder with --skill-dir
                /ws/pkg/harn.toml:7: error: a path must not be empty; . is this folder
                /ws/pkg/harn.toml:12: error: namespace: the name "a b" cannot be a slash command: it contains ' '; use letters, digits, `-`, `_` and `.`, beginning with a letter or digit
                /ws/pkg/harn.toml:9: warning: unknown layer "mine"; known layers: cli, env, project, manifest, user, package, system, host
            "#]],
        );
        check(
            "[skills]\npaths = \"a\"\n",
            expect![[r#"
                cli env project manifest user package system host
                /ws/pkg/harn.toml:2: error: invalid type: string "a", expected a sequence
            "#]],
        );
    }

    #[test]
    fn servers_of_the_workspace_are_read() {
        check(
            r#"
                [mcp_servers.local]
                command = "server"
                args = ["--fast", ""]
                env = { TOKEN = "hush" }
                [mcp_servers.remote]
                url = "https://example.test/mcp"
                headers.Authorization = "Bearer hush"
            "#,
            expect![[r#"
                cli env project manifest user package system host
                McpServerSpec { name: "local", transport: Stdio { command: "server", args: ["--fast", ""], env: [("TOKEN", <secret>)] } }
                McpServerSpec { name: "remote", transport: Http { url: "https://example.test/mcp", headers: [("Authorization", <secret>)] } }
            "#]],
        );
    }

    /// An invalid server does not affect the others, and no message contains a value.
    #[test]
    fn invalid_server_is_reported_with_its_line() {
        check(
            "[mcp_servers.good]\ncommand = \"s\"\n\
             [mcp_servers.both]\ncommand = \"s\"\nurl = \"http://x\"\n\
             [mcp_servers.'a b']\ncommand = \"s\"\n\
             [mcp_servers.number]\ncommand = \"s\"\n[mcp_servers.number.env]\nPIN = 4711\n\
             [mcp_servers.far]\nurl = \"ftp://hush@x\"\n\
             [mcp_servers.extra]\ncommand = \"s\"\ncwd = \"/\"\n",
            expect![[r#"
                cli env project manifest user package system host
                McpServerSpec { name: "good", transport: Stdio { command: "s", args: [], env: [] } }
                /ws/pkg/harn.toml:6: error: mcp_servers.a b: a server's name has letters, digits, `-`, `_` and `.`
                /ws/pkg/harn.toml:3: error: mcp_servers.both must be a map with command, args and env, or with url and headers
                /ws/pkg/harn.toml:16: error: unknown field "cwd" in mcp_servers.extra; it is a map with command, args and env, or with url and headers
                /ws/pkg/harn.toml:13: error: mcp_servers.far.url must be an address that begins with http:// or https://, not text
                /ws/pkg/harn.toml:11: error: mcp_servers.number.env.PIN must be text, in quotes if need be
            "#]],
        );
        check(
            "mcp_servers = [1]\n",
            expect![[r#"
            cli env project manifest user package system host
            /ws/pkg/harn.toml:1: error: mcp_servers must be a table from names to servers
        "#]],
        );
    }
}
