//! The side of the verbs: which jobs run, and asking one of them.

use super::protocol::{self, Reply, Request, Status};
use crate::failure::Failure;
use crate::home::Home;
use crate::resolve::{Unresolved, resolve};
use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A job that does not say how it is within this is not listed.
const PATIENCE: Duration = Duration::from_secs(5);

/// A job that runs, and where it can be reached.
#[derive(Clone, Debug)]
pub struct Running {
    /// What it said of itself.
    pub status: Status,
    /// Its socket.
    pub socket: PathBuf,
}

/// All running jobs, by name. Sockets of dead processes are passed over.
///
/// # Errors
/// The directory of the sockets cannot be read.
pub fn running(home: &Home) -> Result<Vec<Running>, Failure> {
    let dir = home.sockets();
    let failed = |error: io::Error| Failure::failed("list jobs", dir.display().to_string(), error);
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed)?,
    };
    let mut jobs = Vec::new();
    for entry in entries {
        let socket = entry.map_err(failed)?.path();
        let is_socket = socket.extension().is_some_and(|extension| extension == "sock");
        if is_socket && let Ok(Reply::Status(status)) = converse(&socket, &Request::Status, Some(PATIENCE)) {
            jobs.push(Running { status, socket });
        }
    }
    jobs.sort_by(|a, b| (&a.status.name, a.status.pid).cmp(&(&b.status.name, b.status.pid)));
    Ok(jobs)
}

/// The running job that is meant.
///
/// # Errors
/// None fits, or several do; these are named.
pub fn find(home: &Home, wanted: &str) -> Result<Running, Failure> {
    let mut jobs = running(home)?;
    let names = jobs.iter().map(|job| (job.status.job_id.as_str(), job.status.name.as_str()));
    match resolve(wanted, names) {
        Ok(index) => Ok(jobs.swap_remove(index)),
        Err(Unresolved::None) => {
            Err(Failure::failed("find job", wanted, "no running job has this id or name")
                .hint("millstream list shows the running jobs"))
        }
        Err(Unresolved::Several(found)) => {
            let describe = |i: &usize| {
                let status = &jobs[*i].status;
                format!("{} ({}, process {})", status.job_id, status.name, status.pid)
            };
            let all: Vec<String> = found.iter().map(describe).collect();
            Err(Failure::failed("find job", wanted, format!("several jobs fit: {}", all.join(", "))))
        }
    }
}

/// Asks a job; the answer may take as long as the job needs.
///
/// # Errors
/// The job cannot be reached, does not speak the protocol, or refuses.
pub fn ask(job: &Running, what: &str, request: &Request) -> Result<Reply, Failure> {
    match converse(&job.socket, request, None) {
        Ok(Reply::Refused(fault)) => {
            Err(Failure { hint: fault.hint, ..Failure::failed(fault.what, fault.at, fault.cause) })
        }
        Ok(reply) => Ok(reply),
        Err(error) => {
            let at = format!("job {} (process {})", job.status.name, job.status.pid);
            Err(match has_left(&error) {
                true => Failure::failed(what, at, "the job has ended meanwhile, and says no more")
                    .hint("how it ended is in what it wrote to stderr, and in its summary"),
                false => Failure::failed(what, at, error),
            })
        }
    }
}

/// Whether nobody is there any more: a moment ago the job was.
fn has_left(error: &protocol::ProtocolError) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound};
    match error {
        protocol::ProtocolError::Cut => true,
        protocol::ProtocolError::Io(error) => {
            matches!(error.kind(), NotFound | ConnectionRefused | ConnectionReset | BrokenPipe)
        }
        _ => false,
    }
}

fn converse(
    socket: &Path,
    request: &Request,
    patience: Option<Duration>,
) -> Result<Reply, protocol::ProtocolError> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(patience)?;
    protocol::send(&mut stream, request)?;
    protocol::receive(&mut stream, protocol::REPLY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Claim, Control, Server};
    use crate::home::Surroundings;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    use std::sync::Arc;

    struct Fake(&'static str);

    impl Control for Fake {
        fn answer(&self, request: Request) -> Reply {
            match request {
                Request::Status => Reply::Status(Status {
                    job_id: format!("{:0<32}", self.0),
                    name: self.0.to_owned(),
                    state: "RUNNING".to_owned(),
                    pid: std::process::id(),
                    parallelism: 1,
                    start_ms: 5,
                    last_checkpoint: None,
                }),
                Request::Checkpoint { full } => Reply::Path(format!("/ck/{full}")),
                _ => Reply::Refused(protocol::Fault {
                    what: "cancel".to_owned(),
                    at: "job".to_owned(),
                    cause: "not now".to_owned(),
                    hint: None,
                }),
            }
        }
    }

    fn start(home: &Home, name: &'static str) -> (Claim, Server) {
        let (claim, listener) = Claim::take(home, name, &format!("{name:0<32}"), Path::new("ck")).unwrap();
        let server = Server::start(listener, Arc::new(Fake(name))).unwrap();
        (claim, server)
    }

    fn home(dir: &Path) -> Home {
        Home::new(&Surroundings { home: Some(dir.join("home").into()), ..Surroundings::of_process() })
    }

    #[test]
    fn running_jobs_are_listed_and_asked_and_dead_ones_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let home = home(dir.path());
        assert!(running(&home).unwrap().is_empty());
        let (_b, _a) = (start(&home, "b"), start(&home, "a"));
        drop(UnixListener::bind(home.dir().join("dead.sock")).unwrap());
        let names: Vec<String> = running(&home).unwrap().into_iter().map(|job| job.status.name).collect();
        assert_eq!(names, ["a", "b"]);
        let job = find(&home, "b").unwrap();
        let reply = ask(&job, "checkpoint", &Request::Checkpoint { full: true }).unwrap();
        assert_eq!(reply, Reply::Path("/ck/true".to_owned()));
        let refused = ask(&job, "cancel", &Request::Cancel).unwrap_err();
        assert_eq!(refused.to_string(), "error: cancel: job: not now");
        assert_eq!(find(&home, "c").unwrap_err().code, 1);
    }

    /// It was found, and has left before it could be asked: whatever the system calls that, the job has ended.
    #[test]
    fn a_job_that_ends_while_it_is_asked_is_said_to_have_ended() {
        let dir = tempfile::tempdir().unwrap();
        let home = home(dir.path());
        let started = start(&home, "a");
        let job = find(&home, "a").unwrap();
        drop(started);
        let ended = |job: &Running| {
            let failure = ask(job, "stop", &Request::Stop).unwrap_err();
            assert!(failure.cause.contains("has ended"), "{failure}");
        };
        ended(&job);
        // Closed with the question unread, then with it read, and a socket without a process.
        let socket = dir.path().join("dead.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let job = Running { socket, ..job };
        let closing = std::thread::spawn(move || {
            drop(listener.accept().unwrap());
            let mut asked = listener.accept().unwrap().0;
            assert!(asked.read(&mut [0; 100]).unwrap() > 0);
        });
        ended(&job);
        ended(&job);
        closing.join().unwrap();
        ended(&job);
    }

    #[test]
    fn what_is_not_the_protocol_is_answered_with_a_refusal_and_the_next_client_is_served() {
        let dir = tempfile::tempdir().unwrap();
        let home = home(dir.path());
        let (claim, _server) = start(&home, "a");
        let mut stream = UnixStream::connect(claim.socket_path()).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("refused"), "{answer}");
        drop(UnixStream::connect(claim.socket_path()).unwrap());
        assert_eq!(running(&home).unwrap().len(), 1);
    }
}
