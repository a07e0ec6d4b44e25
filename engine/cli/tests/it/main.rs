//! The command as a black box: a real process, its exit code, stdout, stderr and files.

mod config;
mod control;
mod help;
mod jobs;
mod signals;
mod support;
