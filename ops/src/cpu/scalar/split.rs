//! Complex vectors in block layout: all real parts, then all imaginary parts.

/// A complex vector, read.
#[derive(Debug, Clone, Copy)]
pub(in crate::cpu) struct Split<'a, T> {
    pub re: &'a [T],
    pub im: &'a [T],
}

/// A complex vector, written.
#[derive(Debug)]
pub(in crate::cpu) struct SplitMut<'a, T> {
    pub re: &'a mut [T],
    pub im: &'a mut [T],
}

impl<'a, T> Split<'a, T> {
    /// The halves of a buffer.
    pub fn of(buffer: &'a [T]) -> Self {
        let (re, im) = buffer.split_at(buffer.len() / 2);
        Self { re, im }
    }
}

impl<'a, T> SplitMut<'a, T> {
    /// The halves of a buffer.
    pub fn of(buffer: &'a mut [T]) -> Self {
        let (re, im) = buffer.split_at_mut(buffer.len() / 2);
        Self { re, im }
    }

    pub fn reborrow(&mut self) -> SplitMut<'_, T> {
        SplitMut { re: self.re, im: self.im }
    }

    pub fn read(&self) -> Split<'_, T> {
        Split { re: self.re, im: self.im }
    }
}
