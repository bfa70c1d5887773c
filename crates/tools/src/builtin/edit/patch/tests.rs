//! Tests of patches that apply, and of the errors of those that do not.

use expect_test::{Expect, expect};

use super::*;

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\n";

fn check(text: &str, patch: &str, expected: &Expect) {
    let told = match apply("src/a.txt", text, patch) {
        Ok(text) => format!("{text:?}"),
        Err(problem) => problem,
    };
    expected.assert_eq(&told);
}

#[test]
fn hunks_are_applied() {
    check(
        TEXT,
        "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -5 +5,2 @@ five\n five\n+six\n",
        &expect![[r#""one\n2\nthree\nfour\nfive\nsix\n""#]],
    );
    check(
        TEXT,
        "@@ -0,0 +1 @@\n+zero\n",
        &expect![[r#""zero\none\ntwo\nthree\nfour\nfive\n""#]],
    );
    check(
        TEXT,
        "@@ -1,5 +0,0 @@\n-one\n-two\n-three\n-four\n-five\n",
        &expect![[r#""""#]],
    );
    check(
        TEXT,
        "@@ -2,1 +2,0 @@\n-two",
        &expect![[r#""one\nthree\nfour\nfive\n""#]],
    );
    check("", "@@ -0,0 +1,2 @@\n+a\n+b\n", &expect![[r#""a\nb\n""#]]);
    // An empty context line without its leading space.
    check(
        "a\n\nb\n",
        "@@ -1,3 +1,2 @@\n a\n\n-b\n",
        &expect![[r#""a\n\n""#]],
    );
}

#[test]
fn a_patch_uses_the_line_endings_of_the_file() {
    check(
        "a\r\nb\r\n",
        "@@ -1,2 +1,3 @@\n a\n+x\n b\n",
        &expect![[r#""a\r\nx\r\nb\r\n""#]],
    );
    check(
        "a\nb",
        "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
        &expect![[r#""a\nc""#]],
    );
    check(
        "a\nb",
        "@@ -2 +2,2 @@\n b\n+c\n",
        &expect![[r#""a\nb\nc\n""#]],
    );
}

#[test]
fn an_error_names_the_hunk_that_does_not_apply() {
    check(
        TEXT,
        "@@ -1,1 +1,1 @@\n-one\n+1\n@@ -3,1 +3,1 @@\n-four\n+4\n",
        &expect![
            "hunk 2 does not apply: line 3 of the file differs from the patch; its lines are at line 4"
        ],
    );
    check(
        TEXT,
        "@@ -1,2 +1,2 @@\n one\n-tow\n+2\n",
        &expect![
            "hunk 1 does not apply: line 2 of the file differs from the patch; read the file again"
        ],
    );
    check(
        "a\nb\na\n",
        "@@ -2 +2 @@\n-a\n+x\n",
        &expect![
            "hunk 1 does not apply: line 2 of the file differs from the patch; its lines are at several \
             other lines"
        ],
    );
    check(
        TEXT,
        "@@ -9 +9 @@\n-nine\n+9\n",
        &expect!["hunk 1 begins at line 9, but the file has 5 lines"],
    );
    check(
        TEXT,
        "@@ -3 +3 @@\n-three\n+3\n@@ -1 +1 @@\n-one\n+1\n",
        &expect!["hunk 2 overlaps the previous hunk"],
    );
}

#[test]
fn an_invalid_patch_is_rejected() {
    check(
        TEXT,
        "two\n",
        &expect!["the patch has no `@@` line, so it changes nothing"],
    );
    check(
        TEXT,
        "@@ one @@\n",
        &expect!["hunk 1: error parsing patch: unable to parse hunk header"],
    );
    check(
        TEXT,
        "@@ -1,2 +1,2 @@\n-one\n+1\n",
        &expect!["hunk 1: error parsing patch: Hunk header does not match hunk"],
    );
    check(
        TEXT,
        "@@ -1 +1 @@\n-one\n+1\n two\n",
        &expect!["hunk 1: error parsing patch: Hunk header does not match hunk"],
    );
    check(
        TEXT,
        "@@ -1 +1 @@\n*one\n",
        &expect!["hunk 1: error parsing patch: unexpected line in hunk body"],
    );
    check(
        TEXT,
        "--- a/other.txt\n+++ b/other.txt\n@@ -1 +1 @@\n-one\n+1\n",
        &expect!["line 1 of the patch names another file; one file is edited at a time"],
    );
    check(
        TEXT,
        "@@ -1 +1 @@\n-one\n+1\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-x\n+y\n",
        &expect!["hunk 1: error parsing patch: Hunk header does not match hunk"],
    );
}
