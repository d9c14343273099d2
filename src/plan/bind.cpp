// SPDX-License-Identifier: Apache-2.0
#include "plan/bind.h"

#include <algorithm>
#include <cstring>

#include "base/memory.h"
#include "base/numeric.h"
#include "kernels/desc/check.h"
#include "plan/place.h"
#include "plan/stages.h"

namespace stoker {
namespace {

Result<TensorDesc> bind_tensor_desc(const EngineContents& contents, const PlanTensor& tensor,
                                    const SymbolValues& symbols) {
  TensorDesc desc;
  desc.dtype = tensor.dtype;
  desc.layout = tensor.layout;
  if (tensor.kind == PlanTensor::Kind::kWeight) {
    desc.dims = contents.weights[static_cast<size_t>(tensor.weight)].shape;
    desc.constant = true;
    return desc;
  }
  STOKER_ASSIGN(desc.dims, evaluate_dims(tensor.dims, symbols));
  // The stored count, padding included, must be countable before anybody computes it unchecked.
  Shape stored = desc.dims;
  if (desc.layout == Layout::kC16 && stored.size() > 1) {
    if (stored[1] > INT64_MAX - kLaneCount) return invalid_argument("{} channels", stored[1]);
    stored[1] = round_up(stored[1], kLaneCount);
  }
  STOKER_TRY(element_count(stored).status());
  return desc;
}

class Binder {
 public:
  Binder(const EngineContents& contents, const PlanProgram& program, const SymbolValues& symbols,
         const TacticRegistry& registry, const WeightSource& weights, const BindOptions& options)
      : contents_(contents),
        program_(program),
        registry_(registry),
        weights_(weights),
        options_(options),
        bound_(std::make_shared<BoundProgram>()) {
    bound_->program = &program;
    bound_->symbols = symbols;
    bound_->workers = options.workers;
  }

  Result<std::shared_ptr<const BoundProgram>> run() {
    STOKER_TRY(bind_tensors());
    for (const PlanStep& step : program_.steps) {
      STOKER_TRY(bind_step(step).at(step.name));
    }
    STOKER_TRY(fill_shape_pool());
    place();
    return std::shared_ptr<const BoundProgram>(std::move(bound_));
  }

 private:
  Status bind_tensors() {
    bound_->tensors.resize(program_.tensors.size());
    for (size_t i = 0; i < program_.tensors.size(); ++i) {
      const PlanTensor& tensor = program_.tensors[i];
      BoundTensor& bound = bound_->tensors[i];
      // Strings have no place in an arena: a step would take raw bytes for string objects.
      if (tensor.dtype == DType::kString)
        return unsupported("tensor '{}' holds strings", tensor.name);
      STOKER_TRY(bind_size(tensor, bound).at("tensor '" + tensor.name + "'"));
      if (tensor.alias_of >= 0) {
        const BoundTensor& root = bound_->tensors[static_cast<size_t>(tensor.alias_of)];
        if (root.bytes != bound.bytes) {
          return corrupt_file("tensor '{}' {} cannot share the storage of {}", tensor.name,
                              shape_text(bound.desc.dims), shape_text(root.desc.dims));
        }
        bound.storage = root.storage;
        bound.index = root.index;
        continue;
      }
      bound.storage = storage_of(tensor.kind);
    }
    for (size_t i = 0; i < program_.inputs.size(); ++i) set_port(program_.inputs[i].tensor, i);
    for (size_t i = 0; i < program_.outputs.size(); ++i) set_port(program_.outputs[i].tensor, i);
    for (size_t i = 0; i < program_.tensors.size(); ++i) {
      const int32_t root = program_.tensors[i].alias_of;
      if (root >= 0) bound_->tensors[i].index = bound_->tensors[static_cast<size_t>(root)].index;
    }
    return Status::ok();
  }

