// Sampling positions of a 2-D or 3-D image: an evenly spaced grid from -1 to 1 under the affine map
// that theta holds for every image of the batch.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

constexpr const char* kName = "affine_grid";

// 2 or 3, from theta or the size; 0 when neither tells.
Result<int> spatial_rank(const InferContext& c, const std::optional<Dims>& size) {
  int spatial = size ? static_cast<int>(size->size()) - 2 : 0;
  const ValueType& theta = c.type(0);
  if (theta.ranked) {
    if (theta.rank() != 3)
      return invalid_model("{}: theta is {}, expected (N, 2, 3) or (N, 3, 4)", kName,
                           type_text(theta));
    if (theta.dims[1].is_const()) {
      const auto own = static_cast<int>(theta.dims[1].value());
      if (size && own != spatial)
        return invalid_model("{}: theta is {}, size has {} elements, expected {}", kName,
                             type_text(theta), size->size(), own + 2);
      spatial = own;
    }
    if (spatial && theta.dims[2].is_const() && theta.dims[2].value() != spatial + 1)
      return invalid_model("{}: theta is {}, expected (N, 2, 3) or (N, 3, 4)", kName,
                           type_text(theta));
  }
  if (const ValueType& type = c.type(1);
      !spatial && type.ranked && type.rank() == 1 && type.dims[0].is_const()) {
    spatial = static_cast<int>(type.dims[0].value()) - 2;
  }
  if (spatial == 0 || spatial == 2 || spatial == 3) return spatial;
  return invalid_model("{}: expected an image of 2 or 3 dimensions, found {}", kName, spatial);
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, kName, 0, "theta", kFloats));
  STOKER_TRY(check_input(c, kName, 1, "size", kIndices));
  const ValueType& theta = c.type(0);
  const auto size = c.elements(1);
  STOKER_ASSIGN(const int spatial, spatial_rank(c, size));
  if (!spatial) return set_unranked(c, theta.dtype);
  Dims dims = {theta.ranked ? theta.dims[0] : c.fresh()};
  if (size) {
    STOKER_ASSIGN(dims[0], same_dim(kName, "batches of theta and size", dims[0], (*size)[0]));
  }
  for (int d = 0; d < spatial; ++d) dims.push_back(size ? (*size)[d + 2] : c.fresh());
  dims.emplace_back(spatial);
  for (const Dim& dim : dims) {
    if (dim.is_const() && dim.value() < 0)
      return invalid_model("{}: size holds {}", kName, dim.value());
  }
  set_output(c, 0, theta.dtype, std::move(dims));
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &theta = c.inputs[0], &y = c.outputs[0];
  const int spatial = y.rank() - 2;
  if (spatial < 2 || y.shape.back() != spatial ||
      theta.shape != Shape{y.shape[0], spatial, spatial + 1}) {
    return invalid_argument("{}: theta of shape {} does not give a grid of {}", kName,
                            shape_text(theta.shape), shape_text(y.shape));
  }
  const bool corners = c.attributes.get_int("align_corners") != 0;
  const Reader read(theta);
  const Writer write(y);
  std::vector<int64_t> at(y.shape.size());
  for_each_position(y.count(), c.wanted, [&](int64_t position) {
    unravel(y.shape, position, at.data());
    const int64_t row = (at[0] * spatial + at.back()) * (spatial + 1);
    double sum = read.number(row + spatial);
    for (int k = 0; k < spatial; ++k) {  // x is the last axis
      const int64_t axis = spatial - k;
      const double n = static_cast<double>(y.shape[axis]), i = static_cast<double>(at[axis]);
      // A single aligned point stands in the middle.
      const double place = !corners ? (2 * i + 1) / n - 1 : n > 1 ? 2 * i / (n - 1) - 1 : 0;
      sum += read.number(row + k) * place;
    }
    write.number(position, sum);
  });
  return Status::ok();
}

}  // namespace

extern const Op op_affine_grid;
const Op op_affine_grid = {
    .name = kName,
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"align_corners", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
