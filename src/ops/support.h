// What the op files share: dtype sets and shape rules for inference, strided walks and element
// access for the reference evaluations. Integers are computed in 64 bits and wrap to their dtype;
// floats are computed in double and rounded once when they are stored.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/numeric.h"
#include "ops/op.h"

namespace stoker {

// ---- Sets of dtypes.

using DTypeSet = uint32_t;
constexpr DTypeSet dtypes(std::initializer_list<DType> list) {
  DTypeSet set = 0;
  for (const DType d : list) set |= DTypeSet{1} << static_cast<int>(d);
  return set;
}
constexpr bool contains(DTypeSet set, DType d) { return (set >> static_cast<int>(d)) & 1; }

inline constexpr DTypeSet kFloats = dtypes({DType::kF64, DType::kF32, DType::kF16, DType::kBF16});
inline constexpr DTypeSet kSmallFloats =
    dtypes({DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ,
            DType::kF8E8M0, DType::kF4E2M1});
inline constexpr DTypeSet kSignedInts = dtypes({DType::kI64, DType::kI32, DType::kI16, DType::kI8});
inline constexpr DTypeSet kUnsignedInts =
    dtypes({DType::kU64, DType::kU32, DType::kU16, DType::kU8});
inline constexpr DTypeSet kPackedInts = dtypes({DType::kI4, DType::kU4, DType::kI2, DType::kU2});
inline constexpr DTypeSet kInts = kSignedInts | kUnsignedInts;
inline constexpr DTypeSet kNumbers = kFloats | kInts;
inline constexpr DTypeSet kBools = dtypes({DType::kBool});
inline constexpr DTypeSet kStrings = dtypes({DType::kString});
inline constexpr DTypeSet kReal = kNumbers | kSmallFloats | kPackedInts | kBools;
inline constexpr DTypeSet kAny = kReal | kStrings | dtypes({DType::kC64, DType::kC128});
inline constexpr DTypeSet kIndices = dtypes({DType::kI64, DType::kI32});
inline constexpr DTypeSet kBytes = dtypes({DType::kI8, DType::kU8});

// ---- Inference.

// `what` names the input in messages: "input", "weight".
Status check_input(const InferContext& c, const char* op, size_t i, const char* what, DTypeSet set);
Status check_same_dtype(const InferContext& c, const char* op, size_t i, size_t j);
bool all_ranked(const InferContext& c);
// Every output becomes an unranked tensor of this dtype.
Status set_unranked(InferContext& c, DType dtype);
void set_output(InferContext& c, size_t i, DType dtype, Dims dims);
Result<int64_t> normalize_axis(const char* op, int64_t axis, int64_t rank);
// Axes from input `i` when it is there, otherwise from the attribute "axes"; normalized, sorted.
// nullopt: neither is given, or the input's value is known only when the model runs.
Result<std::optional<std::vector<int64_t>>> axes_of(const InferContext& c, const char* op, size_t i,
                                                    int64_t rank);
// Extents that must agree: an error when both are numbers that differ; otherwise the known one.
Result<Dim> same_dim(const char* op, const char* what, const Dim& a, const Dim& b);
Dim round_up_div(const Dim& a, int64_t b);

Status infer_unary(InferContext& c, const char* op, DTypeSet set, DType out = DType::kInvalid);
// Broadcast of all inputs, which share one dtype.
Status infer_broadcast(InferContext& c, const char* op, DTypeSet set, DType out = DType::kInvalid);
// Shape value of an elementwise op on integers, f(Dim...) -> optional<Dim>.
using DimFunction = std::optional<Dim> (*)(const Dim& a, const Dim& b);
void infer_elements(InferContext& c, DimFunction f);
// Output 0 has the elements of input i.
void pass_elements(InferContext& c, size_t i);

// ---- Strided walks.

inline constexpr int kMaxOperands = 8;

// Several operands walked over one shape; strides[operand][dimension].
struct Walk {
  Shape shape;
  std::vector<Shape> strides;
  int64_t count() const;
};

// The operands broadcast to `shape`.
Walk broadcast_walk(const Shape& shape, std::initializer_list<const TensorView*> operands);
Walk broadcast_walk(const Shape& shape, const std::vector<const TensorView*>& operands);
// An error when an operand does not broadcast to `shape`: extents that symbols hid while the graph
// was inferred are known only now.
Status check_broadcast(const Shape& shape, std::initializer_list<const TensorView*> operands);
// An error when an operand has another number of elements than it must have, for the same reason.
Status check_count(const TensorView& view, int64_t count, const char* op, const char* what);
// Splits a walk into the axes that are kept and those in `axes` (sorted).
struct SplitWalk {
  Walk kept, inner;
};
SplitWalk split_walk(const Walk& walk, const std::vector<int64_t>& axes);

inline void unravel(const Shape& shape, int64_t position, int64_t* coordinates) {
  for (size_t d = shape.size(); d-- > 0;) {
    coordinates[d] = position % shape[d];
    position /= shape[d];
  }
}
inline int64_t dot(const int64_t* a, const Shape& strides) {
  int64_t sum = 0;
  for (size_t d = 0; d < strides.size(); ++d) sum += a[d] * strides[d];
  return sum;
}

// Calls body(offsets) at every position of the walk in row-major order, or at the wanted ones only.
template <class Body>
void for_each_wanted(const Walk& walk, std::span<const int64_t> wanted, Body&& body) {
  const size_t operands = walk.strides.size(), rank = walk.shape.size();
  int64_t offsets[kMaxOperands] = {};
  std::vector<int64_t> at(rank, 0);
  if (!wanted.empty()) {
    for (const int64_t position : wanted) {
      unravel(walk.shape, position, at.data());
      for (size_t k = 0; k < operands; ++k) offsets[k] = dot(at.data(), walk.strides[k]);
      body(offsets);
    }
    return;
  }
  const int64_t total = walk.count();
  if (total == 0) return;
  if (rank == 0) return body(offsets);
  const int64_t inner = walk.shape[rank - 1];
  int64_t steps[kMaxOperands] = {};
  for (size_t k = 0; k < operands; ++k) steps[k] = walk.strides[k][rank - 1];
  for (int64_t done = 0; done < total; done += inner) {
    for (int64_t i = 0; i < inner; ++i) {
      body(offsets);
      for (size_t k = 0; k < operands; ++k) offsets[k] += steps[k];
    }
    for (size_t k = 0; k < operands; ++k) offsets[k] -= steps[k] * inner;
    for (size_t d = rank - 1; d-- > 0;) {
      for (size_t k = 0; k < operands; ++k) offsets[k] += walk.strides[k][d];
      if (++at[d] < walk.shape[d]) break;
      for (size_t k = 0; k < operands; ++k) offsets[k] -= walk.strides[k][d] * walk.shape[d];
      at[d] = 0;
    }
  }
}

// Positions in the kept part of a split that the wanted positions of the whole fall on, sorted.
std::vector<int64_t> wanted_kept(const Shape& shape, const std::vector<int64_t>& axes,
                                 std::span<const int64_t> wanted);
// All positions below count, or the wanted ones.
template <class Body>
void for_each_position(int64_t count, std::span<const int64_t> wanted, Body&& body) {
  if (wanted.empty()) {
    for (int64_t i = 0; i < count; ++i) body(i);
  } else {
    for (const int64_t i : wanted) body(i);
  }
}

// ---- Element access.

// Elements by row-major position, whatever the strides.
class Reader {
 public:
  explicit Reader(const TensorView& view);
  double number(int64_t position) const { return load_double_(view_.data, offset(position)); }
  int64_t integer(int64_t position) const { return load_int_(view_.data, offset(position)); }
  int64_t offset(int64_t position) const { return dense_ ? position : strided(position); }

