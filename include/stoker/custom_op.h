// Custom operators: the C interface between Stoker and a shared library that somebody else wrote.
// Plain C99. The library links nothing of Stoker: it exports one function, stoker_op_library, and
// calls back through the table of functions that each call brings. docs/howto/custom-op.md is the
// recipe, examples/custom_op a complete library.
//
// Rules for a library. An operator is a pure function of its inputs and attributes: Stoker may
// evaluate it once for several equal nodes, or not at all. Callbacks come from several threads at
// once. They must not write to inputs, keep pointers beyond the call, or throw. The description and
// what it points to stay valid and unchanged as long as the process lives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Raised when a struct here changes; functions are only ever appended to StokerOpHost.
#define STOKER_OP_ABI 1

// Element types, numbered as in ONNX. Elements below a byte are packed, low bits first.
enum {
  STOKER_F32 = 1,
  STOKER_U8 = 2,
  STOKER_I8 = 3,
  STOKER_U16 = 4,
  STOKER_I16 = 5,
  STOKER_I32 = 6,
  STOKER_I64 = 7,
  STOKER_STRING = 8,
  STOKER_BOOL = 9,
  STOKER_F16 = 10,
  STOKER_F64 = 11,
  STOKER_U32 = 12,
  STOKER_U64 = 13,
  STOKER_C64 = 14,
  STOKER_C128 = 15,
  STOKER_BF16 = 16,
  STOKER_F8E4M3FN = 17,
  STOKER_F8E4M3FNUZ = 18,
  STOKER_F8E5M2 = 19,
  STOKER_F8E5M2FNUZ = 20,
  STOKER_U4 = 21,
  STOKER_I4 = 22,
  STOKER_F4E2M1 = 23,
  STOKER_F8E8M0 = 24,
  STOKER_U2 = 25,
  STOKER_I2 = 26
};

#define STOKER_OP_UNKNOWN_RANK (-1)
#define STOKER_OP_UNKNOWN_DIM INT64_MIN

// A tensor as a callback sees it; valid during the call.
typedef struct StokerOpTensor {
  int32_t dtype;
  int32_t rank;  // STOKER_OP_UNKNOWN_RANK: known only when the network runs
  // Sizes. A negative one is known only when the network runs: equal ones are equal sizes, and may
  // be copied into the dims of an output to say that it has that size.
  const int64_t* dims;
  // Dense and row-major, 64-byte aligned but for the caller's own memory. Null for strings, and in
  // `infer` where the value is not known yet.
  const void* data;
} StokerOpTensor;

typedef struct StokerOpCall StokerOpCall;  // one call of a callback

// What a callback may ask and answer. Functions that return int32_t give 0 for no and for failed.
typedef struct StokerOpHost {
  // The node. Opset version: of the operator's domain in the model, 1 when it imports none.
  int32_t (*input_count)(const StokerOpCall* call);
  int32_t (*output_count)(const StokerOpCall* call);
  int64_t (*opset_version)(const StokerOpCall* call);
  // Null for an optional input that is left out, and beyond the last.
  const StokerOpTensor* (*input)(StokerOpCall* call, int32_t index);
  // Element of an input of strings, as bytes without a zero at the end.
  int32_t (*input_string)(StokerOpCall* call, int32_t index, int64_t element, const char** data,
                          size_t* bytes);

  // Attributes. 0: there is none of that name and kind.
  int32_t (*get_int)(StokerOpCall* call, const char* name, int64_t* value);
  int32_t (*get_float)(StokerOpCall* call, const char* name, double* value);
  int32_t (*get_ints)(StokerOpCall* call, const char* name, const int64_t** values, size_t* count);
  int32_t (*get_floats)(StokerOpCall* call, const char* name, const double** values, size_t* count);
  // The string of that index of a list of strings; a single string has index 0.
  int32_t (*get_string)(StokerOpCall* call, const char* name, size_t index, const char** data,
                        size_t* bytes);
  const StokerOpTensor* (*get_tensor)(StokerOpCall* call, const char* name);

  // In `infer`: the type of an output. With STOKER_OP_UNKNOWN_RANK the dims may be null; a dim is a
  // number from 0 on, a negative size of an input, or STOKER_OP_UNKNOWN_DIM.
  int32_t (*set_output)(StokerOpCall* call, int32_t index, int32_t dtype, int32_t rank,
                        const int64_t* dims);
  // In `evaluate`: memory for an output, filled with zeros, dense and row-major. The sizes must be
  // those that `infer` gives for the same inputs; where it leaves them open they are decided here.
  // 0 when it is refused: return an error then. For strings *data is null.
  int32_t (*make_output)(StokerOpCall* call, int32_t index, int32_t rank, const int64_t* dims,
                         void** data);
  int32_t (*set_string)(StokerOpCall* call, int32_t output, int64_t element, const char* data,
                        size_t bytes);

  // Says why the callback fails, for `return host->fail(call, "...")`. The text is copied.
  int32_t (*fail)(StokerOpCall* call, const char* text);  // never 0
} StokerOpHost;

typedef int32_t (*StokerOpCallback)(const StokerOpHost* host, StokerOpCall* call);  // 0: done

typedef struct StokerOpDef {
  const char* domain;  // of the model's nodes: "demo.ops"
  const char* name;
  int32_t min_inputs, max_inputs;    // max -1: any number
  int32_t min_outputs, max_outputs;  // min 1 or more
  // Types of the outputs from types and attributes, and from the values of the inputs where they
  // are known. Called while a network is built, with sizes that may be open, and before each
  // evaluation.
  StokerOpCallback infer;
  // The outputs from the inputs: the meaning of the operator.
  StokerOpCallback evaluate;
} StokerOpDef;

typedef struct StokerOpLibrary {
  uint32_t abi;  // STOKER_OP_ABI
  uint32_t op_count;
  const char* name;     // letters, digits and ._+-
  const char* version;  // the same; engines are bound to it
  const StokerOpDef* ops;
} StokerOpLibrary;

#if defined(_WIN32)
#define STOKER_OP_EXPORT __declspec(dllexport)
#else
#define STOKER_OP_EXPORT __attribute__((visibility("default")))
#endif

// The one function that a library exports. `abi` is the newest that the caller speaks; null when
// the library cannot serve it.
STOKER_OP_EXPORT const StokerOpLibrary* stoker_op_library(uint32_t abi);

#ifdef __cplusplus
}
#endif
