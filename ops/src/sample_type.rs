//! Types of samples.

use burn::tensor::DType;

/// Type of the samples that kernels read of a signal and compute in f32 with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SampleType {
    F32,
    F16,
    BF16,
    I32,
    I16,
    U16,
    I8,
    U8,
}

impl SampleType {
    /// The type of a tensor's values, if kernels read it.
    pub const fn of(dtype: DType) -> Option<Self> {
        Some(match dtype {
            DType::F32 => Self::F32,
            DType::F16 => Self::F16,
            DType::BF16 => Self::BF16,
            DType::I32 => Self::I32,
            DType::I16 => Self::I16,
            DType::U16 => Self::U16,
            DType::I8 => Self::I8,
            DType::U8 => Self::U8,
            _ => return None,
        })
    }
}
