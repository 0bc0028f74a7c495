//! One target per parser.

mod configurations;
mod profiles;
mod recordings;
mod reports;
mod weights;
