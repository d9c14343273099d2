// SPDX-License-Identifier: Apache-2.0
#include "passes/pipeline.h"

#include <chrono>

#include "passes/refresh_types.h"

namespace stoker {

// The pipeline, in order: PASS(function, knob that switches it). disable_passes takes the name.
#define STOKER_PASSES(PASS)                      \
  /* Before folding: weights stored in 8 bits */ \
  /* shall stay so.                           */ \
  PASS(dequantized_weights, fuse_quantized)      \
  /* Know what can be known. A conditional    */ \
  /* that is decided may decide others.       */ \
  PASS(fold_constants, disable_passes)           \
  PASS(simplify_subgraphs, disable_passes)       \
  PASS(fold_constants, disable_passes)           \
  PASS(simplify_subgraphs, disable_passes)       \
  PASS(fold_constants, disable_passes)           \
  PASS(simplify_subgraphs, disable_passes)       \
  PASS(fold_constants, disable_passes)           \
  PASS(simplify, disable_passes)                 \
  PASS(remove_identities, disable_passes)        \
  PASS(canonicalize, disable_passes)             \
  PASS(cancel_transposes, disable_passes)        \
  PASS(fold_constants, disable_passes)           \
  PASS(cse, disable_passes)                      \
  PASS(dce, disable_passes)                      \
  PASS(prune_subgraphs, disable_passes)          \
  PASS(dce, disable_passes)                      \
  PASS(rank_by_use, disable_passes)              \
  /* Fewer operations with the same meaning. */  \
  PASS(pad, disable_passes)                      \
  PASS(dynamic_quantize, disable_passes)         \
  PASS(integer_zero_points, disable_passes)      \
  PASS(fold_batch_norm, disable_passes)          \
  PASS(fold_constants, disable_passes)           \
  PASS(clip, disable_passes)                     \
  PASS(softmax, disable_passes)                  \
  PASS(attention, disable_passes)                \
  PASS(layer_norm, disable_passes)               \
  PASS(rms_norm, disable_passes)                 \
  PASS(gelu, disable_passes)                     \
  PASS(swish, disable_passes)                    \
  PASS(hard_swish, disable_passes)               \
  PASS(mish, disable_passes)                     \
  PASS(dce, disable_passes)                      \
  /* Integers where the model is quantized. */   \
  PASS(quantized_movement, fuse_quantized)       \
  PASS(quantized_conv, fuse_quantized)           \
  PASS(quantized_gemm, fuse_quantized)           \
  PASS(quantized_add, fuse_quantized)            \
  PASS(quantized_pool, fuse_quantized)           \
  PASS(weight_only_gemm, fuse_quantized)         \
  PASS(weight_only_recurrent, fuse_quantized)    \
  PASS(fold_dequantized, disable_passes)         \
  PASS(cse, disable_passes)                      \
  PASS(dce, disable_passes)                      \
  /* Fewer trips to memory. */                   \
  PASS(conv_epilogue, fuse_epilogues)            \
  PASS(gemm_epilogue, fuse_epilogues)            \
  PASS(region, fuse_regions)                     \
  PASS(dce, disable_passes)

#define STOKER_DECLARE(name, knob) Result<int> name(Graph&, const PassContext&);
STOKER_PASSES(STOKER_DECLARE)
#undef STOKER_DECLARE

namespace {

#define STOKER_ENTRY(name, knob) {#name, #knob, name},
constexpr PassEntry kPasses[] = {STOKER_PASSES(STOKER_ENTRY)};
#undef STOKER_ENTRY

// Names that the caller gives must exist: a misspelt one would silently change nothing.
Status check_name(const std::string& name) {
  if (name.empty() || find_pass(name)) return Status::ok();
  std::string known;
  for (const PassEntry& pass : kPasses) {
    const std::string item(pass.name);
    const bool listed = (", " + known + ",").find(", " + item + ",") != std::string::npos;
    if (!listed) known += (known.empty() ? "" : ", ") + item;
  }
  return invalid_argument("there is no pass '{}'; the passes are {}", name, known);
}

Status verify_after(const Graph& graph, std::string_view pass) {
  const Status status = verify(graph);
  return status.is_ok() ? status : status.at(fmt::format("after pass {}", pass));
}

}  // namespace

std::span<const PassEntry> pass_list() { return kPasses; }

const PassEntry* find_pass(std::string_view name) {
  for (const PassEntry& pass : kPasses) {
    if (pass.name == name) return &pass;
  }
  return nullptr;
}

Result<int> run_pass(const PassEntry& pass, Graph& graph, const PassContext& context) {
  auto changes = pass.function(graph, context);
  if (!changes.is_ok()) return changes.status().at(fmt::format("pass {}", pass.name));
  for (const auto& node : graph.nodes()) {
    if (node->is("fused")) continue;
    for (const auto& branch : node->subgraphs) {
      STOKER_ASSIGN(const int inner, run_pass(pass, *branch, context));
      *changes += inner;
    }
  }
  return changes;
}

Result<PassReport> run_passes(Graph& graph, const PipelineOptions& options) {
  STOKER_TRY(check_name(options.stop_after));
  for (const std::string& name : options.disabled) STOKER_TRY(check_name(name));
  PassReport report;
  const PassContext context{options.oracle, &report.refusals, options.max_folded_bytes};
  for (const PassEntry& pass : kPasses) {
    const std::string name(pass.name);
    if (!options.disabled.count(name)) {
      const auto start = std::chrono::steady_clock::now();
      STOKER_ASSIGN(const int changes, run_pass(pass, graph, context));
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      report.passes.push_back({name, changes, spent.count()});
      if (options.verify_each) STOKER_TRY(verify_after(graph, pass.name));
      if (options.dump_after) options.dump_after(pass.name, graph);
    }
    if (name == options.stop_after) break;
  }
  STOKER_TRY(refresh_types(graph));
  STOKER_TRY(verify_after(graph, "pipeline"));
  return report;
}

}  // namespace stoker
