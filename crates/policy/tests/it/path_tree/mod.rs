//! The tree of `fixtures/policy/paths-world.json` on a real disk, and a probe that reads it.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use harn_policy::{PathEntry, PathProbe, SessionRoots};
use serde::Deserialize;

pub(crate) struct StdProbe;

impl PathProbe for StdProbe {
    fn read_entry(&self, path: &Path) -> io::Result<PathEntry> {
        match fs::symlink_metadata(path) {
            Ok(meta) if meta.is_symlink() => fs::read_link(path).map(PathEntry::Link),
            Ok(meta) if meta.is_dir() => Ok(PathEntry::Dir),
            Ok(_) => Ok(PathEntry::File),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(PathEntry::Absent),
            Err(error) => Err(error),
        }
    }

    fn find_case_variant(&self, path: &Path) -> io::Result<Option<OsString>> {
        let lower = |name: &std::ffi::OsStr| name.to_string_lossy().to_lowercase();
        let wanted = lower(path.file_name().unwrap());
        for entry in fs::read_dir(path.parent().unwrap())? {
            let name = entry?.file_name();
            if lower(&name) == wanted {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    fn read_file(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        let meta = fs::symlink_metadata(path)?;
        if !meta.is_file() || meta.len() > limit as u64 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        fs::read(path)
    }
}

#[derive(Deserialize)]
struct Plan {
    root: String,
    also: Vec<String>,
    protected: Vec<String>,
    configuration: Vec<String>,
    dirs: Vec<String>,
    files: Vec<String>,
    /// Files with a content that counts.
    texts: BTreeMap<String, String>,
    links: BTreeMap<String, String>,
}

/// The tree on the disk, removed on drop.
pub(crate) struct World {
    base: PathBuf,
    roots: SessionRoots,
    links: Vec<String>,
    _dir: tempfile::TempDir,
}

impl World {
    /// Builds the tree in a temporary folder.
    pub(crate) fn build() -> Self {
        let plan =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/policy/paths-world.json");
        let plan: Plan = serde_json::from_str(&fs::read_to_string(plan).unwrap()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let at = |name: &String| base.join(name);
        for name in &plan.dirs {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in &plan.files {
            fs::write(at(name), "x").unwrap();
        }
        for (name, text) in &plan.texts {
            fs::write(at(name), text).unwrap();
        }
        for (name, target) in &plan.links {
            let target = target.replace("{root}", base.to_str().unwrap());
            symlink(target, at(name)).unwrap();
        }
        let root = format!("{}/", plan.root);
        let links = plan
            .links
            .keys()
            .filter_map(|name| name.strip_prefix(&root));
        let dirs = [&plan.root].into_iter().chain(&plan.also).map(at).collect();
        Self {
            roots: SessionRoots::new(dirs, plan.protected.iter().map(at).collect())
                .with_configuration(plan.configuration.iter().map(at).collect()),
            links: links.map(str::to_owned).collect(),
            base,
            _dir: dir,
        }
    }

    /// The folder that contains the tree, without links.
    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// The first directory of a session in the tree.
    pub(crate) fn workspace(&self) -> &Path {
        &self.roots.dirs()[0]
    }

    /// The directories of a session in the tree.
    pub(crate) fn roots(&self) -> &SessionRoots {
        &self.roots
    }

    /// Returns every path outside the session's directories, and every one that is never written, with its content
    /// or its target.
    pub(crate) fn read_protected(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.base.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                if meta.is_dir() {
                    folders.push(path.clone());
                }
                let inside = self.roots.dirs().iter().any(|dir| path.starts_with(dir));
                let named = path.iter().any(|name| name == ".git");
                let listed = self.roots.protected().iter().any(|it| path.starts_with(it));
                if !inside || named || listed {
                    let content = match &meta {
                        it if it.is_symlink() => fs::read_link(&path)
                            .unwrap()
                            .into_os_string()
                            .into_encoded_bytes(),
                        it if it.is_file() => fs::read(&path).unwrap(),
                        _ => Vec::new(),
                    };
                    found.insert(path, content);
                }
            }
        }
        found
    }

    /// The links in the first directory, relative to it.
    pub(crate) fn links(&self) -> &[String] {
        &self.links
    }
}
