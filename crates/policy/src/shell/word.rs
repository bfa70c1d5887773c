//! Removes the quotes of a word in the tree, as `bash` does. A part that is expanded at run time stays as it
//! is written; such a word is in doubt anyway.

use tree_sitter::Node;

/// Returns the text of a word, without its quotes.
pub(super) fn unquote(node: Node<'_>, source: &str) -> String {
    let mut out = String::new();
    append(node, source, &mut out, 0);
    out
}

fn append(node: Node<'_>, source: &str, out: &mut String, depth: usize) {
    let raw = source.get(node.byte_range()).unwrap_or_default();
    match node.kind() {
        "command_name" | "concatenation" if depth < 8 => {
            let mut cursor = node.walk();
            for child in node.children(&mut cursor) {
                append(child, source, out, depth + 1);
            }
        }
        "raw_string" => out.push_str(strip_delimiters(raw, "'", "'")),
        "ansi_c_string" => unescape_ansi(strip_delimiters(raw, "$'", "'"), out),
        "string" => unescape_double_quoted(strip_delimiters(raw, "\"", "\""), out),
        "translated_string" => unescape_double_quoted(strip_delimiters(raw, "$\"", "\""), out),
        "word" => {
            let mut signs = raw.chars();
            while let Some(sign) = signs.next() {
                match sign {
                    '\\' => out.extend(signs.next().filter(|next| *next != '\n')),
                    _ => out.push(sign),
                }
            }
        }
        _ => out.push_str(raw),
    }
}

fn strip_delimiters<'a>(text: &'a str, open: &str, close: &str) -> &'a str {
    let rest = text.strip_prefix(open).unwrap_or(text);
    rest.strip_suffix(close).unwrap_or(rest)
}

fn unescape_double_quoted(text: &str, out: &mut String) {
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        if sign != '\\' {
            out.push(sign);
            continue;
        }
        match signs.next() {
            Some('\n') => {}
            Some(escaped @ ('$' | '`' | '"' | '\\')) => out.push(escaped),
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
            None => out.push('\\'),
        }
    }
}

/// Appends a text of `$'…'` with its escapes decoded.
pub(super) fn unescape_ansi(text: &str, out: &mut String) {
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        if sign != '\\' {
            out.push(sign);
            continue;
        }
        let Some(escape) = signs.next() else {
            break;
        };
        let (base, most) = match escape {
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            '0'..='7' => (8, 3),
            'n' => {
                out.push('\n');
                continue;
            }
            't' => {
                out.push('\t');
                continue;
            }
            'a' | 'b' | 'e' | 'E' | 'f' | 'r' | 'v' => {
                out.push('\u{1b}');
                continue;
            }
            'c' => {
                signs.next();
                out.push('\u{1b}');
                continue;
            }
            other => {
                out.push(other);
                continue;
            }
        };
        let mut value = if base == 8 {
            escape.to_digit(8).unwrap_or(0)
        } else {
            0
        };
        let mut digits = usize::from(base == 8);
        while digits < most
            && let Some(digit) = signs.peek().and_then(|sign| sign.to_digit(base))
        {
            value = value.saturating_mul(base).saturating_add(digit);
            digits += 1;
            signs.next();
        }
        out.push(char::from_u32(value).unwrap_or('\u{fffd}'));
    }
}
