//! A simulated disk, and a second implementation of path resolution on it.
//!
//! `resolve` walks as the system's `open` does. It shares no code with the tested one.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Component, Path, PathBuf},
};

use harn_policy::{PathEntry, PathProbe};

/// The number of links that the system follows.
const MOST_LINKS: usize = 40;

/// An entry of the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A folder.
    Dir,
    /// A file.
    File,
    /// A link to this path.
    Link(PathBuf),
}

/// Folders, files and links, by their real paths.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    nodes: BTreeMap<PathBuf, Node>,
}

/// The end of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Something exists there.
    There(PathBuf),
    /// Nothing exists there; a new file would have this path.
    Free(PathBuf),
    /// No file can exist there, or the links have no end.
    Nowhere,
}

impl Disk {
    /// Adds an entry at an absolute path, and the folders above it. Existing entries stay.
    pub fn put(&mut self, path: &Path, node: Node) {
        let above: Vec<_> = path.ancestors().skip(1).collect();
        for dir in above.into_iter().rev() {
            let there = self.nodes.entry(dir.to_owned()).or_insert(Node::Dir);
            if *there != Node::Dir {
                return;
            }
        }
        self.nodes.entry(path.to_owned()).or_insert(node);
    }

    /// Returns the real paths of all folders.
    pub fn dirs(&self) -> Vec<PathBuf> {
        let dirs = self.nodes.iter().filter(|(_, node)| **node == Node::Dir);
        dirs.map(|(path, _)| path.clone()).collect()
    }

    /// Returns where an absolute path leads, with every link followed.
    #[must_use]
    pub fn resolve(&self, path: &Path) -> End {
        self.walk(PathBuf::from("/"), path, &mut 0)
    }

    fn walk(&self, mut at: PathBuf, path: &Path, links: &mut usize) -> End {
        let names: Vec<_> = path.components().collect();
        for (place, name) in names.iter().enumerate() {
            match name {
                Component::RootDir => at = PathBuf::from("/"),
                Component::ParentDir => {
                    at.pop();
                }
                Component::CurDir | Component::Prefix(_) => {}
                Component::Normal(name) => {
                    let next = at.join(name);
                    let is_last = place + 1 == names.len();
                    match self.nodes.get(&next) {
                        Some(Node::Dir) => at = next,
                        Some(Node::File) if is_last => return End::There(next),
                        Some(Node::File) => return End::Nowhere,
                        Some(Node::Link(target)) => {
                            *links += 1;
                            if *links > MOST_LINKS {
                                return End::Nowhere;
                            }
                            match self.walk(at, target, links) {
                                End::There(real) => at = real,
                                other if is_last => return other,
                                End::Free(_) | End::Nowhere => return End::Nowhere,
                            }
                            if !is_last && self.nodes.get(&at) == Some(&Node::File) {
                                return End::Nowhere;
                            }
                        }
                        None if is_last => return End::Free(next),
                        None => return End::Nowhere,
                    }
                }
            }
        }
        End::There(at)
    }

    /// Returns whether the entry at this exact path is a link.
    #[must_use]
    pub fn is_link(&self, path: &Path) -> bool {
        matches!(self.nodes.get(path), Some(Node::Link(_)))
    }
}

impl PathProbe for Disk {
    fn read_entry(&self, path: &Path) -> io::Result<PathEntry> {
        let Some(name) = path.file_name() else {
            return Ok(PathEntry::Dir);
        };
        // As `lstat`: links on the way are followed, the last name is not.
        let above = match self.resolve(path.parent().unwrap_or(Path::new("/"))) {
            End::There(above) if self.nodes.get(&above) == Some(&Node::File) => {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            End::There(above) => above,
            End::Free(_) | End::Nowhere => return Ok(PathEntry::Absent),
        };
        Ok(match self.nodes.get(&above.join(name)) {
            Some(Node::Dir) => PathEntry::Dir,
            Some(Node::File) => PathEntry::File,
            Some(Node::Link(target)) => PathEntry::Link(target.clone()),
            None => PathEntry::Absent,
        })
    }

    fn find_case_variant(&self, path: &Path) -> io::Result<Option<OsString>> {
        let lower = |path: &Path| path.to_string_lossy().to_lowercase();
        let wanted = lower(path);
        let twin = self.nodes.keys().find(|key| lower(key) == wanted);
        Ok(twin.and_then(|twin| Some(twin.file_name()?.to_owned())))
    }
}