 private:
  int64_t strided(int64_t position) const;
  const TensorView& view_;
  bool dense_;
  LoadDouble load_double_;
  LoadInt load_int_;
};

class Writer {
 public:
  explicit Writer(const TensorView& view);
  void number(int64_t position, double value) const {
    store_double_(view_.data, offset(position), value);
  }
  void integer(int64_t position, int64_t value) const;  // wraps to the dtype
  int64_t offset(int64_t position) const { return dense_ ? position : strided(position); }

 private:
  int64_t strided(int64_t position) const;
  const TensorView& view_;
  bool dense_;
  StoreDouble store_double_;
  StoreInt store_int_;
};

// The low bits of the value as the dtype reads them: two's complement wrap-around.
int64_t wrap_int(DType dtype, int64_t value);

// All elements, row-major.
std::vector<double> to_doubles(const TensorView& view);
std::vector<int64_t> to_ints(const TensorView& view);
void from_doubles(const std::vector<double>& values, const TensorView& view);
bool is_exact_integer(DType dtype);  // integers and bool

// Copies elements of any dtype, strings too; offsets and strides count elements.
class Mover {
 public:
  Mover(const TensorView& to, const TensorView& from);
  void operator()(int64_t to_offset, int64_t from_offset) const;

 private:
  const TensorView& to_;
  const TensorView& from_;
  int bytes_;  // 0: packed below a byte
};
struct StridedBlock {
  int64_t offset = 0;
  Shape strides;
};
Status copy_block(const Shape& shape, const TensorView& to, const StridedBlock& to_block,
                  const TensorView& from, const StridedBlock& from_block);
// Row-major order of one to row-major order of the other: reshape and its kin.
Status copy_reshaped(const TensorView& to, const TensorView& from);

// Axes at run time, from integer input `i` or the attribute "axes"; normalized, sorted, unique.
std::vector<int64_t> eval_axes(const EvalContext& c, size_t i, int64_t rank, bool* given = nullptr);
inline int64_t wrap_axis(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

// ---- Pointwise evaluation.

template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <class T>
T wrapping_sub(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  else
    return a - b;
}
template <class T>
T wrapping_mul(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}

// y = f(x) in double.
template <class F>
Status map_float(const EvalContext& c, F f) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_TRY(check_broadcast(y.shape, {&x}));
  const Walk walk = broadcast_walk(y.shape, {&y, &x});
  if (x.dtype == DType::kF32 && y.dtype == DType::kF32) {
    const float* in = x.as<const float>();
    float* out = y.as<float>();
    for_each_wanted(walk, c.wanted, [&](const int64_t* o) {
      out[o[0]] = static_cast<float>(f(static_cast<double>(in[o[1]])));
    });
    return Status::ok();
  }
  const LoadDouble load = load_double(x.dtype);
  const StoreDouble store = store_double(y.dtype);
  for_each_wanted(walk, c.wanted,
                  [&](const int64_t* o) { store(y.data, o[0], f(load(x.data, o[1]))); });
  return Status::ok();
}

// y = f(x), called with double, int64_t or uint64_t and returning the same.
template <class F>
Status map_number(const EvalContext& c, F f) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  if (!is_exact_integer(x.dtype)) return map_float(c, f);
  STOKER_TRY(check_broadcast(y.shape, {&x}));
  const Walk walk = broadcast_walk(y.shape, {&y, &x});
  const LoadInt load = load_int(x.dtype);
  const StoreInt store = store_int(y.dtype);
  for_each_wanted(walk, c.wanted, [&](const int64_t* o) {
    const int64_t v = load(x.data, o[1]);
    const int64_t r =
        x.dtype == DType::kU64 ? static_cast<int64_t>(f(static_cast<uint64_t>(v))) : f(v);
    store(y.data, o[0], wrap_int(y.dtype, r));
  });
  return Status::ok();
}

