//! Operators of PyTorch, registered by its stable C ABI: neither its headers nor its libraries are needed to build them.
//!
//! Every operation that the table has is an operator `firefly::NAME(Tensor …, str operation)`, and the same once more as
//! `firefly_raw::NAME`, which is meant for calls without gradients: Python registers them for the other alone. Where an
//! input may be left out, `NAME` goes without it and `NAME_INPUT` has it. Gradients that are not needed come as tensors
//! of shape `[0]`. All of them share one kernel, since the last argument says the operation.

mod abi;
mod kernel;

use std::ffi::{CStr, CString, c_char};
use std::ptr::null_mut;
use std::sync::LazyLock;

use firefly_ops::op::{ADAM_STEP, OutputKind, ROWS, Row};

use self::abi::{Torch, torch};
use crate::InteropError;

/// An operator: its name, and its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// Its name in the namespace.
    pub name: String,
    /// Name of its row, without the prefix.
    pub row: &'static str,
    /// Names and types of its arguments and results.
    pub schema: String,
}

/// The operators, in the order of the table.
///
/// ```
/// use firefly_interop::torch::operators;
///
/// let schemas: Vec<String> = operators().into_iter().map(|operator| operator.schema).collect();
/// assert!(schemas.contains(&"long_conv(Tensor signal, Tensor kernel, str operation) -> Tensor".into()));
/// assert!(schemas.contains(&"top_k(Tensor values, str operation) -> (Tensor, Tensor)".into()));
/// ```
pub fn operators() -> Vec<Operator> {
    // A step of an optimizer changes its arguments, which operators do not.
    let rows = ROWS.iter().filter(|row| row.name != ADAM_STEP);
    rows.flat_map(|row| [Some(None), row.optional.map(Some)].into_iter().flatten().map(|with| operator(row, with)))
        .collect()
}

/// The operator of a row without its optional input, or with it.
fn operator(row: &'static Row, with: Option<usize>) -> Operator {
    let of_row = row.name.trim_start_matches("firefly::");
    let name = with.map_or_else(|| of_row.to_string(), |input| format!("{of_row}_{}", row.inputs[input]));
    let inputs = row.inputs.iter().enumerate().filter(|(input, _)| with.is_some() || Some(*input) != row.optional);
    let inputs: Vec<&str> = inputs.map(|(_, name)| *name).collect();
    let outputs = match row.outputs {
        OutputKind::Floats(count) => count,
        OutputKind::Peaks | OutputKind::Bins => 2,
        OutputKind::Gradients => inputs.iter().filter(|name| !name.starts_with("grad_")).count(),
    };
    let results = vec!["Tensor"; outputs].join(", ");
    let results = if outputs == 1 { results } else { format!("({results})") };
    let schema = format!("{name}(Tensor {}, str operation) -> {results}", inputs.join(", Tensor "));
    Operator { name, row: of_row, schema }
}

/// The namespace of operators with gradients, and that of those without.
const NAMESPACES: [&CStr; 2] = [c"firefly", c"firefly_raw"];

/// Of each operator its name and that of its row, all separated by spaces.
#[unsafe(no_mangle)]
pub extern "C" fn firefly_torch_operators() -> *const c_char {
    static NAMES: LazyLock<CString> = LazyLock::new(|| {
        let names: Vec<String> =
            operators().into_iter().map(|operator| format!("{} {}", operator.name, operator.row)).collect();
        CString::new(names.join(" ")).unwrap_or_default()
    });
    NAMES.as_ptr()
}

/// Registers the operators; 0, or 1 and the message is that of `firefly_error`.
///
/// # Safety
/// The folder is a text that ends in a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firefly_torch_register(folder: *const c_char) -> i32 {
    // SAFETY: the caller's.
    let registered = torch(unsafe { CStr::from_ptr(folder) }).and_then(register);
    i32::from(registered.inspect_err(crate::c::note).is_err())
}

fn register(torch: &Torch) -> Result<(), InteropError> {
    let known = |what: &str, status: i32| {
        let failed = || InteropError::Missing(format!("PyTorch refused to register {what}"));
        if status == 0 { Ok(()) } else { Err(failed()) }
    };
    let text = |text: &str| CString::new(text).map_err(|_| InteropError::Operation(text.into()));
    let file = c"firefly-interop";
    for namespace in NAMESPACES {
        let (mut definitions, mut kernels) = (null_mut(), [null_mut(); 2]);
        let api = &torch.api;
        // SAFETY: names outlive the calls, and the libraries of operators are never deleted.
        unsafe {
            let status = (api.library_fragment)(namespace.as_ptr(), file.as_ptr(), 1, &mut definitions);
            known("a namespace", status)?;
            for (library, key) in kernels.iter_mut().zip([c"CPU", c"CUDA"]) {
                known("kernels", (api.library_impl_of)(namespace.as_ptr(), key.as_ptr(), file.as_ptr(), 1, library))?;
            }
            for operator in operators() {
                let (name, schema) = (text(&operator.name)?, text(&operator.schema)?);
                known(&operator.schema, (api.library_def)(definitions, schema.as_ptr()))?;
                for library in kernels {
                    let status = (api.library_impl)(library, name.as_ptr(), kernel::kernel, abi::VERSION);
                    known(&operator.name, status)?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_follow_the_table() {
        let operators = operators();
        let schema = |name: &str| {
            let found = operators.iter().find(|operator| operator.name == name);
            found.map(|operator| operator.schema.as_str()).unwrap_or_default()
        };
        let gate = "long_conv_gate(Tensor signal, Tensor kernel, Tensor gate, str operation) -> Tensor";
        assert_eq!(schema("long_conv_gate"), gate);
        let backward = "long_conv_backward(Tensor signal, Tensor kernel, Tensor grad_output, str operation) -> \
                        (Tensor, Tensor)";
        assert_eq!(schema("long_conv_backward"), backward);
        assert_eq!(schema("local_maxima"), "local_maxima(Tensor values, str operation) -> (Tensor, Tensor)");
        assert_eq!(schema("adam_step"), "");
        // Five rows have an input that may be left out: three operations, two of their gradients, and Welch's.
        assert_eq!(operators.len(), ROWS.len() - 1 + ROWS.iter().filter(|row| row.optional.is_some()).count());
    }
}
