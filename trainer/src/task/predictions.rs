//! Outputs of a model for files.

/// Form of a task's predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredictionForm {
    /// One CSV file.
    Table,
    /// A folder with a file per input.
    Files,
}

/// Outputs of a model for files.
#[derive(Debug, Clone, PartialEq)]
pub enum Predictions {
    /// Rows, which are written as one CSV file.
    Table(PredictionTable),
    /// Files, which are written into one folder.
    Files(Vec<PredictionFile>),
}

/// Outputs of a model, as they are written to a CSV file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PredictionTable {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Cells of each row.
    pub rows: Vec<Vec<String>>,
}

/// Output of a model as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredictionFile {
    /// Name in the folder, which no other file of the predictions has.
    pub name: String,
    /// The contents.
    pub bytes: Vec<u8>,
}

impl From<PredictionTable> for Predictions {
    fn from(table: PredictionTable) -> Self {
        Self::Table(table)
    }
}
