// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

#include <set>

namespace stoker {

// ---- Inference.

Status check_input(const InferContext& c, const char* op, size_t i, const char* what,
                   DTypeSet set) {
  if (!c.has(i)) return invalid_model("{}: {} (input {}) is missing", op, what, i);
  const ValueType& type = c.type(i);
  if (type.kind != ValueType::Kind::kTensor) {
    return invalid_model("{}: {} (input {}) is {}, expected a tensor", op, what, i,
                         type_text(type));
  }
  if (contains(set, type.dtype)) return Status::ok();
  std::string names;
  for (int d = 1; d < kDTypeCount; ++d) {
    if (!contains(set, static_cast<DType>(d))) continue;
    if (!names.empty()) names += ", ";
    names += dtype_name(static_cast<DType>(d));
  }
  return invalid_model("{}: {} (input {}) is {}, expected one of {}", op, what, i,
                       dtype_name(type.dtype), names);
}

Status check_same_dtype(const InferContext& c, const char* op, size_t i, size_t j) {
  if (!c.has(i) || !c.has(j) || c.type(i).dtype == c.type(j).dtype) return Status::ok();
  return invalid_model("{}: inputs {} and {} must have one dtype, found {} and {}", op, i, j,
                       dtype_name(c.type(i).dtype), dtype_name(c.type(j).dtype));
}

bool all_ranked(const InferContext& c) {
  return std::all_of(c.inputs.begin(), c.inputs.end(),
                     [](const InferContext::Input& in) { return !in.type || in.type->ranked; });
}

Status set_unranked(InferContext& c, DType dtype) {
  for (ValueType& output : c.outputs) output = ValueType::unranked(dtype);
  return Status::ok();
}

void set_output(InferContext& c, size_t i, DType dtype, Dims dims) {
  if (i < c.outputs.size()) c.outputs[i] = ValueType::tensor(dtype, std::move(dims));
}

Result<int64_t> normalize_axis(const char* op, int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  return invalid_model("{}: axis {} is outside [{}, {}] for rank {}", op, axis, -rank, rank - 1,
                       rank);
}

Result<std::optional<std::vector<int64_t>>> axes_of(const InferContext& c, const char* op, size_t i,
                                                    int64_t rank) {
  std::vector<int64_t> axes;
  if (c.has(i)) {
    const auto values = c.constant_ints(i);
    if (!values) return std::optional<std::vector<int64_t>>();
    axes = *values;
  } else if (c.attributes.has("axes")) {
    axes = c.attributes.get_ints("axes");
  } else {
    return std::optional<std::vector<int64_t>>();
  }
  for (int64_t& axis : axes) {
    STOKER_ASSIGN(axis, normalize_axis(op, axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    return invalid_model("{}: an axis is given twice in {}", op, shape_text(axes));
  }
  return std::optional(std::move(axes));
}

Result<Dim> same_dim(const char* op, const char* what, const Dim& a, const Dim& b) {
  if (a == b) return a;
  if (a.is_const() && b.is_const()) {
    return invalid_model("{}: {} must agree, found {} and {}", op, what, a.text(), b.text());
  }
  return b.is_const() ? b : a;
}

Dim round_up_div(const Dim& a, int64_t b) { return b == 1 ? a : Dim::ceil_div(a, Dim(b)); }

Status infer_unary(InferContext& c, const char* op, DTypeSet set, DType out) {
  STOKER_TRY(check_input(c, op, 0, "input", set));
  c.outputs[0] = c.type(0);
  if (out != DType::kInvalid) c.outputs[0].dtype = out;
  return Status::ok();
}

Status infer_broadcast(InferContext& c, const char* op, DTypeSet set, DType out) {
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    STOKER_TRY(check_input(c, op, i, "operand", set));
    STOKER_TRY(check_same_dtype(c, op, 0, i));
  }
  const DType dtype = out == DType::kInvalid ? c.type(0).dtype : out;
  if (!all_ranked(c)) return set_unranked(c, dtype);
  Dims dims = c.type(0).dims;
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    auto joined = broadcast_dims(dims, c.type(i).dims);
    if (!joined.is_ok()) return joined.status().at(op);
    dims = std::move(*joined);
  }
  set_output(c, 0, dtype, std::move(dims));
  return Status::ok();
}

void infer_elements(InferContext& c, DimFunction f) {
  const ValueType& out = c.outputs[0];
  if (!out.ranked || out.rank() > 1 || !(is_integer(out.dtype) || out.dtype == DType::kBool))
    return;
  const auto a = c.elements(0);
  const auto b = c.inputs.size() > 1 ? c.elements(1) : a;
  if (!a || !b) return;
  const size_t n = a->size() == 1 ? b->size() : a->size();
  if (b->size() != n && b->size() != 1) return;
  Dims result;
  for (size_t i = 0; i < n; ++i) {
    const auto value = f((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
    if (!value) return;
    result.push_back(*value);
  }
  c.shape_values[0] = std::move(result);
}

void pass_elements(InferContext& c, size_t i) {
  const ValueType& out = c.outputs[0];
  if (out.ranked && out.rank() <= 1) c.shape_values[0] = c.elements(i);
}

// ---- Walks.

int64_t Walk::count() const {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

Walk broadcast_walk(const Shape& shape, const std::vector<const TensorView*>& operands) {
  Walk walk;
  walk.shape = shape;
  for (const TensorView* view : operands) {
    Shape strides(shape.size(), 0);
    const size_t lead = shape.size() - std::min(shape.size(), view->shape.size());
    for (size_t d = 0; d < view->shape.size() && d + lead < shape.size(); ++d) {
      strides[d + lead] = view->shape[d] == 1 ? 0 : view->strides[d];
    }
    walk.strides.push_back(std::move(strides));
  }
  return walk;
}

Walk broadcast_walk(const Shape& shape, std::initializer_list<const TensorView*> operands) {
  return broadcast_walk(shape, std::vector<const TensorView*>(operands));
}

Status check_broadcast(const Shape& shape, std::initializer_list<const TensorView*> operands) {
  for (const TensorView* view : operands) {
    bool fits = view->shape.size() <= shape.size();
    const size_t lead = fits ? shape.size() - view->shape.size() : 0;
    for (size_t d = 0; fits && d < view->shape.size(); ++d) {
      fits = view->shape[d] == 1 || view->shape[d] == shape[d + lead];
    }
    if (!fits) {
      return invalid_argument("an operand of shape {} does not broadcast to {}",
                              shape_text(view->shape), shape_text(shape));
    }
  }
  return Status::ok();
}

Status check_count(const TensorView& view, int64_t count, const char* op, const char* what) {
  if (view.count() == count) return Status::ok();
  return invalid_argument("{}: {} has shape {}, expected {} elements", op, what,
                          shape_text(view.shape), count);
}

SplitWalk split_walk(const Walk& walk, const std::vector<int64_t>& axes) {
  SplitWalk split;
  split.kept.strides.resize(walk.strides.size());
  split.inner.strides.resize(walk.strides.size());
  for (size_t d = 0; d < walk.shape.size(); ++d) {
    Walk& part = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(d)) ? split.inner
                                                                                       : split.kept;
    part.shape.push_back(walk.shape[d]);
    for (size_t k = 0; k < walk.strides.size(); ++k) part.strides[k].push_back(walk.strides[k][d]);
  }
  return split;
}

std::vector<int64_t> wanted_kept(const Shape& shape, const std::vector<int64_t>& axes,
                                 std::span<const int64_t> wanted) {
  std::set<int64_t> kept;
  std::vector<int64_t> at(shape.size());
  for (const int64_t position : wanted) {
    unravel(shape, position, at.data());
    int64_t index = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(d))) {
        index = index * shape[d] + at[d];
      }
    }
    kept.insert(index);
  }
  return {kept.begin(), kept.end()};
}

