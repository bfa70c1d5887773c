//! A part of the workspace, and the worker that searches it: an agent of its own, whose session shows the
//! search and the best places of its part.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use harn_model::StopReason;
use harn_runtime::{Agent, AgentError, AgentProfile, TurnContext, Worker, WorkerError};
use harn_tools::{Part as Searched, Query, Survey, Workspace, short_item};

use super::super::{
    markdown::{code, list},
    results,
    search::say_note,
    toolbox,
};

/// What one worker searches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A top-level folder, by its name.
    Folder(String),
    /// The files beside the folders.
    Top,
}

impl Part {
    /// The parts of a workspace with these entries, folders with a `/` at their end.
    pub(super) fn of(top: &[String]) -> Vec<Self> {
        let has_files = top.iter().any(|name| !name.ends_with('/'));
        let folders = top.iter().filter_map(|name| name.strip_suffix('/'));
        let folders = folders.map(|name| Self::Folder(name.to_owned()));
        folders.chain(has_files.then_some(Self::Top)).collect()
    }

    /// How a person calls it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Folder(name) => format!("{name}/"),
            Self::Top => "files on top".to_owned(),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Folder(name) => name,
            Self::Top => "files on top",
        }
    }

    fn folder(&self) -> &Path {
        match self {
            Self::Folder(name) => Path::new(name),
            Self::Top => Path::new("."),
        }
    }

    fn workspace(&self, root: &Path) -> Workspace {
        match self {
            Self::Folder(name) => Workspace::new(root).folder(name),
            Self::Top => Workspace::new(root).top_files(),
        }
    }

    /// Starts a worker that searches it; what it finds will be in the slot.
    pub(super) async fn start(
        &self,
        cx: &TurnContext,
        query: &Query,
    ) -> Result<(Worker, Slot), WorkerError> {
        let slot = Slot::default();
        let searcher = Searcher {
            root: cx.cwd().to_owned(),
            part: self.clone(),
            query: query.clone(),
            limit: results(cx),
            slot: slot.clone(),
        };
        let words = query.words().join(" ");
        let worker = cx
            .worker(self.name())
            .task(format!("Search {} for \"{words}\"", self.shown()))
            .cwd(self.folder())
            .agent(Arc::new(searcher))
            .start()
            .await?;
        Ok((worker, slot))
    }
}

/// Where a worker leaves what it found, which is too much to be said.
#[derive(Clone, Default)]
pub(super) struct Slot(Arc<Mutex<Option<Survey>>>);

impl Slot {
    pub(super) fn take(&self) -> Option<Survey> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, survey: Survey) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(survey);
    }
}

/// The agent of such a worker.
struct Searcher {
    /// The workspace, which paths start from.
    root: PathBuf,
    part: Part,
    query: Query,
    limit: usize,
    slot: Slot,
}

#[async_trait]
impl Agent for Searcher {
    fn profile(&self) -> AgentProfile {
        AgentProfile {
            name: "harn-explore-folder".to_owned(),
            title: "Harn Explore".to_owned(),
            ..AgentProfile::default()
        }
    }

    /// A search that fails fails the worker, with its reason.
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        let part = Searched::of(&self.root, self.part.workspace(&self.root));
        let keep = |survey| self.slot.put(survey);
        let found = toolbox(cx)
            .search(cx, part, self.query.clone(), self.limit, keep)
            .await?;
        if found.hits.is_empty() {
            let words: Vec<_> = self.query.words().iter().map(|word| code(word)).collect();
            cx.say(format!("Nothing here mentions {}.\n", list(&words)))
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
    fn folders_are_parts_and_files_together_are_one() {
        let of = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            let parts = Part::of(&names);
            parts.iter().map(Part::shown).collect::<Vec<_>>()
        };
        assert_eq!(of(&["a.md", "b/", "c/", "d"]), ["b/", "c/", "files on top"]);
        assert_eq!(of(&["b/"]), ["b/"]);
        assert_eq!(of(&["x"]), ["files on top"]);
        assert!(of(&[]).is_empty());
    }
}
