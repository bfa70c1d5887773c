//! Damage is reported with file and line, and never skipped; only a partial end is removed.

use std::fs;

use harn_journal::{JournalError, Store};

use crate::workspace::{ID, Workspace, word_events};

const ONE: &str =
    r#"{"v":1,"seq":1,"at":5,"event":{"type":"agent_message_chunk","content":"one"}}"#;
const TWO: &str =
    r#"{"v":1,"seq":2,"at":6,"event":{"type":"agent_message_chunk","content":"two"}}"#;
const THREE: &str =
    r#"{"v":1,"seq":3,"at":7,"event":{"type":"agent_message_chunk","content":"three"}}"#;

/// Lines with a checksum; the last one has a kind of event that does not exist.
const SEALED_ONE: &str = r#"{"v":2,"seq":1,"at":5,"event":{"type":"agent_message_chunk","content":"one"},"crc":"54797cbc"}"#;
const SEALED_TWO: &str = r#"{"v":2,"seq":2,"at":6,"event":{"type":"agent_message_chunk","content":"two"},"crc":"b4a5ccf1"}"#;
const SEALED_UNKNOWN: &str =
    r#"{"v":2,"seq":2,"at":6,"event":{"type":"secret_new_thing"},"crc":"a536094c"}"#;

#[test]
fn damaged_line_with_a_checksum_is_reported() {
    let changed = SEALED_TWO.replace("two", "too");
    let other_sum = SEALED_TWO.replace(
        &SEALED_TWO[SEALED_TWO.len() - 10..],
        &SEALED_ONE[SEALED_ONE.len() - 10..],
    );
    let without = TWO.replace(r#""v":1"#, r#""v":2"#);
    let spaced = SEALED_TWO.replace(r#"{"v":2"#, r#"{ "v":2"#);
    let upper = SEALED_TWO.to_uppercase();
    let upper = format!(
        "{}{}",
        &SEALED_TWO[..SEALED_TWO.len() - 10],
        &upper[upper.len() - 10..]
    );
    let older_with = SEALED_TWO.replace(r#""v":2"#, r#""v":1"#);
    let cut = &SEALED_TWO[..40];
    let cases: &[(&str, &str, u64, &str)] = &[
        (
            "changed text",
            &format!("{SEALED_ONE}\n{changed}\n"),
            2,
            "does not match",
        ),
        (
            "changed digits",
            &format!("{SEALED_ONE}\n{other_sum}\n"),
            2,
            "does not match",
        ),
        (
            "digits in capitals",
            &format!("{SEALED_ONE}\n{upper}\n"),
            2,
            "does not match",
        ),
        (
            "no checksum",
            &format!("{SEALED_ONE}\n{without}\n"),
            2,
            "does not end with its checksum",
        ),
        (
            "cut but complete last line",
            &format!("{SEALED_ONE}\n{cut}\n"),
            2,
            "does not end with its checksum",
        ),
        (
            "two on a line",
            &format!("{SEALED_ONE}{SEALED_TWO}\n"),
            1,
            "does not match",
        ),
        (
            "another form",
            &format!("{SEALED_ONE}\n{spaced}\n"),
            2,
            "not the form of that version",
        ),
        (
            "old version with a checksum",
            &format!("{ONE}\n{older_with}\n"),
            2,
            "not the form of that version",
        ),
        (
            "old version behind the new one",
            &format!("{SEALED_ONE}\n{TWO}\n"),
            2,
            "format version 1 after a line of version 2",
        ),
        (
            "garbage behind the new one",
            &format!("{SEALED_ONE}\nsecret\n"),
            2,
            "not valid JSON at column 1",
        ),
        (
            "unknown event",
            &format!("{SEALED_ONE}\n{SEALED_UNKNOWN}\n"),
            2,
            "a kind this version does not know",
        ),
        (
            "line twice",
            &format!("{SEALED_ONE}\n{SEALED_TWO}\n{SEALED_TWO}\n"),
            3,
            "expected event 3, found event 2",
        ),
        (
            "another byte than the last newline",
            &format!("{SEALED_ONE}\n{SEALED_TWO}*"),
            2,
            "its newline was changed",
        ),
        (
            "another byte than the only newline",
            &format!("{SEALED_ONE}*"),
            1,
            "its newline was changed",
        ),
    ];
    check_reported(cases);
}

/// Also where checksums show that the rest of the last line is whole.
#[test]
fn partial_last_line_with_a_checksum_is_removed() {
    for tail in [
        SEALED_TWO.to_owned(),
        format!("{SEALED_TWO}\0"),
        format!("{SEALED_TWO}\0\0"),
        format!("{}*", SEALED_TWO.replace("two", "too")),
        format!("{SEALED_TWO}**"),
        format!("{TWO}*"),
        "}".to_owned(),
        "}*".to_owned(),
    ] {
        let workspace = Workspace::with_text(format!("{SEALED_ONE}\n{tail}").as_bytes());
        let opened = workspace.store.open(&ID.into()).unwrap();
        assert_eq!(opened.torn_bytes, tail.len() as u64, "{tail}");
        assert_eq!(workspace.text(), format!("{SEALED_ONE}\n").as_bytes());
    }
}

#[test]
fn damaged_line_is_reported_with_its_number() {
    let newer = r#"{"v":3,"seq":2,"when":"later","event":{"kind":"secret"}}"#;
    let newer_same_shape = TWO.replace(r#""v":1"#, r#""v":7"#);
    let older = TWO.replace(r#""v":1"#, r#""v":0"#);
    let unknown = r#"{"v":1,"seq":2,"at":6,"event":{"type":"secret_new_thing"}}"#;
    let mistyped =
        r#"{"v":1,"seq":2,"at":"secret","event":{"type":"agent_message_chunk","content":"x"}}"#;
    let misspelt = TWO.replace(r#""at""#, r#""at":6,"secret""#);
    let unversioned = TWO.replace(r#""v":1,"#, "");
    let cases: &[(&str, &str, u64, &str)] = &[
        ("first line", "secret\nx\n", 1, "not valid JSON at column 1"),
        (
            "cut line in the middle",
            &format!("{ONE}\n{}\n{THREE}\n", &TWO[..40]),
            2,
            "ends too early",
        ),
        (
            "cut but complete last line",
            &format!("{ONE}\n{}\n", &TWO[..40]),
            2,
            "ends too early",
        ),
        (
            "empty line",
            &format!("{ONE}\n\n{TWO}\n"),
            2,
            "ends too early",
        ),
        (
            "empty last line",
            &format!("{ONE}\n\n"),
            2,
            "ends too early",
        ),
        (
            "two on a line",
            &format!("{ONE}\n{TWO}{THREE}\n"),
            2,
            "not valid JSON at column",
        ),
        (
            "newer",
            &format!("{ONE}\n{newer}\n"),
            2,
            "format version 3, and this program reads versions 1 and 2",
        ),
        (
            "newer, same shape",
            &format!("{ONE}\n{newer_same_shape}\n"),
            2,
            "format version 7",
        ),
        ("older", &format!("{ONE}\n{older}\n"), 2, "format version 0"),
        (
            "no version",
            &format!("{ONE}\n{unversioned}\n"),
            2,
            "not an event",
        ),
        (
            "unknown event",
            &format!("{ONE}\n{unknown}\n{THREE}\n"),
            2,
            "a kind this version does not know",
        ),
        (
            "wrong type",
            &format!("{ONE}\n{mistyped}\n"),
            2,
            "not an event",
        ),
        (
            "unknown key",
            &format!("{ONE}\n{misspelt}\n"),
            2,
            "not an event",
        ),
        (
            "lost line",
            &format!("{ONE}\n{THREE}\n"),
            2,
            "expected event 2, found event 3",
        ),
        (
            "lost first line",
            &format!("{TWO}\n"),
            1,
            "expected event 1, found event 2",
        ),
        (
            "line twice",
            &format!("{ONE}\n{TWO}\n{TWO}\n"),
            3,
            "expected event 3, found event 2",
        ),
        (
            "zeros in the middle",
            &format!("{ONE}\n\0\0\0\0\n{THREE}\n"),
            2,
            "not valid JSON at column 1",
        ),
        (
            "zeros and then a line",
            &format!("{ONE}\n\0\0\0{TWO}\n"),
            2,
            "not valid JSON at column 1",
        ),
        (
            "damage before a torn end",
            &format!("{ONE}\nsecret\n{}", &THREE[..30]),
            2,
            "not valid JSON",
        ),
    ];
    check_reported(cases);
}

/// Checks that the log of each case is reported as damaged, at this line and for this reason, and not changed.
fn check_reported(cases: &[(&str, &str, u64, &str)]) {
    for (name, text, line, reason) in cases {
        let workspace = Workspace::with_text(text.as_bytes());
        let errors = [
            workspace.store.open(&ID.into()).err(),
            workspace.store.read(&ID.into()).err(),
        ];
        for error in errors {
            let error = error.unwrap_or_else(|| panic!("{name}: not noticed"));
            let told = error.to_string();
            assert!(!told.contains("secret"), "{name} echoes the line: {told}");
            let JournalError::Corrupt {
                path,
                line: at,
                reason: why,
            } = error
            else {
                panic!("{name}: {told}")
            };
            assert_eq!(path, workspace.events(), "{name}");
            assert_eq!(at, *line, "{name}");
            assert!(why.contains(reason), "{name}: {why}");
        }
        assert_eq!(workspace.text(), text.as_bytes(), "{name}: left as it was");
    }
}

#[test]
fn invalid_utf8_is_reported_as_damage() {
    let mut text = format!("{ONE}\n{TWO}\n").into_bytes();
    let last = text.len() - 6;
    text[last] = 0xff;
    let workspace = Workspace::with_text(&text);
    assert!(matches!(
        workspace.store.open(&ID.into()),
        Err(JournalError::Corrupt { line: 2, .. })
    ));
}

#[test]
fn partial_last_line_is_removed_and_appending_continues() {
    let long = TWO.replace("two", &"x".repeat(300_000));
    let zeros = "\0".repeat(200_000);
    let cases: &[(&str, &str)] = &[
        ("one byte", "{"),
        ("half a line", &TWO[..40]),
        ("a whole line without its newline", TWO),
        ("garbage", "secret"),
        ("zeros", "\0\0\0\0"),
        ("many zeros", &zeros),
        ("half a line and zeros", &format!("{}{zeros}", &TWO[..40])),
        ("a long line without its end", &long[..long.len() - 9]),
    ];
    for (name, tail) in cases {
        let whole = format!("{ONE}\n");
        let text = format!("{whole}{tail}");
        let workspace = Workspace::with_text(text.as_bytes());

        // Reading without the lock neither changes nor returns the partial line.
        assert_eq!(workspace.store.read(&ID.into()).unwrap().1.len(), 1);
        assert_eq!(workspace.text(), text.as_bytes(), "{name}");

        let mut opened = workspace.store.open(&ID.into()).unwrap();
        assert_eq!(opened.torn_bytes, tail.len() as u64, "{name}");
        assert_eq!(opened.view.last_seq.0, 1, "{name}");
        assert_eq!(workspace.text(), whole.as_bytes(), "{name}");
        opened.log.append(&word_events(2, 2)).unwrap();
        drop(opened);
        let opened = workspace.store.open(&ID.into()).unwrap();
        assert_eq!(opened.torn_bytes, 0, "{name}");
        assert_eq!(opened.view.last_seq.0, 2, "{name}");
    }
}

#[test]
fn log_of_only_a_partial_line_opens_empty() {
    for tail in ["", "{", "\0\0", ONE] {
        let workspace = Workspace::with_text(tail.as_bytes());
        let mut opened = workspace.store.open(&ID.into()).unwrap();
        assert_eq!(opened.torn_bytes, tail.len() as u64);
        opened.log.append(&word_events(1, 1)).unwrap();
        drop(opened);
        assert_eq!(
            workspace.store.read(&ID.into()).unwrap().1,
            word_events(1, 1)
        );
    }
}

#[test]
fn damaged_meta_is_reported_with_its_line() {
    let cases: &[(&str, &str, u64, &str)] = &[
        ("empty", "", 1, "does not describe a session"),
        (
            "cut",
            "{\n  \"v\": 1,\n  \"thr",
            3,
            "does not describe a session",
        ),
        (
            "newer",
            r#"{"v":2,"threadId":"s1","title":"","directory":"/","created":1}"#,
            1,
            "format version 2",
        ),
        (
            "another's",
            r#"{"v":1,"threadId":"secret","title":"","directory":"/","created":1}"#,
            1,
            "another session",
        ),
    ];
    for (name, text, line, reason) in cases {
        let workspace = Workspace::with_events(&word_events(1, 1));
        let path = workspace.folder().join("meta.json");
        fs::write(&path, text).unwrap();
        for error in [
            workspace.store.open(&ID.into()).err(),
            workspace.store.read(&ID.into()).err(),
        ] {
            let told = error.as_ref().map(ToString::to_string).unwrap_or_default();
            assert!(!told.contains("secret"), "{name}: {told}");
            assert!(told.contains(reason), "{name}: {told}");
            assert!(
                matches!(error, Some(JournalError::Corrupt { path: at, line: l, .. }) if at == path && l == *line),
                "{name}: {told}"
            );
        }
    }
}

#[test]
fn damaged_log_does_not_stay_locked() {
    let workspace = Workspace::with_text(b"x\n");
    for _ in 0..2 {
        assert!(matches!(
            workspace.store.open(&ID.into()),
            Err(JournalError::Corrupt { .. })
        ));
    }
    workspace.store.delete(&ID.into()).unwrap();
}
