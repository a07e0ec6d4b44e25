//! A job of a user.
fn main() {}
