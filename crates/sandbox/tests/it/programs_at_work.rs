//! Real programs do real work in the sandbox, and `strace` watches what they open and connect to.

use std::{fs, path::Path, process::Command};

use harn_sandbox::CacheOverlay;

use crate::{
    programs::skip_without,
    rig::{SandboxRig, TRIAL, skip_without_layers},
};

/// Runs a script with the caches of tools as overlays, watched by `strace`. Returns its output.
fn watched(rig: &mut SandboxRig, script: &str) -> String {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test has no composition root that could hand it in"
    )]
    let home = std::env::var_os("HOME").unwrap_or_default();
    rig.confinement.caches = [".cargo", ".npm", ".cache"]
        .map(|name| CacheOverlay {
            dir: Path::new(&home).join(name),
            upper: rig.path(&format!("upper{name}")),
        })
        .to_vec();
    let trace = rig.path("trace");
    // In a user namespace, only root sees the arguments of the calls.
    let is_watched = rustix::process::geteuid().is_root();
    let mut command = Command::new(if is_watched { "strace" } else { TRIAL });
    if is_watched {
        command
            .args(["-f", "-y", "-qq", "-s", "4096", "-o"])
            .arg(&trace)
            .args(["-e", "trace=open,openat,creat,connect,bind", TRIAL]);
    }
    command
        .arg(serde_json::to_string(&rig.confinement).unwrap())
        .args(["sh", "-c", &format!("set -e; {script}")])
        .current_dir(rig.workspace());
    for name in [
        "CARGO_TARGET_DIR",
        "CARGO_BUILD_TARGET_DIR",
        "RUSTFLAGS",
        "MAKEFLAGS",
        "CARGO_MAKEFLAGS",
    ] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {err}");
    if is_watched {
        check(rig, &fs::read_to_string(trace).unwrap());
    }
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

/// Checks that no file outside was opened for writing, and nothing was connected.
fn check(rig: &SandboxRig, trace: &str) {
    let mut places: Vec<String> = ["/tmp/", "/var/tmp/", "/dev/", "/proc/"]
        .map(String::from)
        .to_vec();
    places.push(format!("{}/", rig.workspace().display()));
    places.extend(
        rig.confinement
            .caches
            .iter()
            .map(|cache| format!("{}/", cache.dir.display())),
    );
    let mut opened = 0;
    for line in trace.lines() {
        let Some((call, result)) = line.rsplit_once(" = ") else {
            continue;
        };
        if result.starts_with('-') || result.starts_with('?') {
            continue;
        }
        let is_socket = call.contains(" connect(") || call.contains(" bind(");
        assert!(!is_socket || call.contains("AF_NETLINK"), "{line}");
        let writes = ["O_WRONLY", "O_RDWR", "O_TRUNC", "creat("]
            .iter()
            .any(|flag| call.contains(flag));
        if !writes {
            continue;
        }
        opened += 1;
        let path = result.split_once('<').map_or("", |(_, path)| path);
        // The pipe of a job server, opened by its number.
        if path.starts_with("pipe:") {
            continue;
        }
        assert!(places.iter().any(|place| path.starts_with(place)), "{line}");
    }
    assert!(
        opened > 0,
        "the trace has no file that was written: {trace}"
    );
}

fn rig_with(programs: &[&str]) -> Option<SandboxRig> {
    let skip =
        skip_without_layers() || ["strace"].iter().chain(programs).any(|it| skip_without(it));
    (!skip).then(SandboxRig::new)
}

#[test]
fn git_clones_commits_and_rebases() {
    let Some(mut rig) = rig_with(&["git"]) else {
        return;
    };
    let script = "git init -q one && cd one && git config user.name A && git config user.email a@b
        echo a > a && git add a && git commit -qm a && cd .. && git clone -q one two && cd two
        git config user.name B && git config user.email b@b && git checkout -qb side && echo b > b && git add b
        git commit -qm b && git rebase -q --onto HEAD~1 HEAD~1 && git log --oneline | wc -l";
    assert_eq!(watched(&mut rig, script), "2");
}

#[test]
fn cargo_builds_and_tests() {
    let Some(mut rig) = rig_with(&["cargo", "cc"]) else {
        return;
    };
    // A workspace of its own: the folder may be below the target folder of another one.
    let manifest = "[package]\nname = \"tiny\"\nedition = \"2024\"\n[workspace]\n";
    let program = "fn main() { println!(\"Hello, world!\") }\n#[test] fn runs() { main() }\n";
    fs::create_dir(rig.workspace().join("src")).unwrap();
    fs::write(rig.workspace().join("Cargo.toml"), manifest).unwrap();
    fs::write(rig.workspace().join("src/main.rs"), program).unwrap();
    let script = "cargo test -q --offline >/dev/null 2>&1; cargo run -q --offline";
    assert_eq!(watched(&mut rig, script), "Hello, world!");
}

#[test]
fn npm_runs_scripts_and_installs_a_package() {
    let Some(mut rig) = rig_with(&["npm", "node"]) else {
        return;
    };
    let manifest =
        r#"{"name":"p","version":"1.0.0","scripts":{"hi":"node -e 'console.log(6*7)'"}}"#;
    fs::create_dir(rig.workspace().join("p")).unwrap();
    fs::write(rig.workspace().join("p/package.json"), manifest).unwrap();
    let script = "cd p && npm run -s hi && npm pack -s >/dev/null && mkdir ../q && cd ../q
        npm install --offline --no-audit --no-fund -s ../p/p-1.0.0.tgz && ls node_modules";
    assert_eq!(watched(&mut rig, script), "42\np");
}

#[test]
fn python_starts_processes_and_makes_temporary_files() {
    let Some(mut rig) = rig_with(&["python3"]) else {
        return;
    };
    let script = "python3 -c '
import multiprocessing, os, tempfile
with multiprocessing.Pool(2) as pool, tempfile.TemporaryDirectory() as folder:
    print(pool.map(abs, [-1, 2]), folder.startswith(os.environ[\"TMPDIR\"]))'";
    assert_eq!(watched(&mut rig, script), "[1, 2] True");
}

#[test]
fn make_compiles_and_tar_keeps_owners() {
    let Some(mut rig) = rig_with(&["make", "cc", "tar"]) else {
        return;
    };
    fs::write(rig.workspace().join("m.c"), "int main(void) { return 0; }").unwrap();
    fs::write(rig.workspace().join("Makefile"), "m: m.c\n\t@cc -o m m.c\n").unwrap();
    let script = "make -s -j2 && ./m && tar cf all.tar m m.c && mkdir t && tar xpf all.tar -C t && cp -a t u && ls u";
    assert_eq!(watched(&mut rig, script), "m\nm.c");
}