// y = f(a, b) in double.
template <class F>
Status map_float2(const EvalContext& c, F f) {
  const TensorView &a = c.inputs[0], &b = c.inputs[1], &y = c.outputs[0];
  STOKER_TRY(check_broadcast(y.shape, {&a, &b}));
  const Walk walk = broadcast_walk(y.shape, {&y, &a, &b});
  if (a.dtype == DType::kF32 && b.dtype == DType::kF32 && y.dtype == DType::kF32) {
    const float *pa = a.as<const float>(), *pb = b.as<const float>();
    float* out = y.as<float>();
    for_each_wanted(walk, c.wanted, [&](const int64_t* o) {
      out[o[0]] =
          static_cast<float>(f(static_cast<double>(pa[o[1]]), static_cast<double>(pb[o[2]])));
    });
    return Status::ok();
  }
  const LoadDouble load_a = load_double(a.dtype), load_b = load_double(b.dtype);
  const StoreDouble store = store_double(y.dtype);
  for_each_wanted(walk, c.wanted, [&](const int64_t* o) {
    store(y.data, o[0], static_cast<double>(f(load_a(a.data, o[1]), load_b(b.data, o[2]))));
  });
  return Status::ok();
}

// y = f(a, b), both double, int64_t or uint64_t; integers wrap to y's dtype.
template <class F>
Status map_number2(const EvalContext& c, F f) {
  const TensorView &a = c.inputs[0], &b = c.inputs[1], &y = c.outputs[0];
  if (!is_exact_integer(a.dtype)) return map_float2(c, f);
  STOKER_TRY(check_broadcast(y.shape, {&a, &b}));
  const Walk walk = broadcast_walk(y.shape, {&y, &a, &b});
  const LoadInt load_a = load_int(a.dtype), load_b = load_int(b.dtype);
  const StoreInt store = store_int(y.dtype);
  for_each_wanted(walk, c.wanted, [&](const int64_t* o) {
    const int64_t va = load_a(a.data, o[1]), vb = load_b(b.data, o[2]);
    const int64_t r =
        a.dtype == DType::kU64
            ? static_cast<int64_t>(f(static_cast<uint64_t>(va), static_cast<uint64_t>(vb)))
            : static_cast<int64_t>(f(va, vb));
    store(y.data, o[0], wrap_int(y.dtype, r));
  });
  return Status::ok();
}

// y = f(f(x0, x1), x2)...: max, min. Integers and floats as in map_number2.
template <class F>
Status map_variadic(const EvalContext& c, F f) {
  const TensorView& y = c.outputs[0];
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    // The first pass copies input 0; f(v, v) = v for what this serves.
    const TensorView views[] = {i == 0 ? c.inputs[0] : y, c.inputs[i]};
    STOKER_TRY(map_number2(EvalContext{c.attributes, views, c.outputs, c.wanted}, f));
  }
  return Status::ok();
}

}  // namespace stoker
