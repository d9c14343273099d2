// SPDX-License-Identifier: Apache-2.0
#include "runtime/loaded_engine.h"

#include <algorithm>
#include <set>

#include "base/knobs.h"
#include "runtime/op_libraries.h"

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
  options.loop_limit = set.get_int(Knob::kLoopLimit);
  STOKER_ASSIGN(options.op_libraries, load_op_libraries(set.get_string(Knob::kOpLibraries)));
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

namespace {

Status check_weights(const std::vector<PlanWeight>& weights) {
  const auto missing = std::count_if(weights.begin(), weights.end(),
                                     [](const PlanWeight& w) { return !w.bytes.defined(); });
  if (missing == 0) return Status::ok();
  return invalid_argument(
      "{} of {} weights are missing: the engine was built without them; refit it from the model "
      "before running",
      missing, weights.size());
}

}  // namespace

LoadedEngine::LoadedEngine(EngineContents contents, const RuntimeOptions& options)
    : contents_(std::move(contents)),
      incomplete_(check_weights(contents_.weights)),
      options_(options),
      registry_(options.isa) {
  bindings_.resize(contents_.programs.size());
  facts_.resize(contents_.programs.size());
  Ranges ranges;
  for (const PlanSymbol& symbol : contents_.symbols) {
    if (symbol.min > 0 || symbol.max < INT64_MAX) ranges.emplace(symbol.name, symbol);
  }
  for (size_t p = 0; p < facts_.size(); ++p) collect_facts(p, ranges);
}

// Recursion is as deep as programs call each other, which the verifier limits.
void LoadedEngine::collect_facts(size_t index, const Ranges& ranges) {
  ProgramFacts& facts = facts_[index];
  const PlanProgram& program = contents_.programs[index];
  if (!facts.last_uses.empty() || program.tensors.empty()) return;
  facts.last_uses.assign(program.tensors.size(), -1);
  std::set<std::string> symbols;
  const auto collect = [&](const Dims& dims) {
    std::vector<std::string> names;
    for (const Dim& dim : dims) {
      if (!dim.is_const()) dim.collect_symbols(names);
    }
    symbols.insert(names.begin(), names.end());
  };
  for (const PlanTensor& tensor : program.tensors) {
    collect(tensor.dims);
    collect(tensor.elements);
  }
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const PlanStep& step = program.steps[s];
    collect(step.param_dims);
    for (const int32_t called : step.subprograms) {
      collect_facts(static_cast<size_t>(called), ranges);
      const auto& inside = facts_[static_cast<size_t>(called)].symbols;
      symbols.insert(inside.begin(), inside.end());
    }
    for (const int32_t input : step.inputs) {
      if (input >= 0) facts.last_uses[static_cast<size_t>(input)] = static_cast<int32_t>(s);
    }
  }
  for (const PlanPort& port : program.outputs)
    facts.last_uses[static_cast<size_t>(port.tensor)] = INT32_MAX;
  facts.symbols.assign(symbols.begin(), symbols.end());
  for (const std::string& name : symbols) {
    if (const auto it = ranges.find(name); it != ranges.end()) facts.ranges.push_back(it->second);
  }
}

SymbolValues LoadedEngine::needed(int32_t program, const SymbolValues& symbols) const {
  SymbolValues values;
  for (const std::string& name : facts_[static_cast<size_t>(program)].symbols) {
    if (const auto it = symbols.find(name); it != symbols.end()) values.insert(values.end(), *it);
  }
  return values;
}

Result<std::shared_ptr<LoadedEngine>> LoadedEngine::create(EngineContents contents,
                                                           const RuntimeOptions& options) {
  STOKER_TRY(check_op_libraries(contents, options.op_libraries));
  std::shared_ptr<LoadedEngine> engine(new LoadedEngine(std::move(contents), options));
  STOKER_ASSIGN(engine->pool_, shared_worker_pool(options.pool));
  return engine;
}

Result<std::shared_ptr<const BoundProgram>> LoadedEngine::bind(int32_t program,
                                                               const SymbolValues& symbols) {
  const auto index = static_cast<size_t>(program);
  std::vector<int64_t> key;
  SymbolValues used;
  for (const std::string& name : facts_[index].symbols) {
    const auto it = symbols.find(name);
    if (it == symbols.end())
      return corrupt_file("size {} has no value when '{}' runs", name, this->program(program).name);
    key.push_back(it->second);
    used.insert(*it);
  }
  STOKER_TRY(check_complete());
  std::lock_guard<std::mutex> lock(bind_mutex_);
  std::list<Binding>& bindings = bindings_[index];
  for (auto it = bindings.begin(); it != bindings.end(); ++it) {
    if (it->key != key) continue;
    bindings.splice(bindings.begin(), bindings, it);
    return bindings.front().bound;
  }
  const BindOptions bind_options{options_.pool.workers, options_.reuse, options_.reference_only};
  const WeightSource source = [this](int32_t weight_index, Packing packing, const Desc& spec,
                                     int operand) {
    return weight(weight_index, packing, spec, operand);
  };
  STOKER_ASSIGN(auto bound, bind_program(contents_, this->program(program), used, registry_, source,
                                         bind_options));
  bindings.push_front({std::move(key), bound});
  if (static_cast<int>(bindings.size()) > std::max(options_.bind_cache, 1)) bindings.pop_back();
  return bound;
}

Result<Tensor> LoadedEngine::weight(int32_t index, Packing packing, const Desc& spec, int operand) {
  const PlanWeight& weight = contents_.weights[static_cast<size_t>(index)];
  if (weight.packing == packing) return weight.bytes;
  const std::string key = fmt::format("{}/{}", index, packing_key(spec, operand, packing));
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
