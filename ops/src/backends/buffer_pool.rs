//! Memory of results in host memory, kept when they are dropped for the next ones: the system hands out fresh memory page by page,
//! each with a fault and cleared, which takes as long as a transform.

use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use burn::tensor::{Element, Shape, TensorData};
use burn_std::{AccessError, AccessPolicy, AllocationController, AllocationProperty, Bytes};

/// Bytes from which on a result's memory is kept: less is the allocator's to keep.
const LEAST: usize = 1 << 20;
/// Bytes that are kept at most, of all results together.
const MOST: usize = 256 << 20;

static KEPT: Kept = Kept::new();

/// Whole elements of any type, aligned for each.
type Memory = Vec<u128>;

/// Values of a result. Until they are written, there may be anything in them.
pub(super) enum Values<T> {
    Few(Vec<T>),
    Many { memory: Lent, len: usize },
}

impl<T: Element + bytemuck::Pod> Values<T> {
    /// `len` values.
    pub fn new(len: usize) -> Self {
        let bytes = len * size_of::<T>();
        match bytes {
            LEAST..=MOST => Self::Many { memory: Lent { memory: KEPT.take(bytes), owner: &KEPT }, len },
            _ => Self::Few(vec![T::zeroed(); len]),
        }
    }

    /// A tensor's data of that shape.
    pub fn into_data(self, shape: impl Into<Shape>) -> TensorData {
        match self {
            Self::Few(values) => TensorData::new(values, shape.into()),
            Self::Many { memory, len } => {
                // SAFETY: the memory has at least that many bytes, all of them initialised.
                let bytes = unsafe { Bytes::from_controller(Box::new(memory), len * size_of::<T>()) };
                TensorData::from_bytes(bytes, shape.into(), T::dtype())
            }
        }
    }
}

impl<T: bytemuck::Pod> Deref for Values<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Few(values) => values,
            Self::Many { memory, len } => &bytemuck::cast_slice(&memory.memory)[..*len],
        }
    }
}

impl<T: bytemuck::Pod> DerefMut for Values<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Few(values) => values,
            Self::Many { memory, len } => &mut bytemuck::cast_slice_mut(&mut memory.memory)[..*len],
        }
    }
}

/// Memory that goes back to its owner when it is dropped.
pub(super) struct Lent {
    memory: Memory,
    owner: &'static Kept,
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.owner.keep(std::mem::take(&mut self.memory));
    }
}

impl AllocationController for Lent {
    fn alloc_align(&self) -> usize {
        align_of::<u128>()
    }

    fn property(&self) -> AllocationProperty {
        AllocationProperty::Other
    }

    unsafe fn memory_mut(&mut self, _policy: AccessPolicy) -> Result<&mut [MaybeUninit<u8>], AccessError> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.memory);
        // SAFETY: of the same layout, and the caller writes initialised bytes only.
        Ok(unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [MaybeUninit<u8>]) })
    }

    fn memory(&self, _policy: AccessPolicy) -> Result<&[MaybeUninit<u8>], AccessError> {
        let bytes: &[u8] = bytemuck::cast_slice(&self.memory);
        // SAFETY: of the same layout, and initialised bytes may be read as if they were not.
        Ok(unsafe { &*(std::ptr::from_ref(bytes) as *const [MaybeUninit<u8>]) })
    }
}

/// Memory nobody uses, the longest unused first.
struct Kept(Mutex<Vec<Memory>>);

impl Kept {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Memory of at least `bytes` bytes: of what is kept the smallest that is not more than twice as large, and of such the one
    /// last used, or else new.
    fn take(&self, bytes: usize) -> Memory {
        let units = bytes.div_ceil(size_of::<u128>());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fitting = kept.iter().enumerate().rev().filter(|(_, memory)| (units..=2 * units).contains(&memory.len()));
        let best = fitting.min_by_key(|(_, memory)| memory.len()).map(|(place, _)| place);
        match best {
            Some(place) => kept.remove(place),
            None => {
                drop(kept);
                vec![0; units]
            }
        }
    }

    /// Keeps memory, and gives up what was unused for longest where all of it is too much.
    fn keep(&self, memory: Memory) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(memory);
        let mut bytes: usize = kept.iter().map(|memory| size_of_val(&memory[..])).sum();
        let mut given_up = Vec::new();
        while bytes > MOST {
            let oldest = kept.remove(0);
            bytes -= size_of_val(&oldest[..]);
            given_up.push(oldest);
        }
        drop(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unused(kept: &Kept) -> Vec<usize> {
        kept.0.lock().unwrap().iter().map(|memory| size_of_val(&memory[..])).collect()
    }

    #[test]
    fn memory_is_used_again_where_it_fits() {
        let kept = Kept::new();
        let (large, small) = (kept.take(64 << 10), kept.take(1001));
        let (of_large, of_small) = (large.as_ptr(), small.as_ptr());
        kept.keep(large);
        kept.keep(small);
        assert_eq!(kept.take(1 << 10).len(), 64);
        let (small, large) = (kept.take(1000), kept.take(33 << 10));
        assert_eq!((small.as_ptr(), large.as_ptr()), (of_small, of_large));
        assert!(unused(&kept).is_empty());
        let (first, last) = (kept.take(1000), kept.take(1000));
        let of_last = last.as_ptr();
        kept.keep(first);
        kept.keep(last);
        let again = kept.take(1000);
        assert_eq!(again.as_ptr(), of_last);
    }

    #[test]
    fn what_was_unused_for_longest_is_given_up() {
        let kept = Kept::new();
        let quarter = MOST / 4;
        for bytes in [quarter, 2 * quarter, quarter / 2] {
            kept.keep(vec![0; bytes / size_of::<u128>()]);
        }
        assert_eq!(unused(&kept), [quarter, 2 * quarter, quarter / 2]);
        kept.keep(vec![0; quarter / size_of::<u128>()]);
        assert_eq!(unused(&kept), [2 * quarter, quarter / 2, quarter]);
    }

    #[test]
    fn values_become_data_and_copies_are_apart() {
        for len in [7, LEAST, MOST / size_of::<f32>() + 1] {
            let mut values = Values::<f32>::new(len);
            assert_eq!(values.len(), len);
            values.fill(1.0);
            values[len - 1] = 5.0;
            let mut data = values.into_data([len]);
            let copy = data.clone();
            data.as_mut_slice::<f32>().unwrap()[0] = 2.0;
            let (data, copy) = (data.as_slice::<f32>().unwrap(), copy.as_slice::<f32>().unwrap());
            assert_eq!((data[0], copy[0], data[len - 1], data.len()), (2.0, 1.0, 5.0, len));
        }
    }

    #[test]
    fn a_dropped_tensor_leaves_its_memory() {
        static OWN: Kept = Kept::new();
        let values = Values::<i64>::Many { memory: Lent { memory: OWN.take(80), owner: &OWN }, len: 10 };
        let data = values.into_data([2, 5]);
        assert!(unused(&OWN).is_empty());
        drop(data);
        assert_eq!(unused(&OWN), [80]);
    }
}
