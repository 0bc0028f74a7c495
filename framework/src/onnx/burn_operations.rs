//! Translation of Burn's operations.

use burn::backend::ir::{IrVisitorMut, OperationIr, ScalarIr, TensorIr};
use burn::tensor::{BoolStore, DType};
use serde_json::{Value, json};

use super::OnnxError;
use super::exporter::{Exporter, Length, Slot};
use crate::graph::{AxisSlice, Node, Operation, named_record};

/// Values of the outputs; none for an operation without a translation.
pub type Translated = Result<Vec<Slot>, OnnxError>;

/// Operations that are operators of the same inputs and of their scalar, if they have one, with the operator's name
/// behind a colon where it differs.
const SAME_INPUTS: &str = "Add Sub Mul Div AddScalar:Add SubScalar:Sub MulScalar:Mul DivScalar:Div Powi:Pow Powf:Pow \
    PowiScalar:Pow PowfScalar:Pow Abs Neg Sign Exp Log Erf Sqrt Cos Cosh Sin Sinh Tan Tanh ArcCos:Acos ArcCosh:Acosh \
    ArcSin:Asin ArcSinh:Asinh ArcTan:Atan ArcTanh:Atanh Round Floor Ceil Recip:Reciprocal IsNan:IsNaN IsInf Not And Or \
    Xor Matmul:MatMul Relu Gelu Sigmoid Equal EqualElem:Equal Greater GreaterElem:Greater GreaterEqual:GreaterOrEqual \
    GreaterEqualElem:GreaterOrEqual Lower:Less LowerElem:Less LowerEqual:LessOrEqual LowerEqualElem:LessOrEqual \
    ClampMin:Max ClampMax:Min Clamp:Clip Embedding:Gather";
/// Operations along one axis, which stays, or along all.
const REDUCTIONS: &str = "MeanDim:ReduceMean SumDim:ReduceSum ProdDim:ReduceProd MaxDim:ReduceMax MinDim:ReduceMin \
    Mean:ReduceMean Sum:ReduceSum Prod:ReduceProd Max:ReduceMax Min:ReduceMin";
/// Operations with an attribute `axis`.
const ALONG_AXIS: &str = "Cat:Concat Select:Gather Gather:GatherElements Softmax LogSoftmax";
/// Operations that order values, and whether the greatest comes first; sorting says so itself.
const ORDERINGS: &str = "TopK:1 ArgTopK:1 TopKWithIndices:1 MaxDimWithIndices:1 MinDimWithIndices:0 ArgMax:1 ArgMin:0 \
    Sort: ArgSort: SortWithIndices:";
/// Convolutions and pooling over windows.
const WINDOWS: &str = "Conv1d:Conv Conv2d:Conv Conv3d:Conv ConvTranspose1d:ConvTranspose ConvTranspose2d:ConvTranspose \
    ConvTranspose3d:ConvTranspose AvgPool1d:AveragePool AvgPool2d:AveragePool MaxPool1d:MaxPool MaxPool2d:MaxPool";
/// Attributes of these, with the names in Burn's records.
const WINDOW_ATTRIBUTES: &str = "stride:strides dilation:dilations groups:group kernel_size:kernel_shape ceil_mode \
    count_include_pad padding_out:output_padding";

/// What stands for `name` in a list: itself, or what is behind its colon.
fn listed(list: &'static str, name: &str) -> Option<&'static str> {
    let pairs = list.split_ascii_whitespace().map(|entry| entry.split_once(':').unwrap_or((entry, entry)));
    pairs.into_iter().find(|(known, _)| *known == name).map(|(_, other)| other)
}

/// A number or a list of a record as a list.
fn listing(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])
}

/// Padding per axis, of one number for both sides or two, as ONNX lists it: before all axes, then behind them.
fn pads(padding: &Value) -> Vec<i64> {
    let side = |side: usize| {
        let of_axis = move |axis: &Value| axis.get(side).unwrap_or(axis).as_i64().unwrap_or(0);
        listing(padding).iter().map(of_axis).collect::<Vec<_>>()
    };
    [side(0), side(1)].concat()
}

