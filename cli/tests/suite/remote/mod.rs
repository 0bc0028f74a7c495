//! Devices of a server in another process: the same results as on this process's own, and what is said when a server
//! refuses, differs or dies.

mod errors;
mod load;
mod models;
mod operations;
mod programs;
mod server;
mod stopped;
mod tls;
mod training;
