//! Axes of a value: which dimension of a source runs along which axis.

/// What runs along an axis, or along a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisRole {
    /// An axis of the source, by its number; its last one holds samples, points or bins.
    Own(usize),
    /// Segments cut from the last axis of the source.
    Segment,
    /// Real part, then imaginary part: of a spectrum or, squared, of its power.
    Part,
    /// Channels of the output of a spectral convolution.
    Output,
}

/// Roles along one axis with their lengths, greater than 1, the outermost first; without any, its values are the same.
pub type AxisRoles = Vec<(AxisRole, usize)>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axes(pub Vec<AxisRoles>);

impl Axes {
    /// The axes of a tensor itself.
    pub fn own(shape: &[usize]) -> Self {
        Self(shape.iter().enumerate().map(|(axis, &length)| single(AxisRole::Own(axis), length)).collect())
    }

    /// The roles in the order of the elements.
    pub fn roles(&self) -> impl Iterator<Item = (AxisRole, usize)> {
        self.0.iter().flatten().copied()
    }

    /// Whether a role is along one of the axes.
    pub fn has(&self, role: AxisRole) -> bool {
        self.roles().any(|(other, _)| other == role)
    }

    /// Whether a role is along one of the axes in this length.
    pub fn has_length(&self, role: AxisRole, length: usize) -> bool {
        length == 1 || self.roles().any(|other| other == (role, length))
    }

    /// The same elements in another shape; `None` where a role would be cut in two, but for `samples`, which are cut
    /// into segments. Also the number of these.
    pub fn reshape(&self, shape: &[usize], samples: Option<AxisRole>) -> Option<(Self, Option<usize>)> {
        let mut rest: Vec<(AxisRole, usize)> = self.roles().collect();
        rest.reverse();
        let (mut axes, mut cut) = (Vec::new(), None);
        for &length in shape {
            let (mut axis, mut covered) = (Vec::new(), 1);
            while covered < length {
                let (role, own) = rest.pop()?;
                let wanted = length / covered;
                let is_even = length % covered == 0 && own % wanted == 0;
                if own > wanted && Some(role) == samples && cut.is_none() && is_even {
                    rest.push((role, own / wanted));
                    axis.push((AxisRole::Segment, wanted));
                    (covered, cut) = (covered * wanted, Some(wanted));
                } else {
                    covered *= own;
                    axis.push((role, own));
                }
            }
            if covered != length {
                return None;
            }
            axes.push(axis);
        }
        rest.is_empty().then_some((Self(axes), cut))
    }

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

    /// The role along an axis, if there is one and nothing else.
    pub fn along(&self, axis: usize) -> Option<AxisRole> {
        match self.0[axis][..] {
            [(role, _)] => Some(role),
            _ => None,
        }
    }

    /// The axis along which a role is, and nothing else.
    pub fn position(&self, role: AxisRole) -> Option<usize> {
        (0..self.0.len()).find(|axis| self.along(*axis) == Some(role))
    }

    /// The same axes with a role of some length along one. Of length 1, no role is left.
    pub fn with(&self, axis: usize, role: AxisRole, length: usize) -> Self {
        let mut axes = self.clone();
        axes.0[axis] = single(role, length);
        axes
    }

    /// Whether the roles cover axes of these lengths.
    pub fn cover(&self, shape: &[usize]) -> bool {
        self.0.len() == shape.len() && self.0.iter().zip(shape).all(|(axis, &length)| covered(axis) == length)
    }

    /// Whether the roles are these, in the order of the elements, but for those of length 1.
    pub fn are(&self, expected: &[(AxisRole, usize)]) -> bool {
        self.roles().eq(expected.iter().copied().filter(|(_, length)| *length > 1))
    }
}

/// One role along an axis.
fn single(role: AxisRole, length: usize) -> AxisRoles {
    Vec::from_iter((length != 1).then_some((role, length)))
}

/// Number of values along the roles of an axis.
fn covered(axis: &AxisRoles) -> usize {
    axis.iter().map(|(_, length)| length).product()
}
