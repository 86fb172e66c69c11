//! The switch as a process.
fn main() {}
