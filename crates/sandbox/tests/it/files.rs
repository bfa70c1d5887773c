//! What a command may write and see.

use std::fs;

use harn_sandbox::CacheOverlay;

use crate::rig::{SandboxRig, skip_without_layers};

const READ_ONLY: &str = "Read-only file system";

#[test]
fn only_the_workspace_and_the_temporary_folder_are_writable() {
    if skip_without_layers() {
        return;
    }
    let rig = SandboxRig::new();
    let kept = rig.path("outside/kept");
    fs::write(&kept, "kept").unwrap();
    let kept = kept.display();
    assert_eq!(
        rig.sh("echo a > a && cat a && mkdir b && mv a b/ && ln b/a c && rm b/a")
            .success(),
        "a"
    );
    let seen = rig.seen_temporary();
    let seen = seen.display();
    assert_eq!(
        rig.sh(&format!(
            "echo $TMPDIR && touch {seen}/x /var/tmp/y && ls {seen}"
        ))
        .success(),
        format!("{seen}\nx\ny")
    );
    assert!(rig.path("temporary/x").exists());
    for attempt in [
        "echo x >",
        "touch",
        "chmod 777",
        "truncate -s 0",
        "rm",
        "ln -f a",
    ] {
        rig.sh(&format!("touch a; {attempt} {kept}"))
            .fails_with(READ_ONLY);
    }
    rig.sh(&format!("ln {kept} hard"))
        .fails_with("Invalid cross-device link");
    rig.sh(&format!("ln -s {kept} soft && echo x > soft"))
        .fails_with(READ_ONLY);
    rig.sh("mv ../workspace ../moved").fails_with("Read-only");
    assert_eq!(
        fs::read_to_string(rig.path("outside/kept")).unwrap(),
        "kept"
    );
}

#[test]
fn nothing_is_writable_in_read_only() {
    if skip_without_layers() {
        return;
    }
    let mut rig = SandboxRig::new();
    rig.confinement = harn_sandbox::Confinement::default();
    rig.sh("touch a").fails_with(READ_ONLY);
    rig.sh("touch /tmp/a").fails_with(READ_ONLY);
    assert_eq!(
        rig.sh("echo x > /dev/null && head -c1 /dev/zero | wc -c")
            .success(),
        "1"
    );
}

#[test]
fn protected_path_and_its_folders_cannot_be_renamed() {
    if skip_without_layers() || crate::programs::skip_without("python3") {
        return;
    }
    let mut rig = SandboxRig::new();
    let deep = rig.workspace().join("a/b/c");
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("file"), "kept").unwrap();
    rig.confinement.read_only = vec![deep.clone()];
    rig.sh("echo x > a/b/c/file").fails_with(READ_ONLY);
    rig.sh("touch a/b/c/new").fails_with(READ_ONLY);
    rig.sh("chmod 777 a/b/c/file").fails_with(READ_ONLY);
    for moved in ["a/b/c", "a/b", "a"] {
        rig.rename(moved).fails_with("busy");
    }
    rig.sh("rm -rf a").fails_with(READ_ONLY);
    rig.sh("touch a/new a/b/new && mv a/new a/b/moved")
        .success();
    assert_eq!(fs::read_to_string(deep.join("file")).unwrap(), "kept");
}

#[test]
fn relative_path_does_not_lead_below_a_mount() {
    if skip_without_layers() {
        return;
    }
    let mut rig = SandboxRig::new();
    fs::create_dir(rig.workspace().join("p")).unwrap();
    rig.confinement.read_only = vec![rig.workspace().join("p")];
    for path in ["p/x", "./p/x", "../workspace/p/x", "/proc/self/cwd/p/x"] {
        rig.sh(&format!("echo x > {path}")).fails_with(READ_ONLY);
    }
}

#[test]
fn protected_link_cannot_be_replaced() {
    if skip_without_layers() {
        return;
    }
    let mut rig = SandboxRig::new();
    let inner = rig.workspace().join("inner");
    fs::create_dir_all(inner.join("real")).unwrap();
    std::os::unix::fs::symlink("real", inner.join("link")).unwrap();
    rig.confinement.read_only = vec![inner.join("link")];
    rig.sh("rm inner/link").fails_with(READ_ONLY);
    rig.sh("touch inner/real/x").fails_with(READ_ONLY);
}

#[test]
fn hidden_working_folder_is_empty() {
    if skip_without_layers() {
        return;
    }
    let mut rig = SandboxRig::new();
    rig.confinement.writable.clear();
    rig.confinement.hidden = vec![rig.workspace()];
    fs::write(rig.workspace().join("secret"), "").unwrap();
    assert_eq!(rig.sh("ls -A; ls -A $PWD").success(), "");
}

#[test]
fn working_folder_does_not_show_a_part_of_a_hidden_one() {
    if skip_without_layers() {
        return;
    }
    let mut rig = SandboxRig::new();
    rig.confinement.writable.clear();
    rig.confinement.hidden = vec![rig.path("")];
    fs::write(rig.workspace().join("secret"), "secret").unwrap();
    rig.sh("cat secret")
        .fails_with("the working directory is not visible");
}

