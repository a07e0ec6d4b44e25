//! The job's side of the control socket.

use super::protocol::{self, Fault, Reply, Request};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Clients that are served at the same time; more than any person has.
const CLIENTS_MAX: usize = 32;

/// A client must have asked within this.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time between two tries to accept a client when that fails.
const REST: Duration = Duration::from_millis(50);

/// What answers requests.
pub trait Control: Send + Sync + 'static {
    /// Does what is asked. May take as long as the job needs; other clients are answered meanwhile.
    fn answer(&self, request: Request) -> Reply;
}

/// Serves a control socket until dropped. Clients that have been promised an answer get it first.
#[derive(Debug)]
pub struct Server {
    leaving: Arc<AtomicBool>,
    clients: Arc<Clients>,
    path: PathBuf,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    /// Starts serving.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn start(listener: UnixListener, control: Arc<dyn Control>) -> io::Result<Self> {
        let leaving = Arc::new(AtomicBool::new(false));
        let clients = Arc::new(Clients::default());
        let path = listener.local_addr()?.as_pathname().map(ToOwned::to_owned).unwrap_or_default();
        let (flag, served) = (Arc::clone(&leaving), Arc::clone(&clients));
        let builder = thread::Builder::new().name("millstream-control".to_owned());
        let rest = || thread::sleep(REST);
        let thread = builder.spawn(move || serve(listener.incoming(), &control, &served, &flag, rest))?;
        Ok(Self { leaving, clients, path, thread: Some(thread) })
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
        self.clients.wait(PATIENCE);
    }
}

fn serve(
    incoming: impl Iterator<Item = io::Result<UnixStream>>,
    control: &Arc<dyn Control>,
    clients: &Arc<Clients>,
    leaving: &AtomicBool,
    mut rest: impl FnMut(),
) {
    for stream in incoming {
        if leaving.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = stream else {
            // What fails now, for want of a file descriptor say, most likely fails at once again.
            rest();
            continue;
        };
        let Some(place) = Clients::enter(clients) else { continue };
        let control = Arc::clone(control);
        let client = thread::Builder::new().name("millstream-client".to_owned());
        // Without a thread the client sees the connection close.
        let _ = client.spawn(move || {
            serve_one(stream, &*control);
            drop(place);
        });
    }
}

/// Clients that are being served.
#[derive(Debug, Default)]
struct Clients {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Clients {
    fn enter(clients: &Arc<Self>) -> Option<Place> {
        let mut count = clients.count.lock().unwrap_or_else(PoisonError::into_inner);
        if *count >= CLIENTS_MAX {
            return None;
        }
        *count += 1;
        Some(Place(Arc::clone(clients)))
    }

    /// Waits until there are none, but not for ever.
    fn wait(&self, most: Duration) {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.changed.wait_timeout_while(count, most, |count| *count > 0);
    }
}

/// A place among the clients.
struct Place(Arc<Clients>);

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.changed.notify_all();
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    impl Control for Nobody {
        fn answer(&self, _: Request) -> Reply {
            Reply::Done
        }
    }

    /// For want of file descriptors, say: accepting goes on failing, and must not take a processor for it.
    #[test]
    fn a_server_that_cannot_accept_rests_before_it_tries_again() {
        let errors = (0..7).map(|_| Err(io::Error::from_raw_os_error(24)));
        let (clients, mut rests) = (Arc::default(), 0);
        let control: Arc<dyn Control> = Arc::new(Nobody);
        serve(errors, &control, &clients, &AtomicBool::new(false), || rests += 1);
        assert_eq!(rests, 7);
    }
}
