//! The port: accepts connections up to a limit, and serves HTTP/1 and HTTP/2 on each.

use std::{io, sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use harn_lines::pace::ClientQuotas;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    connection_places::{ConnectionPlace, ConnectionPlaces},
    optional_routes::refusal,
    port_connection::PortConnection,
};

/// How many clients with a principal may be connected. Requests of further clients are rejected with a message.
pub(super) const CONNECTIONS: usize = 4096;
/// How long a handshake may take, and how long a client may be connected without authentication.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an HTTP/1 connection is kept between two requests, and how long headers may take.
const HEADERS: Duration = Duration::from_secs(30);
/// How often an HTTP/2 client is pinged, and how long it may take to answer.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);
/// How long sent data may stay unacknowledged. The client's machine may be gone without closing the connection.
#[cfg(target_os = "linux")]
const UNREAD: Duration = Duration::from_secs(5 * 60);
/// How much the system buffers for a client that does not read; the default is megabytes. Linux doubles it.
#[cfg(any(target_os = "linux", target_os = "macos"))]
const SEND_BYTES: usize = 128 * 1024;
/// How long to wait when the system has no more sockets.
const BREATH: Duration = Duration::from_millis(50);

/// Serves clients until `ending`; then finishes only the open responses. `connections` is the number of clients with a
/// principal.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    connections: usize,
    ending: CancellationToken,
) {
    let places = ConnectionPlaces::new(connections);
    let shares = Arc::new(ClientQuotas::new(connections));
    let served = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = ending.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                // The process may have no descriptor left, and connections without a principal hold many.
                places.displace_oldest();
                sleep(BREATH).await;
                continue;
            }
        };
        let caller = PortConnection::new(shares.clone());
        let place = tokio::select! {
            () = ending.cancelled() => break,
            place = places.take(&caller) => place,
        };
        let (tls, router, ending) = (tls.clone(), router.clone(), ending.clone());
        served.spawn(async move {
            let served = serve_connection(stream, tls, router, caller, &place, ending).await;
            if let Err(error) = served {
                // Port scanners, closed tabs and laptops that slept: no action is needed.
                tracing::debug!(%error, "a connection ended");
            }
        });
    }
    served.close();
    served.wait().await;
}

async fn serve_connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    caller: PortConnection,
    place: &ConnectionPlace,
    ending: CancellationToken,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    stream.set_nodelay(true)?;
    limit_socket(&stream)?;
    match tls {
        Some(tls) => {
            let stream = tokio::select! {
                stream = timeout(PATIENCE, tls.accept(stream)) => stream??,
                () = place.displaced() => return Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            };
            serve_http(stream, router, caller, place, ending).await
        }
        None => serve_http(stream, router, caller, place, ending).await,
    }
}

async fn serve_http(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    caller: PortConnection,
    place: &ConnectionPlace,
    ending: CancellationToken,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let router = router.layer(Extension(caller.clone()));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        // Limits the data that waits for a client that does not read.
        .max_buf_size(64 * 1024);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(SIGN_OF_LIFE)
        .keep_alive_timeout(SIGN_OF_LIFE)
        .max_concurrent_streams(1024)
        .max_header_list_size(16 * 1024)
        .max_send_buf_size(64 * 1024);
    let service = TowerToHyperService::new(router);
    let serving = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    tokio::pin!(serving);
    let known = async {
        // Another connection may need the place before that.
        let _ = timeout(PATIENCE, place.displaced()).await;
        match caller.is_known() {
            true => std::future::pending().await,
            false => io::Error::from(io::ErrorKind::TimedOut),
        }
    };
    tokio::select! {
        done = &mut serving => return done,
        unknown = known => return Err(unknown.into()),
        () = ending.cancelled() => {}
    }
    serving.as_mut().graceful_shutdown();
    serving.await
}

pub(super) fn reject_too_many(request: &Request) -> Response {
    let words = "too many connections; try again later";
    let mut response = refusal(request, StatusCode::SERVICE_UNAVAILABLE, words);
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// Makes the system detect a lost client: by probes while no data waits for it, and by the time that data waits
/// otherwise, which also limits the time for unanswered probes. That also disconnects a client that is alive
/// and does not read: it reconnects with its last event id and misses nothing.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn limit_socket(stream: &TcpStream) -> io::Result<()> {
    use rustix::net::sockopt;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(30))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(10))?;
    sockopt::set_tcp_keepcnt(stream, 3)?;
    #[cfg(target_os = "linux")]
    {
        let unread = u32::try_from(UNREAD.as_millis()).unwrap_or(u32::MAX);
        sockopt::set_tcp_user_timeout(stream, unread)?;
    }
    sockopt::set_socket_send_buffer_size(stream, SEND_BYTES)?;
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn limit_socket(_: &TcpStream) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::net::sockopt;

    use super::*;

    #[tokio::test]
    async fn unread_data_is_limited_in_time_and_bytes() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await;
        let (stream, _) = listener.accept().await.unwrap();
        limit_socket(&stream).unwrap();
        let unread = sockopt::tcp_user_timeout(&stream).unwrap();
        assert_eq!(u128::from(unread), UNREAD.as_millis());
        assert!(sockopt::socket_send_buffer_size(&stream).unwrap() <= 2 * SEND_BYTES);
    }
}
