//! Properties of every line: parsing never panics, nothing that is added to a line or wrapped around it is
//! lost, and a line without a doubt has exactly the words that a real shell passes to its programs.

use std::process::{Command, Stdio};

use crate::shell_table::cases;
use harn_policy::shell::{self, ShellLine, SimpleCommand};
use proptest::prelude::*;

/// Pieces of lines, with many hard ones.
const PIECES: &[&str] = &[
    "a",
    "b",
    "ls",
    "echo ",
    " ",
    "  ",
    "\t",
    "\n",
    "\\",
    "\\\n",
    "'",
    "\"",
    "''",
    "\"\"",
    "'a b'",
    "\"a b\"",
    "#",
    " #",
    ";",
    "; ",
    "&&",
    " && ",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{",
    "}",
    "{ ",
    "; }",
    "<",
    ">",
    ">>",
    "2>&1",
    "<<EOF\n",
    "\nEOF\n",
    "<<'E'\n",
    "\nE\n",
    "$",
    "$x",
    "${x}",
    "$(",
    "`",
    "*",
    "?",
    "[",
    "]",
    "~",
    "=",
    "A=1 ",
    "LANG=C ",
    "!",
    "! ",
    "if ",
    "then ",
    "fi",
    "for i in ",
    "do ",
    "done",
    "while ",
    "case ",
    "esac",
    "in ",
    ";;",
    "-c",
    "sh -c ",
    "env ",
    "xargs ",
    "sudo ",
    "find . -exec ",
    "\\;",
    "é",
    "\u{200b}",
    "\0",
    "\r",
    "10>",
    "+=",
    "@{u}",
    "..",
    ",",
];

/// Pieces that matter only to a lexer.
const LETTERS: &[&str] = &[
    "a",
    "é",
    // Bytes that one shell uses internally.
    "Á",
    "ăĄĆć",
    "È",
    "-",
    " ",
    " ",
    "\t",
    "\n",
    "\\",
    "\\a",
    "\\ ",
    "\\\\",
    "\\'",
    "\\\"",
    "\\$",
    "\\\n",
    " \\\n",
    "'",
    "\"",
    "'a'",
    "\"a\"",
    "' '",
    "\" \"",
    "'\\'",
    "\"\\\\\"",
    "\"\\\"\"",
    "\"\\a\"",
    "\"\\\n\"",
    "\"$\"",
    "$ ",
    "#",
    " # a",
    "{",
    "}",
    "{}",
    "=",
    "a=",
    "~",
    "a~",
    ":",
    "!",
    "]",
    "[ ",
    "%",
    ",",
    "..",
    "@",
    "^",
    "+",
    "fi",
    "do",
    "0",
    "1",
    "; printf '[%s]' ",
    "\nprintf '[%s]' ",
];

fn random_line(most: usize) -> impl Strategy<Value = String> {
    random_text(PIECES, most)
}

fn random_text(pieces: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    let piece = prop::sample::select(pieces).prop_map(str::to_owned);
    prop::collection::vec(piece, 0..most).prop_map(|pieces| pieces.concat())
}

fn runs_program(line: &ShellLine, program: &str) -> bool {
    line.commands
        .iter()
        .any(|command| command.argv.first().is_some_and(|first| first == program))
}

fn allowed_lines() -> Vec<String> {
    let allowed = cases().into_iter().filter(|case| case.decision == "allow");
    allowed.map(|case| case.line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_can_be_parsed(line in "\\PC{0,200}") {
        let read = shell::read(&line);
        prop_assert!(read.commands.iter().all(|command| !command.argv.is_empty()));
    }

    #[test]
    fn any_pieces_can_be_parsed(line in random_line(40)) {
        let read = shell::read(&line);
        for command in &read.commands {
            prop_assert!(!command.argv.is_empty());
            prop_assert!(!shell::is_read_only(command) || command.exec_capable.is_none());
        }
    }

    #[test]
    fn added_command_is_found_or_doubted(line in random_line(12), link in 0..6usize) {
        let link = [";", "&&", "||", "|", "\n", "&"][link];
        let read = shell::read(&line);
        // A comment includes the text that is added to it, in a shell too.
        if read.doubts.is_empty() && !line.contains('#') {
            let longer = shell::read(&format!("{line}{link} rm -rf x"));
            prop_assert!(runs_program(&longer, "rm") || !longer.doubts.is_empty(), "{longer:?}");
        }
    }
}

#[test]
fn command_added_to_an_allowed_line_is_found_or_doubted() {
    for line in allowed_lines() {
        for link in [
            "; ", " && ", " || ", " | ", "\n", " & ", ";", "&&", "||", "|", "&",
        ] {
            if line.contains(" #") && link != "\n" {
                continue;
            }
            let read = shell::read(&format!("{line}{link}rm -rf x"));
            assert!(
                runs_program(&read, "rm") || !read.doubts.is_empty(),
                "{line:?} {link:?} {read:?}"
            );
        }
    }
}

#[test]
fn wrapped_line_keeps_all_its_commands() {
    for line in allowed_lines() {
        let inner = shell::read(&line);
        let quoted = line.replace('\'', "'\\''");
        let exact = [
            format!("( {line}\n)"),
            format!("{{ {line}\n}}"),
            format!("if {line}\nthen true; fi"),
            format!("sh -c '{quoted}'"),
            format!("eval '{quoted}'"),
            format!("nice sh -c '{quoted}'"),
        ];
        for outer in exact {
            let read = shell::read(&outer);
            for command in &inner.commands {
                assert!(
                    read.commands.contains(command),
                    "{outer:?} lost {command:?}: {read:?}"
                );
            }
        }
        // These are in doubt as well, with any content.
        let escaped = line.replace('\\', "\\\\").replace('`', "\\`");
        let doubtful = [
            format!("echo $( {line}\n)"),
            format!("echo \"$( {line}\n)\" | wc"),
            format!("echo ${{a:-$( {line}\n)}}"),
            format!("echo $((1 + $( {line}\n)))"),
            format!("echo `{}\n`", escaped.replace('$', "\\$")),
            format!("cat <<THAT\n$( {line}\n)\nTHAT\n"),
            format!("cat <( {line}\n)"),
            format!("f() {{ {line}\n}}"),
            format!("case a in a|b) {line}\n;; esac"),
            format!("for i in $( {line}\n); do ls; done"),
        ];
        for outer in doubtful {
            let read = shell::read(&outer);
            assert!(!read.doubts.is_empty(), "{outer:?}: {read:?}");
            for command in &inner.commands {
                assert!(
                    read.commands.contains(command),
                    "{outer:?} lost {command:?}: {read:?}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parsed_words_equal_those_of_a_real_shell(words in random_text(LETTERS, 12), more in random_text(LETTERS, 6)) {
        let show = "printf '[%s]' ";
        for line in [format!("{show}{words}"), format!("{show}{words}; {show}{more}"), format!("{show}{words}\n{show}{more}")] {
            let read = shell::read(&line);
            // Runs only lines that write to the output and do nothing else.
            let plain = read.doubts.is_empty()
                && read.redirects.is_empty()
                && !line.contains(['&', '|', '!', '<', '>'])
                && read.commands.iter().all(|command| {
                    command.argv.first().is_some_and(|first| first == "printf")
                        && command.argv.get(1).is_some_and(|second| second == "[%s]")
                });
            if !plain {
                continue;
            }
            let expected: String = read.commands.iter().map(expected_output).collect();
            // If there is a second shell, both must agree.
            for shell in ["/bin/sh", "/bin/bash"] {
                let Ok(output) = Command::new(shell)
                    .args(["-c", &line])
                    .env_clear()
                    .current_dir("/")
                    .stdin(Stdio::null())
                    .output()
                else {
                    prop_assert_ne!(shell, "/bin/sh");
                    continue;
                };
                let output = String::from_utf8(output.stdout).unwrap();
                prop_assert_eq!(&output, &expected, "{} {:?}", shell, line);
            }
        }
    }
}

fn expected_output(command: &SimpleCommand) -> String {
    match command.argv.get(2..) {
        None | Some([]) => "[]".to_owned(),
        Some(words) => words.iter().map(|word| format!("[{word}]")).collect(),
    }
}
