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

namespace stoker {

// Type of an IR value. `dims` is meaningful only when `ranked`.
struct ValueType {
  enum class Kind : uint8_t { kTensor, kSequence, kOptional, kState };
  Kind kind = Kind::kTensor;
  DType dtype = DType::kInvalid;
  bool ranked = true;
  Dims dims;

  static ValueType tensor(DType dtype, Dims dims) {
    return {Kind::kTensor, dtype, true, std::move(dims)};
  }
  static ValueType unranked(DType dtype) { return {Kind::kTensor, dtype, false, {}}; }
  int rank() const { return static_cast<int>(dims.size()); }
};
bool operator==(const ValueType& a, const ValueType& b);
std::string type_text(const ValueType& type);  // "f32[N,3,224,224]", "f32[?]" when unranked

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
  Status (*evaluate)(const EvalContext&) =
      nullptr;  // null: a structural op that the runtime executes
  bool pointwise =
      false;  // output element depends on the input elements at that (broadcast) position
  bool deterministic = true;
  bool foldable = true;  // f64 transcendental functions fold nowhere (see passes/fold_constants)
};

// Null when there is no such op.
const Op* find_op(std::string_view name);
std::span<const Op* const> all_ops();

// Checks the attribute names and kinds against the op's list; the error names the nearest match.
Status check_attributes(const Op& op, const Attributes& attributes);

// Infers and evaluates on constant tensors: the folder, the recipes and the tests.
Result<std::vector<Tensor>> evaluate_op(const Op& op, const Attributes& attributes,
                                        const std::vector<Tensor>& inputs, int output_count);

// ONNX (numpy) broadcasting of two shapes; an error names both.
Result<Dims> broadcast_dims(const Dims& a, const Dims& b);

}  // namespace stoker
