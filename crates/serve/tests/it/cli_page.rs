//! `docs/cli.md` has the help text of every command, as the program prints it.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use harn_testkit::golden;

/// The generated part of the page begins here. The text above it is written by hand.
const FIRST_GENERATED: &str = "## All commands\n";

fn help_of(command: &[String]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_harn-serve"));
    let output = program.args(command).arg("--help").output().unwrap();
    assert!(output.status.success(), "{command:?}");
    let help = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = help.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// The names that a help text lists under "Commands:".
fn subcommands(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    // A description that needs a second line continues further to the right.
    list.take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

fn write_command(page: &mut String, command: &[String]) {
    let help = help_of(command);
    if !command.is_empty() {
        let level = "#".repeat(command.len() + 1);
        let name = command.join(" ");
        writeln!(page, "\n{level} `harn-serve {name}`").unwrap();
    }
    writeln!(page, "\n```text\n{help}\n```").unwrap();
    for name in subcommands(&help) {
        write_command(page, &[command, &[name]].concat());
    }
}

#[test]
fn cli_page_has_the_help_of_every_command() {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let page = fs::read_to_string(&path).unwrap();
    let (by_hand, _) = page.split_once(FIRST_GENERATED).unwrap();
    let mut page = format!("{by_hand}{FIRST_GENERATED}");
    write_command(&mut page, &[]);
    golden::check(
        &path,
        &page,
        "UPDATE_EXPECT=1 cargo test -p harn-serve --test it cli_page",
    );
}
