// Zeros around the input of a convolution -> its own padding. Other constant amounts along one axis
// (constant, reflect, wrap) -> concat of slices and constants, which kernels copy.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

constexpr int64_t kMaxFill = int64_t{1} << 20;  // elements of a constant border

using Ints = std::vector<int64_t>;

struct Amounts {
  Ints before, after;  // by dim of the input, none negative
};

std::optional<Amounts> amounts_of(const Node& pad) {
  const ValueType& x = pad.inputs[0]->type;
  if (!x.ranked || pad.inputs.size() < 2) return std::nullopt;
  const auto pads = constant_ints(pad.inputs[1]);
  const auto rank = static_cast<size_t>(x.rank());
  Ints axes;
  if (pad.inputs.size() > 3 && pad.inputs[3]) {
    const auto given = constant_ints(pad.inputs[3]);
    if (!given) return std::nullopt;
    axes = *given;
  } else {
    for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  }
  if (!pads || pads->size() != 2 * axes.size()) return std::nullopt;
  Amounts amounts{Ints(rank, 0), Ints(rank, 0)};
  std::vector<bool> seen(rank, false);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + x.rank() : axes[i];
    if (axis < 0 || axis >= x.rank() || seen[static_cast<size_t>(axis)]) return std::nullopt;
    const int64_t before = (*pads)[i], after = (*pads)[i + axes.size()];
    if (before < 0 || after < 0) return std::nullopt;
    seen[static_cast<size_t>(axis)] = true;
    amounts.before[static_cast<size_t>(axis)] = before;
    amounts.after[static_cast<size_t>(axis)] = after;
  }
  return amounts;
}

// The value of a border: a scalar of the input's dtype, 0 when none is given.
std::optional<Tensor> fill_of(const Node& pad) {
  if (pad.inputs.size() < 3 || !pad.inputs[2]) {
    auto zero = Tensor::allocate(pad.inputs[0]->type.dtype, {});
    return zero.is_ok() ? std::optional<Tensor>(*zero) : std::nullopt;
  }
  const Value* fill = pad.inputs[2];
  if (!fill->is_constant() || fill->constant->count() != 1) return std::nullopt;
  return *fill->constant;
}

bool is_zero(const Tensor& tensor) {
  const auto* bytes = static_cast<const std::byte*>(tensor.data());
  return std::all_of(bytes, bytes + tensor.bytes(), [](std::byte b) { return b == std::byte{0}; });
}

bool is_constant_mode(const Node& pad) {
  return pad.attributes.get_string("mode", "constant") == "constant";
}

// ---- into the convolution.

Result<bool> into_conv(Graph& graph, Node* conv) {
  Node* pad = conv->inputs[0] ? producer_of(conv->inputs[0], "pad") : nullptr;
  if (!pad || !is_constant_mode(*pad) || !is_float(conv->inputs[0]->type.dtype)) return false;
  const std::string auto_pad = conv->attributes.get_string("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID") return false;
  const auto amounts = amounts_of(*pad);
  const auto fill = fill_of(*pad);
  if (!amounts || !fill || !is_zero(*fill) || amounts->before.size() < 3) return false;
  const size_t spatial = amounts->before.size() - 2;
  for (size_t d = 0; d < 2; ++d) {
    if (amounts->before[d] != 0 || amounts->after[d] != 0) return false;
  }
  Ints pads = conv->attributes.get_ints("pads");
  if (auto_pad == "VALID" || pads.empty()) pads.assign(2 * spatial, 0);
  if (pads.size() != 2 * spatial) return false;
  for (size_t d = 0; d < spatial; ++d) {
    pads[d] += amounts->before[d + 2];
    pads[d + spatial] += amounts->after[d + 2];
  }
  Attributes attributes = conv->attributes;
  attributes.erase("auto_pad");
  attributes.set("pads", pads);
  std::vector<Value*> inputs = conv->inputs;
  inputs[0] = pad->inputs[0];
  STOKER_TRY(replace_with_node(graph, conv->outputs[0], *conv->op, std::move(inputs),
                               std::move(attributes), {pad, conv})
                 .status());
  graph.erase(conv);
  return true;
}

// ---- into slices.

