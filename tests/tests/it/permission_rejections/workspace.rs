//! A workspace with everything that a call could damage, a folder outside of it, and a snapshot of both for
//! comparison.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

/// A workspace and a folder outside of it.
pub(crate) struct Place {
    pub(crate) workspace: PathBuf,
    pub(crate) outside: PathBuf,
}

/// Every path with its content or target, mode, time and inode.
pub(crate) type Picture = BTreeMap<PathBuf, String>;

impl Place {
    /// Creates the files of a workspace.
    pub(crate) fn create(workspace: &Path) -> Self {
        let workspace = workspace.canonicalize().unwrap();
        let outside = workspace.parent().unwrap().join("outside");
        let put = |path: &str, text: &str| {
            let path = workspace.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("a.txt", "a\n");
        put("dir/b.txt", "b\n");
        put("tool.sh", "#!/bin/sh\n");
        put(".git/config", "[core]\n");
        put(".git/HEAD", "ref: refs/heads/main\n");
        put(".harn/policy.toml", "");
        put("../outside/secret.txt", "secret\n");
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(workspace.join("tool.sh"), executable).unwrap();
        let link = |target: &str, name: &str| symlink(target, workspace.join(name)).unwrap();
        link("a.txt", "link.txt");
        link("dir", "way");
        link("../outside/secret.txt", "out.txt");
        link("../outside", "exit");
        link(".git", "gate");
        link("nowhere", "broken");
        Self { workspace, outside }
    }

    /// Returns the current state of both folders.
    pub(crate) fn picture(&self) -> Picture {
        let mut picture = Picture::new();
        add_to_snapshot(&self.workspace, &mut picture);
        add_to_snapshot(&self.outside, &mut picture);
        picture
    }

    /// Replaces `{workspace}` and `{outside}` in a text by their paths.
    pub(crate) fn insert_paths(&self, text: &str) -> String {
        let text = text.replace("{workspace}", &self.workspace.display().to_string());
        text.replace("{outside}", &self.outside.display().to_string())
    }
}

fn add_to_snapshot(path: &Path, picture: &mut Picture) {
    let about = fs::symlink_metadata(path).unwrap();
    let what = if about.is_symlink() {
        format!("to {}", fs::read_link(path).unwrap().display())
    } else if about.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            add_to_snapshot(&entry.unwrap().path(), picture);
        }
        "folder".to_owned()
    } else {
        format!("{:?}", String::from_utf8_lossy(&fs::read(path).unwrap()))
    };
    let (mode, seconds, nanos) = (about.mode(), about.mtime(), about.mtime_nsec());
    let line = format!(
        "{what}, {mode:o}, {seconds}.{nanos:09}, inode {}",
        about.ino()
    );
    picture.insert(path.to_owned(), line);
}
