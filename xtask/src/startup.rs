//! Which functions run between the start of the program and its first answer, as a linker script that puts
//! them side by side. The system maps 64 KiB around every function that runs, so scattered ones cost memory.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
};

/// Where the script lies.
pub(crate) const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/serve/startup.ld");

/// The linker script for a profile of callgrind with `--demangle=no`; `program` is part of the name of the
/// file that was profiled.
pub(crate) fn script(profile: &str, program: &str) -> String {
    let names = functions(profile, program);
    let whole = names.iter().filter_map(|name| whole(name));
    let patterns = names.iter().filter_map(|name| pattern(name));
    let mut seen = HashSet::new();
    let mut lines = String::new();
    // A pattern without the hash means every function of that name, most of which do not run: what is known whole
    // goes before them.
    for section in whole.chain(patterns) {
        if seen.insert(section.clone()) {
            // Writing to a string does not fail.
            let _ = writeln!(lines, "    *({section})");
        }
    }
    format!("{HEAD}{lines}{TAIL}")
}

const HEAD: &str = "\
/* What runs before the first answer, side by side: by name, and below without what another compiler names
   otherwise. Made by `cargo run -p xtask -- startup`, see CONTRIBUTING.md; a name that is gone does no harm. */
SECTIONS
{
  .text.startup_first :
  {
";

const TAIL: &str = "  }
}
INSERT BEFORE .text;
";

/// Names of the program's own functions, in the order of the profile. Names and objects are told once and then
/// by number.
fn functions<'a>(profile: &'a str, program: &str) -> Vec<&'a str> {
    let (mut objects, mut names) = (HashMap::new(), HashMap::new());
    let mut ours = false;
    let mut found = Vec::new();
    for line in profile.lines() {
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let (table, own) = match key {
            "ob" => (&mut objects, true),
            "cob" => (&mut objects, false),
            "fn" => (&mut names, true),
            "cfn" => (&mut names, false),
            _ => continue,
        };
        let (id, name) = value.split_once(' ').unwrap_or((value, ""));
        if !name.is_empty() {
            table.insert(id, name);
        }
        let name = table.get(id).copied().unwrap_or_default();
        match key {
            "ob" => ours = name.contains(program),
            "fn" if own && ours => found.push(name),
            _ => {}
        }
    }
    found
}

/// The section of a function by its whole name, which holds as long as compiler and dependencies stay.
fn whole(symbol: &str) -> Option<String> {
    let symbol = without_depth(symbol);
    let ours = symbol.starts_with("_ZN") || symbol.starts_with("_R");
    ours.then(|| section(symbol))
}

/// A pattern for the section of a function, without what changes from build to build.
fn pattern(symbol: &str) -> Option<String> {
    /// Long enough to tell functions apart; the names of some futures go on for a thousand letters.
    const LONGEST: usize = 160;
    let symbol = without_depth(symbol);
    let stable = match symbol.rfind("17h") {
        // `…17h<16 digits>E`: the hash of the older form of names.
        Some(hash) if symbol.starts_with("_ZN") => symbol[..hash].to_owned() + "17h",
        // `Cs<digits>_`: the hash of a crate in the newer form.
        _ if symbol.starts_with("_R") => without_crate_hashes(symbol),
        _ => return None,
    };
    let end = stable.char_indices().nth(LONGEST);
    let cut = end.map_or(&*stable, |(end, _)| &stable[..end]);
    Some(section(cut) + "*")
}

/// `…'2`: callgrind counts the depth of a recursion there.
fn without_depth(symbol: &str) -> &str {
    symbol.split('\'').next().unwrap_or(symbol)
}

fn section(name: &str) -> String {
    // Not every linker takes a `$` there.
    format!(".text.{}", name.replace('$', "?"))
}

fn without_crate_hashes(symbol: &str) -> String {
    let mut parts = symbol.split("Cs");
    let mut stable = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.split_once('_').map_or(part, |(_, rest)| rest);
        stable.push_str("Cs*_");
        stable.push_str(rest);
    }
    stable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_own_functions_become_patterns() {
        let profile = "\
ob=(1) /usr/lib/libc.so.6
fn=(1) malloc
cob=(2) /x/harn-serve
cfn=(2) _ZN4core3ptr4drop17h0123456789abcdefE
ob=(2)
fn=(2)
fn=(3) _ZN3foo12_$LT$impl$GT$17hfedcba9876543210E'2
cob=(1)
cfn=(1)
fn=(4) _RNvCs8kX_5alloc3vec'3
fn=(5) main
fn=(2)
";
        let script = script(profile, "harn-serve");
        let patterns: Vec<_> = script.lines().filter(|l| l.contains("*(")).collect();
        assert_eq!(
            patterns,
            [
                "    *(.text._ZN4core3ptr4drop17h0123456789abcdefE)",
                "    *(.text._ZN3foo12_?LT?impl?GT?17hfedcba9876543210E)",
                "    *(.text._RNvCs8kX_5alloc3vec)",
                "    *(.text._ZN4core3ptr4drop17h*)",
                "    *(.text._ZN3foo12_?LT?impl?GT?17h*)",
                "    *(.text._RNvCs*_5alloc3vec*)",
            ]
        );
    }

    #[test]
    fn long_names_are_cut() {
        let long = format!("_ZN{}17h0123456789abcdefE", "x".repeat(1000));
        let pattern = pattern(&long).unwrap();
        assert!(pattern.len() < 200 && pattern.ends_with("x*"), "{pattern}");
    }
}
