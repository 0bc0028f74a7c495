//! Axes of a value in terms of the dimensions of a spectral convolution.

/// Dimension that runs along an axis, or along a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisRole {
    /// Elements of the batch.
    Batch,
    /// Channels of the input.
    Input,
    /// Channels of the output.
    Output,
    /// Points or bins along a transformed dimension, by its number.
    Mode(usize),
    /// Axis of a tensor of which nothing is known, by its number.
    Own(usize),
}

/// Roles along one axis with their lengths, greater than 1, the outermost first; without any, its values are the same.
pub type AxisRoles = Vec<(AxisRole, usize)>;

/// The axes of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueAxes(pub Vec<AxisRoles>);

impl ValueAxes {
    /// The axes of a tensor of which nothing is known.
    pub fn own(shape: &[usize]) -> Self {
        let axis =
            |(axis, &length): (usize, &usize)| Vec::from_iter((length != 1).then_some((AxisRole::Own(axis), length)));
        Self(shape.iter().enumerate().map(axis).collect())
    }

    /// The roles in the order of the elements.
    pub fn roles(&self) -> Vec<AxisRole> {
        self.0.iter().flatten().map(|(role, _)| *role).collect()
    }

    /// The same axes with other names of the roles.
    pub fn renamed(&self, name: impl Fn(AxisRole) -> AxisRole) -> Self {
        let axis = |axis: &AxisRoles| axis.iter().map(|&(role, length)| (name(role), length)).collect();
        Self(self.0.iter().map(axis).collect())
    }

    /// The same elements in another shape; `None` where a role would be cut in two.
    pub fn reshape(&self, shape: &[usize]) -> Option<Self> {
        let mut rest = self.0.iter().flatten().copied();
        let mut axes = Vec::new();
        for &length in shape {
            let (mut axis, mut covered) = (Vec::new(), 1);
            while covered < length {
                let (role, own) = rest.next()?;
                covered *= own;
                axis.push((role, own));
            }
            if covered != length {
                return None;
            }
            axes.push(axis);
        }
        rest.next().is_none().then_some(Self(axes))
    }

    /// The axes in another order.
    pub fn permute(&self, order: &[usize]) -> Self {
        Self(order.iter().map(|&axis| self.0[axis].clone()).collect())
    }

    /// The axes after new ones in front, with those repeated that `shape` is longer along.
    pub fn expand(&self, shape: &[usize]) -> Option<Self> {
        let added = shape.len().checked_sub(self.0.len())?;
        let repeated = |(axis, &length): (&AxisRoles, &usize)| match covered(axis) {
            own if own == length => Some(axis.clone()),
            1 => Some(Vec::new()),
            _ => None,
        };
        let own = self.0.iter().zip(&shape[added..]).map(repeated).collect::<Option<Vec<_>>>()?;
        Some(Self(vec![Vec::new(); added].into_iter().chain(own).collect()))
    }

    /// The axes with the last two exchanged.
    pub fn transposed(&self) -> Self {
        let mut axes = self.clone();
        if let [.., rows, columns] = &mut axes.0[..] {
            std::mem::swap(rows, columns);
        }
        axes
    }

    /// The dimension whose points or bins run along an axis, and nothing else.
    pub fn mode_along(&self, axis: usize) -> Option<usize> {
        match self.0[axis][..] {
            [(AxisRole::Mode(dim), _)] => Some(dim),
            _ => None,
        }
    }

    /// The same axes with another number of bins along one. Of a single one, no role is left.
    pub fn with_modes(&self, axis: usize, dim: usize, length: usize) -> Self {
        let mut axes = self.clone();
        axes.0[axis] = Vec::from_iter((length > 1).then_some((AxisRole::Mode(dim), length)));
        axes
    }

    /// Whether the roles cover axes of these lengths.
    pub fn cover(&self, shape: &[usize]) -> bool {
        self.0.len() == shape.len() && self.0.iter().zip(shape).all(|(axis, &length)| covered(axis) == length)
    }
}

/// Number of values along the roles of an axis.
fn covered(axis: &AxisRoles) -> usize {
    axis.iter().map(|(_, length)| length).product()
}
