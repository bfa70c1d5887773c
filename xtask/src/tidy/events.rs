//! Checks on matches over events: no default arm, and few files that list every event.

use crate::repo::File;

/// The table of events, with one row for each.
const TABLE: &str = "crates/model/src/event/table.rs";

/// The most files that may name every event: a new event changes them all.
const MAX_FILES: usize = 5;

/// The prefixes of the enums through which events are matched.
const EVENT_ENUMS: [&str; 4] = [
    "AgentEvent::",
    "EventFamily::",
    "OrderedEvent::",
    "StampedEvent::",
];

/// Checks that a match over events lists them or their families, so that the compiler reports it to the author of a
/// new event.
pub(super) fn default_arms(files: &[File]) -> Vec<String> {
    let members: Vec<_> = families(table(files))
        .map(|name| format!("{name}::"))
        .collect();
    let enums = || {
        EVENT_ENUMS
            .into_iter()
            .chain(members.iter().map(String::as_str))
    };
    let mut problems = Vec::new();
    for file in production_files(files) {
        let code = super::sources::product_code(&file.text);
        for (number, arms) in find_matches(code) {
            let is_over_events = arms
                .iter()
                .any(|arm| enums().any(|name| arm.contains(name)));
            if is_over_events && arms.iter().any(|arm| is_default(arm)) {
                problems.push(format!(
                    "{}:{number}: a match over events has a default arm; list the events, or match \
                     `AgentEvent::family()` and list the families",
                    file.path
                ));
            }
        }
    }
    problems
}

/// Checks that a new event changes few files: code that concerns some events only matches families.
pub(super) fn complete_lists(files: &[File]) -> Vec<String> {
    let names: Vec<_> = events(table(files)).collect();
    if names.is_empty() {
        return vec![format!("{TABLE}: no row of the table was found")];
    }
    let lists_all = |file: &&File| {
        let code = super::sources::product_code(&file.text);
        names
            .iter()
            .all(|name| super::sources::has_word(code, name))
    };
    let lists: Vec<_> = production_files(files).filter(lists_all).collect();
    if lists.len() <= MAX_FILES {
        return Vec::new();
    }
    let paths: Vec<_> = lists.iter().map(|file| file.path.as_str()).collect();
    vec![format!(
        "{} files name every event, {MAX_FILES} is the most; match `AgentEvent::family()` in one of them: {}",
        paths.len(),
        paths.join(", ")
    )]
}

fn production_files(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| {
        file.path.ends_with(".rs")
            && file.path.starts_with("crates/")
            && !super::sources::is_test_file(&file.path)
            && !file.path.starts_with("crates/testkit/")
    })
}

fn table(files: &[File]) -> &str {
    let table = files.iter().find(|file| file.path == TABLE);
    table.map_or("", |file| &file.text)
}

/// Returns the enums of the families: the heads of the groups of rows.
fn families(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter_map(|line| {
        let head = line.strip_prefix("    ")?.strip_suffix(") {")?;
        let (_, members) = head.split_once('(')?;
        let is_name = !members.is_empty() && members.chars().all(char::is_alphanumeric);
        is_name.then_some(members)
    })
}

/// Returns the events: the beginnings of the rows.
fn events(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter_map(|line| {
        let row = line.strip_prefix("        ")?;
        let end = row.find(|c: char| !c.is_alphanumeric())?;
        let opens = row[end..].trim_start().starts_with(['[', '(', '{']);
        (opens && row.starts_with(|c: char| c.is_ascii_uppercase())).then_some(&row[..end])
    })
}

/// Returns every `match` of a file: its line, and the patterns of its arms. Formatted code has one on each line, so
/// the indentation shows where a pattern begins.
fn find_matches(code: &str) -> Vec<(usize, Vec<String>)> {
    let lines: Vec<_> = code.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let is_match = code.starts_with("match ") || code.contains(" match ");
        if !is_match || !line.ends_with('{') || code.starts_with("//") {
            continue;
        }
        let indent = line.len() - code.len();
        let body = lines[index + 1..]
            .iter()
            .take_while(|line| line.trim().is_empty() || indent_of(line) > indent);
        found.push((index + 1, arms(body.copied(), indent + 4)));
    }
    found
}

