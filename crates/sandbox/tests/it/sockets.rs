//! Which sockets a command may open.

use std::net::TcpListener;

use harn_sandbox::NetworkAccess;

use crate::{
    programs::skip_without,
    rig::{SandboxRig, skip_without_layers},
};

/// Prints what happens to a socket of each family and type.
const FAMILIES: &str = "
import socket, itertools
for name, family, kind, protocol in [
    ('tcp', 2, 1, 0), ('tcp6', 10, 1, 0), ('udp', 2, 2, 0), ('icmp', 2, 2, 1), ('raw', 2, 3, 1), ('mptcp', 2, 1, 262),
    ('sctp', 2, 5, 132), ('unix', 1, 1, 0), ('unixgram', 1, 2, 0), ('route', 16, 3, 0), ('audit', 16, 3, 9),
    ('uevent', 16, 2, 15), ('alg', 38, 5, 0), ('vsock', 40, 1, 0), ('packet', 17, 3, 3), ('x25', 9, 5, 0),
]:
    try:
        socket.socket(family, kind, protocol).close()
        print(name, end=' ')
    except PermissionError:
        pass
    except OSError as error:
        print(name + ':' + str(error.errno), end=' ')
a, b = socket.socketpair()
a.send(b'pair'); print(b.recv(4).decode())
";

fn opened(rig: &SandboxRig) -> String {
    rig.python(FAMILIES).success()
}

#[test]
fn no_socket_leads_outside_without_network() {
    if skip_without_layers() || skip_without("python3") {
        return;
    }
    let mut rig = SandboxRig::new();
    assert_eq!(opened(&rig), "route pair");
    rig.confinement.unix_sockets = true;
    assert_eq!(opened(&rig), "unix unixgram route pair");
}

#[test]
fn pair_of_datagram_sockets_does_not_lead_outside() {
    if skip_without_layers() || skip_without("python3") {
        return;
    }
    let mut rig = SandboxRig::new();
    let outside = rig.path("outside/s");
    let socket = std::os::unix::net::UnixDatagram::bind(&outside).unwrap();
    socket.set_nonblocking(true).unwrap();
    let received = || std::iter::from_fn(|| socket.recv(&mut [0; 8]).ok()).count();
    let script = "
import socket
for kind in [1, 5, 2, 3]:
    try:
        a, b = socket.socketpair(1, kind)
        print(kind, end=' ')
        a.sendto(b'out', '../outside/s')
    except OSError: pass";
    assert_eq!(rig.python(script).success(), "1 5");
    assert_eq!(received(), 0);
    rig.confinement.unix_sockets = true;
    assert_eq!(rig.python(script).success(), "1 5 2 3");
    assert_eq!(received(), 2);
}

#[test]
fn ports_limit_tcp_and_leave_no_other_protocol() {
    if skip_without_layers() || skip_without("python3") {
        return;
    }
    let mut rig = SandboxRig::new();
    let allowed = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    rig.confinement.network = NetworkAccess::Ports(vec![port(&allowed)]);
    assert_eq!(opened(&rig), "tcp tcp6 route pair");
    let connect = |port| {
        rig.python(&format!(
            "import socket; socket.create_connection(('127.0.0.1', {port}))"
        ))
    };
    connect(port(&allowed)).success();
    connect(port(&other)).fails_with("Permission denied");
    // The first data of a connection can also open it.
    let script = format!(
        "import socket; socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', {}))",
        port(&other)
    );
    rig.python(&script).fails_with("Permission denied");
    rig.python("import socket; socket.socket().bind(('127.0.0.1', 45671))")
        .fails_with("Permission denied");
    rig.confinement.network = NetworkAccess::Ports(vec![53]);
    assert_eq!(opened(&rig), "tcp tcp6 udp route pair");
}

#[test]
fn network_on_leaves_the_internet_families() {
    if skip_without_layers() || skip_without("python3") {
        return;
    }
    let mut rig = SandboxRig::new();
    rig.confinement.network = NetworkAccess::On;
    let opened = opened(&rig);
    assert!(opened.starts_with("tcp tcp6 udp "), "{opened}");
    for closed in ["unix", "audit", "alg", "vsock", "packet", "raw"] {
        assert!(!opened.contains(closed), "{opened}");
    }
}

#[test]
fn abstract_socket_of_another_process_is_closed() {
    if skip_without_layers() || skip_without("python3") {
        return;
    }
    let rig = SandboxRig::new();
    use std::os::linux::net::SocketAddrExt as _;
    let name = format!("harn-sandbox-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    let script = format!("import socket; socket.socket(1).connect('\\0{name}')");
    rig.python(&script).fails_with("Permission denied");
}

#[test]
fn socket_in_a_hidden_folder_is_out_of_reach() {
    if skip_without_layers() || skip_without("python3") {
        return;
    }
    let mut rig = SandboxRig::new();
    let _listener = std::os::unix::net::UnixListener::bind(rig.path("outside/s")).unwrap();
    let connect = "import socket; socket.socket(1).connect('../outside/s')";
    rig.python(connect).fails_with("Permission denied");
    rig.confinement.unix_sockets = true;
    rig.python(connect).success();
    rig.confinement.hidden = vec![rig.path("outside/s")];
    rig.python(connect).fails_with("Connection refused");
    rig.confinement.hidden = vec![rig.path("outside")];
    rig.python(connect).fails_with("No such file");
}
