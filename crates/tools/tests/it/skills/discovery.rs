//! Where skills are found, which one takes precedence, and what a refresh reads.

use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::Path,
    sync::Arc,
};

use expect_test::{Expect, expect};
use harn_tools::skills::{SkillRefresh, WorkspaceSkills};

use crate::skills::support::{Disk, LateClock};

fn find(disk: &Disk, cwd: &str) -> WorkspaceSkills {
    let mut places = disk.places();
    places.cli = vec![disk.path("cli")];
    places.env = vec![disk.path("env")];
    WorkspaceSkills::find(places, &disk.path(cwd), Arc::new(LateClock))
}

/// Formats the skills that were found, without the test's own directories.
fn format_skills(disk: &Disk, skills: &WorkspaceSkills) -> String {
    let registry = skills.registry();
    let mut out = String::new();
    for skill in registry.skills() {
        out += &format!("{} [{}] {}\n", skill.id, skill.layer, skill.origin);
    }
    for shadow in registry.shadowed() {
        out += &format!(
            "{} of {} hides that of {}: {}\n",
            shadow.id, shadow.winner, shadow.loser, shadow.origin
        );
    }
    for problem in registry.problems() {
        out += &format!("{problem}\n");
    }
    let top = format!("{}/", disk.top.display());
    out.replace(&top, "")
}

fn check(disk: &Disk, cwd: &str, expected: Expect) {
    expected.assert_eq(&format_skills(disk, &find(disk, cwd)));
}

const LAYERS: [&str; 8] = [
    "cli",
    "env",
    "home/ws/.harn/skills",
    "home/ws/own",
    "home/.harn/skills",
    "home/ws/.harn/packages/acme/v1/skills",
    "etc/skills",
    "config/skills",
];

