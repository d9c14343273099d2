// SPDX-License-Identifier: Apache-2.0
#include "runtime/loaded_engine.h"

#include "base/knobs.h"

namespace stoker {

Result<RuntimeOptions> runtime_options(const KnobList& knobs) {
  STOKER_ASSIGN(KnobSet set, KnobSet::from_environment());
  for (const auto& [name, value] : knobs) STOKER_TRY(set.set(name, value));
  RuntimeOptions options;
  options.isa = detect_isa();
  const std::string isa = set.get_string(Knob::kIsa);
  if (isa != "auto") {
    const IsaLevel wanted = *isa_from_name(isa);
    if (wanted > options.isa) {
      return unsupported("knob isa={} asks for more than this CPU has ({}); use isa=auto", isa,
                         isa_name(options.isa));
    }
    options.isa = wanted;
  }
  const auto threads = static_cast<int>(set.get_int(Knob::kThreads));
  options.pool.workers = threads > 0 ? threads : available_cpus();
  options.pool.spin_us = static_cast<int>(set.get_int(Knob::kSpinUs));
  options.pool.pin = set.get_bool(Knob::kPinThreads);
  options.flush_denormals = set.get_bool(Knob::kFlushDenormals);
  options.reuse = set.get_bool(Knob::kArenaReuse);
  options.reference_only = set.get_bool(Knob::kReferenceOnly);
  options.bind_cache = static_cast<int>(set.get_int(Knob::kBindCache));
  return options;
}

TacticLists tactic_lists() {
  TacticLists lists;
  const auto registry = std::make_shared<TacticRegistry>(IsaLevel::kV4x);
  lists.knows = [registry](const std::string& name, Family family) {
    const Tactic* tactic = registry->find(name);
    return tactic && tactic->family == family;
  };
  lists.packed_bytes = packed_bytes;
  return lists;
}

Result<std::shared_ptr<LoadedEngine>> LoadedEngine::create(EngineContents contents,
                                                           const RuntimeOptions& options) {
  std::shared_ptr<LoadedEngine> engine(new LoadedEngine(std::move(contents), options));
  engine->pool_ = shared_worker_pool(options.pool);
  return engine;
}

Result<std::shared_ptr<const BoundProgram>> LoadedEngine::bind(const std::vector<Shape>& shapes) {
  std::lock_guard<std::mutex> lock(bind_mutex_);
  for (auto it = bindings_.begin(); it != bindings_.end(); ++it) {
    if (it->first == shapes) {
      bindings_.splice(bindings_.begin(), bindings_, it);
      return bindings_.front().second;
    }
  }
  STOKER_ASSIGN(const SymbolValues symbols, match_shapes(contents_, main(), shapes));
  const BindOptions bind_options{options_.pool.workers, options_.reuse, options_.reference_only};
  const WeightSource source = [this](int32_t index, Packing packing, const Desc& spec,
                                     int operand) { return weight(index, packing, spec, operand); };
  STOKER_ASSIGN(auto bound,
                bind_program(contents_, main(), symbols, registry_, source, bind_options));
  bindings_.emplace_front(shapes, bound);
  if (static_cast<int>(bindings_.size()) > std::max(options_.bind_cache, 1)) bindings_.pop_back();
  return bound;
}

Result<Tensor> LoadedEngine::weight(int32_t index, Packing packing, const Desc& spec, int operand) {
  const PlanWeight& weight = contents_.weights[static_cast<size_t>(index)];
  if (!weight.bytes.defined()) {
    return invalid_argument("weight '{}' is missing: give it with refit before running",
                            weight.name);
  }
  if (weight.packing == packing) return weight.bytes;
  // What a packing looks like depends on the operand's role (transposition, groups), so that is in
  // the key.
  const std::string key = std::to_string(index) + "/" + packing_name(packing) + "/" +
                          std::to_string(operand) + "/" + std::to_string(spec.params.index());
  if (const auto it = repacked_.find(key); it != repacked_.end()) return it->second;
  Desc plain_spec = spec;
  Tensor canonical = weight.bytes;
  if (weight.packing != Packing::kNone) {
    plain_spec.inputs[static_cast<size_t>(operand)].packing = weight.packing;
    STOKER_ASSIGN(canonical, unpack_weight(plain_spec, operand, weight.packing, weight.bytes));
  }
  Tensor packed = canonical;
  if (packing != Packing::kNone) {
    STOKER_ASSIGN(packed, pack_weight(spec, operand, packing, canonical));
  }
  repacked_[key] = packed;
  return packed;
}

std::unique_ptr<Session> LoadedEngine::take_session() {
  std::lock_guard<std::mutex> lock(session_mutex_);
  if (idle_sessions_.empty()) {
    // Not an owner: a pooled session that owned its engine would keep it alive for ever.
    return std::make_unique<Session>(
        Engine(std::shared_ptr<LoadedEngine>(std::shared_ptr<void>(), this)));
  }
  auto session = std::move(idle_sessions_.back());
  idle_sessions_.pop_back();
  return session;
}

void LoadedEngine::give_session(std::unique_ptr<Session> session) {
  std::lock_guard<std::mutex> lock(session_mutex_);
  idle_sessions_.push_back(std::move(session));
}

}  // namespace stoker
