//! The printed output: one figure per row, with its comparison and its bar.
//!
//! The rows are Markdown, so that a run can be pasted into the documentation as it is.
#![allow(clippy::print_stdout, reason = "a benchmark's answer is its output")]

use std::fmt;

/// How a number is shown. Numbers are stored in seconds, bytes or plain counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Millis,
    Micros,
    Nanos,
    PerSecond,
    Megabytes,
    Mebibytes,
    Kibibytes,
    Bytes,
    Count,
}

impl Unit {
    fn show(self, number: f64) -> String {
        match self {
            Self::Millis if number >= 0.1 => format!("{} ms", group_digits(number * 1e3)),
            Self::Millis => format!("{:.2} ms", number * 1e3),
            Self::Micros => format!("{} µs", group_digits(number * 1e6)),
            Self::Nanos => format!("{} ns", group_digits(number * 1e9)),
            Self::PerSecond => format!("{}/s", group_digits(number)),
            Self::Megabytes => format!("{:.1} MB", number / 1e6),
            Self::Mebibytes => format!("{:.1} MiB", number / 1_048_576.0),
            Self::Kibibytes => format!("{:.1} KiB", number / 1024.0),
            Self::Bytes => format!("{number:.0} B"),
            Self::Count => group_digits(number),
        }
    }
}

/// The condition for a figure.
#[derive(Clone, Copy)]
pub(crate) enum Bar {
    /// No condition; shown for comparison only.
    Told,
    /// The figure itself, from above.
    AtMost(f64),
    /// The figure divided by its comparison.
    RatioAtMost(f64),
    /// The same ratio, from below.
    RatioAtLeast(f64),
}

pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) value: f64,
    pub(crate) against: Option<(&'static str, f64)>,
    pub(crate) bar: Bar,
}

impl Figure {
    fn ratio(&self) -> Option<f64> {
        self.against.map(|(_, other)| self.value / other)
    }

    /// Returns whether the bar is met; `None` without a bar. A ratio that is not a number meets no bar.
    fn is_met(&self) -> Option<bool> {
        match self.bar {
            Bar::Told => None,
            Bar::AtMost(most) => Some(self.value <= most),
            Bar::RatioAtMost(most) => Some(self.ratio().is_some_and(|ratio| ratio <= most)),
            Bar::RatioAtLeast(least) => Some(self.ratio().is_some_and(|ratio| ratio >= least)),
        }
    }

    fn bar(&self) -> String {
        match self.bar {
            Bar::Told => "–".to_owned(),
            Bar::AtMost(most) => format!("≤ {}", self.unit.show(most)),
            Bar::RatioAtMost(most) => format!("ratio ≤ {most}"),
            Bar::RatioAtLeast(least) => format!("ratio ≥ {least}"),
        }
    }
}

/// Prints each row at once and counts the missed bars.
pub(crate) struct Table {
    missed: usize,
}

impl Table {
    pub(crate) fn begin() -> Self {
        println!(
            "{}",
            row("figure", "value", "against", "ratio", "bar", "met")
        );
        println!(
            "| {:-<44} | {:->13} | {:-<24} | {:->6} | {:-<22} | {:-<6} |",
            "", "", "", "", "", ""
        );
        Self { missed: 0 }
    }

    pub(crate) fn add(&mut self, figure: &Figure) {
        let met = figure.is_met();
        self.missed += usize::from(met == Some(false));
        let against = figure.against.map_or("–".to_owned(), |(name, other)| {
            format!("{name} {}", figure.unit.show(other))
        });
        let ratio = figure
            .ratio()
            .map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
        let met = match met {
            None => "–",
            Some(true) => "ok",
            Some(false) => "MISSED",
        };
        println!(
            "{}",
            row(
                &figure.name,
                &figure.unit.show(figure.value),
                &against,
                &ratio,
                &figure.bar(),
                met
            )
        );
    }

    /// A figure that could not be measured counts as missed.
    pub(crate) fn add_failure(&mut self, name: &str, error: &impl fmt::Display) {
        self.missed += 1;
        println!("{}", row(name, "–", "–", "–", "–", "MISSED"));
        println!("\n{name} could not be measured: {error:#}\n");
    }

    pub(crate) fn missed_count(&self) -> usize {
        self.missed
    }
}

/// Begins another table, with plain columns, below the figures.
pub(crate) fn print_matrix_head(name: &str, columns: &[&str]) {
    println!();
    print_matrix_row(name, columns);
    let rule = |width: usize| "-".repeat(width);
    println!(
        "| {} | {} |",
        rule(MATRIX_NAME),
        vec![rule(MATRIX_COLUMN - 1) + ":"; columns.len()].join(" | ")
    );
}

pub(crate) fn print_matrix_row(name: &str, cells: &[impl fmt::Display]) {
    let cells = cells.iter().map(|cell| format!("{cell:>MATRIX_COLUMN$}"));
    let cells: Vec<_> = cells.collect();
    println!("| {name:<MATRIX_NAME$} | {} |", cells.join(" | "));
}

const MATRIX_NAME: usize = 26;
const MATRIX_COLUMN: usize = 8;

fn row(name: &str, value: &str, against: &str, ratio: &str, bar: &str, met: &str) -> String {
    format!("| {name:<44} | {value:>13} | {against:<24} | {ratio:>6} | {bar:<22} | {met:<6} |")
}

/// Formats `1234567` as `1 234 567`.
fn group_digits(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}
