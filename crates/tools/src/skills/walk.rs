//! A pass over the layers on disk. Remembers stamps, so that the next pass reads only what changed; keeps cards but
//! never the text of a skill.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use harn_model::Timestamp;

use super::{
    card::{Skill, SkillLayer, SkillOrigin},
    decode,
    disk::{ReadBoundary, is_outside_boundary},
    front_matter,
    manifest::{Manifest, ManifestSource},
    problem::SkillProblem,
    registry::DiskSkills,
    search_paths::{Ancestry, MANIFEST, SkillPlaces},
};
use crate::{FileStamp, trust::ContentHash};

/// The file that makes a folder a skill.
pub(super) const SKILL_FILE: &str = "SKILL.md";

/// How many skills are read.
const MAX_SKILLS: usize = 10_000;
/// How many folders of packages are read.
const MAX_FOLDERS: usize = 10_000;
/// How deep packages may be nested.
const MAX_DEPTH: usize = 8;

/// The results of earlier passes, with stamps that show whether they are still valid. A file so new that a change
/// might not alter its stamp is not kept, and is read again.
#[derive(Default)]
pub(super) struct PassMemory {
    folders: HashMap<PathBuf, (FileStamp, Arc<[OsString]>)>,
    files: HashMap<SkillFileKey, (FileStamp, SkillFileResult)>,
    manifests: HashMap<PathBuf, (FileStamp, Manifest, Vec<SkillProblem>)>,
}

/// A skill's file, with the layer and namespace it was read for.
#[derive(Clone, PartialEq, Eq, Hash)]
struct SkillFileKey {
    path: PathBuf,
    layer: SkillLayer,
    namespace: Option<String>,
}

/// The result of reading a skill's file.
#[derive(Clone)]
struct SkillFileResult {
    skill: Option<Arc<Skill>>,
    problems: Vec<SkillProblem>,
}

/// A folder to watch for changes: for any, or for those of one name in it.
pub(super) type WatchInterest = (PathBuf, Option<OsString>);

/// The result of a pass over the disk.
#[derive(Default)]
pub(super) struct SkillPassResult {
    pub(super) found: DiskSkills,
    pub(super) memory: PassMemory,
    pub(super) interests: BTreeSet<WatchInterest>,
    pub(super) files_read: usize,
    pub(super) folders_read: usize,
}

pub(super) fn walk(
    places: &SkillPlaces,
    cwd: &Path,
    before: &PassMemory,
    now: Timestamp,
) -> SkillPassResult {
    let mut pass = SkillPass::new(before, now);
    pass.read_layers(places, cwd);
    pass.walked
}

/// Reads one file or folder without layers, to check it alone.
pub(super) fn check_path(path: &Path) -> DiskSkills {
    let memory = PassMemory::default();
    let mut pass = SkillPass::new(&memory, 0);
    let shelf = SkillFolderRole::new(SkillLayer::Cli, Arc::new(ReadBoundary::Anywhere));
    match path.file_name() == Some(OsStr::new(SKILL_FILE)) {
        true => drop(pass.read_skill(&shelf, path)),
        false => pass.read_folder(&shelf, path),
    }
    pass.walked.found.order = SkillLayer::ALL.to_vec();
    pass.walked.found
}

struct SkillPass<'m> {
    before: &'m PassMemory,
    /// The current time, to compare with the times of files.
    now: SystemTime,
    walked: SkillPassResult,
    /// How many folders of packages were visited.
    packages: usize,
}

/// The role in which a folder of skills is read.
#[derive(Clone)]
struct SkillFolderRole {
    layer: SkillLayer,
    namespace: Option<String>,
    ground: Arc<ReadBoundary>,
}

impl SkillFolderRole {
    fn new(layer: SkillLayer, ground: Arc<ReadBoundary>) -> Self {
        Self {
            layer,
            namespace: None,
            ground,
        }
    }
}

impl<'m> SkillPass<'m> {
    fn new(before: &'m PassMemory, now: Timestamp) -> Self {
        Self {
            before,
            now: SystemTime::UNIX_EPOCH + Duration::from_millis(now),
            walked: SkillPassResult::default(),
            packages: 0,
        }
    }

