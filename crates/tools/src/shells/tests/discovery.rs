//! Tests of discovery: the shells, their order and their sources.

use expect_test::{Expect, expect};
use harn_model::ShellPlatform::{Darwin, Linux, Windows};

use super::{FakeShellWorld, format_list};
use crate::shells::{LocalShellWorld, ShellWorld, default_id, discover};

const COMMON: [&str; 4] = ["/bin/zsh", "/bin/bash", "/bin/sh", "/usr/bin/fish"];

fn check(world: &dyn ShellWorld, expected: Expect) {
    expected.assert_eq(&format_list(&discover(world)));
}

#[test]
fn a_mac_lists_shells_of_env_and_etc_shells() {
    let world = FakeShellWorld {
        // On a Mac, users are not in this file.
        passwd: Some("root:*:0:0:System Administrator:/var/root:/bin/sh\n"),
        etc_shells: Some("# List of acceptable shells\n\n/bin/bash\n/bin/dash\n/bin/zsh\n"),
        ..FakeShellWorld::new(Darwin)
    };
    let world = world
        .env("SHELL", "/bin/zsh")
        .env("USER", "ann")
        .files(&COMMON);
    check(
        &world,
        expect![[r#"
            *zsh /bin/zsh env
             bash /bin/bash etc_shells
             dash [/bin/dash] etc_shells
             sh /bin/sh fallback
        "#]],
    );
}

#[test]
fn linux_lists_every_source_in_order() {
    let world = FakeShellWorld {
        passwd: Some("root:x:0:0::/root:/bin/sh\nann:x:1000:1000:Ann,,,:/home/ann:/usr/bin/fish\n"),
        etc_shells: Some("/bin/sh\n/usr/bin/tmux # not ours\nrelative/sh\n"),
        ..FakeShellWorld::new(Linux)
    };
    let world = world
        .env("HARN_DEFAULT_SHELL", "/opt/nu")
        .env("SHELL", "/bin/bash")
        .env("LOGNAME", "ann")
        .files(&COMMON)
        .files(&["/opt/nu"]);
    check(
        &world,
        expect![[r#"
            *nu /opt/nu configured
             bash /bin/bash env
             fish /usr/bin/fish login
             sh /bin/sh etc_shells
             tmux [/usr/bin/tmux] etc_shells
             zsh /bin/zsh fallback
        "#]],
    );
}

#[test]
fn user_takes_precedence_over_logname() {
    let world = FakeShellWorld {
        passwd: Some("ann:x:1:1::/:/bin/sh\nbob:x:2:2::/:/bin/zsh"),
        ..FakeShellWorld::new(Linux)
    };
    let world = world
        .env("USER", "bob")
        .env("LOGNAME", "ann")
        .files(&COMMON);
    check(
        &world,
        expect![[r#"
            *zsh /bin/zsh login
             bash /bin/bash fallback
             sh /bin/sh fallback
        "#]],
    );
}

#[test]
fn the_first_shell_takes_the_id_even_if_missing() {
    let world = FakeShellWorld::new(Linux)
        .env("SHELL", "/nix/old/bash")
        .files(&COMMON);
    check(
        &world,
        expect![[r#"
             bash [/nix/old/bash] env
            *zsh /bin/zsh fallback
             sh /bin/sh fallback
        "#]],
    );
}

#[test]
fn nologin_and_false_are_not_listed() {
    for shell in ["/usr/sbin/nologin", "/bin/false"] {
        let world = FakeShellWorld {
            passwd: Some("svc:x:9:9::/:/usr/sbin/nologin\nsvd:x:9:9::/:/bin/false"),
            etc_shells: Some("/usr/sbin/nologin\n/bin/false\n"),
            ..FakeShellWorld::new(Linux)
        };
        let user = if shell == "/bin/false" { "svd" } else { "svc" };
        let world = world.env("SHELL", shell).env("USER", user).files(&[
            "/bin/sh",
            "/usr/sbin/nologin",
            "/bin/false",
        ]);
        check(
            &world,
            expect![[r#"
                 zsh [/bin/zsh] fallback
                 bash [/bin/bash] fallback
                *sh /bin/sh fallback
            "#]],
        );
    }
}

#[test]
fn an_empty_machine_lists_the_fallback_shells() {
    check(
        &FakeShellWorld::new(Linux),
        expect![[r#"
            *zsh [/bin/zsh] fallback
             bash [/bin/bash] fallback
             sh [/bin/sh] fallback
        "#]],
    );
    // Broken lines and blank variables are no shells.
    let world = FakeShellWorld {
        passwd: Some("ann\n:::\nann:x:1\n"),
        etc_shells: Some("\n#/bin/fish\n   \nfish\n"),
        ..FakeShellWorld::new(Darwin)
    };
    let world = world
        .env("SHELL", "  ")
        .env("USER", "ann")
        .env("HARN_DEFAULT_SHELL", "/");
    check(
        &world,
        expect![[r#"
            *zsh [/bin/zsh] fallback
             bash [/bin/bash] fallback
             sh [/bin/sh] fallback
        "#]],
    );
}

#[test]
fn a_configured_name_is_searched_in_path() {
    let world = FakeShellWorld::new(Linux)
        .env("HARN_DEFAULT_SHELL", "fish")
        .env("PATH", "bin:/usr/local/bin/:/usr/bin")
        .files(&COMMON)
        .files(&["bin/fish"]);
    let list = discover(&world);
    assert_eq!(list.shells[0].path, "/usr/bin/fish");
    assert_eq!(list.default_shell_id.as_deref(), Some("fish"));
}

#[test]
fn a_relative_configured_path_is_never_available() {
    for path in ["./fish", "tools/fish", "../bin/fish"] {
        let world = FakeShellWorld::new(Linux)
            .env("HARN_DEFAULT_SHELL", path)
            .env("PATH", "/usr/bin")
            .files(&COMMON)
            .files(&[path]);
        let list = discover(&world);
        assert_eq!(
            (&*list.shells[0].path, list.shells[0].available),
            (path, false)
        );
        assert_eq!(list.default_shell_id.as_deref(), Some("zsh"));
    }
}

#[test]
fn windows_lists_three_shells() {
    let world = FakeShellWorld::new(Windows)
        .env("COMSPEC", r"C:\Windows\system32\cmd.exe")
        .env(
            "PATH",
            r#"C:\Windows\system32;"C:\Program Files\PowerShell\7\";tools"#,
        )
        // Windows ignores `SHELL`.
        .env("SHELL", "/bin/bash")
        .files(&[
            "/bin/bash",
            r"C:\Windows\system32\cmd.exe",
            r"C:\Program Files\PowerShell\7\pwsh.exe",
        ]);
    check(
        &world,
        expect![[r#"
            *cmd C:\Windows\system32\cmd.exe env
             pwsh C:\Program Files\PowerShell\7\pwsh.exe fallback
             powershell [powershell.exe] fallback
        "#]],
    );
    let list = discover(&world);
    let told = list.shells.iter().map(|shell| {
        let args = (shell.default_args.join(" "), shell.login_args.join(" "));
        assert_eq!(args.0, args.1);
        assert!(!shell.supports_login && !shell.supports_interactive);
        format!("{}: {}\n", shell.label, args.0)
    });
    expect![[r#"
        cmd: /C
        PowerShell: -NoProfile -Command
        Windows PowerShell: -NoProfile -Command
    "#]]
    .assert_eq(&told.collect::<String>());
}

#[test]
fn an_id_is_lower_case_without_exe() {
    let world = FakeShellWorld::new(Windows)
        .env("HARN_DEFAULT_SHELL", r"C:/Git/bin/BASH.EXE")
        .env("COMSPEC", r"C:\Windows\System32\CMD.EXE")
        .env("PATH", r"C:\PS")
        .files(&[r"C:/Git/bin/BASH.EXE", r"C:\PS\pwsh.exe"]);
    check(
        &world,
        expect![[r#"
            *bash C:/Git/bin/BASH.EXE configured
             cmd [C:\Windows\System32\CMD.EXE] env
             pwsh C:\PS\pwsh.exe fallback
             powershell [powershell.exe] fallback
        "#]],
    );
    // On other platforms a backslash is an ordinary character.
    let world = FakeShellWorld::new(Linux).env("SHELL", r"/opt/a\Fish");
    assert_eq!(discover(&world).shells[0].id, r"a\fish");
    let world = FakeShellWorld::new(Linux)
        .env("SHELL", "/opt/pwsh.EXE")
        .files(&["/opt/pwsh.EXE"]);
    let shell = &discover(&world).shells[0];
    assert_eq!(
        (&*shell.id, &*shell.default_args.join(" ")),
        ("pwsh", "-NoProfile -Command")
    );
}

#[test]
fn a_choice_counts_while_it_is_available() {
    let world = FakeShellWorld::new(Linux).files(&["/bin/bash", "/bin/sh"]);
    let shells = discover(&world).shells;
    let default = |chosen| default_id(&shells, chosen).unwrap();
    assert_eq!(default(Some("sh")), "sh");
    assert_eq!(default(Some("zsh")), "bash");
    assert_eq!(default(Some("nobody")), "bash");
    assert_eq!(default(None), "bash");
    assert_eq!(default_id(&[], Some("sh")), None);
}

/// Works on any machine.
#[test]
fn this_machine_has_an_available_default() {
    let blank = ("SHELL".to_owned(), " ".to_owned());
    let configured = ("HARN_DEFAULT_SHELL".to_owned(), "/not/there/xsh".to_owned());
    let world = LocalShellWorld::new([blank, configured]);
    assert_eq!(world.env("SHELL"), None);
    let list = discover(&world);
    let first = &list.shells[0];
    assert_eq!(
        (&*first.id, first.available, first.platform),
        ("xsh", false, world.platform())
    );
    let default = list.default_shell_id.unwrap();
    let default = list
        .shells
        .iter()
        .find(|shell| shell.id == default)
        .unwrap();
    assert!(default.available && std::path::Path::new(&default.path).is_file());
}
