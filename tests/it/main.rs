//! Integration tests, by what they are about.

mod lifecycle;
mod panics;
mod refusals;
