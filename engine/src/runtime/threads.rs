//! The thread driver: pinned operating-system threads.

use super::driver::{Cell, Driver, Seat, Stepped};
use super::wait::Wait;
use crate::config::{TaskThreads, WaitStrategy};
use crate::error::Error;
use millstream_io::clock::{Clock, Moment};
use millstream_io::error::Class;
use millstream_io::waker::{Parker, Waker};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Runs subtasks on threads of their own, or on one thread for each core.
pub struct ThreadDriver {
    clock: Arc<dyn Clock>,
    threads: TaskThreads,
    strategy: WaitStrategy,
    cpus: Option<Vec<usize>>,
    cores: usize,
    seated: Vec<Crew>,
    running: Vec<JoinHandle<()>>,
    wakers: Vec<Waker>,
    stop: Arc<AtomicBool>,
}

/// One thread to be: its parker, and which subtasks it will step.
struct Crew {
    parker: Parker,
    members: Vec<usize>,
    name: String,
}

impl ThreadDriver {
    /// A driver with these settings.
    pub fn new(clock: Arc<dyn Clock>, threads: TaskThreads, strategy: WaitStrategy, pinning: bool) -> Self {
        let cpus = allowed_cpus();
        let cores = cpus.len().max(1);
        Self {
            clock,
            threads,
            strategy,
            cpus: pinning.then_some(cpus),
            cores,
            seated: Vec::new(),
            running: Vec::new(),
            wakers: Vec::new(),
            stop: Arc::default(),
        }
    }

    fn tell_to_stop(&self) {
        self.stop.store(true, Ordering::Release);
        for waker in &self.wakers {
            waker.wake();
        }
    }

    /// Which thread runs which subtask. With a thread per core, subtask `i` of every task runs on core `i`, so that
    /// neighbours of a pipeline share one.
    fn crews(&self, seats: &[Seat]) -> Vec<Vec<usize>> {
        let per_subtask = match self.threads {
            TaskThreads::PerSubtask => true,
            TaskThreads::PerCore => false,
            TaskThreads::Auto => seats.len() <= self.cores,
        };
        if per_subtask {
            return (0..seats.len()).map(|member| vec![member]).collect();
        }
        let mut crews = vec![Vec::new(); self.cores.min(seats.len())];
        let n = crews.len().max(1);
        for (member, seat) in seats.iter().enumerate() {
            crews[seat.subtask % n].push(member);
        }
        crews.retain(|crew| !crew.is_empty());
        crews
    }
}

impl Driver for ThreadDriver {
    fn seat(&mut self, seats: &[Seat]) -> Vec<Waker> {
        self.stop = Arc::default();
        let mut wakers = vec![Waker::nobody(); seats.len()];
        self.seated.clear();
        for members in self.crews(seats) {
            let parker = Parker::new();
            for member in &members {
                wakers[*member] = parker.waker();
            }
            self.seated.push(Crew { parker, name: seats[members[0]].name.clone(), members });
        }
        self.wakers = wakers.clone();
        wakers
    }

    fn start(&mut self, cells: Vec<Cell>) -> Result<(), Error> {
        let mut cells: Vec<Option<Cell>> = cells.into_iter().map(Some).collect();
        let crews = std::mem::take(&mut self.seated);
        let room = crews.len() <= self.cores;
        for (index, crew) in crews.into_iter().enumerate() {
            let members = crew.members.iter().filter_map(|member| cells[*member].take()).collect();
            let runner = Runner {
                cells: members,
                parker: crew.parker,
                wait: Wait::new(self.strategy, room),
                clock: self.clock.clone(),
                stop: self.stop.clone(),
                cpu: self.cpus.as_ref().map(|cpus| cpus[index % cpus.len()]),
            };
            // Linux keeps 15 bytes of a thread's name.
            let name: String = crew.name.chars().take(15).collect();
            let thread = std::thread::Builder::new()
                .name(name)
                .spawn(move || runner.run())
                .map_err(|error| Error::new(Class::Restart, "start thread", crew.name, error))?;
            self.running.push(thread);
        }
        Ok(())
    }

    fn stop(&mut self) {
        self.tell_to_stop();
        for thread in self.running.drain(..) {
            // A panic of user code was caught in its cell; nothing else is told by the result.
            let _ = thread.join();
        }
    }
}

impl Drop for ThreadDriver {
    fn drop(&mut self) {
        self.tell_to_stop();
    }
}

/// One thread's loop.
struct Runner {
    cells: Vec<Cell>,
    parker: Parker,
    wait: Wait,
    clock: Arc<dyn Clock>,
    stop: Arc<AtomicBool>,
    cpu: Option<usize>,
}

impl Runner {
    fn run(mut self) {
        if let Some(cpu) = self.cpu {
            pin(cpu);
        }
        while !self.cells.is_empty() && !self.stop.load(Ordering::Acquire) {
            if self.round().0 {
                self.wait.worked();
            } else if self.wait.should_park(&*self.clock) {
                self.park();
            }
        }
    }

    /// Steps every subtask once. Did any do something, and when is the next one due?
    fn round(&mut self) -> (bool, Option<Moment>) {
        let mut worked = false;
        let mut due: Option<Moment> = None;
        self.cells.retain_mut(|cell| match cell.step() {
            Stepped::Worked => {
                worked = true;
                true
            }
            Stepped::Idle(at) => {
                due = match (due, at) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
                true
            }
            Stepped::Gone => {
                worked = true;
                false
            }
        });
        (worked, due)
    }

    /// Parks, after one more look that follows the announcement: whoever makes work after that look sees the
    /// announcement and wakes this thread.
    fn park(&mut self) {
        self.parker.prepare();
        let (worked, due) = self.round();
        if worked || self.stop.load(Ordering::Acquire) {
            self.parker.cancel();
            self.wait.worked();
            return;
        }
        let timeout = due.map(|due| due.saturating_sub(self.clock.now()));
        self.parker.park(timeout);
    }
}

/// The processors that this process may use.
fn allowed_cpus() -> Vec<usize> {
    let count = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect(),
        Err(_) => (0..count()).collect(),
    }
}

/// Keeps the present thread on one processor; where that is not allowed it runs anywhere.
fn pin(cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::SubtaskId;
    use crate::task::{Progress, Reporter, Subtask};
    use crossbeam_channel::{Sender, bounded, unbounded};
    use millstream_io::clock::SystemClock;
    use std::time::Duration;

    /// Work arrives right after its first step has found none, and nobody wakes it any more.
    struct JustMissed(bool, Sender<()>);

    impl Subtask for JustMissed {
        fn step(&mut self) -> Result<Progress, Error> {
            if !std::mem::replace(&mut self.0, true) {
                return Ok(Progress::Idle(None));
            }
            let _ = self.1.send(());
            Ok(Progress::Finished)
        }
    }

    /// What was made visible before the thread said that it is about to park is found by the look that follows.
    #[test]
    fn a_thread_looks_once_more_before_it_parks() {
        let clock = Arc::new(SystemClock::new());
        let mut driver = ThreadDriver::new(clock, TaskThreads::PerSubtask, WaitStrategy::Park, false);
        let name = "just missed".to_owned();
        driver.seat(&[Seat { task: 0, subtask: 0, name: name.clone() }]);
        let ((sender, _inbox), (done, found)) = (unbounded(), bounded(1));
        let reporter = Reporter { attempt: 1, subtask: SubtaskId(0), sender };
        driver.start(vec![Cell::new(Box::new(JustMissed(false, done)), reporter, name)]).unwrap();
        found.recv_timeout(Duration::from_secs(10)).expect("the second look");
        driver.stop();
    }
}
