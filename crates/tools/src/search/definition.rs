//! Finds the name that a line of source code defines, in common languages.

/// Returns the name that `line` defines, such as `read_text` for `pub async fn read_text(`.
///
/// ```
/// assert_eq!(harn_tools::defined_name("    pub(crate) struct Feed<T> {"), Some("Feed"));
/// assert_eq!(harn_tools::defined_name("func (s *Server) Start() {"), Some("Start"));
/// assert_eq!(harn_tools::defined_name("let feed = Feed::new();"), None);
/// ```
pub fn defined_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    let mut keyword = "";
    loop {
        // A method's receiver in Go; `(crate)` of `pub(crate)` in Rust.
        if let Some(inside) = rest.strip_prefix('(') {
            rest = inside.split_once(')')?.1.trim_start();
        }
        let (word, after) = next_word(rest)?;
        match word {
            // The next word is the defined name.
            "class" | "const" | "def" | "enum" | "fn" | "func" | "function" | "interface"
            | "macro_rules" | "mod" | "module" | "namespace" | "protocol" | "record" | "static"
            | "struct" | "trait" | "type" | "union" => {
                keyword = word;
            }
            _ if !keyword.is_empty() => {
                // `mod name;` refers to another file.
                let elsewhere = keyword == "mod" && after.starts_with(';');
                return (!elsewhere).then_some(word);
            }
            // Modifiers that may precede such a keyword.
            "abstract" | "async" | "crate" | "data" | "declare" | "default" | "export"
            | "extern" | "final" | "inline" | "internal" | "private" | "protected" | "pub"
            | "public" | "sealed" | "super" | "unsafe" => {}
            _ => return None,
        }
        let after = after.strip_prefix(['!', '*']).unwrap_or(after).trim_start();
        // The `"C"` of `extern "C" fn`.
        rest = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?.1.trim_start(),
            None => after,
        };
    }
}

fn next_word(text: &str) -> Option<(&str, &str)> {
    let starts = |c: char| c.is_alphabetic() || c == '_';
    let goes_on = |c: char| c.is_alphanumeric() || c == '_';
    text.starts_with(starts).then(|| {
        let end = text.find(|c| !goes_on(c)).unwrap_or(text.len());
        text.split_at(end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_common_languages() {
        for (line, name) in [
            ("pub(crate) async fn run(mut self) {", "run"),
            ("    fn poll(", "poll"),
            ("pub const fn new() -> Self {", "new"),
            ("const MAX: usize = 3;", "MAX"),
            ("static NEXT: AtomicU64", "NEXT"),
            ("pub type Syncer = Box<dyn FnOnce()>;", "Syncer"),
            ("macro_rules! id {", "id"),
            ("mod tests {", "tests"),
            ("pub struct Unit;", "Unit"),
            ("pub unsafe extern \"C\" fn hook() {", "hook"),
            ("class Greeter(Agent):", "Greeter"),
            ("    async def turn(self, cx):", "turn"),
            ("export default class App extends X {", "App"),
            ("export async function load() {", "load"),
            ("function* walk() {", "walk"),
            ("export interface Props {", "Props"),
            ("func Start() {", "Start"),
            ("func (s *Server) Stop(x int) {", "Stop"),
            ("type Server struct {", "Server"),
            ("public final class Main {", "Main"),
        ] {
            assert_eq!(defined_name(line), Some(name), "{line}");
        }
    }

    #[test]
    fn other_lines_define_no_name() {
        for line in [
            "",
            "// fn commented()",
            "# type of thing",
            "let fn_name = 3;",
            "impl Agent for Greeter {",
            "use crate::fn_x;",
            "pub use a::b;",
            "return type;",
            "pub mod search;",
            "fn",
            "pub(crate",
            "extern \"C",
        ] {
            assert_eq!(defined_name(line), None, "{line}");
        }
    }
}
