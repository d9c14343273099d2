// SPDX-License-Identifier: Apache-2.0
#include "api/unfused_check.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "base/log.h"
#include "base/numeric.h"
#include "passes/pipeline.h"
#include "tune/contest.h"

namespace stoker {
namespace {

// Passes that a graph cannot be lowered without: constants known, conditions decided.
const std::set<std::string> kNeeded = {"fold_constants", "simplify_subgraphs", "dce"};

Result<EngineContents> build_unfused(Graph& graph,
                                     const std::map<std::string, SymbolProfile>& profile,
                                     const TacticRegistry& registry, WorkerPool& pool) {
  PipelineOptions pipeline;
  for (const PassEntry& pass : pass_list()) {
    if (!kNeeded.count(std::string(pass.name))) pipeline.disabled.insert(std::string(pass.name));
  }
  STOKER_ASSIGN(const PassReport report, run_passes(graph, pipeline));
  LowerOptions options;
  options.profile = profile;
  STOKER_ASSIGN(EngineContents contents, lower_graph(graph, options));
  STOKER_TRY(assign_layouts(contents, registry, false, {}));
  ContestOptions contest;
  contest.timing = false;
  contest.self_check = false;
  STOKER_TRY(choose_tactics(contents, registry, pool, contest));
  STOKER_TRY(finish_plan(contents, registry));
  return contents;
}

OutputLoss compare(const std::string& name, const Tensor& a, const Tensor& b) {
  OutputLoss loss;
  loss.output = name;
  const LoadDouble load = load_double(a.dtype());
  if (!load) return loss;
  double largest = 0;
  for (int64_t i = 0; i < a.count(); ++i) {
    const double x = load(a.data(), i), y = load(b.data(), i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    loss.max_abs_error =
        std::max(loss.max_abs_error, std::isnan(x - y) ? INFINITY : std::fabs(x - y));
  }
  for (int64_t i = 0; i < b.count(); ++i) largest = std::max(largest, std::fabs(load(b.data(), i)));
  loss.max_rel_error = largest > 0 ? loss.max_abs_error / largest : loss.max_abs_error;
  return loss;
}

// The parts of sequences and maps are compared one by one, under the output's name.
void compare_all(const std::string& name, const AnyValue& a, const AnyValue& b,
                 std::vector<OutputLoss>& losses) {
  if (a.kind() != b.kind()) {
    losses.push_back({name, INFINITY, INFINITY});
  } else if (a.is_tensor()) {
    losses.push_back(a.tensor().shape() == b.tensor().shape()
                         ? compare(name, a.tensor(), b.tensor())
                         : OutputLoss{name, INFINITY, INFINITY});
  } else if (a.has_value()) {
    if (a.elements().size() != b.elements().size()) losses.push_back({name, INFINITY, INFINITY});
    for (size_t i = 0; i < std::min(a.elements().size(), b.elements().size()); ++i)
      compare_all(fmt::format("{}[{}]", name, i), a.elements()[i], b.elements()[i], losses);
  }
}

Result<TensorMap> sample_run_inputs(const EngineContents& contents) {
  TensorMap inputs;
  const PlanProgram& program = contents.programs.front();
  const SymbolValues symbols = optimum_of(contents);
  uint64_t seed = 1;
  for (const PlanPort& port : program.inputs) {
    const PlanTensor& tensor = program.tensors[static_cast<size_t>(port.tensor)];
    if (tensor.holds == PlanTensor::Holds::kOptional) continue;  // left out
    if (tensor.holds != PlanTensor::Holds::kTensor || !tensor.ranked)
      return unsupported("there are no sample values for input '{}'", port.name);
    STOKER_ASSIGN(Shape shape, evaluate_dims(tensor.dims, symbols));
    STOKER_ASSIGN(inputs[port.name], sample_tensor(tensor.dtype, shape, seed++));
  }
  return inputs;
}

// Sample values may send a loop astray.
constexpr int64_t kSampleLoopLimit = 1000;

Result<ValueMap> run_contents(EngineContents contents, RuntimeOptions runtime,
                              const TensorMap& inputs) {
  runtime.loop_limit = std::min(runtime.loop_limit, kSampleLoopLimit);
  STOKER_ASSIGN(auto loaded, LoadedEngine::create(std::move(contents), runtime));
  return Engine(std::move(loaded)).run_values(ValueMap(inputs.begin(), inputs.end()));
}

}  // namespace

Status compare_with_unfused(EngineContents& contents, Graph& graph,
                            const std::map<std::string, SymbolProfile>& profile,
                            const TacticRegistry& registry, const RuntimeOptions& runtime) {
  Certificate& certificate = contents.volatile_section.certificate;
  STOKER_ASSIGN(const auto pool, shared_worker_pool(runtime.pool));
  auto unfused = build_unfused(graph, profile, registry, *pool);
  if (!unfused) {
    certificate.checked_against = "nothing: " + unfused.status().message();
    return Status::ok();
  }
  const auto sampled = sample_run_inputs(contents);
  if (!sampled) {
    certificate.checked_against = "nothing: " + sampled.status().message();
    return Status::ok();
  }
  const TensorMap& inputs = *sampled;
  auto expected = run_contents(std::move(*unfused), runtime, inputs);
  auto found = run_contents(contents, runtime, inputs);
  // Random data need not be legal for every graph (an index outside its table): nothing to compare
  // then.
  if (!found || !expected) {
    const Status& reason = found ? expected.status() : found.status();
    certificate.checked_against = "nothing: the run on sample data failed: " + reason.message();
    log_info("self-check: {}", certificate.checked_against);
    return Status::ok();
  }
  certificate.checked_against = "the same graph without fusion, plain layouts";
  certificate.data = "seeded uniform inputs at the profile's optimum shape";
  std::string bytes;
  for (const auto& [name, tensor] : inputs) {
    bytes += name;
    bytes.append(static_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.bytes()));
  }
  certificate.data_hash = content_hash(std::as_bytes(std::span(bytes)));
  for (const auto& [name, value] : *found)
    compare_all(name, value, expected->at(name), certificate.outputs);
  return Status::ok();
}

}  // namespace stoker
