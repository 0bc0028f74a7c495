//! Spectra: transforms of samples, kept bins, products with weights and kernels, and what inverse transforms complete.

use std::ops::Range;

use firefly_ops::Direction;

use super::abstract_value::{AbstractValue, Content, Spectrum, SpectrumPart, Stage, Transform};
use super::axes::{Axes, AxisRole, AxisRoles};
use super::bins::{BinBlock, Bins, Term, sum};
use super::transform::{Fft, FftKind};
use crate::graph::ValueId;

/// The bins and weights of each block of a spectrum that an inverse real transform completes, and their common factor.
pub struct Weighted {
    pub blocks: Vec<(BinBlock, [ValueId; 2])>,
    pub factor: f64,
}

impl AbstractValue {
    /// Both parts of the spectra of samples in a tensor of `shape`, whose source has the shape `source`.
    pub fn transformed(&self, fft: &Fft, shape: &[usize], source: &[usize], outputs: &[ValueId]) -> Option<[Self; 2]> {
        let (segments, samples) = (self.samples()?, self.point_role());
        let is_along = self.axes.along(fft.axis) == Some(samples) && self.axes.cover(shape);
        if !is_along || segments.length > fft.points {
            return None;
        }
        let is_half = fft.kind == FftKind::Real;
        let count = if is_half { fft.points / 2 + 1 } else { fft.points };
        let mut points = source[segments.first_dim()..].to_vec();
        let last = points.len() - 1;
        points[last] = fft.points;
        let mut bins: Vec<Bins> = points.iter().map(|points| Bins::all(*points)).collect();
        bins[last] = Bins::all(count);
        let mut stages = vec![Stage::Points; points.len()];
        stages[last] = Stage::Bins;
        let transform = Transform { segments: segments.clone(), points, is_half, outputs: outputs.to_vec() };
        let axes = self.axes.with(fft.axis, samples, count);
        Some([SpectrumPart::Real, SpectrumPart::Imaginary].map(|part| {
            let terms = vec![Term { part, weights: None, factor: fft.scale }];
            let spectrum = Spectrum { stages: stages.clone(), blocks: vec![BinBlock { bins: bins.clone(), terms }] };
            Self { transform: transform.clone(), content: Content::Spectrum(spectrum), axes: axes.clone() }
        }))
    }

    fn changed(&self, axes: Axes, change: impl FnOnce(&mut Spectrum)) -> Option<Self> {
        let mut spectrum = self.spectrum()?.clone();
        change(&mut spectrum);
        Some(Self { transform: self.transform.clone(), content: Content::Spectrum(spectrum), axes })
    }

    /// The dimension that runs along an axis, and nothing else. Along an axis of length 1, it is the only dimension of
    /// which no more than a bin is left, if there is one.
    fn dim_along(&self, axis: usize) -> Option<usize> {
        let stages = &self.spectrum()?.stages;
        let first = self.transform.segments.first_dim();
        let own = match self.axes.along(axis) {
            Some(AxisRole::Own(own)) => own.checked_sub(first),
            _ => None,
        };
        let mut single = (0..stages.len()).filter(|dim| !self.axes.has(AxisRole::Own(first + dim)));
        let only = single.next().filter(|_| self.axes.0[axis].is_empty() && single.next().is_none());
        own.or(only)
    }

    /// The dimension whose bins run along an axis, and nothing else.
    fn bins_along(&self, axis: usize) -> Option<usize> {
        let stages = &self.spectrum()?.stages;
        self.dim_along(axis).filter(|dim| stages[*dim] == Stage::Bins)
    }

    /// The same axes with another number of bins of a dimension along one.
    fn axes_with(&self, axis: usize, dim: usize, length: usize) -> Axes {
        self.axes.with(axis, AxisRole::Own(self.transform.segments.first_dim() + dim), length)
    }