#[test]
fn strongest_layer_takes_precedence() {
    let disk = Disk::new();
    disk.put("home/ws/harn.toml", "[skills]\npaths = ['own']\n");
    for (rank, layer) in LAYERS.iter().enumerate() {
        disk.write_skill(&format!("{layer}/everywhere"), "");
        disk.write_skill(&format!("{layer}/only-{rank}"), "");
    }
    check(
        &disk,
        "home/ws",
        expect![[r#"
            everywhere [cli] cli/everywhere/SKILL.md
            only-0 [cli] cli/only-0/SKILL.md
            only-1 [env] env/only-1/SKILL.md
            only-2 [project] home/ws/.harn/skills/only-2/SKILL.md
            only-3 [manifest] home/ws/own/only-3/SKILL.md
            only-4 [user] home/.harn/skills/only-4/SKILL.md
            only-5 [package] home/ws/.harn/packages/acme/v1/skills/only-5/SKILL.md
            only-6 [system] etc/skills/only-6/SKILL.md
            only-7 [system] config/skills/only-7/SKILL.md
            everywhere of cli hides that of env: env/everywhere/SKILL.md
            everywhere of cli hides that of project: home/ws/.harn/skills/everywhere/SKILL.md
            everywhere of cli hides that of manifest: home/ws/own/everywhere/SKILL.md
            everywhere of cli hides that of user: home/.harn/skills/everywhere/SKILL.md
            everywhere of cli hides that of package: home/ws/.harn/packages/acme/v1/skills/everywhere/SKILL.md
            everywhere of cli hides that of system: etc/skills/everywhere/SKILL.md
            everywhere of cli hides that of system: config/skills/everywhere/SKILL.md
        "#]],
    );
}

#[test]
fn manifest_reorders_disables_and_names_layers() {
    let disk = Disk::new();
    fs::create_dir_all(disk.path("cli")).unwrap();
    fs::create_dir_all(disk.path("env")).unwrap();
    disk.put(
        "home/ws/harn.toml",
        "[skills]\npaths = ['vendor/*']\nlookup_order = ['system', 'user']\ndisable = ['project']\n\
         [[skill.source]]\npath = 'acme'\nnamespace = 'acme/ops'\n\
         [[skill.source]]\npath = 'single'\n",
    );
    for folder in [
        "home/ws/.harn/skills/gone",
        "home/ws/vendor/one/lint",
        "home/ws/vendor/two/lint",
        "home/ws/acme/review",
        "home/ws/single",
        "home/.harn/skills/lint",
        "etc/skills/lint",
    ] {
        disk.write_skill(folder, "");
    }
    check(
        &disk,
        "home/ws",
        expect![[r#"
            acme/ops/review [manifest] home/ws/acme/review/SKILL.md
            lint [system] etc/skills/lint/SKILL.md
            single [manifest] home/ws/single/SKILL.md
            lint of system hides that of user: home/.harn/skills/lint/SKILL.md
            lint of system hides that of manifest: home/ws/vendor/one/lint/SKILL.md
            lint of system hides that of manifest: home/ws/vendor/two/lint/SKILL.md
        "#]],
    );
}

#[test]
fn nearer_directory_takes_precedence_and_home_is_no_project() {
    let disk = Disk::new();
    fs::create_dir_all(disk.path("cli")).unwrap();
    fs::create_dir_all(disk.path("env")).unwrap();
    disk.write_skill("home/ws/.harn/skills/build", "");
    disk.write_skill("home/ws/pkg/.harn/skills/build", "");
    disk.write_skill("home/.harn/skills/mine", "");
    fs::create_dir_all(disk.path("home/ws/pkg/src")).unwrap();
    check(
        &disk,
        "home/ws/pkg/src",
        expect![[r#"
            build [project] home/ws/pkg/.harn/skills/build/SKILL.md
            mine [user] home/.harn/skills/mine/SKILL.md
            build of project hides that of project: home/ws/.harn/skills/build/SKILL.md
        "#]],
    );
    check(
        &disk,
        "home",
        expect![[r#"
            mine [user] home/.harn/skills/mine/SKILL.md
        "#]],
    );
}

#[test]
fn faulty_skills_are_reported_and_the_rest_is_used() {
    let disk = Disk::new();
    fs::create_dir_all(disk.path("env")).unwrap();
    disk.write_skill("home/ws/.harn/skills/good", "");
    disk.write_skill("home/ws/.harn/skills/not good", "");
    disk.write_skill("home/ws/.harn/skills/odd", "shrot: x\n");
    disk.put("home/ws/.harn/skills/bad/SKILL.md", "---\nname: bad\n---\n");
    disk.put("home/ws/.harn/skills/notes.md", "no skill");
    disk.put("home/ws/.harn/skills/empty/README.md", "no skill");
    disk.put(
        "home/ws/.harn/skills/huge/SKILL.md",
        &"x".repeat(1024 * 1024 + 1),
    );
    fs::create_dir_all(disk.path("home/ws/.harn/skills/folder/SKILL.md")).unwrap();
    fs::create_dir_all(disk.path("home/ws/.harn/skills/binary")).unwrap();
    fs::write(disk.path("home/ws/.harn/skills/binary/SKILL.md"), [0xff, 0]).unwrap();
    check(
        &disk,
        "home/ws",
        expect![[r#"
            good [project] home/ws/.harn/skills/good/SKILL.md
            odd [project] home/ws/.harn/skills/odd/SKILL.md
            cli: warning: --skill-dir names a folder that does not exist
            home/ws/.harn/skills/bad/SKILL.md:1: error: short is required: one line that describes the purpose of the skill
            home/ws/.harn/skills/binary/SKILL.md: error: it is not UTF-8 text
            home/ws/.harn/skills/folder/SKILL.md: error: it is a folder, not a file
            home/ws/.harn/skills/huge/SKILL.md: error: it is larger than 1 MiB
            home/ws/.harn/skills/not good/SKILL.md:1: error: the name "not good" cannot be a slash command: it contains ' '; use letters, digits, `-`, `_` and `.`, beginning with a letter or digit; or give the skill another name than its folder's
            home/ws/.harn/skills/odd/SKILL.md:3: warning: unknown key "shrot"; the keys are name, short, description, when_to_use, disable_model_invocation, allowed_tools, user_invocable, paths, context, agent, model, effort, shell, argument_hint, hooks, require_signature, trusted_signers, mcp_servers
        "#]],
    );
}

#[test]
fn links_out_of_a_workspace_are_rejected() {
    let disk = Disk::new();
    fs::create_dir_all(disk.path("cli")).unwrap();
    fs::create_dir_all(disk.path("env")).unwrap();
    disk.write_skill("outside/secret", "");
    disk.write_skill("home/ws/lib/inner", "");
    disk.put(
        "home/ws/harn.toml",
        "[skills]\npaths = ['linked', '../../outside']\n",
    );
    for folder in [
        "home/ws/.harn/skills/file",
        "home/.harn/skills",
        "home/ws/.harn/packages",
    ] {
        fs::create_dir_all(disk.path(folder)).unwrap();
    }
    let link = |to: &str, from: &str| symlink(disk.path(to), disk.path(from)).unwrap();
    link("outside/secret", "home/ws/.harn/skills/folder");
    link(
        "outside/secret/SKILL.md",
        "home/ws/.harn/skills/file/SKILL.md",
    );
    link("outside", "home/ws/linked");
    link("outside", "home/ws/.harn/packages/skills");
    // Links are allowed within the workspace and in the user's own directory.
    symlink("../../lib/inner", disk.path("home/ws/.harn/skills/inner")).unwrap();
    link("outside/secret", "home/.harn/skills/mine");
    let skills = find(&disk, "home/ws");
    expect![[r#"
        inner [project] home/ws/.harn/skills/inner/SKILL.md
        mine [user] home/.harn/skills/mine/SKILL.md
        home/ws/harn.toml:2: error: "../../outside" leads out of the workspace home/ws; name such a folder with --skill-dir
        home/ws/.harn/skills/file/SKILL.md: error: this leads out of the workspace through a link; put the files themselves there, or name their folder with --skill-dir
        home/ws/.harn/skills/folder/SKILL.md: error: this leads out of the workspace through a link; put the files themselves there, or name their folder with --skill-dir
        home/ws/linked/SKILL.md: error: this leads out of the workspace through a link; put the files themselves there, or name their folder with --skill-dir
        home/ws/.harn/packages/skills/SKILL.md: error: this leads out of the workspace through a link; put the files themselves there, or name their folder with --skill-dir
    "#]]
    .assert_eq(&format_skills(&disk, &skills));

    // A link that is created after discovery is rejected too.
    let inner = skills.registry().get("inner").unwrap().clone();
    let text = skills.text(&inner).unwrap();
    assert!(text.body.starts_with("Text of inner"));
    fs::remove_file(disk.path("home/ws/.harn/skills/inner")).unwrap();
    link("outside/secret", "home/ws/.harn/skills/inner");
    assert!(skills.text(&inner).is_err());
}

#[test]
fn refresh_reads_only_what_changed() {
    let disk = Disk::new();
    fs::create_dir_all(disk.path("cli")).unwrap();
    fs::create_dir_all(disk.path("env")).unwrap();
    disk.put("home/ws/harn.toml", "[skills]\npaths = ['own']\n");
    for number in 0..20 {
        disk.write_skill(&format!("home/ws/.harn/skills/s{number}"), "");
        disk.write_skill(&format!("home/ws/own/o{number}"), "");
        disk.write_skill(&format!("home/.harn/skills/u{number}"), "");
        disk.write_skill(&format!("home/ws/.harn/packages/p{number}/skills/k"), "");
    }
    let skills = find(&disk, "home/ws");
    let all = skills.registry();
    assert_eq!(all.skills().len(), 61);
    let looked = |changed, files_read, folders_read| SkillRefresh {
        changed,
        files_read,
        folders_read,
    };
    assert_eq!(skills.refresh(), looked(false, 0, 0));

    disk.write_skill("home/ws/own/o7", "model: large\n");
    assert_eq!(skills.refresh(), looked(true, 1, 0));
    let o7 = skills.registry().get("o7").unwrap().clone();
    assert_eq!(o7.card.model.as_deref(), Some("large"));

    disk.write_skill("home/.harn/skills/new", "");
    assert_eq!(skills.refresh(), looked(true, 1, 1));

    // Same length and restored modification time: only the change time differs.
    let path = disk.path("home/.harn/skills/new/SKILL.md");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let changed = || fs::metadata(&path).unwrap().ctime_nsec();
    let before = changed();
    while changed() == before {
        fs::write(&path, text.replace("The new", "The odd")).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(modified).unwrap();
    }
    assert_eq!(skills.refresh(), looked(true, 1, 0));

    fs::remove_dir_all(disk.path("home/ws/own")).unwrap();
    assert_eq!(skills.refresh(), looked(true, 0, 0));
    assert_eq!(skills.registry().skills().len(), 42);
    // The manifest itself changed: trust applies to its content.
    disk.put("home/ws/harn.toml", "");
    assert_eq!(skills.refresh(), looked(true, 1, 0));
}

#[test]
fn one_file_or_folder_can_be_checked_alone() {
    let disk = Disk::new();
    disk.write_skill("some/good", "");
    disk.put("some/bad/SKILL.md", "---\nshort: 1\n---\n");
    let ids = |path: &str| {
        let found = WorkspaceSkills::check(&disk.path(path));
        let ids = found.skills().iter().map(|skill| skill.id.clone());
        (ids.collect::<Vec<_>>(), found.problems().len())
    };
    assert_eq!(ids("some"), (vec!["good".to_owned()], 1));
    assert_eq!(ids("some/good"), (vec!["good".to_owned()], 0));
    assert_eq!(ids("some/bad/SKILL.md"), (vec![], 1));
    assert_eq!(ids("nowhere"), (vec![], 0));
    assert!(WorkspaceSkills::check(Path::new("/")).skills().is_empty());
}

#[test]
fn thousand_skills_are_read_once() {
    let disk = Disk::new();
    disk.put("home/ws/harn.toml", "[skills]\npaths = ['own']\n");
    for number in 0..1000 {
        let layer = LAYERS[number % LAYERS.len()];
        disk.write_skill(&format!("{layer}/s{number}"), "paths: [src/**]\n");
    }
    let skills = find(&disk, "home/ws");
    assert_eq!(skills.registry().skills().len(), 1000);
    assert_eq!(skills.refresh(), SkillRefresh::default());
}

#[test]
fn just_written_file_is_read_again() {
    struct Now;
    impl harn_runtime::Clock for Now {
        fn now(&self) -> u64 {
            // Not later than the file's timestamp, so the file counts as just written.
            0
        }

        fn elapsed(&self) -> std::time::Duration {
            std::time::Duration::ZERO
        }
    }
    let disk = Disk::new();
    disk.write_skill("home/.harn/skills/new", "");
    let skills = WorkspaceSkills::find(disk.places(), &disk.workspace(), Arc::new(Now));
    let looked = skills.refresh();
    assert_eq!((looked.changed, looked.files_read), (false, 1));
}
