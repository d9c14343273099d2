// Op: what one operator means, free of any graph. Each op is one file here with its inference and
// its reference evaluation, and one line in op_list.def. The reference evaluation is the fallback
// kernel, the constant folder and the oracle of every test.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/attributes.h"
#include "base/dim.h"
#include "base/status.h"
#include "stoker/value.h"

namespace stoker {

// Type of an IR value. `dtype` and `dims` are those of the tensor, or of the tensors inside; `dims`
// is meaningful only when `ranked`.
struct ValueType {
  enum class Kind : uint8_t { kTensor, kSequence, kOptional, kState, kMap };
  Kind kind = Kind::kTensor;
  DType dtype = DType::kInvalid;
  bool ranked = true;
  Dims dims;
  Kind inner = Kind::kTensor;   // what a sequence or an optional holds
  DType key = DType::kInvalid;  // of a map's keys

  static ValueType tensor(DType dtype, Dims dims) {
    return {Kind::kTensor, dtype, true, std::move(dims)};
  }
  static ValueType unranked(DType dtype) { return {Kind::kTensor, dtype, false, {}}; }
  // Of tensors of any shape, or of what `inner` says.
  static ValueType sequence(DType dtype, Kind inner = Kind::kTensor) {
    return {Kind::kSequence, dtype, false, {}, inner};
  }
  int rank() const { return static_cast<int>(dims.size()); }
};
bool operator==(const ValueType& a, const ValueType& b);
// "f32[N,3,224,224]", "f32[?]" when unranked, "sequence f32[?]", "optional sequence f32[?]",
// "map i64 f32[?]", "none" for an input that is left out.
std::string type_text(const ValueType& type);

// What inference sees and fills. Inputs that an optional slot leaves out have a null type.
class InferContext {
 public:
  struct Input {
    const ValueType* type = nullptr;
    const Tensor* constant = nullptr;  // the value, when it is known
    const Dims* elements = nullptr;    // shape value: the elements of a rank 0/1 integer tensor
  };

  const Attributes& attributes;
  std::span<const Input> inputs;
  std::vector<ValueType> outputs;                 // sized by the caller, filled by infer
  std::vector<std::optional<Dims>> shape_values;  // same size; set where the elements are known
  Dim (*fresh_symbol)(void* graph) = nullptr;     // a new data-dependent size
  void* graph = nullptr;

  bool has(size_t i) const { return i < inputs.size() && inputs[i].type; }
  const ValueType& type(size_t i) const { return *inputs[i].type; }
  // Elements of an integer input as expressions: from its constant or its shape value.
  std::optional<Dims> elements(size_t i) const;
  // Elements of an integer input when all are numbers.
  std::optional<std::vector<int64_t>> constant_ints(size_t i) const;
  Dim fresh() const { return fresh_symbol(graph); }
};

// A strided view of a tensor; strides count elements. dtype kInvalid: an optional input left out.
struct TensorView {
  DType dtype = DType::kInvalid;
  Shape shape;
  Shape strides;
  void* data = nullptr;
  std::vector<std::string>* strings = nullptr;  // instead of data, for strings

  bool present() const { return dtype != DType::kInvalid; }
  int rank() const { return static_cast<int>(shape.size()); }
  int64_t count() const;
  bool dense() const;  // row-major without gaps
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};
Shape dense_strides(const Shape& shape);
TensorView view_of(const Tensor& tensor);

// What evaluation sees. The caller allocates the outputs with the inferred shapes and may give
// other dtypes than the graph has: all floats as f64 is how the double-precision oracle is
// computed. Floating point accumulates in double, integers exactly.
struct EvalContext {
  const Attributes& attributes;
  std::span<const TensorView> inputs;
  std::span<const TensorView> outputs;
  // When not empty: only these row-major positions of output 0 are needed; the op may compute more.
  std::span<const int64_t> wanted = {};

  bool has(size_t i) const { return i < inputs.size() && inputs[i].present(); }
};

// What the random numbers of one evaluation depend on: the same key gives the same numbers.
struct RandomKey {
  uint64_t node = 0;  // which node draws
  uint64_t run = 0;   // how often this node has drawn before
};

// What an evaluation with whole values sees. It makes its own outputs, because their sizes depend
// on the data or because the operands are no plain tensors.
struct ValueContext {
  const Attributes& attributes;
  std::span<const AnyValue> inputs;  // no value: an input left out, or an empty optional
  std::vector<AnyValue> outputs;     // sized by the caller
  RandomKey random = {};

  bool has(size_t i) const { return i < inputs.size() && inputs[i].has_value(); }
  const Tensor& tensor(size_t i) const { return inputs[i].tensor(); }
};

enum class AttributeKind : uint8_t {
  kInt,
  kFloat,
  kString,
  kDType,
  kInts,
  kFloats,
  kStrings,
  kTensor
};

struct AttributeDef {
  std::string_view name;
  AttributeKind kind;
  bool required = false;
};

struct Op {
  std::string_view name;
  int min_inputs = 1;
  int max_inputs = 1;    // -1: any number
  int output_count = 1;  // -1: any number >= 1
  std::vector<AttributeDef> attributes;
  Status (*infer)(InferContext&) = nullptr;
  Status (*evaluate)(const EvalContext&) = nullptr;
  // For ops that make their own outputs; dynamic programs prefer it where an op has both (identity
  // shares the value). Both null: a structural op, whose sub-graphs the runtime executes.
  Status (*evaluate_values)(ValueContext&) = nullptr;
  bool pointwise =
      false;  // output element depends on the input elements at that (broadcast) position
  bool deterministic = true;
  bool foldable = true;  // false: the engine must evaluate it, also on constants
  // Calls functions of libm, whose last f64 bit differs by CPU: not folded in f64.
  bool transcendental = false;
};

// Null when there is no such op.
const Op* find_op(std::string_view name);
std::span<const Op* const> all_ops();

// Checks the attribute names and kinds against the op's list; the error names the nearest match.
Status check_attributes(const Op& op, const Attributes& attributes);

// Evaluates on values of any kind: infers with the present shapes and contents, allocates and
// evaluates, or calls evaluate_values. Inputs that hold nothing are left out.
Result<std::vector<AnyValue>> evaluate_op_values(const Op& op, const Attributes& attributes,
                                                 std::span<const AnyValue> inputs, int output_count,
                                                 RandomKey random = {});

// The same on constant tensors: the folder, the recipes and the tests.
Result<std::vector<Tensor>> evaluate_op(const Op& op, const Attributes& attributes,
                                        const std::vector<Tensor>& inputs, int output_count);

// ONNX (numpy) broadcasting of two shapes; an error names both.
Result<Dims> broadcast_dims(const Dims& a, const Dims& b);

}  // namespace stoker
