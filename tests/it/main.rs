//! Integration tests, by what they are about.

#![expect(clippy::disallowed_methods, reason = "a test looks at files")]

mod lifecycle;
mod panics;
mod process;
mod refusals;
