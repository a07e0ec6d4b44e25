//! Which operations fail, and how.

use super::Crashed;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

macro_rules! operations {
    ($($(#[$doc:meta])* $op:ident $name:literal,)*) => {
        /// Kinds of storage operations.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Op { $($(#[$doc])* $op,)* }

        impl Op {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$op),*];

            /// What it is called in an error.
            pub fn name(self) -> &'static str {
                match self { $(Self::$op => $name,)* }
            }
        }
    };
}

operations! {
    /// A file is created.
    Create "create",
    /// A file is opened for appending, and cut.
    OpenAppend "open for appending",
    /// A file is opened for reading.
    Open "open",
    /// Bytes are read.
    Read "read",
    /// Bytes are appended.
    Append "write",
    /// Content is made durable.
    Sync "sync",
    /// A file gets another name.
    Rename "rename",
    /// A whole file is put in place, durably.
    Publish "publish",
    /// A file is removed.
    Remove "remove",
    /// A directory is removed.
    RemoveDir "remove directory",
    /// Directories are created.
    CreateDir "create directory",
    /// A directory is read.
    List "list",
    /// Names are made durable.
    SyncDir "sync directory",
    /// A file or directory is asked about.
    Stat "stat",
    /// A path is resolved.
    Canonical "resolve",
    /// A lock is taken.
    Lock "lock",
}

impl Op {
    /// Whether it changes something, so that a crash before it differs from a crash after it.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Open | Self::Read | Self::List | Self::Stat | Self::Canonical)
    }

    fn needs_space(self) -> bool {
        matches!(self, Self::Create | Self::Append | Self::Publish | Self::CreateDir | Self::Lock)
    }
}

/// What the operation in which the world stops had done by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// Nothing.
    Before,
    /// Half of it, where it has parts: a write of half the bytes, a half-written temporary file of a publication.
    /// Nothing else.
    Torn,
    /// Everything, only nobody heard of it.
    After,
}

/// How a single operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not done (determinate). The number is the operating system's (`ENOSPC` is 28, `EIO` 5).
    Before(i32),
    /// It is done, and reported as failed (indeterminate).
    After(i32),
    /// Only so many of its bytes are written (indeterminate); not done at all if it writes none.
    Short(u64, i32),
    /// It is not done, and panics, as a storage of somebody's own may.
    Panic,
}

/// "No space left on device".
const ENOSPC: i32 = 28;

pub(super) enum Verdict {
    Pass,
    FailBefore(io::Error),
    FailAfter(io::Error),
    FailPartly(u64, io::Error),
}

#[derive(Default)]
pub(super) struct Plan {
    pub count: u64,
    pub kinds: [u64; Op::ALL.len()],
    pub crash: Option<(u64, Crash)>,
    /// Where the world stopped, and how in truth.
    pub crashed: Option<(Op, Crash)>,
    /// What has failed, as it took effect.
    pub failed: Vec<(Op, Fault)>,
    pub at: Vec<(u64, Fault)>,
    pub nth: Vec<(Op, u64, Fault)>,
    pub every: Vec<(Op, Fault)>,
    pub held: Vec<Op>,
    pub full_from: Option<u64>,
    pub room: Option<u64>,
    /// What was read from open files while there is a log.
    pub reads: Vec<(PathBuf, Range<u64>)>,
    pub log: Option<Vec<(u64, Op, PathBuf)>>,
}

impl Plan {
    /// Counts an operation that is to write `bytes`, and says what becomes of it.
    pub fn next(&mut self, op: Op, path: &Path, bytes: u64) -> Verdict {
        if self.crashed.is_some() {
            return Verdict::FailBefore(io::Error::other(Crashed));
        }
        let (k, n) = (self.count, self.kinds[op as usize]);
        self.count += 1;
        self.kinds[op as usize] += 1;
        if let Some(log) = &mut self.log {
            log.push((k, op, path.to_owned()));
        }
        if let Some((_, how)) = self.crash.filter(|(at, _)| *at <= k) {
            // What has no parts is not torn.
            let torn_nothing = how == Crash::Torn && bytes == 0;
            self.crashed = Some((op, if torn_nothing { Crash::Before } else { how }));
            return crash(how, bytes);
        }
        let fault = self.fault(op, k, n).or_else(|| self.full(op, k, bytes));
        match fault.map(|fault| fault.effective(bytes)) {
            Some(fault) => {
                self.failed.push((op, fault));
                fault.verdict()
            }
            None => Verdict::Pass,
        }
    }

    fn fault(&mut self, op: Op, k: u64, n: u64) -> Option<Fault> {
        if let Some(i) = self.at.iter().position(|(at, _)| *at == k) {
            return Some(self.at.swap_remove(i).1);
        }
        if let Some(i) = self.nth.iter().position(|(kind, at, _)| (*kind, *at) == (op, n)) {
            return Some(self.nth.swap_remove(i).2);
        }
        self.every.iter().find(|(kind, _)| *kind == op).map(|(_, fault)| *fault)
    }

    /// How the operation fails when there is no room for it.
    fn full(&mut self, op: Op, k: u64, bytes: u64) -> Option<Fault> {
        if !op.needs_space() {
            return None;
        }
        if self.full_from.is_some_and(|from| from <= k) {
            return Some(Fault::Before(ENOSPC));
        }
        let room = self.room.as_mut()?;
        if bytes > *room || *room == 0 {
            return Some(Fault::Short(std::mem::take(room), ENOSPC));
        }
        *room -= bytes;
        None
    }
}

fn crash(how: Crash, bytes: u64) -> Verdict {
    let cause = io::Error::other(Crashed);
    match how {
        Crash::Before => Verdict::FailBefore(cause),
        Crash::Torn => Verdict::FailPartly(bytes / 2, cause),
        Crash::After => Verdict::FailAfter(cause),
    }
}

impl Fault {
    /// What it comes to in an operation that is to write so many bytes.
    fn effective(self, bytes: u64) -> Self {
        match self {
            Self::Short(_, code) if bytes == 0 => Self::Before(code),
            Self::Short(n, code) => Self::Short(n.min(bytes), code),
            whole => whole,
        }
    }

    fn verdict(self) -> Verdict {
        match self {
            Self::Before(code) => Verdict::FailBefore(io::Error::from_raw_os_error(code)),
            Self::After(code) => Verdict::FailAfter(io::Error::from_raw_os_error(code)),
            Self::Short(n, code) => Verdict::FailPartly(n, io::Error::from_raw_os_error(code)),
            Self::Panic => panic!("the storage panics"),
        }
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
