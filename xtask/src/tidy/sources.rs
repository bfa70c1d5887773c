//! Checks on Rust source text: headers, length, leftovers, and the one place for vendor data.

use crate::repo::File;

/// The most lines a file may have before its tests.
const MAX_LINES: usize = 500;

/// Words of unfinished work, which must not be committed.
const LEFTOVERS: [&str; 4] = ["todo!", "unimplemented!", "dbg!", "FIXME"];

/// Checks that every source file begins with a comment about what it owns.
pub(super) fn module_docs(files: &[File]) -> Vec<String> {
    rust_files(files)
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| {
            format!(
                "{}: does not open with `//!`; begin with one to six lines that state what the file \
                 owns and what it must not touch",
                file.path
            )
        })
        .collect()
}

/// Checks that no file is so long that it should be split.
pub(super) fn length(files: &[File]) -> Vec<String> {
    rust_files(files)
        .filter(|file| !is_test_file(&file.path))
        .filter_map(|file| {
            let lines = product_code(&file.text).lines().count();
            (lines > MAX_LINES).then(|| {
                format!(
                    "{}: {lines} lines before its tests; split it by noun, {MAX_LINES} is the most",
                    file.path
                )
            })
        })
        .collect()
}

/// Checks that nothing unfinished is committed.
pub(super) fn leftovers(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    // These checks have to name what they search for.
    for file in rust_files(files).filter(|file| !file.path.starts_with("xtask/")) {
        for (number, line) in numbered_lines(&file.text) {
            for word in LEFTOVERS.iter().filter(|word| has_word(line, word)) {
                problems.push(format!(
                    "{}:{number}: `{word}` is left over; finish it or return a typed error",
                    file.path
                ));
            }
        }
    }
    problems
}

/// Checks that in the whole workspace only `ext/` of the ACP front-end names the vendor's key. The test kit with
/// its made-up clients is exempt.
pub(super) fn vendor_key(files: &[File]) -> Vec<String> {
    let is_closed = |file: &&File| {
        let open = ["crates/acp/src/ext/", "crates/testkit/"];
        file.path.starts_with("crates/") && !open.iter().any(|open| file.path.starts_with(open))
    };
    find_lines(files, is_closed, names_vendor_key, |place| {
        format!(
            "{place}: the key \"harn\" outside of crates/acp/src/ext/; only ext reads and writes vendor data, call a \
             function of ext or of harn_acp::client instead"
        )
    })
}

/// Checks that the crates that read files of workspaces open them in one place, which accepts regular files only.
pub(super) fn file_reads(files: &[File]) -> Vec<String> {
    const READ_FILES: [&str; 3] = ["crates/tools/", "crates/engines/", "crates/serve/"];
    let is_closed = |file: &&File| {
        let reads = READ_FILES
            .iter()
            .any(|closed| file.path.starts_with(closed));
        reads && file.path != "crates/tools/src/regular_file.rs"
    };
    let opens = |line: &str| {
        let words = ["fs::read(", "fs::read_to_string(", "File::open("];
        // A folder is opened to make the names in it durable.
        words.iter().any(|word| line.contains(word)) && !line.contains(".sync_all()")
    };
    find_lines(files, is_closed, opens, |place| {
        format!(
            "{place}: opens a file that may be a pipe or endless; read it with `read_regular_file` of harn_tools"
        )
    })
}

/// The crates that may name methods of ACP: the front-end, the checker, the client, their tests and benchmarks.
const NAME_ACP_METHODS: [&str; 5] = [
    "crates/acp/",
    "crates/conformance/",
    "crates/terminal/",
    "crates/testkit/",
    "crates/bench/",
];

/// Checks that no other crate names a method of ACP.
pub(super) fn acp_methods(files: &[File]) -> Vec<String> {
    let is_closed = |file: &&File| {
        let open = NAME_ACP_METHODS;
        file.path.starts_with("crates/") && !open.iter().any(|open| file.path.starts_with(open))
    };
    find_lines(files, is_closed, names_acp_method, |place| {
        format!(
            "{place}: a method of ACP; only {} name them, the wire ends there",
            NAME_ACP_METHODS.join(", ")
        )
    })
}

