//! The command as a black box: a real process, its exit code, stdout, stderr and files.

#![expect(clippy::disallowed_methods, reason = "a test looks at files and waits for processes")]

mod config;
mod control;
mod help;
mod jobs;
mod looking;
mod own_job;
mod signals;
mod support;
mod without;
