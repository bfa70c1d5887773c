//! Properties of every journal, with any content and with cuts or damage anywhere.

use std::fs;

use harn_journal::{JournalError, LogReader, ReadCursor, Store};
use harn_model::{Envelope, Seq, SessionView};
use proptest::{prelude::*, sample::Index};

use crate::{
    strategy::batches,
    workspace::{ID, Workspace, fold, word_events},
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn reopened_log_has_the_appended_events(batches in batches(12)) {
        let workspace = Workspace::new();
        let mut log = workspace.create();
        let mut live = SessionView::default();
        for batch in &batches {
            log.append(batch).unwrap();
            for event in batch {
                live.apply(event);
            }
        }
        drop(log);
        let all = batches.concat();
        prop_assert_eq!(&workspace.store.read(&ID.into()).unwrap().1, &all);
        let opened = workspace.store.open(&ID.into()).unwrap();
        prop_assert_eq!(opened.view, live);
        prop_assert_eq!(opened.torn_bytes, 0);
        prop_assert_eq!(read_all(&*opened.log.reader(), Seq::ZERO, 700), all);
    }

    #[test]
    fn a_replay_from_any_event_is_the_suffix(
        batches in batches(8), copies in 1..40u64, from: Index, max_bytes in 0..20_000usize,
    ) {
        // Enough events to pass several entries of the index, from few generated ones.
        let few = batches.concat();
        let all: Vec<Envelope> = (1..=few.len() as u64 * copies)
            .zip(few.iter().cycle())
            .map(|(seq, event)| Envelope { seq: Seq(seq), ..event.clone() })
            .collect();
        let workspace = Workspace::with_events(&all);
        let opened = workspace.store.open(&ID.into()).unwrap();
        let from = from.index(all.len() + 1);
        let suffix = read_all(&*opened.log.reader(), Seq(from as u64), max_bytes);
        prop_assert_eq!(&suffix[..], &all[from..]);
    }

    #[test]
    fn a_journal_cut_anywhere_recovers_its_whole_lines(batches in batches(6), cut: Index) {
        let all = batches.concat();
        let workspace = Workspace::with_events(&all);
        let text = workspace.text();
        check_cut(&workspace, &all, &text, cut.index(text.len() + 1));
    }

    #[test]
    fn damaged_byte_is_reported(batches in batches(5), at: Index, mask in 1..=255u8) {
        let all = batches.concat();
        let workspace = Workspace::with_events(&all);
        let mut text = workspace.text();
        let at = at.index(text.len());
        text[at] ^= mask;
        fs::write(workspace.events(), &text).unwrap();
        check_damage(&workspace, &all, &text, at)?;
    }
}

/// A small journal, cut at every byte instead of random ones.
#[test]
fn small_journal_recovers_from_a_cut_at_every_byte() {
    let all = word_events(1, 5);
    let workspace = Workspace::with_events(&all);
    let text = workspace.text();
    for cut in 0..=text.len() {
        check_cut(&workspace, &all, &text, cut);
    }
}

/// Every byte with a few values; all values would take too long.
#[test]
fn small_journal_reports_damage_at_every_byte() {
    let all = word_events(1, 3);
    let workspace = Workspace::with_events(&all);
    let whole = workspace.text();
    for at in 0..whole.len() {
        for byte in *b"\n\0\"\\ }{]1\xff" {
            if byte != whole[at] {
                let mut text = whole.clone();
                text[at] = byte;
                fs::write(workspace.events(), &text).unwrap();
                check_damage(&workspace, &all, &text, at).unwrap();
            }
        }
    }
}

fn check_cut(workspace: &Workspace, all: &[Envelope], text: &[u8], cut: usize) {
    fs::write(workspace.events(), &text[..cut]).unwrap();
    let kept = text[..cut].iter().filter(|&&b| b == b'\n').count();
    let whole = text[..cut]
        .iter()
        .rposition(|&b| b == b'\n')
        .map_or(0, |i| i + 1);

    let mut opened = workspace.store.open(&ID.into()).unwrap();
    assert_eq!(opened.view, fold(&all[..kept]), "cut at {cut}");
    assert_eq!(opened.torn_bytes, (cut - whole) as u64, "cut at {cut}");
    assert_eq!(workspace.text(), &text[..whole], "cut at {cut}");

    let next = kept as u64 + 1;
    opened.log.append(&word_events(next, next)).unwrap();
    drop(opened);
    let mut expected = all[..kept].to_vec();
    expected.extend(word_events(next, next));
    assert_eq!(workspace.store.read(&ID.into()).unwrap().1, expected);
}

/// Checks a log whose byte `at` was changed.
fn check_damage(
    workspace: &Workspace,
    all: &[Envelope],
    text: &[u8],
    at: usize,
) -> Result<(), TestCaseError> {
    // A zero in place of the last newline is also what a power failure leaves.
    if at + 1 == text.len() && text[at] == 0 {
        let (_, read) = workspace.store.read(&ID.into()).unwrap();
        prop_assert_eq!(&read[..], &all[..all.len() - 1]);
        return Ok(());
    }
    // The damaged line; an added or removed newline belongs to the line it was in.
    let before = text[..at].iter().filter(|&&b| b == b'\n').count();
    let error = workspace.store.open(&ID.into()).err();
    let Some(JournalError::Corrupt { path, line, .. }) = error else {
        return Err(TestCaseError::fail(format!("byte {at}: {error:?}")));
    };
    prop_assert_eq!(path, workspace.events());
    prop_assert_eq!(line, before as u64 + 1);
    prop_assert_eq!(workspace.text(), text, "nothing was cut off");
    Ok(())
}

fn read_all(reader: &dyn LogReader, after: Seq, max_bytes: usize) -> Vec<Envelope> {
    let mut cursor = ReadCursor {
        after,
        offset: None,
    };
    let mut all = Vec::new();
    loop {
        let page = reader.read(&mut cursor, max_bytes).unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}