/// Whether a line names a method of ACP, or one of the extensions.
fn names_acp_method(line: &str) -> bool {
    const BEGINNINGS: [&str; 5] = ["session/", "fs/read_", "fs/write_", "terminal/", "_harn/"];
    let is_comment = line.trim_start().starts_with("//");
    let named = |start: &str| line.contains(&format!("\"{start}"));
    !is_comment && BEGINNINGS.iter().any(|start| named(start))
}

/// Returns the lines of production code that are wrong, as problems.
fn find_lines(
    files: &[File],
    is_looked_at: impl Fn(&&File) -> bool,
    is_wrong: impl Fn(&str) -> bool,
    problem: impl Fn(String) -> String,
) -> Vec<String> {
    let files = rust_files(files).filter(is_looked_at);
    let files = files.filter(|file| !is_test_file(&file.path));
    let wrong = files.flat_map(|file| {
        let lines = numbered_lines(product_code(&file.text)).filter(|(_, line)| is_wrong(line));
        lines.map(|(number, _)| format!("{}:{number}", file.path))
    });
    wrong.map(problem).collect()
}

/// Whether a line uses `"harn"` as a key. In the arm of a match the same word is the name of a profile, and
/// comments may contain it.
fn names_vendor_key(line: &str) -> bool {
    let code = line.trim_start();
    if code.starts_with("//") {
        return false;
    }
    code.contains("\\\"harn\\\"")
        || code.match_indices("\"harn\"").any(|(at, word)| {
            let before = code[..at].trim_end();
            let after = code[at + word.len()..].trim_start();
            let is_arm = ["=>", ") =>", "|"].iter().any(|s| after.starts_with(s));
            // A value, such as the name of the profile, or the name of a folder.
            let values = ["=>", "=> Some(", ":", ".join("];
            !is_arm && !values.iter().any(|value| before.ends_with(value))
        })
}

fn rust_files(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| file.path.ends_with(".rs"))
}

fn numbered_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
}

pub(crate) fn is_test_file(path: &str) -> bool {
    path.split('/')
        .any(|part| matches!(part, "tests" | "benches" | "tests.rs"))
}

/// Returns the text before the test module; all of it if the tests are in a file of their own.
pub(crate) fn product_code(text: &str) -> &str {
    let mut from = 0;
    while let Some(found) = text[from..].find("#[cfg(test)]\n") {
        let at = from + found;
        let next = at + "#[cfg(test)]\n".len();
        let item = text[next..]
            .lines()
            .find(|line| !line.trim_start().starts_with("#["));
        if item.is_some_and(|line| {
            let line = line.trim_start_matches("pub(crate) ");
            let line = line.trim_start_matches("pub(super) ");
            line.starts_with("mod ") && line.ends_with('{')
        }) {
            return &text[..at];
        }
        from = next;
    }
    text
}

