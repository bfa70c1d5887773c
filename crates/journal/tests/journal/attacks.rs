//! Flipped bits and cuts in a log of every kind of event: the reader reports each flip with file and line, and a
//! cut loses whole lines only. `HARN_SOAK=1` runs ten times as many cases.

use std::fs;

use harn_journal::{JournalError, ReadCursor, Store};
use harn_testkit::{attack_count, every_event};
use proptest::{prelude::*, sample::Index, test_runner::TestRunner};

use crate::workspace::{ID, Workspace, fold, word_events};

/// Runs a property as often as [`attack_count`] states.
fn attack<S: Strategy>(inputs: &S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let cases = u32::try_from(attack_count()).unwrap();
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    TestRunner::new(config).run(inputs, property).unwrap();
}

/// Returns the number of the line that contains a byte. A newline belongs to the line it ends.
fn line_at(text: &[u8], at: usize) -> u64 {
    1 + text[..at].iter().filter(|&&byte| byte == b'\n').count() as u64
}

#[test]
fn every_flipped_bit_is_reported_with_file_and_line() {
    let workspace = Workspace::with_events(&every_event());
    let whole = workspace.text();
    attack(&(any::<Index>(), 0..8u8), |(at, bit)| {
        let at = at.index(whole.len());
        let mut text = whole.clone();
        text[at] ^= 1u8 << bit;
        fs::write(workspace.events(), &text).unwrap();
        check_reported(&workspace, line_at(&whole, at))?;
        prop_assert_eq!(&workspace.text(), &text, "the file was changed");
        Ok(())
    });
}

#[test]
fn flipped_bit_under_an_open_log_is_reported() {
    let all = every_event();
    let workspace = Workspace::with_events(&all);
    let whole = workspace.text();
    let opened = workspace.store.open(&ID.into()).unwrap();
    let reader = opened.log.reader();
    attack(&(any::<Index>(), 0..8u8), |(at, bit)| {
        let at = at.index(whole.len());
        let mut text = whole.clone();
        text[at] ^= 1u8 << bit;
        fs::write(workspace.events(), &text).unwrap();
        let mut cursor = ReadCursor::default();
        let mut read = Vec::new();
        let error = loop {
            match reader.read(&mut cursor, 4_096) {
                Ok(page) if page.is_empty() => {
                    return Err(TestCaseError::fail(format!("byte {at} bit {bit}")));
                }
                Ok(page) => read.extend(page),
                Err(error) => break error,
            }
        };
        let line = line_at(&whole, at);
        prop_assert_eq!(&read[..], &all[..read.len()]);
        prop_assert_eq!(read.len() as u64 + 1, line);
        prop_assert!(
            matches!(&error, JournalError::Corrupt { line: found, .. } if *found == line),
            "{}",
            error
        );
        Ok(())
    });
}

/// Also the last line: its newline was written, so it was acknowledged.
#[test]
fn small_log_reports_every_flipped_bit() {
    let workspace = Workspace::with_events(&word_events(1, 3));
    let whole = workspace.text();
    for bit in 0..whole.len() * 8 {
        let mut text = whole.clone();
        text[bit / 8] ^= 1 << (bit % 8);
        fs::write(workspace.events(), &text).unwrap();
        check_reported(&workspace, line_at(&whole, bit / 8)).unwrap();
    }
}

#[test]
fn cut_log_keeps_its_whole_lines() {
    let all = every_event();
    let workspace = Workspace::with_events(&all);
    let whole = workspace.text();
    attack(&any::<Index>(), |cut| {
        let cut = cut.index(whole.len() + 1);
        fs::write(workspace.events(), &whole[..cut]).unwrap();
        let kept = line_at(&whole, cut) as usize - 1;
        let mut opened = workspace.store.open(&ID.into()).unwrap();
        prop_assert_eq!(&opened.view, &fold(&all[..kept]));
        let next = word_events(kept as u64 + 1, kept as u64 + 1);
        opened.log.append(&next).unwrap();
        drop(opened);
        let expected = [&all[..kept], &next].concat();
        prop_assert_eq!(workspace.store.read(&ID.into()).unwrap().1, expected);
        Ok(())
    });
}

/// Checks that opening and reading report damage in this line of the log.
fn check_reported(workspace: &Workspace, line: u64) -> Result<(), TestCaseError> {
    let errors = [
        workspace.store.open(&ID.into()).err(),
        workspace.store.read(&ID.into()).err(),
    ];
    for error in errors {
        let Some(JournalError::Corrupt {
            path, line: found, ..
        }) = error
        else {
            return Err(TestCaseError::fail(format!("line {line}: {error:?}")));
        };
        prop_assert_eq!(path, workspace.events());
        prop_assert_eq!(found, line);
    }
    Ok(())
}
