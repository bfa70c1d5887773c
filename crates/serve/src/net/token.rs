//! The tokens of the port: where they are stored, and the principal of each.
//!
//! The process stores only hashes, and compares all of them, so that neither a dump of its memory nor the time
//! of an answer reveals anything about a token. No token is ever logged or repeated, not even a wrong one.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use harn_model::Principal;
use harn_tools::{LinkPolicy, open_regular_file};
use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeEq};

use crate::{options::TOKEN_VARIABLE, private};

/// Long enough to make guessing infeasible.
const SHORTEST: usize = 16;
const LONGEST: usize = 512;
/// Far more than a handwritten file.
const FILE_LIMIT: u64 = 64 * 1024;

/// The valid tokens, with their principals.
pub(crate) struct AccessTokens {
    all: Vec<(TokenHash, Principal)>,
    place: String,
}

type TokenHash = [u8; 32];

impl AccessTokens {
    /// Loads the token of the environment, else those of `<state>/token`, which is created if it is missing.
    pub(crate) fn load(variable: Option<&str>, state_dir: &Path) -> Result<Self> {
        if let Some(token) = variable {
            let sum = hash_token(token).with_context(|| TOKEN_VARIABLE.to_owned())?;
            return Ok(Self {
                all: vec![(sum, Principal::owner())],
                place: TOKEN_VARIABLE.to_owned(),
            });
        }
        let file = token_path(state_dir);
        if !exists(&file)? {
            create_token_file(&file).with_context(|| format!("creating {}", file.display()))?;
        }
        Ok(Self {
            all: read_tokens(&file)?,
            place: file.display().to_string(),
        })
    }

    /// Returns the name of the variable or the path of the file with the tokens.
    pub(crate) fn source(&self) -> &str {
        &self.place
    }

    /// Returns the principal of a token. Takes the same time for valid and invalid tokens.
    pub(crate) fn find_principal(&self, token: &[u8]) -> Option<&Principal> {
        let sum: TokenHash = Sha256::digest(token).into();
        let mut found = u32::MAX;
        for (index, (known, _)) in (0_u32..).zip(&self.all) {
            found.conditional_assign(&index, known[..].ct_eq(&sum[..]));
        }
        let found = usize::try_from(found).ok()?;
        self.all.get(found).map(|(_, principal)| principal)
    }

    /// Returns the principal with this name: the owner, or one with a token.
    pub(super) fn find_named(&self, name: &str) -> Option<Principal> {
        let owner = Principal::owner();
        let mut known = self.all.iter().map(|(_, principal)| principal);
        let known = known.find(|known| known.as_str() == name);
        known.cloned().or((owner.as_str() == name).then_some(owner))
    }

    /// Derives a key that changes with any token or its name, whatever their order.
    pub(super) fn derive_key(&self, purpose: &[u8]) -> TokenHash {
        let mut all: Vec<_> = self.all.iter().collect();
        all.sort();
        let mut key = Sha256::new_with_prefix(purpose);
        for (sum, principal) in all {
            // Names contain no line end, so two different lists never produce the same input.
            key.update(sum);
            key.update(principal.as_str());
            key.update("\n");
        }
        key.finalize().into()
    }
}

/// Returns the path of the token file.
pub(crate) fn token_path(state_dir: &Path) -> PathBuf {
    state_dir.join("token")
}

/// Checks that a token file is usable; returns the number of its tokens, or none without a file.
pub(crate) fn check(file: &Path) -> Result<Option<usize>> {
    match exists(file)? {
        true => read_tokens(file).map(|all| Some(all.len())),
        false => Ok(None),
    }
}

fn exists(file: &Path) -> Result<bool> {
    match fs::symlink_metadata(file) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| file.display().to_string()),
    }
}