    /// The `taken` bins from `start` on along an axis.
    pub fn cut_bins(&self, axis: usize, start: usize, taken: usize) -> Option<Self> {
        let dim = self.bins_along(axis)?;
        self.changed(self.axes_with(axis, dim, taken), |spectrum| {
            spectrum.blocks = spectrum.blocks.iter().filter_map(|block| block.cut(dim, start, start + taken)).collect();
        })
    }

    /// The bins from `place` on along an axis of `length`, and zeros around them.
    pub fn moved(&self, axis: usize, place: usize, length: usize) -> Option<Self> {
        let dim = self.bins_along(axis)?;
        self.changed(self.axes_with(axis, dim, length), |spectrum| {
            spectrum.blocks = spectrum.blocks.iter().map(|block| block.moved(dim, place)).collect();
        })
    }

    /// Both sides of a spectrum, of which this is the lower half: the bins from 0 on.
    pub fn mirrored(&self, part: SpectrumPart, axis: usize, count: usize) -> Option<Self> {
        let [BinBlock { bins, terms }] = &self.spectrum()?.blocks[..] else { return None };
        let (&[half], &[term], samples) = (&bins[..], &terms[..], self.point_role()) else { return None };
        let is_half = self.transform.is_half && half == Bins::all(count / 2 + 1) && term.part == part;
        let is_plain = term.weights.is_none() && self.axes.along(axis) == Some(samples);
        if !is_half || !is_plain || self.transform.points != [count] {
            return None;
        }
        let mut whole = self.changed(self.axes.with(axis, samples, count), |spectrum| {
            spectrum.blocks[0].bins[0] = Bins::all(count);
        })?;
        whole.transform.is_half = false;
        Some(whole)
    }

    pub fn scaled_spectrum(&self, factor: f64) -> Option<Self> {
        self.changed(self.axes.clone(), |spectrum| {
            spectrum.blocks = spectrum.blocks.iter().map(|block| block.scaled(factor)).collect();
        })
    }

    /// The sum with another part of the same transform.
    pub fn plus_spectrum(&self, other: &Self) -> Option<Self> {
        let (own, next) = (self.spectrum()?, other.spectrum()?);
        if (&self.transform, &own.stages, &self.axes) != (&other.transform, &next.stages, &other.axes) {
            return None;
        }
        let blocks = sum(own.blocks.clone(), &next.blocks)?;
        self.changed(self.axes.clone(), |spectrum| spectrum.blocks = blocks)
    }

    /// The sum along `axis`: of input channels.
    pub fn summed(&self, axis: usize, length: usize) -> Option<Self> {
        if length == 1 {
            return self.spectrum().map(|_| self.clone());
        }
        let is_sum = self.spectrum().is_some()
            && self.transform.segments.rank > 2
            && self.axes.along(axis) == Some(AxisRole::Own(1));
        let mut axes = self.axes.clone();
        axes.0[axis].clear();
        is_sum.then(|| self.with_axes(axes))
    }

    /// Both parts of what a complex transform makes of a spectrum: bins along one more dimension, or points again.
    pub fn complex_transformed(&self, im: &Self, fft: &Fft) -> Option<[Self; 2]> {
        let dim = self.dim_along(fft.axis)?;
        let spectrum = self.spectrum()?;
        if !are_parts(self, im) || !self.transform.is_half || fft.points != self.transform.points[dim] {
            return None;
        }
        let stage = match fft.kind {
            FftKind::Complex(Direction::Forward) => {
                let is_weighted =
                    spectrum.blocks.iter().flat_map(|block| &block.terms).any(|term| term.weights.is_some());
                (spectrum.stages[dim] == Stage::Points && !is_weighted).then_some(Stage::Bins)?
            }
            _ => {
                let is_in_place = spectrum.blocks.iter().all(|block| block.is_in_place(dim));
                (spectrum.stages[dim] == Stage::Bins && is_in_place).then_some(Stage::Inverted)?
            }
        };
        let [re, im] = [self, im].map(|part| {
            part.scaled_spectrum(fft.scale)?
                .changed(part.axes_with(fft.axis, dim, fft.points), |spectrum| spectrum.stages[dim] = stage)
        });
        Some([re?, im?])
    }