/// Returns the patterns of arms: the text at this depth before `=>`.
fn arms<'a>(body: impl Iterator<Item = &'a str>, indent: usize) -> Vec<String> {
    let mut arms = Vec::new();
    let mut pattern = String::new();
    let mut in_arm = false;
    for line in body {
        let code = line.trim_start();
        if in_arm && indent_of(line) > indent || code.starts_with("//") {
            continue;
        }
        in_arm = false;
        // The end of the body of an arm.
        if pattern.is_empty() && code.starts_with(['}', ')', ']']) {
            continue;
        }
        pattern.push_str(code);
        pattern.push(' ');
        if let Some(end) = pattern.find("=>") {
            pattern.truncate(end);
            arms.push(std::mem::take(&mut pattern));
            in_arm = true;
        }
    }
    arms
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a pattern matches everything that is left: `_`, or a name for it.
fn is_default(pattern: &str) -> bool {
    let pattern = pattern.split(" if ").next().unwrap_or_default();
    pattern.split('|').map(str::trim).any(|alternative| {
        let mut letters = alternative.chars();
        let first = letters.next();
        first.is_some_and(|c| c == '_' || c.is_ascii_lowercase())
            && letters.all(|c| c == '_' || c.is_alphanumeric())
            && alternative != "true"
            && alternative != "false"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    const ROWS: &str = "agent_events! {\n    /// Said.\n    Message(MessageEvent) {\n        /// Text.\n        \
                        Chunk {\n            content: String,\n        } => \"chunk\";\n        Usage(Usage) => \
                        \"usage\";\n    }\n    Turn(TurnEvent) {\n        TurnStarted[TurnStarted]\n            => \
                        \"turn_started\";\n    }\n}\n";

    #[test]
    fn rows_and_families_are_read_from_the_table() {
        let names: Vec<_> = events(ROWS).collect();
        assert_eq!(names, ["Chunk", "Usage", "TurnStarted"]);
        let names: Vec<_> = families(ROWS).collect();
        assert_eq!(names, ["MessageEvent", "TurnEvent"]);
    }

    #[test]
    fn a_default_arm_over_events_is_found() {
        let problem = |arms: &str| {
            let text = format!("fn f() {{\n    let x = match event {{\n{arms}    }};\n}}\n");
            let files = [file(TABLE, ROWS), file("crates/acp/src/a.rs", &text)];
            !default_arms(&files).is_empty()
        };
        assert!(problem(
            "        AgentEvent::Usage(_) => true,\n        _ => false,\n"
        ));
        assert!(problem(
            "        TurnEvent::TurnStarted(_) => {\n            f();\n        }\n        _ => {}\n"
        ));
        assert!(problem(
            "        AgentEvent::Usage(_)\n        | _ => true,\n"
        ));
        assert!(problem(
            "        EventFamily::Turn(_) => 1,\n        other => 2,\n"
        ));
        assert!(problem(
            "        AgentEvent::Usage(_) => true,\n        _ if f() => false,\n"
        ));
        assert!(!problem(
            "        AgentEvent::Usage(_) => true,\n        AgentEvent::Chunk { .. } => false,\n"
        ));
        assert!(!problem("        Some(1) => true,\n        _ => false,\n"));
        // An inner match over something else may have one.
        assert!(!problem(
            "        AgentEvent::Usage(_) => match 1 {\n            1 => true,\n            _ => false,\n        },\n"
        ));
    }

    #[test]
    fn files_that_name_every_event_are_counted() {
        let all = "fn f() { (Chunk, Usage, TurnStarted) }";
        let paths: Vec<_> = (0..5).map(|n| format!("crates/acp/src/f{n}.rs")).collect();
        let mut files: Vec<_> = paths.iter().map(|path| file(path, all)).collect();
        files[0].text = "fn f() { (Chunk, Usage) }".to_owned();
        files.push(file(TABLE, ROWS));
        assert_eq!(complete_lists(&files), Vec::<String>::new());
        files.push(file("crates/state/src/more.rs", all));
        assert_eq!(complete_lists(&files).len(), 1);
        assert_eq!(complete_lists(&[]).len(), 1);
    }
}