    fn read_layers(&mut self, places: &SkillPlaces, cwd: &Path) {
        let anywhere = Arc::new(ReadBoundary::Anywhere);
        let ancestry = Ancestry::find(cwd, places.home.as_deref());
        let ground = match ReadBoundary::open_root(&ancestry.root) {
            Ok(ground) => Some(Arc::new(ground)),
            Err(error) => {
                self.add_problem(SkillProblem::error(&ancestry.root, error));
                None
            }
        };
        let manifest = match &ground {
            Some(ground) => self.read_manifest(&ancestry, ground),
            None => Manifest::without_file(),
        };
        for layer in &manifest.order {
            let shelf = SkillFolderRole::new(*layer, anywhere.clone());
            let of_workspace = ground
                .clone()
                .map(|ground| SkillFolderRole::new(*layer, ground));
            match (layer, of_workspace) {
                (SkillLayer::Cli, _) => self.read_named(&shelf, &places.cli, "--skill-dir"),
                (SkillLayer::Env, _) => self.read_named(&shelf, &places.env, "HARN_SKILLS_PATH"),
                (SkillLayer::User, _) => places
                    .user
                    .iter()
                    .for_each(|dir| self.read_folder(&shelf, dir)),
                (SkillLayer::System, _) => places
                    .system
                    .iter()
                    .for_each(|dir| self.read_folder(&shelf, dir)),
                (SkillLayer::Project, Some(shelf)) => self.read_project(&shelf, &ancestry, places),
                (SkillLayer::Manifest, Some(shelf)) => self.read_sources(&shelf, &manifest.sources),
                (SkillLayer::Package, Some(shelf)) => {
                    for folder in &ancestry.folders {
                        self.read_packages(&shelf, &folder.join(".harn/packages"), 0);
                    }
                }
                (SkillLayer::Project | SkillLayer::Manifest | SkillLayer::Package, None)
                | (SkillLayer::Host, _) => {}
            }
        }
        self.walked.found.order = manifest.order;
        self.walked.found.servers = manifest.servers;
        self.walked.found.manifest = manifest.origin;
        self.walked.found.root = ancestry.root;
    }

    /// Reads folders that a person named; a missing one is a warning.
    fn read_named(&mut self, shelf: &SkillFolderRole, folders: &[PathBuf], by: &str) {
        for folder in folders {
            if !folder.is_dir() {
                let wrong = format!("{by} names a folder that does not exist");
                self.add_problem(SkillProblem::warning(folder, wrong));
            }
            self.read_folder(shelf, folder);
        }
    }

    fn read_project(&mut self, shelf: &SkillFolderRole, ancestry: &Ancestry, places: &SkillPlaces) {
        for folder in &ancestry.folders {
            let skills = folder.join(".harn/skills");
            // In a home, this folder is the user layer.
            if places.user.as_ref() != Some(&skills) {
                self.read_folder(shelf, &skills);
            }
        }
    }

    fn read_sources(&mut self, shelf: &SkillFolderRole, sources: &[ManifestSource]) {
        for source in sources {
            let shelf = SkillFolderRole {
                namespace: source.namespace.clone(),
                ..shelf.clone()
            };
            if !source.each {
                self.read_folder(&shelf, &source.folder);
                continue;
            }
            for name in self.list_folders(&shelf.ground, &source.folder).iter() {
                self.read_folder(&shelf, &source.folder.join(name));
            }
        }
    }

    fn read_packages(&mut self, shelf: &SkillFolderRole, folder: &Path, depth: usize) {
        if self.packages == MAX_FOLDERS || depth > MAX_DEPTH {
            let wrong = format!(
                "packages are nested too deep, or there are more than {MAX_FOLDERS} folders"
            );
            let told = SkillProblem::warning(folder, wrong);
            if !self.walked.found.problems.contains(&told) {
                self.add_problem(told);
            }
            return;
        }
        self.packages += 1;
        for name in self.list_folders(&shelf.ground, folder).iter() {
            let inner = folder.join(name);
            match name.to_str() {
                Some("skills") => self.read_folder(shelf, &inner),
                Some(name) if name.starts_with('.') => {}
                Some(_) | None => self.read_packages(shelf, &inner, depth + 1),
            }
        }
    }

    /// Reads a folder of skills, or a folder that is a skill itself.
    fn read_folder(&mut self, shelf: &SkillFolderRole, folder: &Path) {
        if self.read_skill(shelf, &folder.join(SKILL_FILE)) {
            return;
        }
        for name in self.list_folders(&shelf.ground, folder).iter() {
            if self.walked.found.skills.len() == MAX_SKILLS {
                let wrong = format!("more than {MAX_SKILLS} skills; the rest is ignored");
                return self.add_problem(SkillProblem::warning(folder, wrong));
            }
            self.read_skill(shelf, &folder.join(name).join(SKILL_FILE));
        }
    }

    /// Reads the skill in a file; returns whether the path exists.
    fn read_skill(&mut self, shelf: &SkillFolderRole, path: &Path) -> bool {
        if let Some(folder) = path.parent() {
            let name = Some(OsString::from(SKILL_FILE));
            self.walked.interests.insert((folder.to_owned(), name));
        }
        let lying = SkillFileKey {
            path: path.to_owned(),
            layer: shelf.layer,
            namespace: shelf.namespace.clone(),
        };
        if let Some((known, outcome)) = self.before.files.get(&lying)
            && shelf
                .ground
                .stamp(path)
                .is_ok_and(|stamp| stamp.as_ref() == Some(known))
        {
            self.record(lying, known.clone(), outcome.clone());
            return true;
        }
        match shelf.ground.read(path) {
            Ok(None) => return false,
            Ok(Some((text, stamp))) => {
                self.walked.files_read += 1;
                let outcome = decode_skill_file(shelf, path, &text);
                self.record(lying, stamp, outcome);
            }
            Err(error) => self.add_unreadable(path, &error),
        }
        true
    }

