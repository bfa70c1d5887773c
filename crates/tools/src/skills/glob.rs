//! Globs over paths in skills: `*` within a name, `**` across folders, `**/` also for none, `?` for one character of a
//! name. All other characters are literal. Never reads the disk.

use regex::Regex;

/// Whether a glob matches a path with `/` as separator. Takes time in proportion to both lengths for any glob; a glob
/// that is too long to compile matches nothing.
pub(super) fn matches(glob: &str, path: &str) -> bool {
    let mut pattern = String::from("(?s)^");
    let mut rest = glob.trim_start_matches("./");
    while let Some(c) = rest.chars().next() {
        let (part, means) = [
            ("**/", "(?:.*/)?"),
            ("**", ".*"),
            ("*", "[^/]*"),
            ("?", "[^/]"),
        ]
        .into_iter()
        .find(|(part, _)| rest.starts_with(part))
        .map_or((c.len_utf8(), None), |(part, means)| {
            (part.len(), Some(means))
        });
        match means {
            Some(means) => pattern.push_str(means),
            None => pattern.push_str(&regex::escape(&rest[..part])),
        }
        rest = &rest[part..];
    }
    let regex = Regex::new(&(pattern + "$"));
    regex.is_ok_and(|regex| regex.is_match(path.trim_start_matches("./")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_paths() {
        let table = [
            ("infra/**", "infra/terraform/cluster.tf", true),
            ("infra/**", "infra/a", true),
            ("infra/**", "infra", false),
            ("infra/**", "src/infra/a", false),
            ("*.rs", "a.rs", true),
            ("*.rs", "src/a.rs", false),
            ("**.rs", "src/a.rs", true),
            ("**/*.rs", "a.rs", true),
            ("**/*.rs", "src/deep/a.rs", true),
            ("src/**/a.rs", "src/a.rs", true),
            ("src/**/a.rs", "src/x/y/a.rs", true),
            ("src/**/a.rs", "src/xa.rs", false),
            ("src/?.rs", "src/a.rs", true),
            ("src/?.rs", "src/.rs", false),
            ("src?a.rs", "src/a.rs", false),
            ("Dockerfile", "Dockerfile", true),
            ("Dockerfile", "x/Dockerfile", false),
            ("./a/*", "a/b", true),
            ("a/[b]", "a/[b]", true),
            ("a/[b]", "a/b", false),
            ("größe/?", "größe/ü", true),
            ("**", "any/thing", true),
            ("", "", true),
            ("", "a", false),
        ];
        for (glob, path, expected) in table {
            assert_eq!(matches(glob, path), expected, "{glob} on {path}");
        }
    }

    #[test]
    fn long_glob_matches_in_bounded_time() {
        let glob = "**/*a".repeat(200);
        assert!(!matches(&glob, &"a/".repeat(2_000)));
    }
}
