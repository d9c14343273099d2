// Tactic gather_panel: Y[i, :] = X[index[i], :] where X lies as the transposed B of a product packs
// it, so that a table which is also multiplied with (tied embeddings) is stored once.
//   layout   row n of [N, K] is column n % 16 of panel n / 16: one float every 64 bytes
//   bound    a cache line for each element of a row; sixteen times the traffic of gather_rows
//   faults   an index outside of the table is an error of the run
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/gather/gather_walk.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kPanel = 16;
constexpr int64_t kUnitElements = 4 << 10;

Status supports(const Desc& desc) {
  if (desc.inputs.size() != 2 || desc.outputs.size() != 1)
    return unsupported("a gather has two inputs and one output");
  const TensorDesc &x = desc.inputs[0], &indices = desc.inputs[1], &y = desc.outputs[0];
  const int64_t axis = desc.as<GatherParams>().axis;
  if (x.dtype != DType::kF32 || x.rank() != 2 || (axis != 0 && axis != -2))
    return unsupported("only rows of f32 matrices");
  if (!x.constant || x.packing != Packing::kGemmPanel || indices.packing != Packing::kNone)
    return unsupported("only a table that is packed for a product");
  for (const TensorDesc* operand : {&x, &indices, &y}) {
    if (operand->layout != Layout::kPlain)
      return unsupported("operands must be plain, one is {}", layout_name(operand->layout));
  }
  return check_gather_indices(indices);
}

Packing packing(const Desc& desc, int index) {
  return index == 0 && desc.inputs[0].constant ? Packing::kGemmPanel : Packing::kNone;
}

GatherRows geometry(const Desc& desc) {
  GatherRows g;
  g.table = desc.inputs[0].dims[0];
  g.indices = logical_count(desc.inputs[1]);
  g.rows_per_unit =
      std::max<int64_t>(kUnitElements / std::max<int64_t>(desc.inputs[0].dims[1], 1), 1);
  return g;
}

int64_t units(const Desc& desc, const Config&, const void*, int) { return geometry(desc).units(); }

template <class I>
Status gather(const Launch& l) {
  const auto* panels = static_cast<const float*>(l.inputs[0]);
  auto* output = static_cast<float*>(l.outputs[0]);
  const int64_t width = l.desc->inputs[0].dims[1];
  return gather_walk<I>(geometry(*l.desc), l, [&](int64_t to, int64_t from) {
    const float* column = panels + from / kPanel * width * kPanel + from % kPanel;
    float* row = output + to * width;
    for (int64_t k = 0; k < width; ++k) row[k] = column[k * kPanel];
  });
}

Status launch(const Launch& l) {
  return l.desc->inputs[1].dtype == DType::kI32 ? gather<int32_t>(l) : gather<int64_t>(l);
}

}  // namespace

extern const Tactic gather_panel;
const Tactic gather_panel = {
    .name = "gather_panel",
    .version = 1,
    .family = Family::kGather,
    .shares = true,
    .supports = supports,
    .packing = packing,
    .units = units,
    .launch = launch,
};

}  // namespace stoker::cpu
