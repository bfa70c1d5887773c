//! The folders of a session, walked with their ignore rules and within limits.
//!
//! Read-only. A walk skips hidden, ignored, large and binary files and never follows links, so it cannot leave a
//! folder.

mod glob;
mod ignore_rules;
mod roots;

use std::{
    fmt, fs, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use ignore::{DirEntry, WalkBuilder};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub(crate) use self::ignore_rules::{HiddenFiles, IgnoreRules};
use self::roots::WalkRoot;
use crate::{
    grep::{self, GrepResult},
    lock::lock,
    regular_file::{LinkPolicy, read_regular_file},
    search::{Corpus, SearchError, SearchQuery, SearchResults},
    watch::GlobPattern,
};

/// Git's own folder, which no search and no watch enters.
pub(crate) const GIT: &str = ".git";

/// A folder to search, with the directories that a client added. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: Arc<Path>,
    /// Absolute paths. Each is walked separately and skipped in the walk of a folder that contains it.
    additional: Arc<[PathBuf]>,
    part: WalkScope,
    limits: WalkLimits,
    filter: PathFilter,
}

/// Selects the files that a walk may read.
#[derive(Clone, Default)]
struct PathFilter(Option<Arc<PathPredicate>>);

type PathPredicate = dyn Fn(&Path) -> bool + Send + Sync;

impl PathFilter {
    fn allows(&self, path: &Path) -> bool {
        self.0.as_ref().is_none_or(|lets| lets(path))
    }
}

impl fmt::Debug for PathFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PathFilter")
            .field(&self.0.is_some())
            .finish()
    }
}

/// The part of a workspace that a walk visits.
#[derive(Clone, Debug)]
enum WalkScope {
    Whole,
    /// The content of this folder.
    Folder(Arc<Path>),
    /// The files directly in the root.
    Top,
}

/// The limits of a walk through one folder.
#[derive(Clone, Copy, Debug)]
struct WalkLimits {
    files: usize,
    /// The total size of the files.
    bytes: u64,
    /// The size of one file; a walk skips larger ones.
    file_bytes: u64,
}

impl Default for WalkLimits {
    fn default() -> Self {
        Self {
            files: 20_000,
            bytes: 64 * 1024 * 1024,
            file_bytes: 1024 * 1024,
        }
    }
}

/// How much a walk covered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkSummary {
    /// The number of text files read.
    pub files: usize,
    /// The reason why the walk may have missed files.
    pub note: Option<String>,
}

impl WalkSummary {
    fn join(&mut self, other: Self) {
        self.files += other.files;
        let notes = [self.note.take(), other.note];
        let notes: Vec<_> = notes.into_iter().flatten().collect();
        self.note = (!notes.is_empty()).then(|| notes.join("; "));
    }
}

/// The unranked matches for a query in one part of a workspace.
pub struct Survey {
    corpus: Corpus,
    walked: WalkSummary,
}

impl Workspace {
    /// Creates a workspace for the folder `root` with the default limits.
    pub fn new(root: impl AsRef<Path>) -> Self {
        Self {
            root: root.as_ref().into(),
            additional: Arc::default(),
            part: WalkScope::Whole,
            limits: WalkLimits::default(),
            filter: PathFilter::default(),
        }
    }

    /// Adds absolute directories to the search. Results outside the root have absolute paths.
    #[must_use]
    pub fn with_directories(mut self, additional: Vec<PathBuf>) -> Self {
        self.additional = additional.into();
        self
    }

