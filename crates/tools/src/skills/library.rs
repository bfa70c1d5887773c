//! The skills on disk, found once for all sessions of a workspace and kept up to date while one is open.
//!
//! Reads files and folders; does not depend on sessions, hosts or the use of skills.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use harn_runtime::Clock;
use tokio::sync::{Notify, watch};

use super::{
    card::{Skill, SkillOrigin},
    disk::ReadBoundary,
    error::SkillError,
    front_matter,
    program_sources::{HashCache, ProgramFiles, ProgramSource, configuration_paths},
    registry::{DiskSkills, SkillRegistry},
    search_paths::{SkillPlaces, workspace_root},
    trust_scope::{TrustScope, TrustedSource, server_effects, skill_effects},
    walk::{self, PassMemory, WatchInterest},
    watcher::SkillWatcher,
};
use crate::{
    lock::lock,
    trust::{ContentHash, FileHashes, TrustRefusal, WorkspaceTrust},
};

/// How long to wait after a change before a refresh: files are seldom written alone.
const SETTLE: Duration = Duration::from_millis(50);

/// How many passes follow each other when new folders have to be watched.
const MAX_LOOKS: usize = 8;

/// The skills of each workspace, found once for all its sessions.
pub struct SkillLibrary {
    places: Arc<SkillPlaces>,
    clock: Arc<dyn Clock>,
    lookout: Arc<SkillWatcher>,
    workspaces: Mutex<HashMap<PathBuf, Weak<WorkspaceSkills>>>,
    count: AtomicU64,
}

impl SkillLibrary {
    /// Creates a library for these folders and for every workspace that is requested.
    pub fn new(places: SkillPlaces, clock: Arc<dyn Clock>) -> Self {
        Self {
            places: Arc::new(places),
            clock,
            lookout: Arc::default(),
            workspaces: Mutex::default(),
            count: AtomicU64::new(0),
        }
    }

    /// Returns the skills of the workspace around a directory. A background task finds them and refreshes them after
    /// changes while a handle exists. Must be called in a tokio runtime.
    pub fn workspace(&self, cwd: &Path) -> Arc<WorkspaceSkills> {
        let mut workspaces = lock(&self.workspaces);
        if let Some(open) = workspaces.get(cwd).and_then(Weak::upgrade) {
            return open;
        }
        workspaces.retain(|_, skills| skills.strong_count() > 0);
        let skills = WorkspaceSkills::new(self.places.clone(), cwd, self.clock.clone());
        let skills = Arc::new(skills);
        workspaces.insert(cwd.to_owned(), Arc::downgrade(&skills));
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let (wake, lookout) = (skills.wake.clone(), self.lookout.clone());
        tokio::spawn(keep_refreshed(
            Arc::downgrade(&skills),
            wake,
            lookout,
            number,
        ));
        skills
    }
}

/// The skills on disk that apply to a workspace.
pub struct WorkspaceSkills {
    places: Arc<SkillPlaces>,
    cwd: PathBuf,
    clock: Arc<dyn Clock>,
    memory: Mutex<PassMemory>,
    shelf: watch::Sender<SkillSnapshot>,
    interests: Mutex<Vec<WatchInterest>>,
    /// Wakes the background task, to refresh or to end.
    wake: Arc<Notify>,
    hashes: HashCache,
}

/// The text of a skill, without its front matter.
pub struct SkillText {
    /// The text.
    pub body: String,
    /// The hash of the whole file.
    pub hash: ContentHash,
}

/// The result of the last pass, shared by all sessions of the workspace.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct SkillSnapshot {
    pub(super) found: Arc<DiskSkills>,
    /// The registry of `found`, for sessions without host skills.
    pub(super) registry: Arc<SkillRegistry>,
    /// The paths whose content decides what runs.
    pub(super) configuration: Arc<[PathBuf]>,
}

/// The outcome of a refresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkillRefresh {
    /// Whether anything changed.
    pub changed: bool,
    /// How many files were read.
    pub files_read: usize,
    /// How many folders were read.
    pub folders_read: usize,
}