    /// The weighted modes that the inverse real transform of this part and the imaginary one transforms; `None` unless
    /// all other dimensions in `inverted` have been inverted.
    pub fn completes(&self, im: &Self, fft: &Fft, mut inverted: Range<usize>) -> Option<Weighted> {
        let last = self.bins_along(fft.axis)?;
        let spectrum = self.spectrum()?;
        let is_last = last + 1 == spectrum.stages.len() && fft.points == self.transform.points[last];
        let is_complete = inverted.all(|dim| dim == last || spectrum.stages[dim] == Stage::Inverted);
        if !is_last || !is_complete || !self.transform.is_half || !are_parts(self, im) {
            return None;
        }
        let mut factors = Vec::new();
        let blocks = spectrum.blocks.iter().zip(&im.spectrum()?.blocks).map(|(re, im)| {
            let (factor, weights) = re.complex_with(im)?;
            factors.push(factor);
            re.is_in_place(last).then_some((re.clone(), weights?))
        });
        let blocks = blocks.collect::<Option<Vec<_>>>()?;
        let factor = *factors.first()?;
        factors.iter().all(|other| *other == factor).then_some(Weighted { blocks, factor: factor * fft.scale })
    }

    /// The product with weights, element by element.
    pub fn times(&self, weights: &Self) -> Option<Self> {
        let axes = self.axes.0.iter().zip(&weights.axes.0).map(|(own, weights)| joined(own, weights));
        self.weighted(weights, Axes(axes.collect::<Option<_>>()?))
    }

    /// The matrix product with weights along the last two axes, summed over input channels.
    pub fn matmul(&self, weights: &Self) -> Option<Self> {
        let (own, [rows, columns]) = self.axes.0.split_last_chunk()?;
        let (of_weights, [inputs, outputs]) = weights.axes.0.split_last_chunk()?;
        let is_sum = match (&columns[..], &inputs[..]) {
            ([], []) => true,
            ([(AxisRole::Own(1), length)], [(AxisRole::Own(0), same)]) => length == same,
            _ => false,
        };
        let leading = own.iter().zip(of_weights).map(|(own, weights)| joined(own, weights));
        let mut axes = leading.collect::<Option<Vec<_>>>()?;
        axes.extend([joined(rows, &Vec::new())?, joined(&Vec::new(), outputs)?]);
        (is_sum && own.len() == of_weights.len()).then(|| self.weighted(weights, Axes(axes)))?
    }

    /// The product with weights `[in, out, modes…]`, along `axes`.
    fn weighted(&self, weights: &Self, axes: Axes) -> Option<Self> {
        let (spectrum, weights) = (self.spectrum()?, weights.samples()?);
        let is_spectrum = spectrum.stages.iter().all(|stage| *stage == Stage::Bins);
        let is_layer = self.transform.segments.rank > 2 && weights.rank == spectrum.stages.len() + 2;
        if !is_spectrum || !is_layer {
            return None;
        }
        let blocks = spectrum.blocks.iter().map(|block| block.weighted(weights.source)).collect::<Option<_>>()?;
        self.changed(axes, |spectrum| spectrum.blocks = blocks)
    }

