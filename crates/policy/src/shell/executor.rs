//! Well-known programs that can run or write something that their words do not show, and the flag or form for it.
//! An unknown program is not in the table and is judged by its words alone.

use std::{borrow::Cow, collections::HashSet, sync::LazyLock};

use super::{git, harmless};
use crate::word_table::WordTable;

/// Programs that run what they are given, whatever their flags: interpreters, shells, pagers and editors
/// with an escape to a shell, and tools that run what a file of the project defines.
const ALWAYS: [&str; 7] = [
    // Shells.
    "ash bash cmd csh dash elvish fish ksh mksh nu powershell pwsh rbash sh tcsh xonsh yash zsh",
    // Languages.
    "awk bun deno elixir emacs emacsclient erl escript expect gawk ghci groovy guile iex irb java \
     jjs jrunscript jshell julia lua luajit m4 mawk nawk node nodejs ocaml octave osascript perl \
     php pypy python r racket rscript ruby runghc scala swipl tclsh ts-node tsx wish",
    // Shells of other programs.
    "dc ed ex ftp gdb jdb lldb mail mailx mutt mysql psql red sqlite3 telnet",
    // Editors and pagers.
    "info less lynx man more most nano nvim pico rview rvim vi view vim vimdiff w3m",
    // Tools that run what a file of the project defines.
    "ansible ansible-playbook ant bazel cmake composer ctest gmake gradle gradlew gulp just libtool make \
     meson mvn mvnw ninja nmake npm npx nx pip pipx pnpm pnpx poetry rake run-parts scons task \
     terraform tox turbo uv uvx vagrant yarn",
    // Other machines, containers, users and times.
    "at batch bwrap capsh chroot crontab doas docker firejail flatpak gosu kubectl lxc machinectl \
     mosh nerdctl newgrp nix nix-shell nsenter pkexec podman proot qemu runuser scp screen setpriv \
     sftp sg snap socat ssh ssh-agent start-stop-daemon su su-exec sudo sudoedit systemd-run tmux unshare \
     wine",
    // Programs that run others in a way of their own.
    "dbus-run-session direnv entr eval flock ld.so ltrace parallel perf rlwrap script source . \
     strace trap unbuffer valgrind watch xargs xvfb-run",
];

/// Returns the flags and words by which a program runs or writes something else. `-x` is found among several
/// letters too (`-ax`), `--long` by its beginnings and with a value, `-word` and `word` only whole.
fn flags(program: &str) -> WordTable {
    WordTable(match program {
        "apt" | "apt-get" => "-o --option -c",
        "bat" => "--pager",
        "cargo" => "--config -Z -C run r install --manifest-path rustc miri bench",
        "curl" => {
            "-o -O -K -J -c -D -T -F -d --config --output --remote-name --remote-name-all \
             --output-dir --cookie-jar --dump-header --trace --trace-ascii --stderr --upload-file \
             --data --libcurl --etag-save --hsts --alt-svc --engine"
        }
        "date" => "-s --set",
        "diff" => "-l --paginate",
        "dpkg" => "--admindir --root --pre-invoke --post-invoke",
        "enable" => "-f",
        "fd" | "fdfind" => "-x -X --exec --exec-batch",
        "file" => "-C --compile -z -Z --uncompress --uncompress-noreport -p --preserve-date",
        "find" => "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls",
        "fzf" => "--preview --bind --with-shell",
        "go" => "run generate tool install get -exec -toolexec -vettool -overlay -ldflags",
        "gpg" => "--exec-path --photo-viewer -o --output",
        "hg" => "--config --cwd -R --repository alias",
        "install" => "--strip-program",
        "ip" => "exec -b -batch -force",
        "javac" => "-J -Xplugin -processor -processorpath --processor-path --processor-module-path",
        "journalctl" => "--vacuum-size --vacuum-time --rotate",
        "logrotate" => "-m -s",
        "nc" | "ncat" => "-e -c --exec --sh-exec --lua-exec",
        "nmap" => "--script --interactive",
        "openssl" => "-engine -provider -out",
        "pandoc" => "-F -L --filter --lua-filter -o --output --pdf-engine",
        "printf" => "-v",
        "rg" => "--pre --hostname-bin -z --search-zip",
        "rsync" => "-e --rsh --rsync-path --daemon",
        "rustc" => "-C -o --codegen -Z --extern -L --sysroot",
        "sort" => "-o --output --compress-program -T --temporary-directory",
        "split" => "--filter",
        "svn" => "--diff-cmd --diff3-cmd --editor-cmd --config-option --config-dir",
        "systemctl" => "edit start restart enable link",
        "tar" | "bsdtar" | "gtar" => {
            "-I -F -x --extract --get --to-command --checkpoint-action --use-compress-program --info-script \
             --new-volume-script --rsh-command --rmt-command"
        }
        "tcpdump" => "-z -w -r",
        "test" | "[" => "-v -R",
        "tree" => "-o -R",
        "wget" => {
            "-e -i -O -o -a --execute --use-askpass --config --output-document --post-file \
             --body-file"
        }
        "xxd" => "-r -revert",
        "yq" => "-i --inplace --in-place -s",
        "zip" => "-T -TT --unzip-command",
        _ => "",
    })
}