  Status bind_size(const PlanTensor& tensor, BoundTensor& bound) {
    STOKER_ASSIGN(bound.desc, bind_tensor_desc(contents_, tensor, bound_->symbols));
    STOKER_ASSIGN(bound.bytes, byte_size(bound.desc.dtype, stored_count(bound.desc)));
    // Kernels prepare tables as long as an axis: too large a tensor must not get so far.
    if (memory_may_hold(bound.bytes)) return Status::ok();
    return error(
        StatusCode::kResourceExhausted,
        "{}{} takes {} bytes, more than this machine or its limits allow: use smaller sizes",
        dtype_name(bound.desc.dtype), shape_text(bound.desc.dims), bound.bytes);
  }

  static BoundTensor::Storage storage_of(PlanTensor::Kind kind) {
    switch (kind) {
      case PlanTensor::Kind::kInput: return BoundTensor::Storage::kInput;
      case PlanTensor::Kind::kOutput: return BoundTensor::Storage::kOutput;
      case PlanTensor::Kind::kWeight: return BoundTensor::Storage::kWeight;
      case PlanTensor::Kind::kShapeValue: return BoundTensor::Storage::kShapeValue;
      case PlanTensor::Kind::kState: return BoundTensor::Storage::kState;
      case PlanTensor::Kind::kTemporary: break;
    }
    return BoundTensor::Storage::kArena;
  }

  void set_port(int32_t tensor, size_t port) {
    bound_->tensors[static_cast<size_t>(tensor)].index = static_cast<int32_t>(port);
  }

  // The plan's tactic when it takes this shape, otherwise the first of the family that does.
  Status choose(BoundStep& bound) {
    const PlanStep& step = *bound.step;
    const Tactic* wanted = options_.reference_only ? nullptr : registry_.find(step.tactic);
    if (wanted && wanted->family == bound.desc.family()) {
      Desc desc = bound.desc;
      const Status reason = wanted->version == step.tactic_version || step.tactic_version == 0
                                ? adapt_desc(*wanted, desc)
                                : unsupported("version {} is not the plan's {}", wanted->version,
                                              step.tactic_version);
      if (reason.is_ok()) return take(bound, wanted, std::move(desc), step.config);
      bound.substituted = reason.message();
    } else if (!step.tactic.empty()) {
      bound.substituted = "tactic '" + step.tactic + "' is not in this library";
    }
    std::string last;
    for (const Tactic* tactic : registry_.family(bound.desc.family())) {
      if (options_.reference_only && !tactic->reference) continue;
      Desc desc = bound.desc;
      const Status taken = adapt_desc(*tactic, desc);
      if (taken.is_ok()) return take(bound, tactic, std::move(desc), "");
      last = ": " + taken.message();
    }
    return corrupt_file("no tactic takes {}{}", desc_key(bound.desc), last);
  }

  Status take(BoundStep& bound, const Tactic* tactic, Desc desc, const std::string& config) {
    bound.tactic = tactic;
    bound.desc = std::move(desc);
    const std::vector<Config> configs = configs_of(*tactic, bound.desc);
    if (configs.empty()) return internal_error("tactic {} has no config", tactic->name);
    bound.config = configs.front();
    for (const Config& candidate : configs) {
      if (candidate.name == config) bound.config = candidate;
    }
    return Status::ok();
  }

  Status bind_step(const PlanStep& step) {
    BoundStep bound;
    bound.step = &step;
    bound.inputs = step.inputs;
    bound.outputs = step.outputs;
    STOKER_ASSIGN(bound.desc, bind_desc(contents_, program_, step, bound_->symbols));
    STOKER_TRY(check_desc(bound.desc));
    STOKER_TRY(choose(bound));
    for (size_t i = 0; i < bound.inputs.size(); ++i) {
      if (bound.inputs[i] >= 0 && bound.desc.inputs[i].constant) STOKER_TRY(bind_weight(bound, i));
    }
    const Tactic& tactic = *bound.tactic;
    if (tactic.prepare) {
      bound.prepared = tactic.prepare(bound.desc, bound.config);
      if (!bound.prepared)
        return internal_error("tactic {} could not prepare {}", tactic.name, desc_key(bound.desc));
    }
    if (tactic.workspace) bound.workspace = tactic.workspace(bound.desc, bound.config);
    bound_->worker_bytes = std::max(bound_->worker_bytes, bound.workspace.per_worker_bytes);
    const int phases = tactic.phases ? tactic.phases(bound.desc, bound.config) : 1;
    for (int phase = 0; phase < phases; ++phase) {
      bound.phase_units.push_back(
          tactic.units ? tactic.units(bound.desc, bound.config, bound.prepared.get(), phase) : 1);
    }
    bound_->steps.push_back(std::move(bound));
    return Status::ok();
  }

