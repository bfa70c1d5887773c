//! Plain text for people: tables, ages and hints.

use std::{borrow::Cow, time::Duration};

use harn_model::Timestamp;
use unicode_width::UnicodeWidthStr;

/// Formats rows under a header, as columns.
pub fn table<const N: usize>(head: [&str; N], rows: &[[Cow<'_, str>; N]]) -> String {
    let head = head.map(Cow::Borrowed);
    let rows: Vec<_> = std::iter::once(&head).chain(rows).cloned().collect();
    columns(&rows)
}

/// Formats rows as columns, each as wide as its widest cell; the last column is not padded.
pub fn columns<const N: usize>(rows: &[[Cow<'_, str>; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = cell.width().max(*widest);
        }
    }
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, widest) in row.iter().zip(widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', widest + 2 - cell.width()));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Returns how long ago `then` was, in the largest unit.
pub fn format_age(now: Timestamp, then: Timestamp) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    let seconds = now.saturating_sub(then) / 1000;
    match seconds {
        0..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        HOUR..DAY => format!("{} h ago", seconds / HOUR),
        _ => match seconds / DAY {
            1 => "yesterday".to_owned(),
            days => format!("{days} days ago"),
        },
    }
}

/// Returns for how long something has lasted since `then`, in the largest unit.
pub fn format_since(now: Timestamp, then: Timestamp) -> String {
    match format_age(now, then).as_str() {
        "just now" => "just now".to_owned(),
        "yesterday" => "since yesterday".to_owned(),
        age => format!("for {}", age.trim_end_matches(" ago")),
    }
}

/// Formats a duration in milliseconds.
pub fn format_duration(millis: u128) -> String {
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        _ => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1000),
    }
}

/// Formats a time span of at most an hour; returns none for a longer one.
pub fn format_if_soon(away: Duration) -> Option<String> {
    // Rounded up: a deadline that is not over never shows as 0 s.
    match away.as_millis().div_ceil(1000) {
        seconds @ 0..120 => Some(format!("{seconds} s")),
        seconds @ 120..=3600 => Some(format!("{} min", seconds / 60)),
        _ => None,
    }
}

/// Returns `text` cut to `limit` characters, with an ellipsis if some are missing.
pub fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        None => text.into(),
        Some(_) => {
            let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
            format!("{}…", kept.trim_end()).into()
        }
    }
}

/// Returns `did you mean …? ` with the names most similar to `said`, or an empty string.
pub fn did_you_mean<'a>(said: &str, names: impl Iterator<Item = &'a str>) -> String {
    const NEAR: f64 = 0.75;
    let mut near: Vec<_> = names
        .map(|name| (strsim::jaro_winkler(said, name), name))
        .filter(|(nearness, _)| *nearness > NEAR)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let names: Vec<_> = near
        .iter()
        .take(3)
        .map(|(_, name)| format!("`{name}`"))
        .collect();
    match names.as_slice() {
        [] => String::new(),
        some => format!("did you mean {}? ", some.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [
            ["a".into(), "long cell".into(), "end".into()],
            ["bcd".into(), "é".into(), "".into()],
            ["c".into(), "日本".into(), "x".into()],
        ];
        expect![[r"
            ID   NAME       LAST
            a    long cell  end
            bcd  é
            c    日本       x
        "]]
        .assert_eq(&table(["ID", "NAME", "LAST"], &rows));
    }

    #[test]
    fn ages_and_durations_use_their_largest_unit() {
        let ago = |seconds: u64| format_age(1_000_000_000, 1_000_000_000 - seconds * 1000);
        assert_eq!(ago(59), "just now");
        assert_eq!(ago(60), "1 min ago");
        assert_eq!(ago(7200), "2 h ago");
        assert_eq!(ago(86_400), "yesterday");
        assert_eq!(ago(3 * 86_400), "3 days ago");
        assert_eq!(format_age(1, 5), "just now");
        let since = |seconds: u64| format_since(1_000_000_000, 1_000_000_000 - seconds * 1000);
        assert_eq!(since(5), "just now");
        assert_eq!(since(120), "for 2 min");
        assert_eq!(since(86_400), "since yesterday");
        assert_eq!(format_duration(12), "12 ms");
        assert_eq!(format_duration(1_250), "1.2 s");
        assert_eq!(format_duration(61_000), "1 min 1 s");
    }

    #[test]
    fn only_times_up_to_an_hour_are_formatted() {
        let soon = |millis| format_if_soon(Duration::from_millis(millis));
        assert_eq!(soon(1_999).as_deref(), Some("2 s"));
        assert_eq!(soon(90_000).as_deref(), Some("90 s"));
        assert_eq!(soon(1_799_990).as_deref(), Some("30 min"));
        assert_eq!(soon(3_600_001), None);
    }

    #[test]
    fn a_cut_text_ends_with_an_ellipsis() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("longer", 5), "long…");
    }
}
