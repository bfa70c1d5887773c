//! A part of the workspace, and the worker that searches it: an agent of its own, whose session shows the search
//! and the best hits of its part.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use harn_model::StopReason;
use harn_runtime::{Agent, AgentError, AgentProfile, TurnContext, Worker, WorkerError};
use harn_tools::{SearchQuery, SearchScope as Searched, Survey, Workspace, short_item};

use super::super::{
    markdown::{code, join_with_and},
    result_limit,
    search::say_note,
    toolbox,
};

/// The part of the workspace that one worker searches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExplorePart {
    /// A top-level folder, by its name.
    Folder(String),
    /// A directory that the client added to the session.
    Directory(PathBuf),
    /// All top-level files of the workspace.
    Top,
}

impl ExplorePart {
    /// Returns the parts of a session: the entries of its workspace, folders with a trailing `/`, and its
    /// additional directories.
    pub(super) fn list_parts(cwd: &Path, top: &[String], directories: Vec<PathBuf>) -> Vec<Self> {
        let has_files = top.iter().any(|name| !name.ends_with('/'));
        let folders = top.iter().filter_map(|name| name.strip_suffix('/'));
        let folders = folders.map(|name| Self::Folder(name.to_owned()));
        let mut parts: Vec<_> = folders.chain(has_files.then_some(Self::Top)).collect();
        for directory in directories {
            let is_in = |part: &Self| cwd.join(part.folder()) == directory;
            if directory != cwd && !parts.iter().any(is_in) {
                parts.push(Self::Directory(directory));
            }
        }
        parts
    }

    /// Returns the name that a person sees.
    pub(super) fn display_name(&self) -> String {
        match self {
            Self::Folder(name) => format!("{name}/"),
            Self::Directory(path) => format!("{}/", path.display()),
            Self::Top => "top-level files".to_owned(),
        }
    }

    fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Folder(name) => name.into(),
            Self::Directory(path) => path.to_string_lossy(),
            Self::Top => "top-level files".into(),
        }
    }

    fn folder(&self) -> &Path {
        match self {
            Self::Folder(name) => Path::new(name),
            Self::Directory(path) => path,
            Self::Top => Path::new("."),
        }
    }

    fn workspace(&self, root: &Path, directories: &[PathBuf]) -> Workspace {
        let workspace = Workspace::new(root).with_directories(directories.to_vec());
        match self {
            Self::Folder(_) | Self::Directory(_) => workspace.folder(self.folder()),
            Self::Top => workspace.top_files(),
        }
    }

    /// Starts a worker that searches this part and puts its survey into the slot.
    pub(super) async fn start(
        &self,
        cx: &TurnContext,
        query: &SearchQuery,
    ) -> Result<(Worker, SurveySlot), WorkerError> {
        let slot = SurveySlot::default();
        let searcher = PartSearchAgent {
            root: cx.cwd().to_owned(),
            directories: cx.additional_directories(),
            part: self.clone(),
            query: query.clone(),
            limit: result_limit(cx),
            slot: slot.clone(),
        };
        let words = query.words().join(" ");
        let worker = cx
            .worker(self.name())
            .task(format!("Search {} for \"{words}\"", self.display_name()))
            .cwd(self.folder())
            .agent(Arc::new(searcher))
            .start()
            .await?;
        Ok((worker, slot))
    }
}

/// The slot for a worker's survey, which is too large to send as text.
#[derive(Clone, Default)]
pub(super) struct SurveySlot(Arc<Mutex<Option<Survey>>>);

impl SurveySlot {
    pub(super) fn take(&self) -> Option<Survey> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, survey: Survey) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(survey);
    }
}

/// The agent of a worker that searches one part.
struct PartSearchAgent {
    /// The workspace; reported paths are relative to it.
    root: PathBuf,
    directories: Vec<PathBuf>,
    part: ExplorePart,
    query: SearchQuery,
    limit: usize,
    slot: SurveySlot,
}

#[async_trait]
impl Agent for PartSearchAgent {
    fn profile(&self) -> AgentProfile {
        AgentProfile {
            name: "harn-explore-folder".to_owned(),
            title: "Harn Explore".to_owned(),
            ..AgentProfile::default()
        }
    }

    /// A failed search fails the worker, with its reason.
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        let workspace = self.part.workspace(&self.root, &self.directories);
        let part = Searched::new(&self.root, workspace);
        let query = self.query.clone();
        let (found, survey) = toolbox(cx).search(cx, part, query, self.limit).await?;
        if let Some(survey) = survey {
            self.slot.put(survey);
        }
        if found.hits.is_empty() {
            let words: Vec<_> = self.query.words().iter().map(|word| code(word)).collect();
            cx.say(format!(
                "Nothing here mentions {}.\n",
                join_with_and(&words)
            ))
            .await?;
        }
        for hit in &found.hits {
            cx.say(short_item(&hit.path, hit.line, &hit.text)).await?;
        }
        say_note(cx, &found.walked).await?;
        Ok(StopReason::EndTurn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_and_directory_is_a_part_and_top_level_files_share_one() {
        let of = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            let directories = ["/w", "/w/b", "/lib"].map(PathBuf::from);
            let parts = ExplorePart::list_parts(Path::new("/w"), &names, directories.to_vec());
            parts
                .iter()
                .map(ExplorePart::display_name)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            of(&["a.md", "b/", "c/", "d"]),
            ["b/", "c/", "top-level files", "/lib/"]
        );
        assert_eq!(of(&["b/"]), ["b/", "/lib/"]);
        assert_eq!(of(&["x"]), ["top-level files", "/w/b/", "/lib/"]);
        assert_eq!(of(&[]), ["/w/b/", "/lib/"]);
    }
}
