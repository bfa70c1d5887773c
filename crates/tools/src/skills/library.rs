//! The skills on disk, found once for all sessions of a workspace and kept up to date while one is open.
//!
//! Reads files and folders; knows nothing of sessions, hosts or what skills are used for.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use harn_runtime::Clock;
use tokio::sync::{Notify, watch};

use super::{
    card::{Skill, SkillOrigin},
    disk::ReadBoundary,
    error::SkillError,
    front,
    lookout::SkillWatcher,
    places::{SkillPlaces, workspace_root},
    registry::{DiskSkills, SkillRegistry},
    walk::{self, PassMemory, WatchInterest},
};
use crate::lock::lock;

/// How long it must be quiet before a change is looked at: files are seldom written alone.
const SETTLE: Duration = Duration::from_millis(50);

/// How often it is looked again because folders came that were not watched yet.
const MAX_LOOKS: usize = 8;

/// Skills by workspace. Those of one are found once, however many sessions are in it.
pub struct SkillLibrary {
    places: Arc<SkillPlaces>,
    clock: Arc<dyn Clock>,
    lookout: Arc<SkillWatcher>,
    workspaces: Mutex<HashMap<PathBuf, Weak<WorkspaceSkills>>>,
    count: AtomicU64,
}

impl SkillLibrary {
    /// A library of these places and of every workspace that is asked for.
    #[must_use]
    pub fn new(places: SkillPlaces, clock: Arc<dyn Clock>) -> Self {
        Self {
            places: Arc::new(places),
            clock,
            lookout: Arc::default(),
            workspaces: Mutex::default(),
            count: AtomicU64::new(0),
        }
    }

    /// The skills of the workspace around a directory. Found beside whatever goes on, and looked at again when
    /// something changes, for as long as somebody has them. To be called in a runtime.
    #[must_use]
    pub fn workspace(&self, cwd: &Path) -> Arc<WorkspaceSkills> {
        let mut workspaces = lock(&self.workspaces);
        if let Some(open) = workspaces.get(cwd).and_then(Weak::upgrade) {
            return open;
        }
        workspaces.retain(|_, skills| skills.strong_count() > 0);
        let skills = WorkspaceSkills::of(self.places.clone(), cwd, self.clock.clone());
        let skills = Arc::new(skills);
        workspaces.insert(cwd.to_owned(), Arc::downgrade(&skills));
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let (wake, lookout) = (skills.wake.clone(), self.lookout.clone());
        tokio::spawn(attend(Arc::downgrade(&skills), wake, lookout, number));
        skills
    }
}

/// The skills on disk that count in a workspace.
pub struct WorkspaceSkills {
    places: Arc<SkillPlaces>,
    cwd: PathBuf,
    clock: Arc<dyn Clock>,
    memory: Mutex<PassMemory>,
    shelf: watch::Sender<SkillSnapshot>,
    interests: Mutex<Vec<WatchInterest>>,
    /// Somebody should look again, or see that nobody needs it any more.
    wake: Arc<Notify>,
}

/// What was found last, which all sessions of the workspace share.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct SkillSnapshot {
    pub(super) found: Arc<DiskSkills>,
    /// The same put together, for those without a host's skills.
    pub(super) registry: Arc<SkillRegistry>,
}

/// What looking again took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkillRefresh {
    /// Whether something is different.
    pub changed: bool,
    /// How many files were read.
    pub files_read: usize,
    /// How many folders were.
    pub folders_read: usize,
}

impl WorkspaceSkills {
    /// The skills of the workspace around a directory, as they are now and no longer followed. Walks: call it
    /// where blocking is fine.
    #[must_use]
    pub fn find(places: SkillPlaces, cwd: &Path, clock: Arc<dyn Clock>) -> Self {
        let skills = Self::of(Arc::new(places), cwd, clock);
        skills.refresh();
        skills
    }

    fn of(places: Arc<SkillPlaces>, cwd: &Path, clock: Arc<dyn Clock>) -> Self {
        Self {
            places,
            cwd: cwd.to_owned(),
            clock,
            memory: Mutex::default(),
            shelf: watch::Sender::default(),
            interests: Mutex::default(),
            wake: Arc::default(),
        }
    }

    /// The root of the workspace they are of. Looks at the disk: call it where blocking is fine.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        workspace_root(&self.cwd, self.places.home.as_deref())
    }

    /// Looks again, reading only what changed since the last time. Call it where blocking is fine.
    pub fn refresh(&self) -> SkillRefresh {
        let mut memory = lock(&self.memory);
        let walked = walk::walk(&self.places, &self.cwd, &memory, self.clock.now());
        *memory = walked.memory;
        *lock(&self.interests) = walked.interests.into_iter().collect();
        let changed = *self.shelf().found != walked.found;
        if changed {
            self.shelf.send_replace(SkillSnapshot {
                registry: Arc::new(walked.found.registry(&[], &[])),
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

    /// Those that were found, without a host's.
    #[must_use]
    pub fn registry(&self) -> Arc<SkillRegistry> {
        self.shelf().registry
    }

    /// The text of a skill that lies on this disk, without its front matter. Reads a file: call it where
    /// blocking is fine.
    pub fn body(&self, skill: &Skill) -> Result<String, SkillError> {
        let SkillOrigin::File(path) = &skill.origin else {
            return Ok(String::new());
        };
        let failed = |source| SkillError::Read {
            path: path.clone(),
            source,
        };
        let ground = match skill.layer.is_the_workspaces() {
            true => ReadBoundary::within(&self.shelf().found.root).map_err(failed)?,
            false => ReadBoundary::Anywhere,
        };
        let read = ground.read(path).map_err(failed)?;
        let (text, _) = read.ok_or_else(|| failed(io::Error::from(io::ErrorKind::NotFound)))?;
        Ok(front::split(&text).body.to_owned())
    }

    /// What is wrong with one file or folder of skills, whatever layers there are, and what is in it.
    #[must_use]
    pub fn check(path: &Path) -> SkillRegistry {
        walk::look_at(path).registry(&[], &[])
    }

    pub(super) fn shelf(&self) -> SkillSnapshot {
        self.shelf.borrow().clone()
    }

    pub(super) fn changes(&self) -> watch::Receiver<SkillSnapshot> {
        self.shelf.subscribe()
    }
}

impl Drop for WorkspaceSkills {
    fn drop(&mut self) {
        self.wake.notify_one();
    }
}

/// Keeps the skills of a workspace up to date, until nobody has them any more.
async fn attend(
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
                // Also after all is watched: what changed just before, nobody told.
                skills.refresh();
                let interests = lock(&skills.interests).clone();
                if watched.as_ref() == Some(&interests) {
                    break;
                }
                lookout.set(number, &interests, &waker);
                watched = Some(interests);
            }
        });
        if looked.await.is_err() {
            break;
        }
        wake.notified().await;
        tokio::time::sleep(SETTLE).await;
    }
    // Nobody waits for this; what is left would only wake somebody who is not there.
    drop(tokio::task::spawn_blocking(move || lookout.forget(number)));
}