// Elements from `start` towards `end` of one axis.
Result<Value*> slice_of(Graph& graph, Node* pad, int64_t axis, int64_t start, int64_t end,
                        int64_t step) {
  const auto number = [&](const char* name, int64_t value) {
    return graph.add_constant(name, Tensor::from<int64_t>({1}, {value}));
  };
  STOKER_ASSIGN(Node * slice,
                insert_node(graph, pad, "slice",
                            {pad->inputs[0], number("starts", start), number("ends", end),
                             number("axes", axis), number("steps", step)}));
  append_origins(slice, *pad);
  return slice->outputs[0];
}

std::optional<Tensor> border(const Node& pad, size_t axis, int64_t amount) {
  const auto fill = fill_of(pad);
  auto dims = constant_dims(pad.inputs[0]->type.dims);
  if (!fill || !dims) return std::nullopt;
  (*dims)[axis] = amount;
  const auto count = element_count(*dims);
  const DType dtype = fill->dtype();
  if (!count.is_ok() || *count > kMaxFill || dtype_bits(dtype) % 8 != 0 || dtype_bits(dtype) == 0)
    return std::nullopt;
  auto tensor = Tensor::allocate(dtype, *dims);
  if (!tensor.is_ok()) return std::nullopt;
  const auto bytes = static_cast<size_t>(dtype_bits(dtype) / 8);
  for (int64_t i = 0; i < *count; ++i) {
    std::copy_n(static_cast<const std::byte*>(fill->data()), bytes,
                static_cast<std::byte*>(tensor->data()) + static_cast<size_t>(i) * bytes);
  }
  return *tensor;
}

// What stands before or after the input along the axis; null: it cannot be told.
Result<Value*> side(Graph& graph, Node* pad, size_t axis, int64_t amount, bool before) {
  const std::string mode = pad->attributes.get_string("mode", "constant");
  const auto at = static_cast<int64_t>(axis);
  if (mode == "constant") {
    auto tensor = border(*pad, axis, amount);
    return tensor ? graph.add_constant("border", *tensor) : nullptr;
  }
  const Dim& dim = pad->inputs[0]->type.dims[axis];
  if (!dim.is_const()) return nullptr;
  const int64_t extent = dim.value();
  if (mode == "wrap" && amount <= extent) {
    return before ? slice_of(graph, pad, at, extent - amount, extent, 1)
                  : slice_of(graph, pad, at, 0, amount, 1);
  }
  if (mode == "reflect" && amount < extent) {
    // The end before element 0 is written as one far below.
    return before ? slice_of(graph, pad, at, amount, 0, -1)
                  : slice_of(graph, pad, at, extent - 2,
                             extent - 2 - amount >= 0 ? extent - 2 - amount : -extent - 1, -1);
  }
  return nullptr;
}

Result<bool> into_slices(Graph& graph, Node* pad) {
  const auto amounts = amounts_of(*pad);
  if (!amounts) return false;
  std::optional<size_t> axis;
  for (size_t d = 0; d < amounts->before.size(); ++d) {
    if (amounts->before[d] == 0 && amounts->after[d] == 0) continue;
    if (axis) return false;
    axis = d;
  }
  if (!axis || pad->inputs[0]->is_constant()) return false;
  std::vector<Value*> parts;
  if (const int64_t amount = amounts->before[*axis]) {
    STOKER_ASSIGN(Value * part, side(graph, pad, *axis, amount, true));
    parts.push_back(part);
  }
  parts.push_back(pad->inputs[0]);
  if (const int64_t amount = amounts->after[*axis]) {
    STOKER_ASSIGN(Value * part, side(graph, pad, *axis, amount, false));
    parts.push_back(part);
  }
  // Slices made for one side only are left to dce.
  if (std::count(parts.begin(), parts.end(), nullptr) > 0) return false;
  const auto at = static_cast<int64_t>(*axis);
  STOKER_TRY(replace_with_node(graph, pad->outputs[0], *find_op("concat"), std::move(parts),
                               {{"axis", at}}, {pad})
                 .status());
  graph.erase(pad);
  return true;
}

}  // namespace

Result<int> pad(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (node->is_constant() || !node->is("conv")) continue;
    STOKER_ASSIGN(const bool changed, into_conv(graph, node));
    changes += changed;
  }
  for (Node* node : node_snapshot(graph)) {
    if (node->is_constant() || !node->is("pad")) continue;
    if (node->outputs[0]->uses.empty() && !graph.is_output(node->outputs[0])) continue;
    STOKER_ASSIGN(const bool changed, into_slices(graph, node));
    changes += changed;
  }
  return changes;
}

}  // namespace stoker
