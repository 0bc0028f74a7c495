/* Firefly's operations as launch plans: kernels on memory and streams of the caller's, on CUDA devices.
 *
 * Link the shared library firefly_interop, or load the Python extension firefly_fft._native, which has the same
 * functions. Functions may be called from any thread.
 *
 *     int64_t shape[2] = {64, 129}, strides[2] = {129, 1};
 *     firefly_array values = {(uint64_t)pointer, shape, strides, 2};
 *     const firefly_plan_t *plan = firefly_plan("top_k 5 0", 0, &values, 1);
 *     if (!plan) { puts(firefly_error()); return; }
 *     uint64_t outputs[2] = {(uint64_t)bins, (uint64_t)power};
 *     firefly_plan_launch(plan, &values.address, outputs, (uint64_t)workspace, stream);
 *     firefly_plan_free(plan);
 */
#ifndef FIREFLY_H
#define FIREFLY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The launches of one operation for one layout of its inputs. */
typedef struct firefly_plan firefly_plan_t;

/* An array of float32 in a device's memory. A plan depends on the shape, the strides, and the address modulo 16; it is
 * launched on any other addresses that are the same modulo 16. */
typedef struct {
    uint64_t address;
    const int64_t *shape;
    const int64_t *strides; /* in values */
    uint32_t dimensions;
} firefly_array;

enum firefly_dtype { FIREFLY_FLOAT32 = 0, FIREFLY_INT32 = 1, FIREFLY_INT64 = 2, FIREFLY_FLOAT64 = 3 };

/* The message of this thread's last error, which lives until the next. */
const char *firefly_error(void);

/* The plan of an operation, or NULL after an error. The operation is text: its name and its options in the order of the
 * table of operations (`OpDescriptor::scalars` of the crate firefly-ops), separated by spaces. A first call of a kind
 * compiles kernels, which takes 0.1 to 1 s each; later ones are looked up. */
const firefly_plan_t *firefly_plan(const char *operation, uint32_t device, const firefly_array *inputs, uint32_t count);

/* Ends the use of a plan. Launches that are queued or captured in a graph go on. */
void firefly_plan_free(const firefly_plan_t *plan);

/* Bytes of temporary memory that a launch needs, aligned to 512. */
uint64_t firefly_plan_workspace(const firefly_plan_t *plan);

/* Number of outputs. */
uint32_t firefly_plan_outputs(const firefly_plan_t *plan);

/* Writes the lengths of an output's dimensions, as many as there is room for, and its type (enum firefly_dtype).
 * Returns the number of dimensions, or -1 for an output that is not there. Outputs are contiguous. */
int32_t firefly_plan_output(const firefly_plan_t *plan, uint32_t index, int64_t *shape, uint32_t room, uint32_t *dtype);

/* Launches everything on a stream (CUstream; NULL is the default stream), and returns without waiting: 0, or 1 after an
 * error. Addresses are those of the inputs and of the outputs in their order. Temporary memory may be used again by what
 * is queued on the same stream later. May be captured in a CUDA graph. */
int32_t firefly_plan_launch(const firefly_plan_t *plan, const uint64_t *inputs, const uint64_t *outputs,
                            uint64_t workspace, void *stream);

/* Writes how gradients go back through an operation, with a zero at the end if there is room for all: "adjoint
 * OPERATION" of the outputs' gradients, "backward OPERATION" of the inputs and them, "selected LENGTH [OPERATION]" after
 * the gradients are scattered to rows of this length, "discrete" or "unsupported". `needed` has a bit per input whose
 * gradient is needed, lowest first; `width` is the number of values per row of the first input. Returns the length of
 * the text, or -1 after an error. */
int32_t firefly_gradient(const char *operation, uint8_t needed, uint64_t width, char *buffer, uint64_t room);

/* Writes the outputs of an operation on inputs of these shapes and one type (enum firefly_dtype, float32 or float64) as
 * `firefly_gradient` does: a line per output, "int64 64 5", with its type and the lengths of its dimensions. Nothing is
 * computed, and addresses and strides do not matter. Returns the length of the text, or -1 after an error. */
int32_t firefly_outputs(const char *operation, const firefly_array *inputs, uint32_t count, uint32_t dtype, char *buffer,
                        uint64_t room);

/* Handlers of XLA's foreign function interface (XLA_FFI_Handler of xla/ffi/api/c_api.h, version 0.x): inputs are its
 * arguments and outputs its results, all contiguous, and the operation is its attribute `operation`. */
void firefly_jax_minor(int32_t minor); /* tells the minor version of XLA, before handlers are registered */
struct XLA_FFI_CallFrame;
struct XLA_FFI_Error *firefly_jax_cpu(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *firefly_jax_cuda(struct XLA_FFI_CallFrame *frame);

/* Registers the operators of PyTorch from the folder of its libraries, which are loaded: 0, or 1 after an error. */
int32_t firefly_torch_register(const char *folder);

/* Of each of PyTorch's operators its name and that of the operation's row, all separated by spaces. */
const char *firefly_torch_operators(void);

#ifdef __cplusplus
}
#endif
#endif