    /// The product with a part of the spectra of kernels, one per channel, of shape `[batch, channels, bins]`.
    pub fn times_kernel(&self, kernel: &Self, shape: &[usize]) -> Option<Self> {
        let &[_, channels, bins] = shape else { return None };
        let (signal, of_kernel) = (self.whole_bins()?, kernel.whole_bins()?);
        let leading = kernel.axes.0.len().checked_sub(2)?;
        let (repeated, rows) = kernel.axes.0.split_at(leading);
        let is_per_channel = repeated.iter().all(Vec::is_empty) && Axes(rows.to_vec()).cover(&[channels, bins]);
        let is_pair =
            self.transform.points.last() == kernel.transform.points.last() && self.axes.cover(shape) && is_per_channel;
        if !is_pair || !self.are_rows_in_order() || !kernel.are_rows_in_order() {
            return None;
        }
        let part = usize::from(of_kernel.part == SpectrumPart::Imaginary);
        let output = *kernel.transform.outputs.get(part)?;
        self.changed(self.axes.clone(), |spectrum| {
            let factor = signal.factor * of_kernel.factor;
            spectrum.blocks[0].terms = vec![Term { weights: Some(output), factor, ..signal }];
        })
    }

    /// The term of one part of a lower half spectrum with all its bins, of all samples of a source, not multiplied yet.
    fn whole_bins(&self) -> Option<Term> {
        let transform = &self.transform;
        let [BinBlock { bins, terms }] = &self.spectrum()?.blocks[..] else { return None };
        let (last, points) = (bins.last()?, transform.points.last()?);
        let is_whole = *last == Bins::all(points / 2 + 1) && transform.is_half && transform.outputs.len() == 2;
        let is_source = transform.segments.starts == [0] && transform.segments.window.is_none();
        match terms[..] {
            [term] if is_whole && is_source && term.weights.is_none() => Some(term),
            _ => None,
        }
    }

    /// Whether the axes of the source are in their order.
    pub fn are_rows_in_order(&self) -> bool {
        let numbers: Option<Vec<usize>> =
            self.axes.roles().map(|(role, _)| if let AxisRole::Own(axis) = role { Some(axis) } else { None }).collect();
        numbers.is_some_and(|numbers| numbers.is_sorted())
    }

    /// The convolution that the inverse transform of this part of a product with kernels and of the imaginary one is.
    pub fn convolution(&self, im: &Self, fft: &Fft) -> Option<Self> {
        let last = self.spectrum()?.stages.len() - 1;
        let Weighted { blocks, factor } = self.completes(im, fft, last..last + 1)?;
        let [(block, kernels)] = &blocks[..] else { return None };
        let is_whole = block.bins.last() == Some(&Bins::all(fft.points / 2 + 1)) && self.are_rows_in_order();
        let convolution = self.with_content(Content::Convolution { kernels: *kernels, factor });
        is_whole.then(|| convolution.with_axes(self.axes_with(fft.axis, last, fft.points)))
    }
}

/// Whether two abstract values are the real and the imaginary part of one spectrum, block by block.
fn are_parts(re: &AbstractValue, im: &AbstractValue) -> bool {
    let (Some(a), Some(b)) = (re.spectrum(), im.spectrum()) else { return false };
    (&re.transform, &a.stages, &re.axes, a.blocks.len()) == (&im.transform, &b.stages, &im.axes, b.blocks.len())
        && a.blocks.iter().zip(&b.blocks).all(|(re, im)| re.complex_with(im).is_some())
}

/// The roles along an axis of a product of a spectrum of `[batch, in, n…]` with weights `[in, out, modes…]`.
fn joined(own: &AxisRoles, weights: &AxisRoles) -> Option<AxisRoles> {
    let is_pair = |(own, weights): (&(AxisRole, usize), &(AxisRole, usize))| match (own, weights) {
        ((AxisRole::Own(1), length), (AxisRole::Own(0), same)) => length == same,
        ((AxisRole::Own(axis), length), (AxisRole::Own(same_axis), same)) => {
            *axis > 1 && axis == same_axis && length == same
        }
        _ => false,
    };
    match (&own[..], &weights[..]) {
        ([], &[(AxisRole::Own(1), length)]) => Some(vec![(AxisRole::Output, length)]),
        (own, []) => own.iter().all(|(role, _)| *role == AxisRole::Own(0)).then(|| own.to_vec()),
        (own, weights) => (own.len() == weights.len() && own.iter().zip(weights).all(is_pair)).then(|| own.to_vec()),
    }
}
