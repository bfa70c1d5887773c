//! seccomp: the kernel refuses system calls that lead around the other layers, and sockets that lead outside.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};

use super::{SetupError, failed};
use crate::{Confinement, NetworkAccess};

/// Not there: programs fall back to what these replaced. `io_uring` opens files and sockets past other filters, and
/// the flags of `clone3` are in memory, where a filter cannot read them.
const ABSENT: [i64; 4] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_clone3,
];

/// Refused: control of other processes, keys of the kernel, its rarely used and often broken parts. Calls that need a
/// privilege are not here, since a command has none of those privileges; each entry costs time for every command.
const REFUSED: [i64; 13] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_open_by_handle_at,
    libc::SYS_setns,
];

/// The requests `TIOCSTI` and `TIOCLINUX`: input to a terminal that other programs read as typed.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541c];

/// The flag for a user namespace, in which a command would have all privileges over what it creates there.
const NEW_USER: u64 = libc::CLONE_NEWUSER as u64;

/// The option of a send that also opens the connection, which Landlock does not see.
const FAST_OPEN: u64 = libc::MSG_FASTOPEN as u64;

type FilterRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Installs the filters in this process and all that it starts.
pub(super) fn install(confinement: &Confinement) -> Result<(), SetupError> {
    let whole = |calls: &[i64]| calls.iter().map(|call| (*call, Vec::new())).collect();
    install_one(whole(&ABSENT), libc::ENOSYS)?;
    let mut refused: FilterRules = whole(&REFUSED);
    let own = rule(&[(0, SeccompCmpOp::MaskedEq(NEW_USER), NEW_USER)])?;
    refused.insert(libc::SYS_clone, vec![own.clone()]);
    refused.insert(libc::SYS_unshare, vec![own]);
    let input: Result<_, _> = TERMINAL_INPUT
        .iter()
        .map(|request| rule(&[(1, SeccompCmpOp::Eq, *request)]))
        .collect();
    refused.insert(libc::SYS_ioctl, input?);
    install_one(refused, libc::EPERM)?;
    install_one(sockets(confinement)?, libc::EACCES)
}

/// Returns the refused sockets.
fn sockets(confinement: &Confinement) -> Result<FilterRules, SetupError> {
    const FAMILY: u8 = 0;
    const KIND: u8 = 1;
    const PROTOCOL: u8 = 2;
    /// The type of a socket without its flags.
    const KIND_BITS: u64 = 0xf;
    let number = |value: i32| u64::from(value.unsigned_abs());
    let (datagram, stream) = (number(libc::SOCK_DGRAM), number(libc::SOCK_STREAM));
    let internet = [libc::AF_INET, libc::AF_INET6].map(number);
    let mut allowed = vec![number(libc::AF_NETLINK)];
    if confinement.unix_sockets {
        allowed.push(number(libc::AF_UNIX));
    }
    let mut refused = FilterRules::new();
    // Of netlink, only the tables of interfaces, which a look-up of names reads.
    let mut socket = vec![rule(&[
        (FAMILY, SeccompCmpOp::Eq, number(libc::AF_NETLINK)),
        (PROTOCOL, SeccompCmpOp::Ne, number(libc::NETLINK_ROUTE)),
    ])?];
    match &confinement.network {
        NetworkAccess::Off => {}
        NetworkAccess::On => allowed.extend(internet),
        NetworkAccess::Ports(ports) => {
            allowed.extend(internet);
            let has_udp = ports.contains(&53);
            for family in internet {
                let is_family = (FAMILY, SeccompCmpOp::Eq, family);
                let kind = SeccompCmpOp::MaskedEq(KIND_BITS);
                // Landlock knows the ports of TCP and of no other protocol.
                socket.push(rule(&[
                    is_family.clone(),
                    (KIND, kind.clone(), stream),
                    (PROTOCOL, SeccompCmpOp::Ne, 0),
                    (PROTOCOL, SeccompCmpOp::Ne, number(libc::IPPROTO_TCP)),
                ])?);
                for other in (1..=KIND_BITS).filter(|other| *other != stream) {
                    let mut one = vec![is_family.clone(), (KIND, kind.clone(), other)];
                    if other == datagram && has_udp {
                        one.push((PROTOCOL, SeccompCmpOp::Ne, 0));
                        one.push((PROTOCOL, SeccompCmpOp::Ne, number(libc::IPPROTO_UDP)));
                    }
                    socket.push(rule(&one)?);
                }
            }
            for (call, argument) in [
                (libc::SYS_sendto, 3),
                (libc::SYS_sendmsg, 2),
                (libc::SYS_sendmmsg, 3),
            ] {
                let opens = rule(&[(argument, SeccompCmpOp::MaskedEq(FAST_OPEN), FAST_OPEN)])?;
                refused.insert(call, vec![opens]);
            }
        }
    }
    let others: Vec<_> = allowed
        .iter()
        .map(|family| (FAMILY, SeccompCmpOp::Ne, *family))
        .collect();
    socket.push(rule(&others)?);
    refused.insert(libc::SYS_socket, socket);
    if !confinement.unix_sockets {
        // One end of a pair of datagram sockets can send to any path. The kernel takes the raw type for that one.
        let pair = |kind| rule(&[(KIND, SeccompCmpOp::MaskedEq(KIND_BITS), number(kind))]);
        let other = rule(&[(FAMILY, SeccompCmpOp::Ne, number(libc::AF_UNIX))])?;
        let pairs = vec![pair(libc::SOCK_DGRAM)?, pair(libc::SOCK_RAW)?, other];
        refused.insert(libc::SYS_socketpair, pairs);
    }
    Ok(refused)
}

/// Returns the rule that matches if all conditions on 32 bits of an argument do.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, SetupError> {
    let conditions: Result<Vec<_>, _> = conditions
        .iter()
        .map(|(argument, operator, value)| {
            SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value)
        })
        .collect();
    conditions
        .and_then(SeccompRule::new)
        .map_err(failed("seccomp"))
}

fn install_one(rules: FilterRules, errno: i32) -> Result<(), SetupError> {
    let target = TargetArch::try_from(std::env::consts::ARCH).map_err(failed("seccomp"))?;
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, target);
    let program: BpfProgram = filter
        .and_then(BpfProgram::try_from)
        .map_err(failed("seccomp"))?;
    let mut whole = other_numbers();
    whole.extend(program);
    apply_filter(&whole).map_err(failed("seccomp"))
}

/// Returns the instructions that refuse the second set of numbers for the same calls (x32 of x86-64).
fn other_numbers() -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let statement = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        statement(LOAD_NUMBER, 0, 0, 0),
        statement(JUMP_IF_AT_LEAST, 0, 1, 0x4000_0000),
        statement(
            RETURN,
            0,
            0,
            u32::from(SeccompAction::Errno(libc::ENOSYS.unsigned_abs())),
        ),
    ]
}
