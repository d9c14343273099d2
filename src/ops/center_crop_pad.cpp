// Every axis cut or filled up with zeros to the size that input 1 names, around its centre.
// SPDX-License-Identifier: Apache-2.0
#include "ops/fill.h"
#include "ops/support.h"

namespace stoker {

namespace {

constexpr const char* kName = "center_crop_pad";

// The axes that the sizes belong to; distinct.
Result<std::vector<int64_t>> sized_axes(const Attributes& attributes, int64_t rank) {
  std::vector<int64_t> axes = attributes.get_ints("axes");
  if (!attributes.has("axes")) {
    for (int64_t d = 0; d < rank; ++d) axes.push_back(d);
  }
  std::vector<bool> seen(static_cast<size_t>(rank));
  for (int64_t& axis : axes) {
    STOKER_ASSIGN(axis, normalize_axis(kName, axis, rank));
    if (seen[static_cast<size_t>(axis)])
      return invalid_model("{}: axis {} is given twice", kName, axis);
    seen[static_cast<size_t>(axis)] = true;
  }
  return axes;
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, kName, 0, "input", kAny));
  STOKER_TRY(check_input(c, kName, 1, "shape", kIndices));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  STOKER_ASSIGN(const auto axes, sized_axes(c.attributes, x.rank()));
  const auto sizes = c.elements(1);
  if (sizes && sizes->size() != axes.size()) {
    return invalid_model("{}: shape has {} elements, expected one for each of {} axes", kName,
                         sizes->size(), axes.size());
  }
  Dims dims = x.dims;
  for (size_t i = 0; i < axes.size(); ++i) {
    dims[static_cast<size_t>(axes[i])] = sizes ? (*sizes)[i] : c.fresh();
    if (sizes && (*sizes)[i].is_const() && (*sizes)[i].value() < 0)
      return invalid_model("{}: shape asks for size {}", kName, (*sizes)[i].value());
  }
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  if (x.rank() != y.rank())
    return invalid_argument("{}: input has shape {}, output {}", kName, shape_text(x.shape),
                            shape_text(y.shape));
  fill_zero(y);
  StridedBlock from{0, x.strides}, to{0, y.strides};
  Shape shared(x.shape.size());
  for (size_t d = 0; d < shared.size(); ++d) {
    shared[d] = std::min(x.shape[d], y.shape[d]);
    from.offset += (x.shape[d] - shared[d]) / 2 * x.strides[d];
    to.offset += (y.shape[d] - shared[d]) / 2 * y.strides[d];
  }
  return copy_block(shared, y, to, x, from);
}

}  // namespace

extern const Op op_center_crop_pad;
const Op op_center_crop_pad = {
    .name = kName,
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"axes", AttributeKind::kInts}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
