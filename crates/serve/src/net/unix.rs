//! A socket in the state directory, for tools of the same user on the same machine: ACP lines as on stdin and
//! stdout. Only the owner can access the folder and the socket, and the user of each connection is checked
//! again.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use harn_acp::{
    AcpConfig, serve_connection,
    transport::{self, OutgoingLimits},
};
use harn_runtime::Hub;
use tokio::{
    io::BufReader,
    net::{UnixListener, UnixStream},
    sync::{Semaphore, mpsc},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::private;

/// How many tools may be connected; further connections are closed.
const CONNECTIONS: usize = 1024;
const LINE_LIMIT: usize = 16 * 1024 * 1024;
/// Lines that may wait to be parsed. Few, because a line may be large.
const WAITING_LINES: usize = 4;
/// How long the last answers may take to be read.
const LAST_WORDS: Duration = Duration::from_secs(2);
const BUFFER: usize = 8 * 1024;
const EXTENSION: &str = "sock";

/// The path of a socket, which is removed on drop.
pub(super) struct SocketFile(PathBuf);

impl SocketFile {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // If this fails, the next server removes the file.
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns the folder with the sockets of running processes.
pub(crate) fn socket_folder(state_dir: &Path) -> PathBuf {
    state_dir.join("live")
}

/// Creates a socket for this process. Must be called on a runtime.
pub(super) fn bind(state_dir: &Path) -> Result<(UnixListener, SocketFile)> {
    let folder = socket_folder(state_dir);
    let path = folder.join(format!("{}.{EXTENSION}", std::process::id()));
    bind_at(&folder, path.clone()).with_context(|| format!("the socket {}", path.display()))
}

fn bind_at(folder: &Path, path: PathBuf) -> Result<(UnixListener, SocketFile)> {
    private::make_folder(folder)?;
    ensure_private(folder)?;
    remove_stale_sockets(folder);
    // A leftover of a dead process with the same id.
    let _ = fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    let place = SocketFile(path);
    // Until here, the folder's mode has kept others out.
    fs::set_permissions(place.path(), permissions(0o600))?;
    Ok((listener, place))
}

/// Serves clients until `ending`. The [`SocketFile`] removes the socket.
pub(super) async fn serve(
    listener: UnixListener,
    hub: Hub,
    config: AcpConfig,
    ending: CancellationToken,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            () = ending.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        if !is_own(&stream) {
            tracing::warn!("rejected a connection of another user to the socket");
            continue;
        }
        let Ok(seat) = room.clone().try_acquire_owned() else {
            tracing::warn!("rejected a connection to the socket: too many clients");
            continue;
        };
        let (hub, config) = (hub.clone(), config.clone());
        tokio::spawn(async move {
            let _seat = seat;
            serve_client(stream, hub, config).await;
        });
    }
}

async fn serve_client(stream: UnixStream, hub: Hub, config: AcpConfig) {
    let (lines, incoming) = mpsc::channel(WAITING_LINES);
    let (outgoing, queue) = transport::outgoing_with_limits(OutgoingLimits {
        bytes: 64 * 1024,
        chunks: 16,
        ..OutgoingLimits::default()
    });
    let (reader, writer) = stream.into_split();
    let reader = BufReader::with_capacity(BUFFER, reader);
    // Writing is a separate task that ends after the connection, so that the last answers are written.
    let mut writing = tokio::spawn(transport::write_pieces(queue, writer));
    let read = transport::read_lines_from(reader, LINE_LIMIT, lines);
    let read = async {
        let read = read.await;
        // The input has ended. A client that does not read either is not waited for: without the writer, the
        // connection ends.
        if timeout(LAST_WORDS, &mut writing).await.is_err() {
            writing.abort();
        }
        read
    };
    let (read, served) = tokio::join!(read, serve_connection(hub, config, incoming, outgoing));
    if let Err(error) = read {
        tracing::debug!(%error, "a socket connection ended");
    }
    if let Err(error) = served {
        tracing::debug!(%error, "a socket connection ended early");
    }
}

/// Returns whether the peer is the same user.
fn is_own(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own)
}

/// Makes sure that only this user can access a folder.
fn ensure_private(folder: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let meta = fs::symlink_metadata(folder)?;
    let own = meta.uid() == rustix::process::geteuid().as_raw();
    ensure!(
        meta.is_dir() && own,
        "{} is not a folder that you own",
        folder.display()
    );
    if meta.mode() & 0o077 != 0 {
        fs::set_permissions(folder, permissions(0o700))?;
    }
    Ok(())
}

fn permissions(mode: u32) -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(mode)
}

/// Removes the sockets without a listener.
fn remove_stale_sockets(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path
            .extension()
            .is_none_or(|extension| extension != EXTENSION)
        {
            continue;
        }
        let refused = std::os::unix::net::UnixStream::connect(&path);
        if refused.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn socket_is_private_and_removed_on_drop() {
        let dir = tempfile::tempdir().unwrap();
        let folder = socket_folder(dir.path());
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, permissions(0o755)).unwrap();
        let (_listener, place) = bind(dir.path()).unwrap();
        let path = place.path().to_owned();
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
        drop(place);
        assert!(!path.exists());
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_disconnects_without_reading_is_not_waited_for() {
        use tokio::io::AsyncWriteExt;
        let dir = tempfile::tempdir().unwrap();
        let options = crate::ServeOptions::new(dir.path());
        let hub = crate::hub(harn_engines::ExploreAgent::new(), &options);
        let (near, mut far) = UnixStream::pair().unwrap();
        let served = tokio::spawn(serve_client(near, hub, AcpConfig::default()));
        // Their answers exceed the buffers of a socket.
        let request =
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
        let requests = format!("{request}\n").repeat(500);
        far.write_all(requests.as_bytes()).await.unwrap();
        far.shutdown().await.unwrap();
        timeout(Duration::from_secs(60), served)
            .await
            .unwrap()
            .unwrap();
    }

    #[tokio::test]
    async fn bind_removes_sockets_without_a_listener() {
        let dir = tempfile::tempdir().unwrap();
        let folder = socket_folder(dir.path());
        fs::create_dir(&folder).unwrap();
        let (stale, live, note) = (
            folder.join("1.sock"),
            folder.join("2.sock"),
            folder.join("note"),
        );
        drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
        let _listens = std::os::unix::net::UnixListener::bind(&live).unwrap();
        fs::write(&note, "").unwrap();
        let _socket = bind(dir.path()).unwrap();
        assert!(!stale.exists() && live.exists() && note.exists());
    }

    #[tokio::test]
    async fn bind_error_names_a_socket_path_that_is_too_long() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(120));
        let error = format!("{:#}", bind(&deep).err().unwrap());
        assert!(
            error.starts_with("the socket ") && error.contains("live/"),
            "{error}"
        );
    }
}
