// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce.h"

#include <numeric>

#include "ops/open_sizes.h"

namespace stoker {

std::vector<AttributeDef> reduce_attributes() {
  return {{"keepdims", AttributeKind::kInt}, {"noop_with_empty_axes", AttributeKind::kInt}};
}

namespace {

std::vector<int64_t> all_axes(int64_t rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

bool keeps(const Attributes& attributes) { return attributes.get_int("keepdims", 1) != 0; }
bool reduces_nothing(const Attributes& attributes) {
  return attributes.get_int("noop_with_empty_axes") != 0;
}

// The axes are known only when the model runs.
Status infer_open_axes(InferContext& c) {
  const ValueType& x = c.type(0);
  const auto count = vector_length(c, 1);
  if (keeps(c.attributes)) {
    Dims dims = x.dims;
    const bool all = count && *count == x.rank();
    for (Dim& d : dims) {
      if (all)
        d = Dim(1);
      else if (d != Dim(1))
        d = c.fresh();
    }
    set_output(c, 0, x.dtype, std::move(dims));
    return Status::ok();
  }
  if (!count) return set_unranked(c, x.dtype);
  if (*count == 0) {
    set_output(c, 0, x.dtype, reduces_nothing(c.attributes) ? x.dims : Dims());
    return Status::ok();
  }
  if (*count > x.rank())
    return invalid_model("{} axes are to be reduced of input {}", *count, type_text(x));
  return set_open(c, x.dtype, x.rank() - *count);
}

}  // namespace

Status infer_reduce(InferContext& c, const char* op, DTypeSet set) {
  STOKER_TRY(check_input(c, op, 0, "input", set));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  STOKER_ASSIGN(const auto given, axes_of(c, op, 1, x.rank()));
  if (c.has(1) && !given) return infer_open_axes(c);
  std::vector<int64_t> axes = given ? *given : std::vector<int64_t>();
  if (axes.empty() && !reduces_nothing(c.attributes)) axes = all_axes(x.rank());
  Dims dims;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (!std::binary_search(axes.begin(), axes.end(), d)) {
      dims.push_back(x.dims[d]);
    } else if (keeps(c.attributes)) {
      dims.push_back(Dim(1));
    }
  }
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

void reduce_elements(InferContext& c, Dim (*f)(const Dim& a, const Dim& b)) {
  if (!c.type(0).ranked || c.type(0).rank() != 1 || !is_integer(c.type(0).dtype)) return;
  const auto elements = c.elements(0);
  if (!elements || elements->empty() ||
      (c.outputs[0].rank() == 1 && c.outputs[0].dims[0] != Dim(1)))
    return;
  Dim value = (*elements)[0];
  for (size_t i = 1; i < elements->size(); ++i) value = f(value, (*elements)[i]);
  c.shape_values[0] = Dims{value};
}

Result<Reduction> reduction_of(const TensorView& x, const TensorView& y,
                               const std::vector<int64_t>& axes, bool keep,
                               std::span<const int64_t> wanted) {
  Shape expected;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), d);
    if (!reduced || keep) expected.push_back(reduced ? 1 : x.shape[d]);
  }
  if (y.shape != expected) {
    return invalid_argument("the axes {} of shape {} reduce it to {}, expected {}",
                            shape_text(axes), shape_text(x.shape), shape_text(expected),
                            shape_text(y.shape));
  }
  // y seen with the rank of x.
  Shape y_strides;
  size_t next = 0;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), d);
    y_strides.push_back(reduced ? 0 : y.strides[next]);
    if (!reduced || keep) ++next;
  }
  Reduction r;
  r.walk = split_walk(Walk{x.shape, {x.strides, std::move(y_strides)}}, axes);
  r.count = r.walk.inner.count();
  // Extents of 1 do not change row-major positions, so those of y are those of the kept walk.
  r.kept_wanted.assign(wanted.begin(), wanted.end());
  return r;
}

Result<Reduction> reduction_of(const EvalContext& c) {
  const TensorView& x = c.inputs[0];
  std::vector<int64_t> axes = eval_axes(c, 1, x.rank());
  if (axes.empty() && !reduces_nothing(c.attributes)) axes = all_axes(x.rank());
  return reduction_of(x, c.outputs[0], axes, keeps(c.attributes), c.wanted);
}

}  // namespace stoker
