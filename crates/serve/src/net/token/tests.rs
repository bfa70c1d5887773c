//! Where tokens are stored, which principal each has, and which files are rejected.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

const LONG: &str = "0123456789abcdef0123456789abcdef";

fn temp_state_dir() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn write_token_file(state: &Path, text: &str, mode: u32) {
    let file = token_path(state);
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Returns the error of loading.
fn load_error(state: &Path) -> String {
    format!("{:#}", AccessTokens::load(None, state).err().unwrap())
}

#[test]
fn token_is_created_once_and_only_its_owner_can_read_it() {
    let dir = temp_state_dir();
    let inner = dir.path().join("a/b");
    let tokens = AccessTokens::load(None, &inner).unwrap();
    let file = token_path(&inner);
    assert_eq!(tokens.source(), file.display().to_string());
    assert_eq!((mode(&file), mode(&inner)), (0o600, 0o700));
    let token = fs::read_to_string(&file).unwrap();
    assert_eq!(token.trim().len(), 64);
    assert_eq!(
        tokens.find_principal(token.trim().as_bytes()),
        Some(&Principal::owner())
    );
    AccessTokens::load(None, &inner).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), token);
    let others = fs::read_dir(&inner).unwrap().count();
    assert_eq!(others, 1, "nothing is left beside it");
}

#[test]
fn token_variable_takes_precedence_and_creates_no_file() {
    let dir = temp_state_dir();
    let tokens = AccessTokens::load(Some(LONG), dir.path()).unwrap();
    assert_eq!(tokens.source(), TOKEN_VARIABLE);
    assert!(tokens.find_principal(LONG.as_bytes()).is_some());
    assert!(!token_path(dir.path()).exists());
    for wrong in ["", "short", "0123456789abcde ", "0123456789abcdef\n"] {
        let error = AccessTokens::load(Some(wrong), dir.path()).err().unwrap();
        let said = format!("{error:#}");
        assert!(
            said.starts_with("HARN_SERVE_TOKEN: a token must "),
            "{said}"
        );
    }
}

#[test]
fn each_token_has_a_principal() {
    let dir = temp_state_dir();
    let text = format!("# who may come in\n\nada {LONG}-ada\n{LONG}\n  eve   {LONG}-eve  \n");
    write_token_file(dir.path(), &text, 0o600);
    let tokens = AccessTokens::load(None, dir.path()).unwrap();
    let whose = |token: &str| tokens.find_principal(token.as_bytes()).cloned();
    assert_eq!(whose(LONG), Some(Principal::owner()));
    assert_eq!(whose(&format!("{LONG}-ada")), Some(Principal::new("ada")));
    assert_eq!(whose(&format!("{LONG}-eve")), Some(Principal::new("eve")));
    for wrong in [
        "",
        "0",
        &LONG[1..],
        &format!("{LONG}-"),
        "ada",
        &format!("ada {LONG}-ada"),
    ] {
        assert_eq!(whose(wrong), None, "{wrong}");
    }
}

#[test]
fn token_file_that_others_can_access_is_rejected() {
    for open in [0o604, 0o640, 0o602, 0o620, 0o610, 0o644, 0o666] {
        let dir = temp_state_dir();
        write_token_file(dir.path(), LONG, open);
        let said = load_error(dir.path());
        assert!(said.contains("other users can read or change it"), "{said}");
    }
    let dir = temp_state_dir();
    let elsewhere = dir.path().join("elsewhere");
    fs::write(&elsewhere, LONG).unwrap();
    symlink(&elsewhere, token_path(dir.path())).unwrap();
    let said = load_error(dir.path());
    assert!(
        said.ends_with("it is a link; put the file itself there"),
        "{said}"
    );
    let dir = temp_state_dir();
    fs::create_dir(token_path(dir.path())).unwrap();
    let said = load_error(dir.path());
    assert!(said.ends_with("it is a folder, not a file"), "{said}");
}

#[test]
fn error_names_the_line_and_hides_the_tokens() {
    let table = [
        ("", "no token in"),
        ("# nothing\n", "no token in"),
        (
            "one two three\n",
            "token:1: a line must be a token, or a name and a token",
        ),
        (
            "# x\nsecret-but-short\nshort\n",
            "token:3: a token must have between 16 and 512",
        ),
        (
            "Ada secret-enough-to-use\n",
            "token:1: a name must consist of at most 64",
        ),
        (
            "secret-enough/to-use\n",
            "token:1: a token must consist of letters, digits",
        ),
        (
            "a secret-enough-to-use\nb secret-enough-to-use\n",
            "token:2: duplicate token",
        ),
    ];
    for (text, wrong) in table {
        let dir = temp_state_dir();
        write_token_file(dir.path(), text, 0o600);
        let said = load_error(dir.path());
        assert!(said.contains(wrong), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[test]
fn token_file_that_is_too_long_is_rejected() {
    let dir = temp_state_dir();
    let limit = usize::try_from(FILE_LIMIT).unwrap();
    let comment = |bytes: usize| format!("#{}\n", "x".repeat(bytes - 2));
    // The limit is after the first half of the token.
    write_token_file(dir.path(), &format!("{}{LONG}", comment(limit - 16)), 0o600);
    let said = load_error(dir.path());
    assert!(
        said.contains("is longer than the limit of 65536 bytes"),
        "{said}"
    );
    write_token_file(dir.path(), &format!("{}{LONG}", comment(limit - 32)), 0o600);
    let tokens = AccessTokens::load(None, dir.path()).unwrap();
    assert!(tokens.find_principal(LONG.as_bytes()).is_some());
}

#[test]
fn only_the_owner_and_names_with_a_token_are_known() {
    let dir = temp_state_dir();
    write_token_file(dir.path(), &format!("ada {LONG}-ada\n"), 0o600);
    let tokens = AccessTokens::load(None, dir.path()).unwrap();
    assert_eq!(tokens.find_named("ada"), Some(Principal::new("ada")));
    assert_eq!(tokens.find_named("owner"), Some(Principal::owner()));
    for wrong in ["", "eve", "Ada", "ada ", "own"] {
        assert_eq!(tokens.find_named(wrong), None, "{wrong}");
    }
}

#[test]
fn key_depends_on_all_tokens_and_names() {
    let key = |text: &str| {
        let dir = temp_state_dir();
        write_token_file(dir.path(), text, 0o600);
        AccessTokens::load(None, dir.path())
            .unwrap()
            .derive_key(b"one")
    };
    let of_two = key(&format!("ada {LONG}-1\neve {LONG}-2\n"));
    assert_eq!(of_two, key(&format!("# x\neve {LONG}-2\nada {LONG}-1")));
    for other in [
        format!("ada {LONG}-1\n"),
        format!("ada {LONG}-2\neve {LONG}-1\n"),
        format!("ada {LONG}-1\neve {LONG}-3\n"),
        format!("ada {LONG}-1\neva {LONG}-2\n"),
        format!("ada {LONG}-1\neve {LONG}-2\n{LONG}\n"),
    ] {
        assert_ne!(of_two, key(&other), "{other}");
    }
    let tokens = AccessTokens::load(Some(LONG), "/nowhere".as_ref()).unwrap();
    assert_ne!(tokens.derive_key(b"one"), tokens.derive_key(b"two"));
}