    /// Restricts the search to `folder`, a path relative to the root or an added directory. Results still have
    /// paths relative to the root.
    #[must_use]
    pub fn folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.part = WalkScope::Folder(self.root.join(folder).into());
        self
    }

    /// Restricts the search to the files directly in the root.
    #[must_use]
    pub fn top_files(mut self) -> Self {
        self.part = WalkScope::Top;
        self
    }

    /// Restricts the search to files that `lets` accepts. It runs before each file is opened, on a thread that may
    /// block.
    #[must_use]
    pub fn with_filter(mut self, lets: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        self.filter = PathFilter(Some(Arc::new(lets)));
        self
    }

    /// Returns the best `limit` hits for a query, and the data to rank them together with those of other parts.
    pub async fn survey(
        &self,
        query: SearchQuery,
        limit: usize,
    ) -> Result<(SearchResults, Survey), SearchError> {
        let workspace = self.clone();
        run_blocking(move |stop| {
            let survey = workspace.survey_blocking(&query, stop)?;
            Ok((workspace.rank_survey(&survey, limit), survey))
        })
        .await?
    }

    /// Returns the best `limit` hits of several parts, equal to those of one search over all of them. Without parts
    /// there are no hits.
    pub async fn rank(
        &self,
        parts: Vec<Survey>,
        limit: usize,
    ) -> Result<SearchResults, SearchError> {
        let workspace = self.clone();
        run_blocking(move |_| {
            let joined = parts.into_iter().reduce(|mut all, part| {
                all.corpus.join(part.corpus);
                all.walked.join(part.walked);
                all
            });
            joined.map_or_else(SearchResults::default, |all| {
                workspace.rank_survey(&all, limit)
            })
        })
        .await
    }

    /// Returns the lines that match a regular expression, in the order of their files.
    pub async fn grep(&self, pattern: &str) -> Result<GrepResult, SearchError> {
        let regex = grep::compile(pattern)?;
        let workspace = self.clone();
        run_blocking(move |stop| {
            workspace.check_readable()?;
            let mut found = GrepResult::default();
            found.walked = workspace.walk(stop, |path, text| found.add_matches(&regex, path, text));
            Ok(found)
        })
        .await?
    }

    /// Returns the names of the entries directly in the folder; folders end with `/`.
    pub async fn list_top(&self) -> Result<Vec<String>, SearchError> {
        let workspace = self.clone();
        run_blocking(move |_| {
            workspace.check_readable()?;
            let mut walk = build_walk(workspace.start_folder(), HiddenFiles::LeftOut, |_| true);
            let entries = walk.max_depth(Some(1)).build().filter_map(Result::ok);
            let name = |entry: DirEntry| {
                let slash = match is_folder(&entry) {
                    true => "/",
                    false => "",
                };
                (entry.depth() == 1).then(|| format!("{}{slash}", entry.file_name().display()))
            };
            Ok(entries.filter_map(name).collect())
        })
        .await?
    }

    /// Checks that the start folder is readable. A walk skips unreadable entries, so without this check the error
    /// would be an empty result.
    fn check_readable(&self) -> Result<(), SearchError> {
        check_readable(self.start_folder())
            .map_err(|error| SearchError::Unreadable(error.to_string()))
    }

    fn survey_blocking(
        &self,
        query: &SearchQuery,
        stop: &CancellationToken,
    ) -> Result<Survey, SearchError> {
        self.check_readable()?;
        let mut corpus = Corpus::new(query);
        let walked = self.walk(stop, |path, text| {
            corpus.add(path, text);
            true
        });
        Ok(Survey { corpus, walked })
    }

    fn rank_survey(&self, survey: &Survey, limit: usize) -> SearchResults {
        let mut hits = survey.corpus.rank(limit);
        for hit in &mut hits {
            // If the file was deleted or changed since, the hit shows an empty line.
            let text = read_text(&self.root.join(&hit.path), self.limits.file_bytes);
            let line = usize::try_from(hit.line).unwrap_or(0).saturating_sub(1);
            let line = text.as_deref().and_then(|text| text.lines().nth(line));
            hit.text = grep::shorten(line.unwrap_or_default());
        }
        SearchResults {
            hits,
            missing: survey.corpus.missing_words(),
            walked: survey.walked.clone(),
        }
    }

    /// Returns the display name of the folder in which a walk begins.
    fn display_name(&self, start: &Path) -> String {
        match start == &*self.root {
            true => "the workspace".to_owned(),
            false => format!("the folder {}", relative_path(&self.root, start)),
        }
    }

    /// Returns the folder in which the walk begins.
    fn start_folder(&self) -> &Path {
        match &self.part {
            WalkScope::Whole | WalkScope::Top => &self.root,
            WalkScope::Folder(folder) => folder,
        }
    }

    /// Visits the text files, folder by folder in the order of their paths, until `visit` returns false. Each
    /// folder has its own limits, so that a large one does not hide the later ones.
    fn walk(
        &self,
        stop: &CancellationToken,
        mut visit: impl FnMut(&str, &str) -> bool,
    ) -> WalkSummary {
        let mut walked = WalkSummary::default();
        for root in self.walk_roots() {
            let (more, flow) = self.walk_root(&root, stop, &mut visit);
            walked.join(more);
            if flow.is_break() {
                break;
            }
        }
        walked
    }

    fn walk_root(
        &self,
        root: &WalkRoot,
        stop: &CancellationToken,
        visit: &mut impl FnMut(&str, &str) -> bool,
    ) -> (WalkSummary, ControlFlow<()>) {
        let mut walked = WalkSummary::default();
        if let Err(error) = check_readable(&root.path) {
            walked.note = Some(format!(
                "{} was not searched: {error}",
                self.display_name(&root.path)
            ));
            return (walked, ControlFlow::Continue(()));
        }
        let mut bytes = 0_u64;
        let mut builder = build_walk(&root.path, HiddenFiles::LeftOut, root.entry_filter());
        if let WalkScope::Top = self.part {
            builder.max_depth(Some(1));
        }
        for entry in builder.build().filter_map(Result::ok) {
            if stop.is_cancelled() {
                return (walked, ControlFlow::Break(()));
            }
            let file = entry.file_type().is_some_and(|kind| kind.is_file());
            if !file || !self.filter.allows(entry.path()) {
                continue;
            }
            let Some(text) = read_text(entry.path(), self.limits.file_bytes) else {
                continue;
            };
            bytes += text.len() as u64;
            if walked.files == self.limits.files || bytes > self.limits.bytes {
                walked.note = Some(format!(
                    "{} is large: only the first {} files were searched",
                    self.display_name(&root.path),
                    walked.files
                ));
                break;
            }
            walked.files += 1;
            if !visit(&relative_path(&self.root, entry.path()), &text) {
                return (walked, ControlFlow::Break(()));
            }
        }
        (walked, ControlFlow::Continue(()))
    }

    /// Builds a walk through the folders that can contain files of a pattern. It never enters git's own folder,
    /// even if the pattern includes hidden files.
    pub(crate) fn build_matching_walk(&self, start: &Path, pattern: &GlobPattern) -> WalkBuilder {
        let (root, pattern) = (self.root.clone(), pattern.clone());
        build_walk(start, pattern.hidden_files(), move |entry| {
            let inside = entry.path().strip_prefix(&root).unwrap_or(entry.path());
            entry.file_name() != GIT && (!is_folder(entry) || pattern.may_hold(inside))
        })
    }
}