/// Whether `line` contains `word`, and not as the end of a longer name.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[test]
    fn a_file_without_module_docs_is_found() {
        let files = [
            file("a.rs", "use std::fmt;\n//! too late\n"),
            file("b.rs", "//! What b owns.\n"),
            file("c.md", "use"),
        ];
        let problems = module_docs(&files);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("a.rs: "), "{problems:?}");
    }

    #[test]
    fn a_long_file_is_found_and_its_tests_are_not_counted() {
        let lines = |count: usize| "fn f() {}\n".repeat(count);
        let tests = format!(
            "#[cfg(test)]\n#[allow(x)]\nmod tests {{\n{}}}\n",
            lines(900)
        );
        let apart = format!("#[cfg(test)]\nmod tests;\n{}", lines(499));
        let found = |path: &str, text: &str| length(&[file(path, text)]);
        assert!(found("a.rs", &(lines(500) + &tests)).is_empty());
        assert!(found("tests/a.rs", &lines(900)).is_empty());
        assert!(found("crates/x/benches/a.rs", &lines(900)).is_empty());
        assert!(found("a.rs", &lines(501))[0].starts_with("a.rs: 501 lines"));
        assert!(found("a.rs", &apart)[0].starts_with("a.rs: 501 lines"));
    }

    #[test]
    fn leftovers_are_found_with_their_line() {
        for word in LEFTOVERS {
            let text = format!("//! a\nfn f() {{ {word}() }}\n");
            let problems = leftovers(&[file("a.rs", &text)]);
            assert_eq!(problems.len(), 1, "{word}");
            assert!(problems[0].starts_with("a.rs:2: "), "{problems:?}");
        }
        assert!(leftovers(&[file("a.rs", "mytodo!()")]).is_empty());
        assert!(leftovers(&[file("xtask/src/a.rs", "dbg!")]).is_empty());
        assert!(leftovers(&[file("a.md", "FIXME")]).is_empty());
    }

    #[test]
    fn plain_read_of_a_file_is_found() {
        let line = "let text = fs::read_to_string(path)?;";
        let at = |path: &str| file_reads(&[file(path, line)]).len();
        assert_eq!(at("crates/tools/src/a.rs"), 1);
        assert_eq!(at("crates/serve/src/net/a.rs"), 1);
        assert_eq!(at("crates/serve/tests/it/a.rs"), 0);
        assert_eq!(at("crates/tools/src/regular_file.rs"), 0);
        assert_eq!(at("crates/terminal/src/a.rs"), 0);
        let folder = "File::open(folder)?.sync_all()?;";
        assert!(file_reads(&[file("crates/serve/src/a.rs", folder)]).is_empty());
    }

    #[test]
    fn acp_method_is_found_outside_the_acp_crates() {
        let line = "let method = \"session/prompt\";";
        let at = |path: &str| acp_methods(&[file(path, line)]).len();
        assert_eq!(at("crates/runtime/src/a.rs"), 1);
        assert_eq!(at("crates/serve/src/a.rs"), 1);
        assert_eq!(at("crates/runtime/tests/it/a.rs"), 0);
        assert_eq!(at("crates/terminal/src/a.rs"), 0);
        let other = "// as \"session/prompt\" does\nlet path = \"sessions/a\";";
        assert!(acp_methods(&[file("crates/runtime/src/a.rs", other)]).is_empty());
    }

    #[test]
    fn vendor_key_is_found_outside_ext() {
        let keys = [
            r#"json!({"harn": 1})"#,
            r#"meta.get("harn")"#,
            r#"map.insert("harn".into(), v)"#,
            r#"#[serde(rename = "harn")]"#,
            r#"let line = "{\"harn\":1}";"#,
        ];
        for key in keys {
            let at = |path: &str| vendor_key(&[file(path, key)]).len();
            assert_eq!(at("crates/acp/src/to_wire.rs"), 1, "{key}");
            assert_eq!(at("crates/acp/src/ext/meta.rs"), 0, "{key}");
            assert_eq!(at("crates/acp/tests/wire.rs"), 0, "{key}");
            assert_eq!(at("crates/terminal/src/run.rs"), 1, "{key}");
            assert_eq!(at("crates/testkit/src/host.rs"), 0, "{key}");
        }
        for name in [
            r#"Self::Harn => "harn","#,
            r#"Self::Harn => Some("harn"),"#,
            r#"json!({"profile": "harn"})"#,
            r#"base.join("harn")"#,
            r#""harn" => Ok(Self::Harn),"#,
            r#"Some("harn") => Profile::Harn,"#,
            r#"// the key "harn" is written in ext"#,
            "#[cfg(test)]\nmod tests {\n\"harn\":\n}",
        ] {
            let found = vendor_key(&[file("crates/acp/src/profile.rs", name)]);
            assert!(found.is_empty(), "{found:?}");
        }
    }
}
