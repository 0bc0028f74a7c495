//! Messages of an ONNX file, in the [wire format of Protocol
//! Buffers](https://protobuf.dev/programming-guides/encoding/), with the field numbers of
//! [`onnx.proto`](https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).

use burn::tensor::{DType, TensorData};
use serde_json::Value;

use super::Port;

/// Message that fields are appended to by their numbers.
#[derive(Debug, Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    fn varint(mut self, mut value: u64) -> Self {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    pub fn int(self, field: u64, value: i64) -> Self {
        self.varint(field << 3).varint(value as u64)
    }

    fn ints(self, field: u64, values: impl Iterator<Item = i64>) -> Self {
        values.fold(self, |message, value| message.int(field, value))
    }

    fn float(self, field: u64, value: f32) -> Self {
        let mut message = self.varint(field << 3 | 5);
        message.0.extend(value.to_le_bytes());
        message
    }

    fn bytes(self, field: u64, bytes: &[u8]) -> Self {
        let mut message = self.varint(field << 3 | 2).varint(bytes.len() as u64);
        message.0.extend(bytes);
        message
    }

    pub fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    pub fn messages(self, field: u64, messages: impl IntoIterator<Item = Self>) -> Self {
        messages.into_iter().fold(self, |outer, message| outer.bytes(field, &message.0))
    }

    pub fn push(&mut self, field: u64, message: &Self) {
        *self = std::mem::take(self).bytes(field, &message.0);
    }
}

/// An `AttributeProto`: name, value and the number of its kind.
pub fn attribute((name, value): (&String, &Value)) -> Message {
    let message = Message::default().text(1, name);
    match value {
        Value::Array(values) => message.ints(8, values.iter().filter_map(Value::as_i64)).int(20, 7),
        Value::String(text) => message.text(4, text).int(20, 3),
        Value::Number(number) if number.is_f64() => message.float(2, value.as_f64().unwrap_or(0.0) as f32).int(20, 1),
        _ => message.int(3, value.as_i64().unwrap_or((*value == true).into())).int(20, 2),
    }
}

/// A `TensorProto`.
pub fn tensor(name: &str, data: &TensorData) -> Message {
    let tensor = Message::default().ints(1, data.shape().iter().map(|length| *length as i64));
    let tensor = tensor.int(2, type_number(data.dtype())).text(8, name);
    match data.dtype() {
        DType::Bool(_) => tensor.bytes(9, &data.iter::<bool>().map(u8::from).collect::<Vec<_>>()),
        _ => tensor.bytes(9, data.as_bytes()),
    }
}

/// A `ValueInfoProto`.
pub fn value_info(port: &Port) -> Message {
    let length = |text: &String| match text.parse() {
        Ok(length) => Message::default().int(1, length),
        Err(_) => Message::default().text(2, text),
    };
    let shape = Message::default().messages(1, port.shape.iter().map(length));
    let tensor = Message::default().int(1, type_number(port.dtype)).messages(2, [shape]);
    let kind = Message::default().messages(1, [tensor]);
    Message::default().text(1, &port.name).messages(2, [kind]).text(3, &port.text)
}

/// Number of an element type; 0 for one that ONNX does not have.
pub fn type_number(dtype: DType) -> i64 {
    // In the order of their numbers, from 1; those without a name are text and complex numbers.
    const NAMES: [&str; 16] =
        ["f32", "u8", "i8", "u16", "i16", "i32", "i64", "", "bool", "f16", "f64", "u32", "u64", "", "", "bf16"];
    let name = if dtype.is_bool() { "bool" } else { dtype.name() };
    NAMES.iter().position(|known| *known == name).map_or(0, |place| place as i64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_bytes_of_the_format() {
        // The examples of the format's description: 150 in field 1, "testing" in field 2, and a message in field 3.
        let number = || Message::default().int(1, 150);
        assert_eq!(number().0, [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").0, *b"\x12\x07testing");
        assert_eq!(Message::default().messages(3, [number()]).0, [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(Message::default().int(1, -1).0, [[0x08].as_slice(), &[0xff; 9], &[0x01]].concat());
        assert_eq!(Message::default().float(2, 1.0).0, [0x15, 0, 0, 0x80, 0x3f]);
    }

    #[test]
    fn attributes_have_the_kind_of_their_value() {
        let kind = |value: Value| attribute((&"a".to_string(), &value)).0.pop();
        let values = [Value::from(1.0), 1.into(), true.into(), "text".into(), vec![1, 2].into()];
        assert_eq!(values.map(kind), [1, 2, 2, 3, 7].map(Some));
    }
}
