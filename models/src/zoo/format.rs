//! Format of saved models.

/// Version of the file's layout; files of another version are refused.
pub const WEIGHTS_FORMAT: u32 = 1;

/// Name of the metadata entry that describes the model.
pub(super) const HEADER: &str = "firefly";