  // A weight operand gets a bound tensor of its own: two steps may want the same weight packed
  // differently.
  Status bind_weight(BoundStep& bound, size_t input) {
    const auto tensor_id = static_cast<size_t>(bound.inputs[input]);
    const int32_t weight = program_.tensors[tensor_id].weight;
    STOKER_ASSIGN(Tensor bytes, weights_(weight, bound.desc.inputs[input].packing, bound.desc,
                                         static_cast<int>(input)));
    BoundTensor operand;
    operand.storage = BoundTensor::Storage::kWeight;
    operand.desc = bound.desc.inputs[input];
    operand.bytes = bytes.bytes();
    operand.index = static_cast<int32_t>(bound_->weights.size());
    bound_->weights.push_back(std::move(bytes));
    bound.inputs[input] = static_cast<int32_t>(bound_->tensors.size());
    bound_->tensors.push_back(std::move(operand));
    return Status::ok();
  }

  Status fill_shape_pool() {
    int64_t bytes = 0;
    for (size_t i = 0; i < program_.tensors.size(); ++i) {
      BoundTensor& bound = bound_->tensors[i];
      if (bound.storage != BoundTensor::Storage::kShapeValue) continue;
      bound.offset = bytes;
      bytes += round_up(bound.bytes, kTensorAlignment);
    }
    STOKER_ASSIGN(bound_->shape_pool, Tensor::allocate(DType::kU8, {bytes}));
    for (size_t i = 0; i < program_.tensors.size(); ++i) {
      const BoundTensor& bound = bound_->tensors[i];
      if (bound.storage != BoundTensor::Storage::kShapeValue) continue;
      auto* data = static_cast<std::byte*>(bound_->shape_pool.data()) + bound.offset;
      const Dims& elements = program_.tensors[i].elements;
      for (size_t e = 0; e < elements.size() && static_cast<int64_t>(e) < stored_count(bound.desc);
           ++e) {
        STOKER_ASSIGN(const int64_t value, elements[e].evaluate(bound_->symbols));
        store_int(bound.desc.dtype)(data, static_cast<int64_t>(e), value);
      }
    }
    return Status::ok();
  }

  size_t root_of(size_t tensor) const {
    while (tensor < program_.tensors.size() && program_.tensors[tensor].alias_of >= 0) {
      tensor = static_cast<size_t>(program_.tensors[tensor].alias_of);
    }
    return tensor;
  }