impl WorkspaceSkills {
    /// Finds the skills of the workspace around a directory once, without a background task. Blocks while it reads the
    /// disk.
    pub fn find(places: SkillPlaces, cwd: &Path, clock: Arc<dyn Clock>) -> Self {
        let skills = Self::new(Arc::new(places), cwd, clock);
        skills.refresh();
        skills
    }

    fn new(places: Arc<SkillPlaces>, cwd: &Path, clock: Arc<dyn Clock>) -> Self {
        Self {
            places,
            cwd: cwd.to_owned(),
            clock,
            memory: Mutex::default(),
            shelf: watch::Sender::default(),
            interests: Mutex::default(),
            wake: Arc::default(),
            hashes: HashCache::default(),
        }
    }

    /// Returns the root of the workspace. Blocks while it reads the disk.
    pub fn root(&self) -> PathBuf {
        workspace_root(&self.cwd, self.places.home.as_deref())
    }

    /// Searches again and reads only what changed since the last pass. Blocks.
    pub fn refresh(&self) -> SkillRefresh {
        let mut memory = lock(&self.memory);
        let walked = walk::walk(&self.places, &self.cwd, &memory, self.clock.now());
        *memory = walked.memory;
        *lock(&self.interests) = walked.interests.into_iter().collect();
        let changed = *self.snapshot().found != walked.found;
        if changed {
            self.shelf.send_replace(SkillSnapshot {
                registry: Arc::new(walked.found.build_registry(&[], &[])),
                configuration: configuration_paths(&walked.found, &self.cwd).into(),
                found: Arc::new(walked.found),
            });
        }
        drop(memory);
        SkillRefresh {
            changed,
            files_read: walked.files_read,
            folders_read: walked.folders_read,
        }
    }

    /// Returns the skills on disk, without those of a host.
    pub fn registry(&self) -> Arc<SkillRegistry> {
        self.snapshot().registry
    }

    /// Returns the text of a skill on this disk, without its front matter. Blocks while it reads the file.
    pub fn text(&self, skill: &Skill) -> Result<SkillText, SkillError> {
        let SkillOrigin::File(path) = &skill.origin else {
            return Ok(SkillText {
                body: String::new(),
                hash: ContentHash::of(&[]),
            });
        };
        let failed = |source| SkillError::Read {
            path: path.clone(),
            source,
        };
        let ground = match skill.layer.is_from_workspace() {
            true => ReadBoundary::open_root(&self.snapshot().found.root).map_err(failed)?,
            false => ReadBoundary::Anywhere,
        };
        let read = ground.read(path).map_err(failed)?;
        let (text, _) = read.ok_or_else(|| failed(io::Error::from(io::ErrorKind::NotFound)))?;
        Ok(SkillText {
            body: front_matter::split(&text).body.to_owned(),
            hash: ContentHash::of(text.as_bytes()),
        })
    }

    /// Returns the files to which trust applies, as the last refresh found them. Blocks while it hashes files.
    pub fn trust_scope(&self) -> TrustScope {
        let found = self.snapshot().found;
        let mut scope = TrustScope {
            root: found.root.clone(),
            sources: Vec::new(),
        };
        if let Some(origin) = &found.manifest {
            scope.sources.push(TrustedSource {
                name: relative_name(&origin.path, &found.root),
                effects: server_effects(&found.servers),
                files: self.hashes(&found, &ProgramSource::of_manifest(origin, &found.servers)),
            });
        }
        for skill in &found.skills {
            if let Some(source) = ProgramSource::of_skill(skill) {
                scope.sources.push(TrustedSource {
                    name: format!("skill {}", skill.id),
                    effects: skill_effects(skill),
                    files: self.hashes(&found, &source),
                });
            }
        }
        scope
    }

