//! The job's side of the control socket.

use super::protocol::{self, Fault, Reply, Request};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Clients that are served at the same time; more than any person has.
const CLIENTS_MAX: usize = 32;

/// A client must have asked within this.
const PATIENCE: Duration = Duration::from_secs(5);

/// What answers requests.
pub trait Control: Send + Sync + 'static {
    /// Does what is asked. May take as long as the job needs; other clients are answered meanwhile.
    fn answer(&self, request: Request) -> Reply;
}

/// Serves a control socket until dropped.
#[derive(Debug)]
pub struct Server {
    leaving: Arc<AtomicBool>,
    path: std::path::PathBuf,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    /// Starts serving.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn start(listener: UnixListener, control: Arc<dyn Control>) -> io::Result<Self> {
        let leaving = Arc::new(AtomicBool::new(false));
        let address = listener.local_addr()?;
        let path = address.as_pathname().map(ToOwned::to_owned).unwrap_or_default();
        let flag = Arc::clone(&leaving);
        let name = "millstream-control".to_owned();
        let thread = thread::Builder::new().name(name).spawn(move || serve(&listener, &control, &flag))?;
        Ok(Self { leaving, path, thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.leaving.store(true, Ordering::Release);
        // A connection wakes the thread; when none is possible it cannot be waited for either.
        if UnixStream::connect(&self.path).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &UnixListener, control: &Arc<dyn Control>, leaving: &AtomicBool) {
    let clients = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if leaving.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if clients.fetch_add(1, Ordering::AcqRel) >= CLIENTS_MAX {
            clients.fetch_sub(1, Ordering::AcqRel);
            continue;
        }
        let (control, held) = (Arc::clone(control), Held(Arc::clone(&clients)));
        let client = thread::Builder::new().name("millstream-client".to_owned());
        // Without a thread the client sees the connection close.
        let _ = client.spawn(move || {
            let _held = held;
            serve_one(stream, &*control);
        });
    }
}

/// A place among the clients.
struct Held(Arc<AtomicUsize>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn serve_one(mut stream: UnixStream, control: &dyn Control) {
    let set = stream.set_read_timeout(Some(PATIENCE)).and(stream.set_write_timeout(Some(PATIENCE)));
    if set.is_err() || !is_owner(&stream) {
        return;
    }
    let reply = match protocol::receive(&mut stream, protocol::REQUEST_MAX) {
        Ok(request) => control.answer(request),
        Err(error) => Reply::Refused(Fault {
            what: "read request".to_owned(),
            at: "control socket".to_owned(),
            cause: error.to_string(),
            hint: None,
        }),
    };
    // A client that has gone does not need the answer.
    let _ = protocol::send(&mut stream, &reply);
}

/// Whether the other side belongs to the user of this process (or is root).
#[cfg(target_os = "linux")]
fn is_owner(stream: &UnixStream) -> bool {
    let peer = rustix::net::sockopt::socket_peercred(stream).map(|peer| peer.uid);
    peer.is_ok_and(|uid| uid.is_root() || uid == rustix::process::getuid())
}

/// The permissions of the socket have to do.
#[cfg(not(target_os = "linux"))]
fn is_owner(_: &UnixStream) -> bool {
    true
}
