//! What the disk shows about the commands of a line: the words that lead elsewhere through links, and whether git
//! may run a program of the repository. A rule with `*` and mode `auto` judge a command by its words, which show
//! neither. Reads the disk through a [`PathProbe`] only.

use crate::{
    LocatedPath, PathProbe, SessionRoots, command_paths,
    line_folders::{entered_folders, start_folders},
    path::{LinkSearch, normalise_text},
    repository,
    shell::{self, Redirect, ShellLine, SimpleCommand},
    word_table::WordTable,
};

/// The limit of paths that are followed for a line: following one costs some microseconds.
const MOST_PATHS: usize = 1 << 13;

/// The limit of letters before a value in one word, such as `-xvflink`.
const MOST_LETTERS: usize = 8;

/// Programs that write files named like their sources into a folder.
const COPIERS: WordTable = WordTable("cp gcp mv gmv ln gln install ginstall rsync");

/// What the disk shows about the commands of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandFindings {
    /// In the order of the commands.
    commands: Vec<LinkedWords>,
    /// In the order of the redirections.
    redirects: Vec<LinkedWords>,
    /// The targets of all links, as absolute paths.
    targets: Vec<String>,
    /// The reason why git may run a program of the repository. Only checked if the line runs git to read.
    repository_risk: Option<String>,
}

/// The links in the words of one command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LinkedWords {
    /// The first that leads, or may lead, out of the session's directories.
    outside: Option<String>,
    /// The first word that leads to a path that is never written.
    protected: Option<String>,
    /// The first word that leads to a path whose content decides what the server runs.
    configuration: Option<String>,
}

impl LinkedWords {
    fn set_outside(&mut self, word: &str) {
        self.outside.get_or_insert_with(|| word.to_owned());
    }
}

impl CommandFindings {
    /// Looks up the words of a line on the disk. `paths` are those that the call declares.
    pub fn read(
        roots: &SessionRoots,
        paths: &[LocatedPath],
        line: &ShellLine,
        probe: &dyn PathProbe,
    ) -> Self {
        let workspace = roots.dirs().first().and_then(|dir| dir.to_str());
        let workspace = normalise_text(workspace.unwrap_or("/"));
        let starts = start_folders(&workspace, paths, line);
        let entered = entered_folders(line, &starts);
        let folders = entered.as_ref().map(|entered| {
            let entered = entered.iter().map(String::as_str);
            starts.iter().copied().chain(entered).collect()
        });
        let mut survey = LinkSurvey {
            search: LinkSearch::new(roots, probe),
            folders,
            looked: 0,
            targets: Vec::new(),
        };
        let commands = line.commands.iter();
        let commands = commands
            .map(|command| survey.follow_command(command))
            .collect();
        let redirects = line.redirects.iter();
        let redirects = redirects
            .map(|redirect| survey.follow_redirect(redirect))
            .collect();
        let runs_git = line
            .commands
            .iter()
            .any(|it| shell::is_git(it) && shell::is_read_only(it));
        let repository_risk = runs_git.then(|| match survey.search.workspace() {
            Some(workspace) => repository::find_risk(workspace, probe),
            None => Some("the session's directory cannot be resolved".to_owned()),
        });
        Self {
            commands,
            redirects,
            targets: survey.targets,
            repository_risk: repository_risk.flatten(),
        }
    }

    /// Whether a word of the command at this index leads out of the session's directories through a link.
    pub(crate) fn leads_out(&self, command: usize) -> bool {
        self.commands
            .get(command)
            .is_some_and(|it| it.outside.is_some())
    }

    /// Whether the redirection at this index leads out through a link.
    pub(crate) fn redirect_leads_out(&self, redirect: usize) -> bool {
        self.redirects
            .get(redirect)
            .is_some_and(|it| it.outside.is_some())
    }

    /// Returns a word of the command at this index that leads to a path that is never written.
    pub(crate) fn protected_word(&self, command: usize) -> Option<&str> {
        self.commands.get(command)?.protected.as_deref()
    }

    /// Returns a word of the command at this index that leads to a path whose content decides what the server runs.
    pub(crate) fn configuration_word(&self, command: usize) -> Option<&str> {
        self.commands.get(command)?.configuration.as_deref()
    }

    /// Returns the redirection at this index if it leads to such a path.
    pub(crate) fn configuration_redirect(&self, redirect: usize) -> Option<&str> {
        self.redirects.get(redirect)?.configuration.as_deref()
    }

    /// Whether the redirection at this index leads to a path that is never written.
    pub(crate) fn is_redirect_protected(&self, redirect: usize) -> bool {
        self.redirects
            .get(redirect)
            .is_some_and(|it| it.protected.is_some())
    }

    /// Returns the first word or redirection that leads out through a link.
    pub(crate) fn outside_word(&self) -> Option<&str> {
        let mut all = self.commands.iter().chain(&self.redirects);
        all.find_map(|it| it.outside.as_deref())
    }

    /// Returns the reason why git may run a program of the repository.
    pub(crate) fn repository_risk(&self) -> Option<&str> {
        self.repository_risk.as_deref()
    }

