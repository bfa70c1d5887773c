//! A thousand skills on disk, in every layer that has files: found for the first time, and refreshed with
//! nothing changed and with one changed file. The floor reads the same files in one loop and parses none.

use std::{
    fs,
    hint::black_box,
    iter,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Result, ensure};
use harn_runtime::Clock;
use harn_tools::skills::{SkillPlaces, SkillRefresh, WorkspaceSkills};
use tempfile::TempDir;

use super::time_work;
use crate::{
    least,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

const SKILLS: usize = 1000;

/// Two places for the system, one for each other layer; the host's has no files.
const PLACES: [&str; 8] = [
    "cli",
    "env",
    "home/ws/.harn/skills",
    "home/ws/own",
    "home/.harn/skills",
    "home/ws/.harn/packages/acme/skills",
    "etc/skills",
    "config/skills",
];

pub(super) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let disk = Disk::new()?;
    let mut floor = Vec::new();
    let mut first = Vec::new();
    let mut unchanged = Vec::new();
    let mut one = Vec::new();
    for round in 0..setup.walks {
        let mut read = Ok(());
        floor.push(time_work(|| read = disk.read()));
        read?;

        let (clock, cwd) = (Arc::new(Ahead(Instant::now())), disk.path_of("home/ws"));
        let places = disk.places();
        let mut found = None;
        first.push(time_work(|| {
            found = Some(WorkspaceSkills::find(places, &cwd, clock))
        }));
        let skills = found.filter(|skills| skills.registry().skills().len() == SKILLS);
        let Some(skills) = skills else {
            anyhow::bail!("not all {SKILLS} skills were found");
        };

        let mut looked = SkillRefresh::default();
        unchanged.push(time_work(|| looked = skills.refresh()));
        ensure!(!looked.changed && looked.files_read == 0, "{looked:?}");

        let files = &disk.files;
        fs::write(&files[round % SKILLS], text(round % SKILLS, round + 1))?;
        one.push(time_work(|| looked = skills.refresh()));
        ensure!(looked.changed && looked.files_read == 1, "{looked:?}");
    }
    let floor = Some(("read", least(&floor)));
    for (name, samples, bar) in [
        ("for the first time", first, Bar::AtMost(50e-3)),
        ("again, nothing changed", unchanged, Bar::Told),
        ("again, one file changed", one, Bar::Told),
    ] {
        table.add(&Figure {
            name: format!("{SKILLS} skills {name}"),
            unit: Unit::Micros,
            value: least(&samples),
            against: floor,
            bar,
        });
    }
    Ok(())
}

/// Real folders in a temporary one.
struct Disk {
    dir: TempDir,
    files: Vec<PathBuf>,
}

impl Disk {
    fn new() -> Result<Self> {
        let dir = TempDir::with_prefix("harn-bench-skills-")?;
        let top = dir.path();
        fs::create_dir_all(top.join("home/ws/.git"))?;
        fs::write(top.join("home/ws/harn.toml"), "[skills]\npaths = ['own']\n")?;
        let file = |place: usize| {
            let folder = top.join(PLACES[place % PLACES.len()]).join(name(place));
            fs::create_dir_all(&folder)?;
            let file = folder.join("SKILL.md");
            fs::write(&file, text(place, 0))?;
            Ok(file)
        };
        let files = (0..SKILLS).map(file).collect::<Result<_>>()?;
        Ok(Self { dir, files })
    }

    fn path_of(&self, path: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(path)
    }

    fn places(&self) -> SkillPlaces {
        SkillPlaces {
            cli: vec![self.path_of("cli")],
            env: vec![self.path_of("env")],
            user: Some(self.path_of("home/.harn/skills")),
            system: vec![self.path_of("etc/skills"), self.path_of("config/skills")],
            home: Some(self.path_of("home")),
        }
    }

    fn read(&self) -> Result<()> {
        let manifest = self.path_of("home/ws/harn.toml");
        for file in self.files.iter().chain(iter::once(&manifest)) {
            black_box(fs::read(file)?);
        }
        Ok(())
    }
}

fn name(place: usize) -> String {
    format!("skill-{place}")
}

/// Returns a typical skill: its purpose, when it fits, which tools it needs, and a page of text.
fn text(place: usize, version: usize) -> String {
    let name = name(place);
    let front = format!(
        "---\nname: {name}\nshort: Does number {place} of the things to be done\n\
         description: Does number {place} of the things to be done, in version {version}\n\
         when_to_use: When somebody speaks of number {place}\nallowed-tools: [read_file, grep]\n\
         paths: ['src/{place}/**']\n---\n"
    );
    front + &"Look at the file first, then say what you would change and why.\n".repeat(40)
}

/// A clock ten seconds ahead of the real one. Files from the last two seconds may change without a new
/// timestamp and are always read again; with this clock no file here is that new.
struct Ahead(Instant);

impl Clock for Ahead {
    fn now(&self) -> u64 {
        let now = SystemTime::now() + Duration::from_secs(10);
        let since = now.duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| since.as_millis().try_into().unwrap_or(u64::MAX))
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
