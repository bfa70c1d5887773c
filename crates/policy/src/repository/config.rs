//! The configuration of a repository. The parser accepts only the part of git's format that cannot be read in two
//! ways; the tables name the keys by which no program runs.

use crate::word_table::WordTable;

/// Keys without a subsection by which git runs no program and finds no other file.
const KEYS: WordTable = WordTable(
    "branch.autosetupmerge branch.autosetuprebase branch.sort commit.gpgsign commit.verbose core.abbrev \
     core.autocrlf core.bare core.checkstat core.commitgraph core.compression core.eol core.filemode \
     core.ignorecase core.logallrefupdates core.longpaths core.multipackindex core.precomposeunicode \
     core.preloadindex core.protecthfs core.protectntfs core.quotepath core.repositoryformatversion \
     core.safecrlf core.symlinks core.trustctime core.untrackedcache core.whitespace diff.algorithm \
     diff.colormoved diff.mnemonicprefix diff.noprefix diff.renames fetch.parallel fetch.prune \
     fetch.prunetags gc.auto init.defaultbranch lfs.repositoryformatversion log.abbrevcommit log.date \
     log.decorate merge.conflictstyle merge.ff pull.ff pull.rebase push.autosetupremote push.default \
     push.followtags rebase.autosquash rebase.autostash rebase.updaterefs rerere.autoupdate \
     rerere.enabled status.branch status.relativepaths status.short status.showstash \
     status.showuntrackedfiles tag.gpgsign tag.sort user.email user.name user.useconfigonly",
);

/// The same with a subsection.
const NAMED_KEYS: WordTable = WordTable(
    "branch.gh-merge-base branch.github-pr-owner-number branch.merge branch.pushremote branch.rebase \
     branch.remote branch.vscode-merge-base lfs.access lfs.locksverify remote.fetch remote.gh-resolved \
     remote.prune remote.pushurl remote.tagopt remote.url",
);

/// Sections of which every key only changes what git prints.
const PRINTED: WordTable = WordTable("advice color");

/// Returns what is wrong with a configuration, as the end of a sentence; none if all keys are harmless.
pub(super) fn find_risk(bytes: &[u8]) -> Option<String> {
    let unparsable = || Some("has a form that is not parsed here".to_owned());
    let Ok(text) = std::str::from_utf8(bytes) else {
        return unparsable();
    };
    let mut section = None;
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        // A backslash at the end continues the value on the next line.
        if line.contains(|sign: char| sign.is_control() && sign != '\t') || line.ends_with('\\') {
            return unparsable();
        }
        let mut rest = line.trim_start_matches(BLANKS);
        while let Some(after) = rest.strip_prefix('[') {
            let Some((head, after)) = ConfigSection::parse(after) else {
                return unparsable();
            };
            section = Some(head);
            rest = after.trim_start_matches(BLANKS);
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            continue;
        }
        let (Some(section), Some((key, value))) = (&section, split_entry(rest)) else {
            return unparsable();
        };
        if !section.allows(&key, value) {
            let name = section.name_key(&key);
            return Some(format!("sets {name}"));
        }
    }
    None
}

const BLANKS: [char; 2] = [' ', '\t'];

/// The head of a section: `[name]` or `[name "subsection"]`.
struct ConfigSection {
    name: String,
    subsection: Option<String>,
}

impl ConfigSection {
    /// Parses a head after its bracket, and returns the rest of the line.
    fn parse(text: &str) -> Option<(Self, &str)> {
        let end = text
            .find(|sign: char| !is_key_char(sign))
            .filter(|end| *end > 0)?;
        let (name, rest) = text.split_at(end);
        let name = name.to_ascii_lowercase();
        if let Some(rest) = rest.strip_prefix(']') {
            return Some((
                Self {
                    name,
                    subsection: None,
                },
                rest,
            ));
        }
        let quoted = rest.strip_prefix(BLANKS)?.trim_start_matches(BLANKS);
        let (subsection, rest) = quoted.strip_prefix('"')?.split_once('"')?;
        let rest = rest.strip_prefix(']')?;
        let subsection = Some(subsection.to_owned()).filter(|it| !it.contains('\\'))?;
        Some((
            Self {
                name,
                subsection: Some(subsection),
            },
            rest,
        ))
    }

    fn allows(&self, key: &str, value: &str) -> bool {
        let key = format!("{}.{key}", self.name);
        let known = match self.subsection {
            None => KEYS.has(&key),
            Some(_) => NAMED_KEYS.has(&key),
        };
        // The address of a remote may be a program (`ext::sh -c …`), or be taken for a flag of one.
        let is_address =
            matches!(self.name.as_str(), "branch" | "remote") && self.subsection.is_some();
        let is_plain = !value.contains(['"', '\\'])
            && !value.contains("::")
            && !value.contains("//-")
            && !value.starts_with(['-', '!']);
        PRINTED.has(&self.name) || (known && (is_plain || !is_address))
    }