// ---- Element access.

namespace {
int64_t strided_offset(const TensorView& view, int64_t position) {
  int64_t offset = 0;
  for (size_t d = view.shape.size(); d-- > 0;) {
    offset += position % view.shape[d] * view.strides[d];
    position /= view.shape[d];
  }
  return offset;
}
}  // namespace

Reader::Reader(const TensorView& view)
    : view_(view),
      dense_(view.dense()),
      load_double_(load_double(view.dtype)),
      load_int_(load_int(view.dtype)) {}
int64_t Reader::strided(int64_t position) const { return strided_offset(view_, position); }

Writer::Writer(const TensorView& view)
    : view_(view),
      dense_(view.dense()),
      store_double_(store_double(view.dtype)),
      store_int_(store_int(view.dtype)) {}
int64_t Writer::strided(int64_t position) const { return strided_offset(view_, position); }
void Writer::integer(int64_t position, int64_t value) const {
  store_int_(view_.data, offset(position), wrap_int(view_.dtype, value));
}

int64_t wrap_int(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::kI32: return static_cast<int32_t>(value);
    case DType::kU32: return static_cast<uint32_t>(value);
    case DType::kI16: return static_cast<int16_t>(value);
    case DType::kU16: return static_cast<uint16_t>(value);
    case DType::kI8: return static_cast<int8_t>(value);
    case DType::kU8: return static_cast<uint8_t>(value);
    case DType::kI4: return ((value & 15) ^ 8) - 8;
    case DType::kU4: return value & 15;
    case DType::kI2: return ((value & 3) ^ 2) - 2;
    case DType::kU2: return value & 3;
    case DType::kBool: return value != 0;
    default: return value;
  }
}

