//! Whole jobs, on threads and as users run them.

mod abandoned;
#[path = "../common/mod.rs"]
mod common;
mod counts;
mod early_end;
mod ending;
mod first;
mod loops;
mod routing;
mod set_up;
mod spill;
mod stop;
mod without_checkpoints;
