// The input repeated along every axis as often as input 1 says.
// SPDX-License-Identifier: Apache-2.0
#include "ops/index_map.h"
#include "ops/open_sizes.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "tile", 0, "input", kAny));
  STOKER_TRY(check_input(c, "tile", 1, "repeats", kIndices));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_open(c, x.dtype, vector_length(c, 1));
  const auto repeats = c.elements(1);
  if (repeats && static_cast<int>(repeats->size()) != x.rank()) {
    return invalid_model("tile: {} repeats for input {}", repeats->size(), type_text(x));
  }
  Dims dims;
  for (int d = 0; d < x.rank(); ++d) {
    if (repeats && (*repeats)[d].is_const() && (*repeats)[d].value() < 0) {
      return invalid_model("tile: repeats {} holds a negative number", dims_text(*repeats));
    }
    dims.push_back(repeats ? x.dims[d] * (*repeats)[d] : c.fresh());
  }
  set_output(c, 0, x.dtype, std::move(dims));
  const auto elements = c.elements(0);
  if (!elements || !repeats || x.rank() != 1 || !(*repeats)[0].is_const()) return Status::ok();
  const int64_t times = (*repeats)[0].value();
  if (times > 4096 || times * static_cast<int64_t>(elements->size()) > 4096) return Status::ok();
  c.shape_values[0] = Dims();
  for (int64_t i = 0; i < times; ++i)
    c.shape_values[0]->insert(c.shape_values[0]->end(), elements->begin(), elements->end());
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  IndexMaps maps(y.shape.size());
  if (x.count() == 0 && y.count() != 0) return invalid_argument("tile: the input is empty");
  for (size_t d = 0; d < maps.size(); ++d) {
    if (x.shape[d] == 0) continue;
    for (int64_t i = 0; i < y.shape[d]; ++i) maps[d].push_back(i % x.shape[d]);
  }
  return copy_indexed(y, x, maps, {}, c.wanted);
}

}  // namespace

extern const Op op_tile;
const Op op_tile = {
    .name = "tile",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