bool is_exact_integer(DType dtype) { return is_integer(dtype) || dtype == DType::kBool; }

std::vector<double> to_doubles(const TensorView& view) {
  // What networks mostly consist of, without a walk.
  if (view.dense() && view.dtype == DType::kF32) {
    const float* in = view.as<const float>();
    return std::vector<double>(in, in + view.count());
  }
  std::vector<double> values(static_cast<size_t>(view.count()));
  double* out = values.data();
  const Walk walk = broadcast_walk(view.shape, {&view});
  if (view.dtype == DType::kF32) {
    const float* in = view.as<const float>();
    for_each_wanted(walk, {}, [&](const int64_t* o) { *out++ = static_cast<double>(in[o[0]]); });
  } else {
    const LoadDouble load = load_double(view.dtype);
    for_each_wanted(walk, {}, [&](const int64_t* o) { *out++ = load(view.data, o[0]); });
  }
  return values;
}

std::vector<int64_t> to_ints(const TensorView& view) {
  std::vector<int64_t> values(static_cast<size_t>(view.count()));
  int64_t* out = values.data();
  const LoadInt load = load_int(view.dtype);
  for_each_wanted(broadcast_walk(view.shape, {&view}), {},
                  [&](const int64_t* o) { *out++ = load(view.data, o[0]); });
  return values;
}

void from_doubles(const std::vector<double>& values, const TensorView& view) {
  const double* in = values.data();
  const StoreDouble store = store_double(view.dtype);
  for_each_wanted(broadcast_walk(view.shape, {&view}), {},
                  [&](const int64_t* o) { store(view.data, o[0], *in++); });
}

// ---- Moving elements.

Mover::Mover(const TensorView& to, const TensorView& from)
    : to_(to), from_(from), bytes_(dtype_bits(from.dtype) / 8) {}

void Mover::operator()(int64_t to, int64_t from) const {
  char* out = static_cast<char*>(to_.data);
  const char* in = static_cast<const char*>(from_.data);
  switch (bytes_) {
    case 1: out[to] = in[from]; return;
    case 2: std::memcpy(out + to * 2, in + from * 2, 2); return;
    case 4: std::memcpy(out + to * 4, in + from * 4, 4); return;
    case 8: std::memcpy(out + to * 8, in + from * 8, 8); return;
    case 16: std::memcpy(out + to * 16, in + from * 16, 16); return;
    default: break;
  }
  if (from_.dtype == DType::kString) {
    (*to_.strings)[static_cast<size_t>(to)] = (*from_.strings)[static_cast<size_t>(from)];
  } else {
    // Every 4- and 2-bit value survives the way through double.
    store_double(to_.dtype)(to_.data, to, load_double(from_.dtype)(from_.data, from));
  }
}

Status copy_block(const Shape& shape, const TensorView& to, const StridedBlock& to_block,
                  const TensorView& from, const StridedBlock& from_block) {
  Walk walk{shape, {to_block.strides, from_block.strides}};
  const int bytes = dtype_bits(to.dtype) / 8;
  const bool runs =
      !shape.empty() && to_block.strides.back() == 1 && from_block.strides.back() == 1;
  if (bytes > 0 && runs && shape.back() > 0) {
    // Whole rows at once.
    const size_t row = static_cast<size_t>(shape.back() * bytes);
    walk.shape.back() = 1;
    for_each_wanted(walk, {}, [&](const int64_t* o) {
      std::memcpy(static_cast<char*>(to.data) + (to_block.offset + o[0]) * bytes,
                  static_cast<const char*>(from.data) + (from_block.offset + o[1]) * bytes, row);
    });
    return Status::ok();
  }
  const Mover move(to, from);
  for_each_wanted(
      walk, {}, [&](const int64_t* o) { move(to_block.offset + o[0], from_block.offset + o[1]); });
  return Status::ok();
}

Status copy_reshaped(const TensorView& to, const TensorView& from) {
  const int64_t n = to.count();
  if (from.count() != n) {
    return invalid_argument("a tensor of shape {} does not fill the shape {}",
                            shape_text(from.shape), shape_text(to.shape));
  }
  if (to.dense() && from.dense()) return copy_block({n}, to, {0, {1}}, from, {0, {1}});
  const Reader read(from);
  const Writer write(to);
  const Mover move(to, from);
  for (int64_t i = 0; i < n; ++i) move(write.offset(i), read.offset(i));
  return Status::ok();
}

std::vector<int64_t> eval_axes(const EvalContext& c, size_t i, int64_t rank, bool* given) {
  std::vector<int64_t> axes;
  if (c.has(i))
    axes = to_ints(c.inputs[i]);
  else
    axes = c.attributes.get_ints("axes");
  if (given) *given = c.has(i) || c.attributes.has("axes");
  for (int64_t& axis : axes) axis = wrap_axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

}  // namespace stoker