/// Compilers, linkers and the like, by any part of their names: `gcc-12`, `x86_64-linux-gnu-g++`, `clang++-18`.
const COMPILERS: WordTable = WordTable(
    "ar as c++ c89 c99 cc clang clang++ collect2 cpp em++ emcc f77 f95 flang g++ g77 gcc gccgo gdc \
     gfortran gm2 gnatmake gold hipcc icc icpc icpx icx ifort ifx javac ld lld mold mpic++ mpicc \
     mpicxx mpif90 nm nvcc ranlib rustc swiftc tcc",
);

/// Their flags that name a program, a plugin, a folder of programs, a file with more flags, or a file to write.
/// What follows `@` is in such a file, and what follows `-Wl,` is for the linker.
const COMPILER_FLAGS: WordTable = WordTable(
    "-wrapper -B -T -o -fplugin -fpass-plugin -load -plugin --plugin -specs --specs -Xclang -Xlinker \
     -Xassembler -Xpreprocessor -fuse-ld --ld-path -ccbin --compiler-bindir --config \
     --gcc-toolchain --sysroot --prefix -run -dumpdir -dumpbase -save-temps -MF -MD -MMD -MJ \
     --output --serialize-diagnostics",
);

/// Programs that write files which an archive or a patch names.
const UNPACKERS: WordTable = WordTable("7z 7za 7zr cpio patch pax unar unrar unzip");

const TARS: WordTable = WordTable("bsdtar gtar tar");

static RUNNERS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    ALWAYS
        .into_iter()
        .flat_map(str::split_ascii_whitespace)
        .collect()
});

/// Returns a program's name as in the tables: without folder and `.exe`, in lower case.
pub(crate) fn name(program: &str) -> Cow<'_, str> {
    let base = program.rsplit(['/', '\\']).next().unwrap_or(program);
    if !base
        .bytes()
        .any(|byte| byte.is_ascii_uppercase() || byte == b'.')
    {
        return Cow::Borrowed(base);
    }
    let lower = base.to_ascii_lowercase();
    Cow::Owned(lower.strip_suffix(".exe").unwrap_or(&lower).to_owned())
}

/// Returns a name without its version: `python3.12`, `lua5.4`.
pub(super) fn family(name: &str) -> &str {
    let short =
        name.trim_end_matches(|sign: char| sign.is_ascii_digit() || sign == '.' || sign == '-');
    if short.is_empty() { name } else { short }
}

/// Returns the flag or form by which a program runs or writes something that its words do not show.
pub(super) fn exec_form(argv: &[String]) -> Option<String> {
    let (program, args) = argv.split_first()?;
    let name = name(program);
    let family = family(&name);
    if name.starts_with("ld-linux") || name.starts_with("ld.so") {
        return Some("loads a program".to_owned());
    }
    if RUNNERS.contains(&*name) || (family.len() < name.len() && RUNNERS.contains(family)) {
        let inline = args
            .iter()
            .find(|arg| matches!(arg.as_str(), "-c" | "-e" | "-exec" | "-E" | "-r"));
        return Some(inline.map_or_else(|| format!("{name} runs other code"), Clone::clone));
    }
    match &*name {
        "git" => git::exec_form(args),
        "sed" | "gsed" => {
            (!harmless::is_harmless_sed(args)).then(|| "a script that may write or run".to_owned())
        }
        "busybox" | "toybox" => (args.first()?.starts_with('-')).then(|| args[0].clone()),
        // It writes the second file.
        "uniq" => harmless::has_second_file(args).then(|| "a second file".to_owned()),
        "test" | "[" | "printf" if harmless::evaluates_words(&name, args) => {
            Some("words that may be evaluated".to_owned())
        }
        "env" => args
            .iter()
            .find(|arg| arg.starts_with("-S") || arg.starts_with("--s"))
            .cloned(),
        _ => {
            let flags = flags(&name);
            let compiles = is_compiler(&name);
            let runs = |arg: &&String| {
                flags.words().any(|flag| may_be_flag(arg, flag))
                    || (compiles && may_be_compiler_flag(arg))
            };
            if UNPACKERS.has(&name) {
                return Some("writes files that its words do not show".to_owned());
            }
            let old_tar = TARS.has(&name).then(|| args.first().cloned()).flatten();
            args.iter()
                .find(runs)
                .cloned()
                .or_else(|| old_tar.filter(|first| first.contains(['I', 'F', 'x'])))
        }
    }
}

/// Whether a part of this name is that of a compiler.
fn is_compiler(name: &str) -> bool {
    let mut parts = name.split(['-', '.']);
    parts.any(|part| COMPILERS.has(part) || COMPILERS.has(family(part)))
}

/// Whether an argument of a compiler may run or write what its words do not show.
fn may_be_compiler_flag(arg: &str) -> bool {
    arg.starts_with('@')
        || ["-Wl,", "-Wa,", "-Wp,"]
            .iter()
            .any(|to| arg.starts_with(to))
        || COMPILER_FLAGS.words().any(|flag| may_be_flag(arg, flag))
}

/// Whether an argument is, or may be, this flag.
fn may_be_flag(arg: &str, flag: &str) -> bool {
    if let Some(long) = flag.strip_prefix("--") {
        let given = arg
            .strip_prefix("--")
            .map(|rest| rest.split('=').next().unwrap_or(rest));
        return given.is_some_and(|given| !given.is_empty() && long.starts_with(given));
    }
    match flag.strip_prefix('-') {
        Some(letter) if letter.len() == 1 => {
            arg.len() > 1 && arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter)
        }
        _ => arg == flag || arg.split(['=', ':']).next() == Some(flag),
    }
}