    /// Checks that the user trusts a skill of the workspace as it was read, with all its files. Blocks.
    pub(super) fn check_skill(
        &self,
        skill: &Skill,
        trust: &WorkspaceTrust,
    ) -> Result<(), TrustRefusal> {
        match (ProgramSource::of_skill(skill), trust) {
            // Skills of other layers need no trust.
            (None, _) | (Some(_), WorkspaceTrust::Everything) => Ok(()),
            (Some(_), WorkspaceTrust::Nothing) => Err(TrustRefusal::Untrusted),
            (Some(source), WorkspaceTrust::Files(_)) => {
                trust.check(&self.hashes(&self.snapshot().found, &source)?)
            }
        }
    }

    /// Checks that the user trusts the text of a skill of the workspace, without its other files.
    pub(super) fn check_text(
        &self,
        skill: &Skill,
        hash: ContentHash,
        trust: &WorkspaceTrust,
    ) -> Result<(), TrustRefusal> {
        let SkillOrigin::File(path) = &skill.origin else {
            return Ok(());
        };
        let root = &self.snapshot().found.root;
        let path = path.strip_prefix(root).unwrap_or(path).to_owned();
        trust.check(&[(path, hash)].into())
    }

    /// Checks that the user trusts the servers of the manifest as they were read. Blocks.
    pub(super) fn check_servers(
        &self,
        found: &DiskSkills,
        trust: &WorkspaceTrust,
    ) -> Result<(), TrustRefusal> {
        match (&found.manifest, trust) {
            (None, _) | (Some(_), WorkspaceTrust::Everything) => Ok(()),
            (Some(_), WorkspaceTrust::Nothing) => Err(TrustRefusal::Untrusted),
            (Some(origin), WorkspaceTrust::Files(_)) => {
                let source = ProgramSource::of_manifest(origin, &found.servers);
                trust.check(&self.hashes(found, &source)?)
            }
        }
    }

    fn hashes(
        &self,
        found: &DiskSkills,
        source: &ProgramSource<'_>,
    ) -> Result<FileHashes, TrustRefusal> {
        let ground = ReadBoundary::open_root(&found.root);
        let ground = ground.map_err(|error| TrustRefusal::Unreadable {
            path: PathBuf::from("."),
            why: error.to_string(),
        })?;
        let files = ProgramFiles {
            root: &found.root,
            cwd: &self.cwd,
            ground,
            known: &self.hashes,
            now: SystemTime::UNIX_EPOCH + Duration::from_millis(self.clock.now()),
        };
        files.hashes(source)
    }

    /// Checks one file or folder of skills, without layers. Returns its skills and problems.
    pub fn check(path: &Path) -> SkillRegistry {
        walk::check_path(path).build_registry(&[], &[])
    }

    pub(super) fn snapshot(&self) -> SkillSnapshot {
        self.shelf.borrow().clone()
    }

    pub(super) fn changes(&self) -> watch::Receiver<SkillSnapshot> {
        self.shelf.subscribe()
    }
}

fn relative_name(path: &Path, root: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}

impl Drop for WorkspaceSkills {
    fn drop(&mut self) {
        self.wake.notify_one();
    }
}

/// Keeps the skills of a workspace up to date until the last handle is dropped.
async fn keep_refreshed(
    skills: Weak<WorkspaceSkills>,
    wake: Arc<Notify>,
    lookout: Arc<SkillWatcher>,
    number: u64,
) {
    while let Some(skills) = skills.upgrade() {
        let (lookout, waker) = (lookout.clone(), wake.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let mut watched = None;
            for _ in 0..MAX_LOOKS {
                // Once more after all folders are watched: earlier changes raised no event.
                skills.refresh();
                let interests = lock(&skills.interests).clone();
                if watched.as_ref() == Some(&interests) {
                    break;
                }
                lookout.set_interests(number, &interests, &waker);
                watched = Some(interests);
            }
        });
        if looked.await.is_err() {
            break;
        }
        wake.notified().await;
        tokio::time::sleep(SETTLE).await;
    }
    // Not awaited: until then the watcher would only notify a task that has ended.
    drop(tokio::task::spawn_blocking(move || lookout.forget(number)));
}