    /// Returns the targets of all links, for ask and deny rules about paths.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &str> {
        self.targets.iter().map(String::as_str)
    }
}

/// The search for links in the words of one line.
struct LinkSurvey<'a> {
    search: LinkSearch<'a>,
    /// The folders in which its commands may run; none if there are too many.
    folders: Option<Vec<&'a str>>,
    looked: usize,
    targets: Vec<String>,
}

impl LinkSurvey<'_> {
    fn follow_redirect(&mut self, redirect: &Redirect) -> LinkedWords {
        let mut found = LinkedWords::default();
        self.follow_word(&redirect.path, &redirect.path, &mut found);
        found
    }

    fn follow_command(&mut self, command: &SimpleCommand) -> LinkedWords {
        let mut found = LinkedWords::default();
        if shell::uses_no_files(command) {
            return found;
        }
        let words = command.argv.get(1..).unwrap_or_default();
        for word in words {
            for piece in command_paths::path_candidates(word).chain(values_after_letters(word)) {
                self.follow_word(piece, word, &mut found);
            }
        }
        let program = command
            .argv
            .first()
            .map(|program| shell::program_name(program));
        if let Some(program) = program.filter(|program| COPIERS.has(program)) {
            self.follow_copies(&program, words, &mut found);
        }
        found
    }

    /// Follows the files that a program writes into a folder by the names of its sources. One that copies folders
    /// into existing ones may follow any link in them.
    fn follow_copies(&mut self, program: &str, words: &[String], found: &mut LinkedWords) {
        let has_flag = |letters: &[char], long: &str| {
            words.iter().any(|word| match word.strip_prefix("--") {
                Some(rest) => !rest.is_empty() && rest.starts_with(long),
                None => word.starts_with('-') && word.contains(letters),
            })
        };
        let copies_folders = has_flag(&['r', 'R', 'a'], "r") || has_flag(&[], "a");
        let pieces = |words: &[String]| -> Vec<String> {
            let pieces = words
                .iter()
                .flat_map(|word| command_paths::path_candidates(word));
            pieces.map(str::to_owned).collect()
        };
        let sources = pieces(words);
        let places = match has_flag(&['t'], "t") {
            true => sources.clone(),
            false => pieces(words.last().map_or(&[], std::slice::from_ref)),
        };
        let replaces = has_flag(&['T'], "no-t");
        // The first folder is the session's directory.
        let workspace = self
            .folders
            .iter()
            .flatten()
            .next()
            .copied()
            .unwrap_or_default();
        let shown = |path: &str| {
            let inside = command_paths::strip_workspace(path, workspace);
            inside.unwrap_or(path).to_owned()
        };
        for place in self.folders_named(&places) {
            if copies_folders && replaces {
                found.set_outside(&shown(&place));
            }
            for source in &sources {
                let name = source
                    .trim_end_matches('/')
                    .rsplit('/')
                    .next()
                    .unwrap_or_default();
                let target = format!("{place}/{name}");
                let merges = matches!(name, "" | "." | "..")
                    || (program == "rsync" && source.ends_with('/'))
                    || self.search.is_folder(&target);
                if self.is_spent() || (copies_folders && merges) {
                    found.set_outside(&shown(&target));
                }
                self.follow_word(&target, &shown(&target), found);
            }
        }
    }

    /// Returns those of these paths that are folders, as absolute paths.
    fn folders_named(&mut self, paths: &[String]) -> Vec<String> {
        let starts = self.folders.clone().unwrap_or_default();
        let all = paths.iter().flat_map(|path| {
            let starts = starts.iter();
            starts.map(move |start| command_paths::make_absolute(path, start).into_owned())
        });
        let all: Vec<_> = all.take(MOST_PATHS).collect();
        all.into_iter()
            .filter(|path| self.search.is_folder(path))
            .collect()
    }

    /// Follows a path from each folder. `word` is the word that it is part of.
    fn follow_word(&mut self, path: &str, word: &str, found: &mut LinkedWords) {
        let Some(folders) = self.folders.clone() else {
            return found.set_outside(word);
        };
        for folder in folders {
            if self.is_spent() {
                return found.set_outside(word);
            }
            let Some(target) = self
                .search
                .find_target(&command_paths::make_absolute(path, folder))
            else {
                continue;
            };
            if target.is_outside {
                found.set_outside(word);
            }
            if target.is_protected {
                found.protected.get_or_insert_with(|| word.to_owned());
            }
            if target.is_configuration {
                found.configuration.get_or_insert_with(|| word.to_owned());
            }
            self.targets.extend(target.real);
        }
    }

    /// Counts a look, and returns whether there were too many.
    fn is_spent(&mut self) -> bool {
        self.looked += 1;
        self.looked > MOST_PATHS
    }
}

/// Returns the texts that may be the value after several short flags in one word: `-xvflink`.
fn values_after_letters(word: &str) -> impl Iterator<Item = &str> {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let starts = letters.into_iter().flat_map(str::char_indices);
    // The text after the first letter is among the candidates of the word.
    let starts = starts.map(|(at, _)| at).skip(2).take(MOST_LETTERS);
    starts.filter_map(move |at| letters.and_then(|letters| letters.get(at..)))
}
