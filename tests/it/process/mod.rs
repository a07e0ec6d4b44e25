//! The release binary of the command, killed, starved and misled: everything here is seen from outside.

mod disk;
mod endings;
mod figures;
mod files;
mod input;
mod kills;
mod memory;
mod overtaken;
mod records;
mod recovery;
mod slow;
mod steady;
mod transactions;
