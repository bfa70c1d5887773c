//! Finds the programs of a line that the exact reader rejected, in the tree of `tree-sitter-bash`: in lists,
//! groups, loops, functions, substitutions, here-documents, wherever a command can be. It may find too many; the
//! line is already in doubt, and these commands can only deny.

use std::{cell::RefCell, ops::ControlFlow};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::{LineDoubt, MAX_COMMANDS, MAX_DEPTH, Redirect, coarse, reader::ShellReader, word};

/// The limit of bytes for the tree, lines in lines together: it costs half a microsecond a byte.
const MAX_TREE: usize = 144;
/// The limit of brackets: the grammar tries each as a test, an index and a pattern.
const MAX_BRACKETS: usize = 8;
/// The limit of parser steps, of a hundred operations each: `STEPS` for any line, and one for every
/// `BYTES_A_STEP`. A line of many short words takes one step for thirty bytes.
const STEPS: usize = 12;
const BYTES_A_STEP: usize = 12;
/// The limit of nodes that are visited.
const MAX_NODES: usize = 40_000;
/// The limit of here-documents, which the grammar keeps in a buffer of fixed size.
const MAX_HERE_DOCUMENTS: usize = 16;

thread_local! {
    /// One for each thread: creating one costs more than a line.
    static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

/// Adds all commands and redirections of a line to a reader; word by word, too, if the tree is incomplete.
pub(super) fn read(line: &str, reader: &mut ShellReader) {
    if !read_by_tree(line, reader) {
        coarse::read(line, reader);
    }
}

/// Reads a line by the tree alone, and returns whether all of it was understood.
fn read_by_tree(line: &str, reader: &mut ShellReader) -> bool {
    let here_documents = line.matches("<<").count();
    let costly = reader.add_tree_bytes(line.len()) > MAX_TREE;
    let brackets = line.matches('[').count();
    let beyond = costly
        || brackets > MAX_BRACKETS
        || here_documents > MAX_HERE_DOCUMENTS
        || exceeds_limits(line);
    let Some(tree) = (!beyond).then(|| parse(line)).flatten() else {
        reader.add_doubt(LineDoubt::TooMuch);
        return false;
    };
    let whole = !tree.root_node().has_error();
    if !whole {
        reader.add_doubt(LineDoubt::Unparsable);
    }
    let mut walk = TreeWalk {
        line,
        reader,
        nodes: 0,
    };
    walk.visit(tree.root_node(), 0);
    whole
}

/// Whether a line has more parts or deeper ones than are followed. Checked before parsing: something that the
/// grammar cannot close costs it the square of its depth.
fn exceeds_limits(line: &str) -> bool {
    let (mut depth, mut deepest, mut parts) = (0_usize, 0, 0);
    for byte in line.bytes() {
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            b'|' | b';' | b'&' => parts += 1,
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest > 2 * MAX_DEPTH || parts > 4 * MAX_COMMANDS
}

fn parse(line: &str) -> Option<Tree> {
    PARSER.with_borrow_mut(|slot| {
        let parser = match slot {
            Some(parser) => parser,
            None => {
                let mut parser = Parser::new();
                parser
                    .set_language(&tree_sitter_bash::LANGUAGE.into())
                    .ok()?;
                slot.insert(parser)
            }
        };
        let bytes = plain_bytes(line);
        let most = STEPS + line.len() / BYTES_A_STEP;
        let mut steps = 0;
        let mut bound = |_: &tree_sitter::ParseState| {
            steps += 1;
            if steps > most {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let options = ParseOptions::new().progress_callback(&mut bound);
        let tree = parser.parse_with_options(
            &mut |at, _| bytes.get(at..).unwrap_or_default(),
            None,
            Some(options),
        );
        if tree.is_none() {
            // Otherwise the next line would continue where this one stopped.
            parser.reset();
        }
        tree
    })
}

/// Returns the line in plain ASCII, byte for byte. The grammar's scanner indexes a table of bytes with whole
/// characters, and takes a NUL for the end, so it receives neither. Words are taken from the line itself.
fn plain_bytes(line: &str) -> Vec<u8> {
    let plain = |byte: u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    line.bytes()
        .map(|byte| if plain(byte) { byte } else { b'_' })
        .collect()
}

struct TreeWalk<'a> {
    line: &'a str,
    reader: &'a mut ShellReader,
    nodes: usize,
}

impl TreeWalk<'_> {
    fn visit(&mut self, node: Node<'_>, depth: usize) {
        // Most nodes are words without children.
        if node.child_count() == 0 {
            return self.read_leaf(node);
        }
        self.nodes += 1;
        // A tree is deeper than the line that it represents.
        if depth > 8 * MAX_DEPTH || self.nodes > MAX_NODES {
            return self.reader.add_doubt(LineDoubt::TooMuch);
        }
        match node.kind() {
            "command" => self.add_command(node),
            "declaration_command" | "unset_command" | "test_command" => self.add_flat_command(node),
            "variable_assignment" => self.add_assignment(node),
            "file_redirect" => self.add_redirect(node),
            "heredoc_redirect" => self.add_words_after_here_document(node),
            "function_definition" => {
                let name = node.child_by_field_name("name");
                let name = name
                    .map(|name| word::unquote(name, self.line))
                    .unwrap_or_default();
                self.reader
                    .doubt_environment(&format!("the function {name} is defined"));
            }
            _ => {}
        }
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            self.visit(child, depth + 1);
        }
    }

    /// Reads the substitutions in a leaf: the grammar does not parse patterns and some defaults, but a shell runs
    /// what is substituted in them.
    fn read_leaf(&mut self, node: Node<'_>) {
        let raw = self.line.get(node.byte_range()).unwrap_or_default();
        let quoted = matches!(
            node.kind(),
            "raw_string"
                | "ansi_c_string"
                | "comment"
                | "heredoc_body"
                | "heredoc_end"
                | "heredoc_start"
        );
        if quoted || raw.len() < 3 || !(raw.contains('`') || raw.contains("$(")) {
            return;
        }
        let backquoted = raw.split('`').skip(1).step_by(2);
        for inner in backquoted.chain(raw.split("$(").skip(1)) {
            self.reader
                .read_line_unless_empty(inner.trim_end_matches([')', '}', '"']));
        }
    }

    fn add_command(&mut self, node: Node<'_>) {
        let mut argv = Vec::new();
        let mut cursor = node.walk();
        for (at, child) in node.children(&mut cursor).enumerate() {
            match child.kind() {
                "variable_assignment" | "subshell" | "comment" => {}
                "file_redirect" | "herestring_redirect" => {
                    // More than one word after a redirection: the rest are words of the command.
                    let mut words = child.walk();
                    let skip = if child.kind() == "file_redirect" {
                        1
                    } else {
                        usize::MAX
                    };
                    let more = child
                        .children_by_field_name("destination", &mut words)
                        .skip(skip);
                    argv.extend(more.map(|word| word::unquote(word, self.line)));
                }
                _ if child.is_named() || node.field_name_for_child(child_index(at)).is_some() => {
                    argv.push(word::unquote(child, self.line));
                }
                _ => {}
            }
        }
        // The words after `<file` are in the redirection beside the command.
        if let Some(statement) = node.parent().filter(is_redirected) {
            let mut redirects = statement.walk();
            for redirect in statement.children_by_field_name("redirect", &mut redirects) {
                let mut words = redirect.walk();
                let more = redirect
                    .children_by_field_name("destination", &mut words)
                    .skip(1);
                argv.extend(more.map(|word| word::unquote(word, self.line)));
            }
        }
        self.reader.add_program(&argv);
    }

    /// Adds a command whose words the grammar splits further.
    fn add_flat_command(&mut self, node: Node<'_>) {
        let raw = self.line.get(node.byte_range()).unwrap_or_default();
        let argv: Vec<String> = raw.split_whitespace().map(str::to_owned).collect();
        self.reader.add_program(&argv);
    }

    fn add_assignment(&mut self, node: Node<'_>) {
        let field = |name| {
            node.child_by_field_name(name)
                .map(|node| word::unquote(node, self.line))
        };
        let name = field("name").unwrap_or_default();
        let value = field("value").unwrap_or_default();
        self.reader.add_assignment(&name, &value);
    }

    fn add_redirect(&mut self, node: Node<'_>) {
        let raw = self.line.get(node.byte_range()).unwrap_or_default();
        let sign = raw.trim_start_matches(|sign: char| sign.is_ascii_digit());
        let duplicate = sign.starts_with(">&") || sign.starts_with("<&");
        let mut cursor = node.walk();
        let mut words = node
            .children_by_field_name("destination", &mut cursor)
            .map(|word| word::unquote(word, self.line));
        if let Some(path) = words.next() {
            let descriptor = path
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-');
            if !(duplicate && descriptor) {
                self.reader.add_redirect(Redirect {
                    path,
                    write: !sign.starts_with('<') || sign.starts_with("<>"),
                });
            }
        }
        let more: Vec<String> = words.collect();
        let statement = node.parent().filter(is_redirected);
        let body = statement.and_then(|statement| statement.child_by_field_name("body"));
        if body.is_none_or(|body| body.kind() != "command") {
            self.reader.add_program(&more);
        }
    }

    /// Adds the words after a here-document's operator, which belong to the command before it.
    fn add_words_after_here_document(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let words: Vec<String> = node
            .children_by_field_name("argument", &mut cursor)
            .map(|word| word::unquote(word, self.line))
            .collect();
        self.reader.add_program(&words);
    }
}

fn is_redirected(node: &Node<'_>) -> bool {
    node.kind() == "redirected_statement"
}

fn child_index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    /// Compares two independent readers: where the exact one has no doubt, the tree has to show the same commands.
    #[test]
    fn both_readers_find_the_same_commands() {
        let table = include_str!("../../../../fixtures/policy/shell.jsonl");
        let mut compared = 0;
        for case in table.lines() {
            let case: serde_json::Value = serde_json::from_str(case).unwrap_or_default();
            let line = case["line"].as_str().unwrap_or_default();
            let exact = shell::read(line);
            // The grammar takes the body of a second here-document for commands.
            if !exact.doubts.is_empty() || line.matches("<<").count() > 1 {
                continue;
            }
            let mut reader = ShellReader::default();
            read_by_tree(line, &mut reader);
            let shown = reader.finish();
            let sorted = |line: &shell::ShellLine| {
                let argv = line.commands.iter().map(|command| command.argv.clone());
                let mut all: Vec<_> = argv.collect();
                all.sort();
                all
            };
            assert_eq!(sorted(&shown), sorted(&exact), "{line:?}");
            compared += 1;
        }
        assert!(compared > 60, "{compared} lines");
    }

    /// A command in doubt can only deny, so there the exact reader may find more than the tree, and never less.
    #[test]
    fn exact_reader_finds_every_program_of_the_tree() {
        let table = include_str!("../../../../fixtures/policy/shell.jsonl");
        let mut compared = 0;
        for case in table.lines() {
            let case: serde_json::Value = serde_json::from_str(case).unwrap_or_default();
            let line = case["line"].as_str().unwrap_or_default();
            if crate::shell::plain::read(line).is_err() {
                continue;
            }
            let mut reader = ShellReader::default();
            read_by_tree(line, &mut reader);
            let exact = shell::read(line);
            let shown = reader.finish();
            if shown.doubts.contains(&LineDoubt::Unparsable) {
                continue;
            }
            for command in &shown.commands {
                let program = command.argv.first();
                let found = exact.commands.iter().any(|it| it.argv.first() == program);
                assert!(found, "{line:?} lost {command:?}: {exact:?}");
            }
            compared += 1;
        }
        assert!(compared > 200, "{compared} lines");
    }
}