/// The scalars of a record, in order.
#[derive(Default)]
struct Scalars(Vec<ScalarIr>);

impl IrVisitorMut for Scalars {
    fn visit_scalar_mut(&mut self, scalar: &mut ScalarIr) {
        self.0.push(*scalar);
    }
}

impl Exporter<'_> {
    /// Appends what computes the outputs of an operation of Burn, if it has a translation.
    pub fn translate(&mut self, operation: &OperationIr, node: &Node, inputs: &[Slot]) -> Translated {
        if let OperationIr::Custom(custom) = operation {
            return self.custom(custom, inputs);
        }
        let (name, record) = named_record(operation);
        let name = name.as_str();
        let tensors: Vec<&TensorIr> = operation.inputs().collect();
        let outputs: Vec<&TensorIr> = operation.outputs().collect();
        let Some(out) = outputs.first() else { return Ok(Vec::new()) };
        let mut scalars = Scalars::default();
        operation.clone().visit_mut(&mut scalars);
        let scalars: Vec<f64> = scalars.0.iter().map(|scalar| scalar.elem()).collect();
        let number = |key: &str| record.get(key).and_then(Value::as_u64).map(|number| number as usize);
        let axis = number("axis").or(number("dim"));

        if let Some(kind) = listed(SAME_INPUTS, name) {
            let scalars: Vec<Slot> = scalars.iter().map(|scalar| self.scalar(*scalar)).collect();
            return Ok(vec![self.op(kind, &[inputs, &scalars].concat())]);
        }
        if let Some(kind) = listed(ALONG_AXIS, name) {
            return Ok(vec![self.op_with(kind, inputs, json!({"axis": axis}))]);
        }
        if let (Some(kind), Some(value)) = (listed(REDUCTIONS, name), inputs.first()) {
            let Some(axis) = axis else {
                let reduced = self.op_with(kind, &[*value], json!({"keepdims": 0}));
                return Ok(vec![self.reshape(reduced, self.lengths(out))?]);
            };
            return Ok(vec![self.reduce(kind, *value, axis, true)]);
        }
        if let (Some(largest), Some(axis)) = (listed(ORDERINGS, name), axis) {
            let largest = largest == "1" || record["descending"] == true;
            let count = self.length(out, axis)?;
            let [values, positions] = self.ordered(inputs[0], axis, largest, count);
            if name.starts_with("Arg") {
                return Ok(vec![self.cast(positions, [DType::I64, out.dtype])]);
            }
            let positions = outputs.get(1).map(|of| self.cast(positions, [DType::I64, of.dtype]));
            return Ok([values].into_iter().chain(positions).collect());
        }
        if let Some(kind) = listed(WINDOWS, name) {
            return Ok(vec![self.windowed(kind, inputs, &record)]);
        }
        let output = match (name, &node.operation, inputs) {
            ("Reshape", _, [value]) => self.reshape(*value, self.lengths(out))?,
            (_, Operation::Permute { axes }, _) => self.op_with("Transpose", inputs, json!({"perm": axes})),
            (_, Operation::Flip { axes }, [value]) => {
                axes.iter().fold(*value, |value, axis| self.slice(value, *axis as i64, [-1, i64::MIN, -1]))
            }
            ("Expand", _, [value]) => {
                let (from, mut to) = (self.lengths(tensors[0]), self.lengths(out).to_vec());
                let added = to.len() - from.len();
                // A length that stays need not be computed.
                let kept = to[added..].iter_mut().zip(from).filter(|(to, from)| **to == **from);
                kept.for_each(|(to, _)| *to = Length { fixed: 1, per_batch: 0 });
                let shape = self.shape(&to)?;
                self.op("Expand", &[*value, shape])
            }
            (_, Operation::Fill(value), _) => {
                let (value, shape) = (self.scalar(*value), self.shape(self.lengths(out))?);
                self.op("Expand", &[value, shape])
            }
            (_, Operation::Unfold { axis, size, step }, [value]) => {
                let starts = (0..self.length(out, *axis)?).map(|window| window * step);
                let value = self.windows(*value, starts, *size, *axis);
                let rank = out.shape.len();
                let axes: Vec<usize> = (0..rank).filter(|at| *at != axis + 1).chain([axis + 1]).collect();
                self.op_with("Transpose", &[value], json!({"perm": axes}))
            }
            (_, Operation::Slice { slices }, [value]) => {
                let (from, to, mut value) = (self.lengths(tensors[0]), self.lengths(out), *value);
                for (axis, AxisSlice { start, stride }) in slices.iter().enumerate() {
                    let (start, stride) = (*start as i64, *stride as i64);
                    if from[axis] != to[axis] || stride != 1 {
                        self.length(tensors[0], axis)?;
                        let end = start + (self.length(out, axis)? as i64 - 1) * stride + stride.signum();
                        // Before the first element is the least number.
                        value = self.slice(value, axis as i64, [start, if end < 0 { i64::MIN } else { end }, stride]);
                    }
                }
                value
            }
            (_, Operation::AssignSlice { slices }, [whole, part]) if slices.iter().all(|slice| slice.stride == 1) => {
                let lengths = self.lengths(tensors[0]).iter().zip(self.lengths(tensors[1]));
                if lengths.clone().any(|(whole, part)| whole.per_batch != part.per_batch) {
                    return Err(OnnxError::Batch("a part of it is replaced".into()));
                }
                let before = slices.iter().map(|slice| slice.start as i64);
                let behind = lengths.zip(before.clone()).map(|((whole, part), start)| whole.fixed - part.fixed - start);
                let pads = self.ints(before.chain(behind));
                let (one, shape) = (self.scalar(1.0), self.op("Shape", &[*part]));
                let ones = self.op("Expand", &[one, shape]);
                let [covered, padded] = [ones, *part].map(|values| self.op("Pad", &[values, pads]));
                let covered = self.cast(covered, [self.dtype, DType::Bool(BoolStore::Native)]);
                self.op("Where", &[covered, padded, *whole])
            }
            ("MaskWhere", _, [value, mask, other]) => self.op("Where", &[*mask, *other, *value]),
            ("MaskFill", _, [value, mask]) => {
                let fill = self.scalar(scalars[0]);
                self.op("Where", &[*mask, fill, *value])
            }
            ("Cast" | "IntoInt" | "IntoFloat", _, [value]) => self.cast(*value, [self.dtype, out.dtype]),
            ("Log1p", _, [value]) => {
                let one = self.scalar(1.0);
                let sum = self.op("Add", &[*value, one]);
                self.op("Log", &[sum])
            }
            ("Pad", _, [value]) => {
                let (pads, fill) = (self.ints(pads(&record["padding"])), scalars.first().copied().unwrap_or(0.0));
                let fill = self.scalar(fill);
                let mode = record["mode"].as_str().unwrap_or("constant").to_lowercase();
                self.op_with("Pad", &[*value, pads, fill], json!({"mode": mode}))
            }
            ("LayerNorm", _, _) => {
                self.op_with("LayerNormalization", inputs, json!({"axis": -1, "epsilon": scalars[0]}))
            }
            ("BatchNorm", _, _) => self.op_with("BatchNormalization", inputs, json!({"epsilon": scalars[0]})),
            _ => return Ok(Vec::new()),
        };
        Ok(vec![output])
    }

    /// A convolution or pooling, by the options in its record.
    fn windowed(&mut self, kind: &'static str, inputs: &[Slot], record: &Value) -> Slot {
        let options = record.get("options").unwrap_or(record);
        let mut attributes = json!({"pads": pads(&options["padding"])});
        for (key, value) in options.as_object().into_iter().flatten() {
            if let Some(attribute) = listed(WINDOW_ATTRIBUTES, key) {
                let is_single = value.is_boolean() || key == "groups";
                attributes[attribute] = if is_single { value.clone() } else { listing(value).into() };
            }
        }
        self.op_with(kind, inputs, attributes)
    }
}
