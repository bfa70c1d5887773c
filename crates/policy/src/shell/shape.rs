//! The forms of the words of programs that start others: which flags precede the inner program, which have a
//! value, and which values are programs. Tables only; nothing is followed here.

use crate::word_table::WordTable;

/// The form of the words before the inner program.
pub(super) struct WrapperShape {
    solo: WordTable,
    /// Flags with a value, attached or in the next word.
    valued: WordTable,
    /// The number of other words before the program.
    operands: usize,
}

fn shape(solo: &'static str, valued: &'static str, operands: usize) -> WrapperShape {
    WrapperShape {
        solo: WordTable(solo),
        valued: WordTable(valued),
        operands,
    }
}

/// The names of architectures, which are also those of programs that start others.
pub(super) const ARCHITECTURES: WordTable = WordTable(
    "alpha arm armv6l armv7b armv7l armv8b armv8l athlon aarch64 i386 i486 i586 i686 linux32 linux64 \
     loongarch mips mips32 mips64 parisc parisc32 parisc64 ppc ppc32 ppc64 ppc64le ppc64pseries ppcle \
     powerpc riscv riscv32 riscv64 s390 s390x sparc sparc32 sparc32bash sparc64 uname26 x86_64",
);

const SETARCH: &str = "-v --verbose -R --addr-no-randomize -F --fdpic-funcptrs -Z --mmap-page-zero -L \
     --addr-compat-layout -X --read-implies-exec -B --32bit -I --short-inode -S --whole-seconds -T \
     --sticky-timeouts -3 --3gb --4gb --uname-2.6";

/// Returns the shape of a program that starts another and does not change its effect.
pub(super) fn wrapper_shape(name: &str) -> Option<WrapperShape> {
    Some(match name {
        "nice" => shape("", "-n --adjustment", 0),
        "ionice" => shape("-t", "-c -n", 0),
        "nohup" | "builtin" | "fakeroot" | "catchsegv" | "unbuffer" | "xvfb-run"
        | "dbus-run-session" | "unshare" | "nsenter" | "setpriv" | "bwrap" | "firejail"
        | "proot" | "direnv" | "numactl" | "rlimit" | "prlimit" | "caffeinate" | "torsocks"
        | "proxychains" | "tini" | "dumb-init" | "busybox" | "toybox" | "aa-exec" | "ccache"
        | "cgexec" | "chpst" | "chronic" | "cpulimit" | "daemonize" | "distcc" | "eatmydata"
        | "fakechroot" | "icecc" | "ifne" | "nocache" | "pipesz" | "sccache" | "softlimit"
        | "trickle" | "uclampset" => shape("", "", 0),
        "faketime" | "lckdo" | "runcon" | "setlock" | "setuidgid" => shape("", "", 1),
        "setarch" => shape(SETARCH, "", 0),
        name if ARCHITECTURES.has(name) => shape(SETARCH, "", 0),
        "choom" => shape("", "-n --adjust -p --pid", 0),
        "logsave" => shape("-a -s -v", "", 1),
        "timeout" => shape(
            "--foreground --preserve-status -v --verbose",
            "-k --kill-after -s --signal",
            1,
        ),
        "stdbuf" => shape("", "-i -o -e --input --output --error", 0),
        "setsid" => shape("-c --ctty -f --fork -w --wait", "", 0),
        "time" | "command" => shape("-p", "", 0),
        "exec" => shape("-c -l", "-a", 0),
        "chrt" => shape("-b -f -i -o -r", "", 1),
        "taskset" | "gosu" | "su-exec" => shape("", "", 1),
        "sudo" => shape(
            "-A -b -E -H -k -n -P -S -i -s -B",
            "-u -g -h -p -C -r -t -T -U -D -R --user --group",
            0,
        ),
        "doas" => shape("-n -s -L", "-u -C -a", 0),
        "pkexec" => shape("--disable-internal-agent", "--user", 0),
        "chroot" => shape("--skip-chdir", "--userspec --groups", 1),
        "xargs" => shape(
            "-0 --null -r --no-run-if-empty -t --verbose -x --exit",
            "-n --max-args -L -P --max-procs -s -d --delimiter -I -a -E --arg-file",
            0,
        ),
        "strace" | "ltrace" => shape("-f -c -q", "-e -o -s", 0),
        "valgrind" | "rlwrap" | "perf" => shape("-q", "", 0),
        "ssh" | "mosh" => shape(
            "-4 -6 -A -a -C -f -N -n -q -T -t -v -X -x -Y",
            "-i -l -p",
            1,
        ),
        "entr" => shape("-a -c -d -n -p -r -s -z", "", 0),
        "parallel" => shape("-0 -k -v", "-j -n -I", 0),
        "systemd-run" => shape(
            "--user --scope -t -P --pty --pipe --wait -q",
            "-p --unit",
            0,
        ),
        "watch" => shape("-x -d -e -g -t -c -b", "-n --interval", 0),
        "flock" => shape("-n -s -x -u -o -F", "-w -E", 1),
        _ => return None,
    })
}

/// Returns the index of the inner program, or the unknown flag.
pub(super) fn find_inner_program<'a>(
    args: &'a [String],
    shape: &WrapperShape,
    numbers: bool,
) -> Result<usize, &'a str> {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        if arg == "--" {
            at += 1;
            break;
        }
        if !arg.starts_with('-') || arg == "-" {
            break;
        }
        let long = arg.starts_with("--");
        let flag = if long {
            arg.split('=').next().unwrap_or(arg)
        } else {
            arg.get(..2).unwrap_or(arg)
        };
        if shape.solo.has(arg) {
            at += 1;
        } else if shape.valued.has(flag) {
            let attached = if long {
                arg.contains('=')
            } else {
                arg.len() > 2
            };
            at += if attached { 1 } else { 2 };
        } else if numbers
            && arg
                .get(1..)
                .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
        {
            at += 1;
        } else {
            return Err(arg);
        }
    }
    Ok((at + shape.operands).min(args.len()))
}

/// Returns the flags whose value is a program or a line.
pub(super) fn program_flags(name: &str) -> Option<WordTable> {
    Some(WordTable(match name {
        "tar" => "--to-command --checkpoint-action --use-compress-program -I --rsh-command",
        "rsync" => "-e --rsh --rsync-path",
        "rg" => "--pre --hostname-bin",
        "sort" => "--compress-program",
        "split" => "--filter",
        "nc" | "ncat" => "-e -c --exec --sh-exec",
        "tcpdump" => "-z",
        "zip" => "-TT --unzip-command",
        _ => return None,
    }))
}