    /// Returns the whole name of a key, without a long subsection.
    fn name_key(&self, key: &str) -> String {
        let subsection = self.subsection.as_deref().unwrap_or_default();
        match subsection.len() {
            0 => format!("{}.{key}", self.name),
            1..=40 => format!("{}.{subsection}.{key}", self.name),
            _ => format!("{}.….{key}", self.name),
        }
    }
}

/// Splits `key = value`, or a `key` alone, which means true.
fn split_entry(text: &str) -> Option<(String, &str)> {
    let end = text
        .find(|sign: char| !is_key_char(sign))
        .unwrap_or(text.len());
    let (key, rest) = text.split_at(end);
    if !key.starts_with(|sign: char| sign.is_ascii_alphabetic()) {
        return None;
    }
    let rest = rest.trim_start_matches(BLANKS);
    let value = match rest.strip_prefix('=') {
        Some(value) => value.trim_start_matches(BLANKS),
        None if rest.is_empty() => rest,
        None => return None,
    };
    Some((key.to_ascii_lowercase(), value))
}

fn is_key_char(sign: char) -> bool {
    sign == '-' || sign.is_ascii_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn risk(text: &str) -> String {
        find_risk(text.as_bytes()).unwrap_or_default()
    }

    #[test]
    fn harmless_configuration_has_no_risk() {
        for text in [
            "",
            "\n\n",
            "# a comment\n; another\n",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
            "[core]\r\n\tbare = false\r\n",
            "[CORE]\nBARE = false # a comment",
            "[core] bare = false",
            "[core]bare=false",
            "[core][user] name = A",
            "[core]\nbare",
            "[user]\n\tname = \"A \\\"B\\\" C\"\n\temail = a@b\n",
            "[remote \"origin\"]\n\turl = git@host:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[remote \"a.b/c d\"]\n\turl = https://host/a",
            "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "[color \"diff\"]\n\tmeta = yellow\n[advice]\n\tdetachedHead = false",
        ] {
            assert_eq!(risk(text), "", "{text:?}");
        }
    }

    #[test]
    fn every_other_key_is_a_risk() {
        for (text, key) in [
            ("[core]\nfsmonitor = x", "core.fsmonitor"),
            ("[core]\n\tfsMonitor", "core.fsmonitor"),
            ("[core] bare = false\n\n  FSMONITOR=x", "core.fsmonitor"),
            ("[user]\nname = a\n[core]\nfsmonitor = x", "core.fsmonitor"),
            ("[user][core] fsmonitor = x", "core.fsmonitor"),
            ("# [user]\n[core]\nhookspath = x", "core.hookspath"),
            ("[filter \"x\"]\nclean = x", "filter.x.clean"),
            ("[core \"x\"]\nbare = x", "core.x.bare"),
            ("[remote]\nurl = x", "remote.url"),
            ("[remote \"x\"]\nurl = ext::sh -c x", "remote.x.url"),
            ("[remote \"x\"]\nurl = \"ext\\:\\:sh\"", "remote.x.url"),
            ("[remote \"x\"]\nurl = --upload-pack=x", "remote.x.url"),
            (
                "[remote \"x\"]\nurl = ssh://-oProxyCommand=x/",
                "remote.x.url",
            ),
            ("[branch \"x\"]\nremote = ext::x", "branch.x.remote"),
            ("[branch \"x\"]\nrebase = !x", "branch.x.rebase"),
            ("[remote \"x\"]\nuploadpack = x", "remote.x.uploadpack"),
            ("[include]\npath = x", "include.path"),
            (
                "[extensions]\nworktreeConfig = true",
                "extensions.worktreeconfig",
            ),
            ("[-]\nx = y", "-.x"),
        ] {
            assert_eq!(risk(text), format!("sets {key}"));
        }
        let long = risk(&format!("[remote \"{}\"]\nreceivepack = x", "a".repeat(41)));
        assert!(long.starts_with("sets remote.….receivepack"), "{long}");
        let shorter = risk(&format!("[remote \"{}\"]\nreceivepack = x", "a".repeat(40)));
        assert!(shorter.contains("aaa"), "{shorter}");
    }

    #[test]
    fn form_that_could_be_read_in_two_ways_is_a_risk() {
        for text in [
            "bare = false",
            "[core]\nbare = false \\\nx",
            "[core]\nbare = false # \\\n",
            "[core]\nba\0re = false",
            "[core]\n\u{b}bare = false",
            "[core]\rbare = false",
            "\u{feff}[core]\nbare = false",
            "[core.x]\nbare = false",
            "[]\nbare = false",
            "[core\nbare = false",
            "[core x]\nbare = false",
            "[core\"x\"]\nbare = false",
            "[remote \"x]\nurl = a",
            "[remote \"x\" ]\nurl = a",
            "[remote \"x\\\\\"]\nurl = a",
            "[core]\nbare false",
            "[core]\nbare # x",
            "[core]\n1bare = false",
            "[core]\n-bare = false",
            "[core]\nba_re = false",
            "[core]\nbare: false",
            "{\n",
        ] {
            assert_eq!(risk(text), "has a form that is not parsed here", "{text:?}");
        }
        assert!(find_risk(b"[user]\nname = \xff").is_some());
    }
}
