//! A disk that is only told of, and a second opinion on where a path on it leads.
//!
//! `resolve` walks as the system's `open` does. It shares no code with what it judges.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Component, Path, PathBuf},
};

use harn_policy::{PathEntry, PathProbe};

/// As many links as the system follows.
const MOST_LINKS: usize = 40;

/// What stands at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A folder.
    Dir,
    /// A file.
    File,
    /// A link to this.
    Link(PathBuf),
}

/// Folders, files and links, by their real places.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    nodes: BTreeMap<PathBuf, Node>,
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Something is there.
    There(PathBuf),
    /// Nothing is there; a file made there would have this name.
    Free(PathBuf),
    /// No file can be there, or the links have no end.
    Nowhere,
}

impl Disk {
    /// Puts something at an absolute place, and folders above it. What is there already stays.
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

    /// The real places of all folders.
    pub fn dirs(&self) -> Vec<PathBuf> {
        let dirs = self.nodes.iter().filter(|(_, node)| **node == Node::Dir);
        dirs.map(|(path, _)| path.clone()).collect()
    }

    /// Where an absolute path leads, every link followed.
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

    /// Whether a link stands at this very place.
    #[must_use]
    pub fn is_link(&self, path: &Path) -> bool {
        matches!(self.nodes.get(path), Some(Node::Link(_)))
    }
}

impl PathProbe for Disk {
    fn look(&self, path: &Path) -> io::Result<PathEntry> {
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

    fn twin(&self, path: &Path) -> io::Result<Option<OsString>> {
        let lower = |path: &Path| path.to_string_lossy().to_lowercase();
        let wanted = lower(path);
        let twin = self.nodes.keys().find(|key| lower(key) == wanted);
        Ok(twin.and_then(|twin| Some(twin.file_name()?.to_owned())))
    }
}