/// Creates a random token in a file that only its owner can read. Keeps a file that another process created first.
fn create_token_file(file: &Path) -> Result<()> {
    let token = format!("{}\n", random_hex::<32>()?);
    if let Some(dir) = file.parent() {
        private::make_folder(dir)?;
    }
    // Written to a draft first, so that no process reads half of it.
    let draft = file.with_extension(format!("new-{}", std::process::id()));
    let open = private::file_options()
        .write(true)
        .create_new(true)
        .open(&draft);
    let written = open.and_then(|mut open| {
        open.write_all(token.as_bytes())?;
        open.sync_all()
    });
    // A link fails if the file exists; a rename would replace it.
    let placed = written.and_then(|()| fs::hard_link(&draft, file));
    let _ = fs::remove_file(&draft);
    match placed {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && file.exists() => Ok(()),
        placed => Ok(placed?),
    }
}

/// Returns random bytes as hexadecimal digits.
pub(super) fn random_hex<const BYTES: usize>() -> Result<String> {
    let mut random = [0_u8; BYTES];
    getrandom::fill(&mut random)
        .map_err(|error| anyhow!("cannot generate random numbers: {error}"))?;
    Ok(to_hex(&random))
}

pub(super) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the tokens of a file: a token, or a name and a token, on each line.
fn read_tokens(file: &Path) -> Result<Vec<(TokenHash, Principal)>> {
    let shown = file.display();
    let open = open(file).with_context(|| format!("the token file {shown}"))?;
    let mut text = String::new();
    open.take(FILE_LIMIT + 1)
        .read_to_string(&mut text)
        .map_err(|_| anyhow!("the token file {shown} cannot be read as text"))?;
    // A cut could leave half of a token, which is easier to guess.
    ensure!(
        text.len() as u64 <= FILE_LIMIT,
        "the token file {shown} is longer than the limit of {FILE_LIMIT} bytes"
    );
    let mut all: Vec<(TokenHash, Principal)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split_whitespace();
        let (name, token) = match (words.next(), words.next(), words.next()) {
            (None, ..) => continue,
            (Some(word), ..) if word.starts_with('#') => continue,
            (Some(token), None, _) => (None, token),
            (Some(name), Some(token), None) => (Some(name), token),
            (_, _, Some(_)) => {
                bail!("{shown}:{number}: a line must be a token, or a name and a token")
            }
        };
        let at = || format!("{shown}:{number}");
        let principal = match name {
            Some(name) => parse_principal(name).with_context(at)?,
            None => Principal::owner(),
        };
        let sum = hash_token(token).with_context(at)?;
        ensure!(
            all.iter().all(|(known, _)| *known != sum),
            "{shown}:{number}: duplicate token; each token belongs to one name"
        );
        all.push((sum, principal));
    }
    ensure!(
        !all.is_empty(),
        "no token in {shown}; remove the file, and the server creates a new one"
    );
    Ok(all)
}

/// Opens a file that only this user can access, and follows no link.
fn open(file: &Path) -> Result<File> {
    use std::os::unix::fs::MetadataExt;
    let open = open_regular_file(file, LinkPolicy::Refuse)?;
    let meta = open.metadata()?;
    ensure!(
        meta.uid() == rustix::process::geteuid().as_raw(),
        "it belongs to another user; remove it, and the server creates a new one"
    );
    ensure!(
        meta.mode() & 0o077 == 0,
        "other users can read or change it, so its tokens are no longer secret; remove it, and \
         the server creates a new one, or keep it with: chmod 600 {}",
        file.display()
    );
    Ok(open)
}

fn parse_principal(name: &str) -> Result<Principal> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    ensure!(
        name.len() <= 64 && name.bytes().all(plain),
        "a name must consist of at most 64 lowercase letters, digits, - and _"
    );
    Ok(Principal::new(name))
}

/// Returns the hash of a usable token. The error repeats nothing of the token.
fn hash_token(token: &str) -> Result<TokenHash> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    ensure!(
        (SHORTEST..=LONGEST).contains(&token.len()),
        "a token must have between {SHORTEST} and {LONGEST} characters"
    );
    ensure!(
        token.bytes().all(plain),
        "a token must consist of letters, digits, -, ., _ and ~"
    );
    Ok(Sha256::digest(token.as_bytes()).into())
}

#[cfg(test)]
mod tests;