/// Builds a walk with the settings that all walks share, through the entries that the ignore rules and `keeps` include.
fn build_walk(
    start: &Path,
    hidden: HiddenFiles,
    keeps: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let rules = Mutex::new(IgnoreRules::new(start, hidden));
    let mut builder = WalkBuilder::new(start);
    builder
        .follow_links(false)
        // The crate would open files of rules that are pipes.
        .standard_filters(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(move |entry| {
            keeps(entry) && !lock(&rules).leaves_out(entry.path(), is_folder(entry))
        });
    builder
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

fn check_readable(folder: &Path) -> io::Result<()> {
    fs::read_dir(folder).map(drop)
}

/// Returns a path relative to the root, or the whole path if it is outside.
fn relative_path(root: &Path, path: &Path) -> String {
    match path.strip_prefix(root) {
        Ok(inside) => join_with_slashes(inside),
        Err(_) => path.display().to_string(),
    }
}

/// Joins the parts of a path with `/`.
pub(crate) fn join_with_slashes(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// Returns the text of a file, or `None` if it is too large, binary or absent.
fn read_text(path: &Path, limit: u64) -> Option<String> {
    const SNIFF: usize = 8 * 1024;
    let bytes = read_regular_file(path, LinkPolicy::Refuse, limit).ok()?;
    if bytes[..bytes.len().min(SNIFF)].contains(&0) {
        return None;
    }
    Some(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

/// How many searches run at once. They must leave threads to the rest of the process, which has 512 that may block.
static SEARCHES: Semaphore = Semaphore::const_new(64);

/// Runs `work` on a thread that may block. When the caller drops the future, `stop` is cancelled.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> Result<T, SearchError> {
    let turn = SEARCHES.acquire().await;
    let turn = turn.map_err(|_| SearchError::Interrupted)?;
    let stop = CancellationToken::new();
    let _guard = stop.clone().drop_guard();
    let work = tokio::task::spawn_blocking(move || {
        // Until the thread is free, also if the caller no longer waits.
        let _turn = turn;
        work(&stop)
    });
    work.await.map_err(|_| SearchError::Interrupted)
}

#[cfg(test)]
mod tests;