#[test]
fn temporary_folder_may_be_in_that_of_the_system() {
    if skip_without_layers() {
        return;
    }
    let mut rig = SandboxRig::new();
    for parent in ["/tmp", "/var/tmp"] {
        let temporary = tempfile::TempDir::new_in(parent).unwrap();
        rig.confinement.temporary = Some(temporary.path().to_owned());
        let seen = rig.seen_temporary();
        let seen = seen.display();
        let script = format!("echo $TMPDIR; touch {seen}/x /var/tmp/y $TMPDIR/z; ls {seen}");
        let expected = format!("{seen}\nx\ny\nz");
        assert_eq!(rig.sh(&script).success(), expected, "{parent}");
        assert!(temporary.path().join("x").exists());
    }
}

#[test]
fn hidden_paths_are_empty() {
    if skip_without_layers() {
        return;
    }
    let mut rig = SandboxRig::new();
    fs::write(rig.path("outside/secret"), "secret").unwrap();
    fs::write(rig.path("key"), "secret").unwrap();
    fs::create_dir_all(rig.workspace().join("state/mine")).unwrap();
    rig.confinement.hidden = vec![rig.path("outside"), rig.path("key"), rig.path("missing")];
    assert_eq!(rig.sh("ls -A ../outside; cat ../key").success(), "");
    rig.sh("touch ../outside/new").fails_with(READ_ONLY);
    rig.sh("rm ../key").fails_with("");
    assert_eq!(fs::read_to_string(rig.path("key")).unwrap(), "secret");
}

#[test]
fn writable_folder_inside_a_hidden_one_stays() {
    if skip_without_layers() {
        return;
    }
    let mut rig = SandboxRig::new();
    fs::create_dir(rig.workspace().join("p")).unwrap();
    fs::write(rig.path("outside/secret"), "secret").unwrap();
    rig.confinement.read_only = vec![rig.workspace().join("p")];
    rig.confinement.hidden = vec![rig.path("")];
    assert_eq!(
        rig.sh("echo x > new; ls; ls ..").success(),
        "new\np\nworkspace"
    );
    rig.sh("touch p/x").fails_with(READ_ONLY);
    rig.sh("touch ../x").fails_with(READ_ONLY);
    assert!(rig.workspace().join("new").exists());
}

#[test]
fn shared_memory_and_terminals_are_private() {
    if skip_without_layers() || crate::programs::skip_without("python3") {
        return;
    }
    let rig = SandboxRig::new();
    let script = "
import os, multiprocessing, pty
multiprocessing.Lock()
open('/dev/shm/x', 'w').write('x')
a, b = pty.openpty()
os.write(a, b'y')
print(os.ttyname(b))";
    assert_eq!(rig.python(script).success(), "/dev/pts/0");
    assert!(!fs::exists("/dev/shm/x").unwrap());
}

#[test]
fn disks_and_the_terminal_cannot_be_opened() {
    if skip_without_layers() {
        return;
    }
    let rig = SandboxRig::new();
    let script =
        "for it in $(find /dev -type b 2>/dev/null); do head -c1 $it && echo opened; done; true";
    assert_eq!(rig.sh(script).success(), "");
    rig.sh("mknod disk b 8 0")
        .fails_with("Operation not permitted");
}

#[test]
fn cache_changes_go_to_its_overlay() {
    if skip_without_layers() {
        return;
    }
    let mut rig = SandboxRig::new();
    let cache = rig.path("outside");
    fs::write(cache.join("old"), "old").unwrap();
    let upper = rig.path("temporary/a:b,c");
    rig.confinement.caches = vec![CacheOverlay {
        dir: cache.clone(),
        upper: upper.clone(),
    }];
    rig.sh("cat ../outside/old && echo new > ../outside/old && touch ../outside/more")
        .success();
    assert_eq!(rig.sh("cat ../outside/old").success(), "new");
    assert_eq!(fs::read_to_string(cache.join("old")).unwrap(), "old");
    assert!(!cache.join("more").exists());
    assert!(upper.join("more").exists());
}

#[test]
fn second_command_has_a_cache_of_its_own_while_the_first_runs() {
    if skip_without_layers() {
        return;
    }
    let mut rig = SandboxRig::new();
    rig.confinement.caches = vec![CacheOverlay {
        dir: rig.path("outside"),
        upper: rig.path("upper"),
    }];
    let mut first = rig.command("sh", &["-c", "echo ready; cat"]);
    let pipe = std::process::Stdio::piped;
    let mut first = first.stdin(pipe()).stdout(pipe()).spawn().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(first.stdout.as_mut().unwrap(), &mut ready).unwrap();
    rig.sh("touch ../outside/second && ls ../outside").success();
    assert!(!rig.path("upper/second").exists());
    drop(first.stdin.take());
    first.wait().unwrap();
    rig.sh("touch ../outside/third").success();
    assert!(rig.path("upper/third").exists());
}

#[test]
fn mounts_cannot_be_changed() {
    if skip_without_layers() {
        return;
    }
    let rig = SandboxRig::new();
    for attempt in [
        "mount -t tmpfs x .",
        "umount /proc",
        "mount -o remount,rw /",
        "chroot / true",
    ] {
        rig.sh(attempt).fails_with("");
    }
}

#[test]
fn cache_without_an_overlay_is_read_only() {
    if skip_without_layers() || crate::programs::skip_without("python3") {
        return;
    }
    let mut rig = SandboxRig::new();
    let cache = rig.workspace().join("cache");
    fs::create_dir(&cache).unwrap();
    fs::write(rig.path("file"), "").unwrap();
    rig.confinement.temporary = None;
    rig.confinement.caches = vec![CacheOverlay {
        dir: cache,
        upper: rig.path("file"),
    }];
    rig.sh("touch cache/new").fails_with(READ_ONLY);
    rig.rename("cache").fails_with("busy");
}
