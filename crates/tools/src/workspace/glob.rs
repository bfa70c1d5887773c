//! Search for files of a workspace by name.

use super::{Workspace, relative_path, run_blocking};
use crate::{search::SearchError, watch::GlobPattern};

impl Workspace {
    /// Returns the first `limit` files that match a glob, in the order of their paths, and whether there are more.
    /// Hidden files match only if the glob names one.
    pub async fn glob(&self, glob: &str, limit: usize) -> Result<(Vec<String>, bool), SearchError> {
        let (workspace, glob) = (self.clone(), glob.to_owned());
        run_blocking(move |stop| {
            workspace.check_readable()?;
            let pattern = GlobPattern::parse(&glob, &workspace.root)?;
            let builder = workspace.build_matching_walk(workspace.start_folder(), &pattern);
            let mut found = Vec::new();
            for entry in builder.build().filter_map(Result::ok) {
                if stop.is_cancelled() {
                    break;
                }
                let file = entry.file_type().is_some_and(|kind| kind.is_file());
                let path = relative_path(&workspace.root, entry.path());
                if !file
                    || !pattern.matches(path.as_ref())
                    || !workspace.filter.allows(entry.path())
                {
                    continue;
                }
                if found.len() == limit {
                    return Ok((found, true));
                }
                found.push(path);
            }
            Ok((found, false))
        })
        .await?
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn globs_skip_ignored_and_hidden_files() {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [
            (".gitignore", "target/\n*.log\n"),
            (".github/ci.yml", ""),
            (".git/config.yml", ""),
            ("a.rs", ""),
            ("a.log", ""),
            ("src/b.rs", ""),
            ("src/deep/c.rs", ""),
            ("src/secret.rs", ""),
            ("target/d.rs", ""),
        ] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let workspace = Workspace::new(dir.path()).with_filter(|path| !path.ends_with("secret.rs"));
        for (glob, expected) in [
            ("**/*.rs", "a.rs src/b.rs src/deep/c.rs"),
            ("*.rs", "a.rs"),
            ("src/**", "src/b.rs src/deep/c.rs"),
            ("**/*.yml", ""),
            (".github/*.yml", ".github/ci.yml"),
            (".git/*.yml", ""),
            ("*.log", ""),
            ("{src,target}/*.rs", "src/b.rs"),
            ("none/*", ""),
        ] {
            let (files, more) = workspace.glob(glob, 10).await.unwrap();
            assert_eq!(files.join(" "), expected, "{glob}");
            assert!(!more);
        }
        let (files, more) = workspace.glob("**/*.rs", 2).await.unwrap();
        assert_eq!((files.len(), more), (2, true));
        for glob in ["", "/etc/*", "../*", "src", "{a"] {
            let refused = workspace.glob(glob, 10).await;
            assert!(matches!(refused, Err(SearchError::Glob(_))), "{glob}");
        }
    }
}
