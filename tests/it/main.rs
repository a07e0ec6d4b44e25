//! Integration tests, by what they are about.

#![expect(clippy::disallowed_methods, reason = "a test looks at files")]

mod acceptance;
mod lifecycle;
mod panics;
mod process;
mod refusals;
mod storage;
