//! Axes of a value in terms of the dimensions of a spectral convolution.

/// Dimension that runs along an axis, or along a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Elements of the batch.
    Batch,
    /// Channels of the input.
    Input,
    /// Channels of the output.
    Output,
    /// Bins along the transformed dimension.
    Mode,
    /// Axis of a tensor of which nothing is known, by its number.
    Own(usize),
}

/// Roles along one axis with their lengths, the outermost first; without any, its values are the same.
pub type Axis = Vec<(Role, usize)>;

/// The axes of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axes(pub Vec<Axis>);

impl Axes {
    /// The axes of a tensor of which nothing is known.
    pub fn own(shape: &[usize]) -> Self {
        Self(shape.iter().enumerate().map(|(axis, &length)| vec![(Role::Own(axis), length)]).collect())
    }

    /// The roles of each axis, without lengths.
    pub fn roles(&self) -> Vec<Vec<Role>> {
        self.0.iter().map(|axis| axis.iter().map(|(role, _)| *role).collect()).collect()
    }

    /// The same elements in another shape; `None` where a role would be cut in two.
    pub fn reshape(&self, shape: &[usize]) -> Option<Self> {
        let mut rest = self.0.iter().flatten().copied().peekable();
        let mut axes = Vec::new();
        for &length in shape {
            let (mut axis, mut covered) = (Vec::new(), 1);
            // A role of length 1 belongs to an axis of length 1.
            while covered < length || (length == 1 && axis.is_empty() && rest.peek().is_some_and(|(_, own)| *own == 1))
            {
                let (role, own) = rest.next()?;
                covered *= own;
                axis.push((role, own));
            }
            if covered != length {
                return None;
            }
            axes.push(axis);
        }
        rest.all(|(_, length)| length == 1).then_some(Self(axes))
    }

    /// The axes in another order.
    pub fn permute(&self, order: &[usize]) -> Self {
        Self(order.iter().map(|&axis| self.0[axis].clone()).collect())
    }

    /// The axes after new ones in front, without roles.
    pub fn expand(&self, rank: usize) -> Option<Self> {
        let added = rank.checked_sub(self.0.len())?;
        Some(Self(vec![Vec::new(); added].into_iter().chain(self.0.iter().cloned()).collect()))
    }

    /// The axis that bins run along, and nothing else.
    pub fn mode_axis(&self) -> Option<usize> {
        self.0.iter().position(|axis| matches!(axis[..], [(Role::Mode, _)]))
    }

    /// The same axes with another number of bins.
    pub fn with_modes(&self, axis: usize, length: usize) -> Self {
        let mut axes = self.clone();
        axes.0[axis] = vec![(Role::Mode, length)];
        axes
    }

    /// Whether the roles cover axes of these lengths.
    pub fn cover(&self, shape: &[usize]) -> bool {
        let length = |axis: &Axis| axis.iter().map(|(_, length)| length).product::<usize>();
        self.0.len() == shape.len() && self.0.iter().zip(shape).all(|(axis, &own)| length(axis) == own)
    }
}
