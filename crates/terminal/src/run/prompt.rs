//! The prompt: the words of the command line, or stdin.

use std::io::{self, IsTerminal, Read};

use anyhow::{Context, Result, anyhow};

use crate::console::as_command_line_error;

/// The maximum length in bytes; a longer input is a mistake.
const LONGEST: u64 = 16 * 1024 * 1024;

/// Returns the joined words; without words, or with only `-`, reads stdin.
///
/// # Errors
/// When there is no prompt, or stdin is not text or is too long.
pub fn read_prompt(words: &[String]) -> Result<String> {
    let prompt = match words {
        [] if io::stdin().is_terminal() => {
            return Err(as_command_line_error(anyhow!(
                "no prompt; write it after the flags, as in `harn-serve run where is main`, \
                 or send it to stdin"
            )));
        }
        [] => read_all(io::stdin().lock())?,
        [dash] if dash == "-" => read_all(io::stdin().lock())?,
        words => words.join(" "),
    };
    if prompt.trim().is_empty() {
        return Err(as_command_line_error(anyhow!(
            "the prompt is empty; write a question or a task"
        )));
    }
    Ok(prompt)
}

fn read_all(input: impl Read) -> Result<String> {
    let mut bytes = Vec::new();
    let read = input.take(LONGEST + 1).read_to_end(&mut bytes);
    read.context("reading the prompt from stdin")?;
    if bytes.len() as u64 > LONGEST {
        let error = anyhow!("the prompt on stdin is longer than 16 MiB");
        return Err(as_command_line_error(error));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| as_command_line_error(anyhow!("the prompt on stdin is not UTF-8 text")))?;
    // A typed text ends with a line break that is not part of the prompt.
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stdin_must_be_short_utf8_text() {
        let read = |bytes: &[u8]| read_all(bytes).map_err(|error| error.to_string());
        assert_eq!(read(b" a\nb\r\n\n").as_deref(), Ok(" a\nb"));
        assert!(read(b"\xff").unwrap_err().contains("not UTF-8"));
        let long = io::repeat(b'a').take(LONGEST + 5);
        let long = read_all(long).unwrap_err().to_string();
        assert!(long.contains("longer than 16 MiB"), "{long}");
    }
}