    fn record(&mut self, lying: SkillFileKey, stamp: FileStamp, outcome: SkillFileResult) {
        let found = &mut self.walked.found;
        found.skills.extend(outcome.skill.clone());
        found.problems.extend(outcome.problems.iter().cloned());
        if stamp.is_settled(self.now) {
            self.walked.memory.files.insert(lying, (stamp, outcome));
        }
    }

    fn read_manifest(&mut self, ancestry: &Ancestry, ground: &ReadBoundary) -> Manifest {
        for folder in &ancestry.folders {
            let path = folder.join(MANIFEST);
            let name = Some(OsString::from(MANIFEST));
            self.walked.interests.insert((folder.clone(), name));
            let stamp = ground.stamp(&path).ok().flatten();
            let known = self.before.manifests.get(&path);
            let read = match known.filter(|known| Some(&known.0) == stamp.as_ref()) {
                Some(known) => known.clone(),
                None => match ground.read(&path) {
                    Ok(Some((text, stamp))) => {
                        self.walked.files_read += 1;
                        let (manifest, problems) = Manifest::read(&text, &path, &ancestry.root);
                        (stamp, manifest, problems)
                    }
                    Ok(None) => continue,
                    Err(error) => {
                        self.add_unreadable(&path, &error);
                        continue;
                    }
                },
            };
            self.walked.found.problems.extend(read.2.iter().cloned());
            let manifest = read.1.clone();
            if read.0.is_settled(self.now) {
                self.walked.memory.manifests.insert(path, read);
            }
            return manifest;
        }
        Manifest::without_file()
    }

    /// Returns the names of the folders in a folder; none if it does not exist.
    fn list_folders(&mut self, ground: &ReadBoundary, folder: &Path) -> Arc<[OsString]> {
        let none = Arc::from([]);
        let stamp = match ground.stamp(folder) {
            Ok(Some(stamp)) => stamp,
            Ok(None) => {
                self.watch_for_creation(folder);
                return none;
            }
            Err(error) => {
                self.add_unreadable(folder, &error);
                return none;
            }
        };
        self.walked.interests.insert((folder.to_owned(), None));
        let known = self.before.folders.get(folder);
        let names = match known.filter(|(known, _)| *known == stamp) {
            Some((_, names)) => names.clone(),
            None => {
                self.walked.folders_read += 1;
                match ground.list_folders(folder) {
                    Ok(names) => names.unwrap_or_default().into(),
                    Err(error) => {
                        self.add_unreadable(folder, &error);
                        return none;
                    }
                }
            }
        };
        if stamp.is_settled(self.now) {
            let kept = (stamp, names.clone());
            self.walked.memory.folders.insert(folder.to_owned(), kept);
        }
        names
    }

    /// Watches the nearest existing parent of a missing folder, which may be created later.
    fn watch_for_creation(&mut self, folder: &Path) {
        let mut missing = folder;
        while let (Some(above), Some(name)) = (missing.parent(), missing.file_name()) {
            if above.is_dir() {
                let interest = (above.to_owned(), Some(name.to_owned()));
                self.walked.interests.insert(interest);
                return;
            }
            missing = above;
        }
    }

    fn add_unreadable(&mut self, path: &Path, error: &io::Error) {
        let wrong = match is_outside_boundary(error) {
            true => "this leads out of the workspace through a link; put the files themselves there, or \
                     name their folder with --skill-dir"
                .to_owned(),
            false => error.to_string(),
        };
        self.add_problem(SkillProblem::error(path, wrong));
    }

    fn add_problem(&mut self, problem: SkillProblem) {
        self.walked.found.problems.push(problem);
    }
}

/// Decodes the text of a skill's file.
fn decode_skill_file(shelf: &SkillFolderRole, path: &Path, text: &str) -> SkillFileResult {
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
    let mut decoded = decode::decode_file(&front_matter::split(text), &folder.to_string_lossy());
    for problem in &mut decoded.problems {
        problem.path = Some(path.to_owned());
    }
    let skill = decoded.card.map(|card| {
        let id = match &shelf.namespace {
            Some(namespace) => format!("{namespace}/{}", card.name),
            None => card.name.clone(),
        };
        Arc::new(Skill {
            id,
            card,
            layer: shelf.layer,
            origin: SkillOrigin::File(path.to_owned()),
            hash: Some(ContentHash::of(text.as_bytes())),
        })
    });
    SkillFileResult {
        skill,
        problems: decoded.problems,
    }
}
