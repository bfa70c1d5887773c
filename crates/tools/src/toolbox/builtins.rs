//! The built-in tools as an agent of ours calls them: typed, and shown the way a person looks at them.

use std::path::{Path, PathBuf};

use harn_runtime::{AgentError, TurnContext};

use super::Toolbox;
use crate::{
    Found, Grepped, Query, Survey,
    builtin::{FileRead, Part, Ran, find, list, read, write},
};

impl Toolbox {
    /// `read_file`, shown around a line.
    pub async fn read_file(
        &self,
        cx: &TurnContext,
        path: &str,
        line: Option<u32>,
    ) -> Result<FileRead, AgentError> {
        let input = read::input(path, line);
        let file = self.kit.read(cx, input, read::View::Window).await?;
        self.note_read(cx, Path::new(&file.path)).await?;
        Ok(file)
    }

    /// `write_file`. Returns where it was written.
    pub async fn write_file(
        &self,
        cx: &TurnContext,
        path: &str,
        text: &str,
    ) -> Result<PathBuf, AgentError> {
        let written = write::write(cx, write::input(path, text)).await?;
        Ok(written.target)
    }

    /// `run_command`, until it ends or the turn is cancelled.
    pub async fn run_command(&self, cx: &TurnContext, line: &str) -> Result<Ran, AgentError> {
        self.kit.run_line(cx, line).await
    }

    /// `search`. `keep` takes what is needed to rank the places together with those of other parts.
    pub async fn search(
        &self,
        cx: &TurnContext,
        part: Part,
        query: Query,
        limit: usize,
        keep: impl FnOnce(Survey) + Send,
    ) -> Result<Found, AgentError> {
        find::search(cx, part, query, limit, keep).await
    }

    /// `grep`.
    pub async fn grep(&self, cx: &TurnContext, pattern: &str) -> Result<Grepped, AgentError> {
        find::grep(cx, pattern).await
    }

    /// `list_files` of the session's directory.
    pub async fn list_files(&self, cx: &TurnContext) -> Result<Vec<String>, AgentError> {
        let listed = list::list(cx, list::everything(cx)).await?;
        Ok(listed.0)
    }
}
