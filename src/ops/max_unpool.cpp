// The partial inverse of max_pool: every element goes to the place its index names, the others are
// 0. The indices count in the tensor that the attributes give; an output_shape (input 2) is filled
// up with zeros at the end of every axis.
// SPDX-License-Identifier: Apache-2.0
#include "ops/fill.h"
#include "ops/support.h"

namespace stoker {

namespace {

constexpr const char* kName = "max_unpool";

struct Unpool {
  std::vector<int64_t> kernel, strides, pads;
};

Result<Unpool> read_attributes(const Attributes& attributes, size_t spatial) {
  Unpool u;
  u.kernel = attributes.get_ints("kernel_shape");
  u.strides = attributes.get_ints("strides", std::vector<int64_t>(spatial, 1));
  u.pads = attributes.get_ints("pads", std::vector<int64_t>(2 * spatial, 0));
  if (u.kernel.size() != spatial || u.strides.size() != spatial || u.pads.size() != 2 * spatial) {
    return invalid_model("{}: kernel_shape {}, strides {}, pads {} do not fit {} spatial axes",
                         kName, shape_text(u.kernel), shape_text(u.strides), shape_text(u.pads),
                         spatial);
  }
  for (const auto* list : {&u.kernel, &u.strides, &u.pads}) {
    for (const int64_t v : *list) {
      if (v < (list == &u.pads ? 0 : 1) || v > INT32_MAX)
        return invalid_model("{}: {} is no size of a window", kName, v);
    }
  }
  return u;
}

// The tensor that the indices count in.
template <class Extent>
std::vector<Extent> pooled_from(const Unpool& u, std::vector<Extent> dims) {
  const size_t spatial = u.kernel.size();
  for (size_t d = 0; d < spatial; ++d) {
    Extent& extent = dims[d + 2];
    extent = (extent - Extent(1)) * Extent(u.strides[d]) +
             Extent(u.kernel[d] - u.pads[d] - u.pads[spatial + d]);
  }
  return dims;
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, kName, 0, "input", kFloats));
  STOKER_TRY(check_input(c, kName, 1, "indices", kIndices));
  if (c.has(2)) STOKER_TRY(check_input(c, kName, 2, "output_shape", kIndices));
  const ValueType &x = c.type(0), &indices = c.type(1);
  if (!x.ranked) return set_unranked(c, x.dtype);
  if (x.rank() < 3)
    return invalid_model("{}: input is {}, expected (batch, channels, ...)", kName, type_text(x));
  if (indices.ranked && indices.rank() != x.rank())
    return invalid_model("{}: input is {}, indices {}", kName, type_text(x), type_text(indices));
  for (size_t d = 0; indices.ranked && d < x.dims.size(); ++d)
    STOKER_TRY(same_dim(kName, "input and indices", x.dims[d], indices.dims[d]).status());
  STOKER_ASSIGN(const Unpool u, read_attributes(c.attributes, x.dims.size() - 2));
  Dims dims = pooled_from(u, x.dims);
  if (c.has(2)) {
    const auto given = c.elements(2);
    if (given && given->size() != dims.size())
      return invalid_model("{}: output_shape has {} elements, expected {}", kName, given->size(),
                           dims.size());
    for (size_t d = 0; d < dims.size(); ++d) dims[d] = given ? (*given)[d] : c.fresh();
  }
  for (const Dim& dim : dims) {
    if (dim.is_const() && dim.value() < 0)
      return invalid_model("{}: an axis of the output has extent {}", kName, dim.value());
  }
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  if (x.rank() < 3 || y.rank() != x.rank())
    return invalid_argument("{}: input has shape {}", kName, shape_text(x.shape));
  STOKER_TRY(check_count(c.inputs[1], x.count(), kName, "the indices"));
  STOKER_ASSIGN(const Unpool u, read_attributes(c.attributes, x.shape.size() - 2));
  const Shape whole = pooled_from(u, x.shape);
  for (size_t d = 0; d < whole.size(); ++d) {
    if (whole[d] < 0 || whole[d] > y.shape[d])
      return invalid_argument("{}: the elements lie in {}, the output is only {}", kName,
                              shape_text(whole), shape_text(y.shape));
  }
  STOKER_ASSIGN(const int64_t count, element_count(whole));
  fill_zero(y);
  const Reader read(x), indices(c.inputs[1]);
  const StoreDouble store = store_double(y.dtype);
  std::vector<int64_t> at(whole.size());
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t index = indices.integer(i);
    if (index < 0 || index >= count)
      return invalid_argument("{}: index {} lies outside the {} elements of {}", kName, index,
                              count, shape_text(whole));
    unravel(whole, index, at.data());
    store(y.data, dot(at.data(), y.strides), read.number(i));
  }
  return Status::ok();
}

}  // namespace

extern const Op op_max_unpool;
const Op op_max_unpool = {
    .name = kName,
    .min_inputs = 2,
    .max_inputs = 3,
    .attributes = {{"kernel_shape", AttributeKind::kInts, true},
                   {"pads", AttributeKind::kInts},
                   {"strides", AttributeKind::kInts}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
