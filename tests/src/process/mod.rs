//! The `millstream` command as a black box: a place for its files, processes that are killed, waiting for events.

mod binary;
mod kill_loop;
mod output;
mod place;
mod random;
mod running;
mod wait;

pub use binary::{binary, long, trials};
pub use kill_loop::{KillLoop, Kills};
pub use output::{Lines, Side};
pub use place::{Everything, Place, SmallDisk};
pub use random::Random;
pub use running::{Ended, Running};
pub use wait::{pause, wait_for, wait_within};
