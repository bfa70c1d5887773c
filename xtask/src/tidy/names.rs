//! Checks the names of types: a reader who searches for a name finds one meaning.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{is_test_file, product_code};
use crate::repo::File;

/// The largest share of type names that are a single word, in percent.
const ONE_WORD_PERCENT: usize = 35;
/// The number of crates that may have a private type of the same name.
const SAME_NAME: usize = 2;

/// Words that describe what happened to a thing and not what it is. Add a new one when a review finds it.
const PARTICIPLES: [&str; 40] = [
    "Accepted",
    "Allowed",
    "Answered",
    "Asked",
    "Attached",
    "Begun",
    "Broken",
    "Changed",
    "Closed",
    "Counted",
    "Declared",
    "Decided",
    "Delivered",
    "Denied",
    "Ended",
    "Equipped",
    "Found",
    "Given",
    "Heard",
    "Held",
    "Judged",
    "Kept",
    "Known",
    "Lent",
    "Listed",
    "Located",
    "Named",
    "Opened",
    "Pending",
    "Queued",
    "Recovered",
    "Refused",
    "Said",
    "Seen",
    "Settled",
    "Standing",
    "Taken",
    "Told",
    "Waiting",
    "Wanted",
];

/// A type that a crate defines.
#[derive(Debug)]
pub(crate) struct TypeName<'a> {
    crate_name: &'a str,
    path: &'a str,
    line: usize,
    pub(crate) name: &'a str,
    is_public: bool,
}

impl TypeName<'_> {
    pub(crate) fn is_one_word(&self) -> bool {
        !self.name.chars().skip(1).any(char::is_uppercase)
    }
}

/// Checks that every name has one meaning, and that most names state a role.
pub(super) fn types(files: &[File]) -> Vec<String> {
    let types = defined_types(files);
    let mut problems = Vec::new();
    let single = types.iter().filter(|it| it.is_one_word()).count();
    if single * 100 > types.len() * ONE_WORD_PERCENT {
        problems.push(format!(
            "{single} of {} types have a name of one word; at most {ONE_WORD_PERCENT} % may: give new types a noun and its role",
            types.len()
        ));
    }
    let mut by_name = BTreeMap::<&str, Vec<&TypeName<'_>>>::new();
    for it in &types {
        by_name.entry(it.name).or_default().push(it);
        if PARTICIPLES.contains(&it.name) {
            let (path, line, name) = (it.path, it.line, it.name);
            problems.push(format!(
                "{path}:{line}: {name} does not state what the type is; name it by its role"
            ));
        }
    }
    for (name, same) in by_name {
        let crates: BTreeSet<_> = same.iter().map(|it| it.crate_name).collect();
        let is_public = same.iter().any(|it| it.is_public);
        if same.len() > crates.len() || same.len() > SAME_NAME || (is_public && same.len() > 1) {
            let places = same.iter().map(|it| format!("{}:{}", it.path, it.line));
            let places = places.collect::<Vec<_>>().join(", ");
            problems.push(format!(
                "{name} names {} types ({places}); give each a name of its own",
                same.len()
            ));
        }
    }
    problems
}

/// Returns the types of all crates. Files that replace others under a cargo feature, and a second type of a name in
/// one file, which is for another system, do not count.
pub(crate) fn defined_types(files: &[File]) -> Vec<TypeName<'_>> {
    let mut types = Vec::new();
    for file in files {
        let mut parts = file.path.split('/');
        let (Some("crates"), Some(crate_name), Some("src")) =
            (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if !file.path.ends_with(".rs")
            || file.path.ends_with("_absent.rs")
            || is_test_file(&file.path)
        {
            continue;
        }
        let mut seen = BTreeSet::new();
        for (index, line) in product_code(&file.text).lines().enumerate() {
            let Some((is_public, name)) = definition(line) else {
                continue;
            };
            if seen.insert(name) {
                types.push(TypeName {
                    crate_name,
                    path: &file.path,
                    line: index + 1,
                    name,
                    is_public,
                });
            }
        }
    }
    types
}

/// Returns the type whose definition begins on a line, and whether it is public.
fn definition(line: &str) -> Option<(bool, &str)> {
    let code = line.trim_start();
    let (is_public, code) = match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => (false, rest.split_once(") ")?.1),
        Some(rest) => (true, rest.strip_prefix(' ')?),
        None => (false, code),
    };
    let (keyword, rest) = code.split_once(' ')?;
    // An indented `type` belongs to a trait, which gives it its name.
    let is_type = match keyword {
        "struct" | "enum" | "trait" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    let name = &rest[..end.unwrap_or(rest.len())];
    (is_type && name.starts_with(char::is_uppercase)).then_some((is_public, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    fn find_problems(sources: &[(&str, &str)]) -> Vec<String> {
        // Enough names of two words to keep the share small.
        let filler = (0..20).map(|at| format!("struct FillerName{at};\n"));
        let filler = file("crates/z/src/filler.rs", &filler.collect::<String>());
        let files = sources.iter().map(|(path, text)| file(path, text));
        types(&files.chain([filler]).collect::<Vec<_>>())
    }

    #[test]
    fn public_name_occurs_once() {
        let (a, b) = ("crates/a/src/x.rs", "crates/b/src/y.rs");
        let problems = find_problems(&[(a, "pub struct Room {\n"), (b, "struct Room;\n")]);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains("crates/a/src/x.rs:1, crates/b/src/y.rs:1"));
        assert!(find_problems(&[(a, "struct Room {\n"), (b, "struct Room;\n")]).is_empty());
    }

    #[test]
    fn private_name_occurs_once_in_its_crate_and_twice_in_all() {
        let (a, b) = ("crates/a/src/x.rs", "crates/a/src/y.rs");
        let room = "enum Room {\n";
        assert_eq!(find_problems(&[(a, room), (b, room)]).len(), 1);
        let in_three = [
            "crates/a/src/x.rs",
            "crates/b/src/x.rs",
            "crates/c/src/x.rs",
        ];
        assert_eq!(find_problems(&in_three.map(|path| (path, room))).len(), 1);
    }

    #[test]
    fn participle_as_a_type_name_is_found() {
        let problems =
            find_problems(&[("crates/a/src/x.rs", "    pub(crate) struct Told<'a> {\n")]);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("crates/a/src/x.rs:1: Told "));
    }

    #[test]
    fn share_of_one_word_names_is_bounded() {
        let words: String = (0..20).map(|at| format!("struct Word{at};\n")).collect();
        let problems = find_problems(&[("crates/a/src/x.rs", &words)]);
        assert!(problems[0].starts_with("20 of 40 types"), "{problems:?}");
    }

    #[test]
    fn absent_files_tests_and_types_of_traits_do_not_count() {
        let room = "struct Room;\n";
        let problems = find_problems(&[
            ("crates/a/src/x.rs", "struct Room;\n    type Told = u8;\n"),
            ("crates/a/src/x_absent.rs", room),
            ("crates/a/src/x/tests.rs", room),
            (
                "crates/a/src/y.rs",
                "#[cfg(test)]\nmod tests {\n    struct Room;\n}\n",
            ),
        ]);
        assert!(problems.is_empty(), "{problems:?}");
    }
}
