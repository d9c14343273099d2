// Runs a graph node by node through the reference evaluations: what passes must not change.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <unordered_map>

#include "base/numeric.h"
#include "ir/graph.h"

namespace stoker::testing_support {

// Seeded values: floats in [-1, 1), integers in 0..6.
inline Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed) {
  Tensor tensor = *Tensor::allocate(dtype, shape);
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const double unit = static_cast<double>(state >> 11) / 9007199254740992.0;
    if (dtype == DType::kBool) {
      store_int(dtype)(tensor.data(), i, unit < 0.5);
    } else if (is_float(dtype)) {
      store_double(dtype)(tensor.data(), i, 2 * unit - 1);
    } else {
      store_int(dtype)(tensor.data(), i, static_cast<int64_t>(unit * 7));
    }
  }
  return tensor;
}

// Inputs of a graph with every symbol set to `extent`.
inline Result<std::vector<Tensor>> random_inputs(const Graph& graph, int64_t extent,
                                                 uint64_t seed) {
  std::vector<Tensor> tensors;
  for (const Value* input : graph.inputs) {
    SymbolValues symbols;
    std::vector<std::string> names;
    for (const Dim& dim : input->type.dims) dim.collect_symbols(names);
    for (const std::string& name : names) symbols[name] = extent;
    STOKER_ASSIGN(const Shape shape, evaluate_dims(input->type.dims, symbols));
    tensors.push_back(random_tensor(input->type.dtype, shape, seed + tensors.size()));
  }
  return tensors;
}

inline Result<std::vector<Tensor>> evaluate_graph(const Graph& graph,
                                                  const std::vector<Tensor>& inputs) {
  std::unordered_map<const Value*, Tensor> known;
  for (size_t i = 0; i < inputs.size(); ++i) known[graph.inputs[i]] = inputs[i];
  const auto value_of = [&](const Value* value) {
    return !value ? Tensor() : value->constant ? *value->constant : known.at(value);
  };
  for (const auto& node : graph.nodes()) {
    if (node->is_constant()) continue;
    std::vector<Tensor> operands;
    for (const Value* value : node->inputs) operands.push_back(value_of(value));
    std::vector<Tensor> results;
    if (node->is("fused")) {
      STOKER_ASSIGN(results, evaluate_graph(*node->subgraphs[0], operands));
    } else if (node->is("if")) {
      const bool condition = load_int(DType::kBool)(operands[0].data(), 0) != 0;
      operands.erase(operands.begin());
      STOKER_ASSIGN(results, evaluate_graph(*node->subgraphs[condition ? 0 : 1], operands));
    } else {
      auto evaluated = evaluate_op(*node->op, node->attributes, operands,
                                   static_cast<int>(node->outputs.size()));
      if (!evaluated.is_ok()) return evaluated.status().at(node->name);
      results = std::move(*evaluated);
    }
    for (size_t i = 0; i < results.size(); ++i) known[node->outputs[i]] = results[i];
  }
  std::vector<Tensor> outputs;
  for (const Value* value : graph.outputs) outputs.push_back(value_of(value));
  return outputs;
}

// Largest difference relative to the largest magnitude of `a`; infinite when the tensors do not
// match.
inline double difference(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return HUGE_VAL;
  double worst = 0, largest = 1e-30;
  const LoadDouble load = load_double(a.dtype());
  for (int64_t i = 0; i < a.count(); ++i) {
    const double x = load(a.data(), i), y = load(b.data(), i);
    if (std::isnan(x) != std::isnan(y)) return HUGE_VAL;
    if (std::isnan(x) || x == y) continue;
    largest = std::max(largest, std::abs(x));
    worst = std::max(worst, std::abs(x - y));
  }
  return worst / largest;
}

}  // namespace stoker::testing_support