  void place() {
    const StagePlan stages = assign_stages(program_, bound_->steps);
    bound_->stages = share_work(stages, bound_->steps, options_.workers);
    bound_->alone = is_for_one_worker(bound_->stages);
    std::vector<BufferLifetime> lifetimes(bound_->tensors.size());
    for (BufferLifetime& lifetime : lifetimes) lifetime = {0, INT32_MAX, -1, 0};
    std::vector<BufferLifetime> workspaces(bound_->steps.size());
    for (size_t s = 0; s < bound_->steps.size(); ++s) {
      const BoundStep& step = bound_->steps[s];
      const int32_t first = stages.first_stage[s];
      const int32_t last = first + static_cast<int32_t>(step.phase_units.size()) - 1;
      for (const auto* operands : {&step.inputs, &step.outputs}) {
        for (const int32_t operand : *operands) {
          if (operand < 0) continue;
          BufferLifetime& lifetime = lifetimes[root_of(static_cast<size_t>(operand))];
          lifetime.first = std::min(lifetime.first, first);
          lifetime.last = std::max(lifetime.last, last);
        }
      }
      workspaces[s] = {step.workspace.shared_bytes, first, last, 0};
    }
    std::vector<BufferLifetime> buffers;
    std::vector<size_t> owners;
    for (size_t i = 0; i < lifetimes.size(); ++i) {
      const BoundTensor& tensor = bound_->tensors[i];
      if (tensor.storage != BoundTensor::Storage::kArena || lifetimes[i].last < 0 ||
          root_of(i) != i)
        continue;
      lifetimes[i].bytes = tensor.bytes;
      owners.push_back(i);
      buffers.push_back(lifetimes[i]);
    }
    bound_->liveness_bytes = liveness_bound(buffers);
    bound_->activations = buffers;
    buffers.insert(buffers.end(), workspaces.begin(), workspaces.end());
    bound_->arena_bytes = place_buffers(buffers, options_.reuse);
    for (size_t i = 0; i < owners.size(); ++i)
      bound_->tensors[owners[i]].offset = buffers[i].offset;
    for (size_t s = 0; s < workspaces.size(); ++s)
      bound_->steps[s].shared_offset = buffers[owners.size() + s].offset;
    for (size_t i = 0; i < program_.tensors.size(); ++i)
      bound_->tensors[i].offset = bound_->tensors[root_of(i)].offset;
  }

  const EngineContents& contents_;
  const PlanProgram& program_;
  const TacticRegistry& registry_;
  const WeightSource& weights_;
  const BindOptions& options_;
  std::shared_ptr<BoundProgram> bound_;
};

}  // namespace

Result<Desc> bind_desc(const EngineContents& contents, const PlanProgram& program,
                       const PlanStep& step, const SymbolValues& symbols) {
  Desc desc;
  desc.params = step.params;
  STOKER_ASSIGN(auto values, evaluate_dims(step.param_dims, symbols));
  set_param_values(desc.params, std::move(values));
  for (const auto* operands : {&step.inputs, &step.outputs}) {
    auto& list = operands == &step.inputs ? desc.inputs : desc.outputs;
    for (const int32_t id : *operands) {
      if (id < 0) {
        list.emplace_back();
        continue;
      }
      STOKER_ASSIGN(TensorDesc operand,
                    bind_tensor_desc(contents, program.tensors[static_cast<size_t>(id)], symbols));
      list.push_back(std::move(operand));
    }
  }
  return desc;
}

Result<WeightUse> use_of_weight(const EngineContents& contents, int32_t weight,
                                const SymbolValues& symbols) {
  for (const PlanProgram& program : contents.programs) {
    for (const PlanStep& step : program.steps) {
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        if (step.inputs[i] < 0) continue;
        const PlanTensor& tensor = program.tensors[static_cast<size_t>(step.inputs[i])];
        if (tensor.kind != PlanTensor::Kind::kWeight || tensor.weight != weight) continue;
        STOKER_ASSIGN(Desc desc, bind_desc(contents, program, step, symbols));
        desc.inputs[i].packing = contents.weights[static_cast<size_t>(weight)].packing;
        return WeightUse{std::move(desc), static_cast<int>(i)};
      }
    }
  }
  return corrupt_file("no step reads it");
}

Status adapt_desc(const Tactic& tactic, Desc& desc) {
  if (tactic.packing) {
    for (size_t i = 0; i < desc.inputs.size(); ++i) {
      if (desc.inputs[i].constant)
        desc.inputs[i].packing = tactic.packing(desc, static_cast<int>(i));
    }
  }
  return tactic.supports(desc);
}

Result<std::shared_ptr<const BoundProgram>> bind_program(
    const EngineContents& contents, const PlanProgram& program, const SymbolValues& symbols,
    const TacticRegistry& registry, const WeightSource& weights, const BindOptions& options) {
  return Binder(contents, program, symbols, registry, weights, options).run();
}

}  // namespace stoker
