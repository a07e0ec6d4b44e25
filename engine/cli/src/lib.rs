//! The `millstream` command line, its bundled jobs, and a `main` for job executables of one's own.
//!
//! This crate is the shell around the engine: it reads options and files, owns signals, sockets and the terminal, and
//! uses the engine's public interface alone.

#![expect(clippy::disallowed_methods, reason = "the command is the shell that talks to the operating system")]

pub mod args;
pub mod config_file;
pub mod control;
pub mod failure;
mod hash;
pub mod home;
pub mod jobs;
mod launch;
mod log;
mod progress;
pub mod resolve;
mod signals;
pub mod split;
pub mod summary;
mod supervise;
pub mod table;
pub mod verbs;
