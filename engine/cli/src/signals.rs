//! SIGTERM and SIGINT: the first asks for a clean stop, the second leaves at once.

use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::{Handle, Signals};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

/// A file that outgrows the limit of the process (`ulimit -f`) is an error of the write, as any other, which names the file; by
/// default it is the end of the process without a word.
///
/// # Errors
/// The signal cannot be taken.
pub fn take_large_files_as_errors() -> io::Result<()> {
    // With a handler, whichever, the write fails. What it notes is of no use.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}

/// Listens to signals until dropped.
#[derive(Debug)]
pub struct Listener {
    handle: Handle,
}

impl Listener {
    /// Calls `first` for the first signal. The second ends the process at once with 128 plus the signal's number: what
    /// is then on disk is what a kill would leave, so a later start goes on from it.
    ///
    /// # Errors
    /// Signals cannot be listened to.
    pub fn start(first: impl Fn(i32) + Send + 'static) -> io::Result<Self> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let handle = signals.handle();
        thread::Builder::new().name("millstream-signals".to_owned()).spawn(move || {
            for (count, signal) in signals.forever().enumerate() {
                match count {
                    0 => first(signal),
                    _ => signal_hook::low_level::exit(128 + signal),
                }
            }
        })?;
        Ok(Self { handle })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.handle.close();
    }
}
