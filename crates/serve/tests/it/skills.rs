//! `harn-serve skills` as a user sees it.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use expect_test::{Expect, expect};
use serde_json::Value;
use tempfile::TempDir;

struct Scene {
    dir: TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(scene.path("home/ws/.git")).unwrap();
        fs::create_dir_all(scene.path("home/empty/.git")).unwrap();
        scene.write(
            "home/ws/.harn/skills/deploy/SKILL.md",
            "---\nshort: Ship it\nargument_hint: STAGE\nallowed_tools: [run_command]\n\
             paths: [infra/**]\nhooks: {activate: echo hi}\n\
             mcp_servers: {db: {command: serve, env: {TOKEN: hunter2}}}\n---\n# Ship\n\nTo $1.\n",
        );
        scene.write(
            "home/.harn/skills/deploy/SKILL.md",
            "---\nshort: Mine\n---\n",
        );
        scene.write(
            "more/lint/SKILL.md",
            "---\nshort: \"Red \\e[31m\"\nmood: x\n---\n",
        );
        scene
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harn-serve"));
        command
            .arg("skills")
            .args(args)
            .current_dir(self.path("home/ws"))
            .env_clear()
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("HARN_SKILLS_PATH", self.path("more"));
        command.output().unwrap()
    }

    /// Compares the output and exit code of a command, without the path of the test's folder.
    fn check(&self, args: &[&str], expected: Expect) {
        let output = self.run(args);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let said = format!(
            "{}{}exit {}\n",
            text(&output.stdout),
            text(&output.stderr),
            output.status.code().unwrap()
        );
        let top = format!(
            "{}/",
            self.path("").display().to_string().trim_end_matches('/')
        );
        expected.assert_eq(&said.replace(&top, ""));
    }
}

#[test]
fn list_shows_skills_and_those_they_hide() {
    let scene = Scene::new();
    scene.check(
        &["list"],
        expect![[r#"
        ID      LAYER    SHORT
        deploy  project  Ship it
        deploy  user     (hidden by the project skill) home/.harn/skills/deploy/SKILL.md
        lint    env      Red \u{1b}[31m
        harn-serve: there are warnings; `harn-serve skills check` lists them
        exit 0
    "#]],
    );
    scene.check(
        &[
            "list",
            "--cwd",
            "../empty",
            "--skill-dir",
            "../ws/.harn/skills",
        ],
        expect![[r#"
            ID      LAYER  SHORT
            deploy  cli    Ship it
            deploy  user   (hidden by the cli skill) home/.harn/skills/deploy/SKILL.md
            lint    env    Red \u{1b}[31m
            harn-serve: there are warnings; `harn-serve skills check` lists them
            exit 0
        "#]],
    );
    let json = scene.run(&["list", "--json"]).stdout;
    let json: Vec<Value> = serde_json::from_slice(&json).unwrap();
    let ids: Vec<_> = json.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["deploy", "deploy", "lint"]);
    assert_eq!(json[1]["shadowed_by"], "project");
}

#[test]
fn show_prints_a_skill_without_its_secrets() {
    let scene = Scene::new();
    scene.check(
        &["show", "deploy"],
        expect![[r#"
        id:            deploy
        layer:         project
        origin:        home/ws/.harn/skills/deploy/SKILL.md
        command:       /deploy STAGE
        short:         Ship it
        paths:         infra/**
        allowed tools: run_command
        hook:          activate: echo hi
        mcp server:    db
        hides:         home/.harn/skills/deploy/SKILL.md (user)

        # Ship

        To $1.
        exit 0
    "#]],
    );
    scene.check(
        &["show", "deplyo"],
        expect![[r#"
        error: unknown skill deplyo; did you mean `deploy`? `harn-serve skills list` lists all
        exit 1
    "#]],
    );
}

#[test]
fn check_prints_problems_with_lines_and_sets_the_exit_code() {
    let scene = Scene::new();
    scene.check(&["check"], expect![[r#"
        more/lint/SKILL.md:3: warning: unknown key "mood"; the keys are name, short, description, when_to_use, disable_model_invocation, allowed_tools, user_invocable, paths, context, agent, model, effort, shell, argument_hint, hooks, require_signature, trusted_signers, mcp_servers
        2 skills, 0 errors, 1 warning
        exit 0
    "#]]);
    scene.write(
        "home/ws/.harn/skills/bad/SKILL.md",
        "---\nshort: a\npaths: x\n---\n",
    );
    scene.check(&["check"], expect![[r#"
        more/lint/SKILL.md:3: warning: unknown key "mood"; the keys are name, short, description, when_to_use, disable_model_invocation, allowed_tools, user_invocable, paths, context, agent, model, effort, shell, argument_hint, hooks, require_signature, trusted_signers, mcp_servers
        home/ws/.harn/skills/bad/SKILL.md:3: error: paths must be a list, such as [a, b], not text
        2 skills, 1 error, 1 warning
        exit 1
    "#]]);
    scene.check(
        &["check", ".harn/skills/deploy"],
        expect![[r#"
        1 skill, 0 errors, 0 warnings
        exit 0
    "#]],
    );
    scene.check(
        &["check", ".harn/skills/bad/SKILL.md", "../../more"],
        expect![[r#"
            .harn/skills/bad/SKILL.md:3: error: paths must be a list, such as [a, b], not text
            ../../more/lint/SKILL.md:3: warning: unknown key "mood"; the keys are name, short, description, when_to_use, disable_model_invocation, allowed_tools, user_invocable, paths, context, agent, model, effort, shell, argument_hint, hooks, require_signature, trusted_signers, mcp_servers
            1 skill, 1 error, 1 warning
            exit 1
        "#]],
    );
    scene.check(
        &["check", ".git"],
        expect![[r#"
        error: .git: no SKILL.md in this folder or its direct subfolders
        exit 2
    "#]],
    );
    scene.check(
        &["list", "--cwd", "nowhere"],
        expect![[r#"
        error: --cwd nowhere: No such file or directory (os error 2)
        exit 2
    "#]],
    );
}

/// Runs a prompt with a token in the environment; returns the answer.
#[cfg(feature = "terminal")]
fn run_prompt(scene: &Scene, prompt: &str) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_harn-serve"))
        .args(["run", prompt, "--state-dir"])
        .arg(scene.path("state"))
        .current_dir(scene.path("home/empty"))
        .env_clear()
        .env("HOME", scene.path("home"))
        .env("SHOWN", "value-of-a-variable")
        .env("HARN_SERVE_TOKEN", "value-of-the-token")
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[cfg(feature = "terminal")]
#[test]
fn a_skill_can_name_variables_but_never_the_token() {
    let scene = Scene::new();
    let body = "---\nshort: Leaks\n---\n${SHOWN} ${HARN_SERVE_TOKEN}\n";
    scene.write("home/.harn/skills/leak/SKILL.md", body);
    let own = run_prompt(&scene, "/leak");
    assert!(
        own.contains("value-of-a-variable ${HARN_SERVE_TOKEN}"),
        "{own}"
    );
    // A skill of an untrusted workspace.
    scene.write("home/empty/.harn/skills/steal/SKILL.md", body);
    let theirs = run_prompt(&scene, "/steal");
    assert!(theirs.contains("${SHOWN} ${HARN_SERVE_TOKEN}"), "{theirs}");
}

#[test]
fn missing_skill_folder_is_rejected() {
    let scene = Scene::new();
    let done = scene.run(&["list", "--skill-dir", "/no/such/folder"]);
    assert_eq!(done.status.code(), Some(2));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(
        said.contains("--skill-dir /no/such/folder: the folder does not exist"),
        "{said}"
    );
}
