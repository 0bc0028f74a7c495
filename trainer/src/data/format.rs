//! File formats of recordings, by extension.

use std::fmt;
use std::path::Path;

/// File format of recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// RIFF/WAVE, and its 64-bit forms RF64 and BW64.
    Wav,
    /// Free Lossless Audio Codec.
    Flac,
    /// Vorbis in an Ogg container.
    Ogg,
    /// European Data Format.
    Edf,
    /// BioSemi's 24-bit form of EDF.
    Bdf,
    /// NumPy array.
    Npy,
    /// Zip archive of NumPy arrays.
    Npz,
    /// Named tensors.
    Safetensors,
    /// Text with a row per sample and a column per channel.
    Csv,
    /// Apache Parquet, with a column per channel.
    Parquet,
}

impl Format {
    /// Formats that hold nothing but recordings.
    pub const SIGNALS: [Self; 5] = [Self::Wav, Self::Flac, Self::Ogg, Self::Edf, Self::Bdf];
    /// Formats that hold tables and arrays of any kind.
    pub const TABLES: [Self; 5] = [Self::Npy, Self::Npz, Self::Safetensors, Self::Csv, Self::Parquet];
    /// Extensions of every format, for messages.
    pub const EXTENSIONS: &'static str = "wav, flac, ogg, edf, bdf, npy, npz, safetensors, csv, tsv and parquet";

    /// The format of a file by its extension, in upper or lower case.
    pub fn of(path: &Path) -> Option<Self> {
        Some(match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "wav" | "wave" | "rf64" | "bw64" => Self::Wav,
            "flac" => Self::Flac,
            "ogg" | "oga" => Self::Ogg,
            "edf" => Self::Edf,
            "bdf" => Self::Bdf,
            "npy" => Self::Npy,
            "npz" => Self::Npz,
            "safetensors" => Self::Safetensors,
            "csv" | "tsv" => Self::Csv,
            "parquet" => Self::Parquet,
            _ => return None,
        })
    }

    /// Name of the format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wav => "WAV",
            Self::Flac => "FLAC",
            Self::Ogg => "Ogg Vorbis",
            Self::Edf => "EDF",
            Self::Bdf => "BDF",
            Self::Npy => "NPY",
            Self::Npz => "NPZ",
            Self::Safetensors => "safetensors",
            Self::Csv => "CSV",
            Self::Parquet => "Parquet",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
