// From a model to an engine: the phases in order.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "api/graph_section.h"
#include "api/loaded_model.h"
#include "api/oracle.h"
#include "api/shape_spec.h"
#include "api/unfused_check.h"
#include "base/knobs.h"
#include "base/log.h"
#include "device/cpu_info.h"
#include "passes/input_shapes.h"
#include "passes/pipeline.h"
#include "runtime/loaded_engine.h"
#include "runtime/op_libraries.h"
#include "tune/contest.h"
#include "tune/timing_cache.h"

namespace stoker {
namespace {

class Builder {
 public:
  Builder(const LoadedModel& model, const BuildOptions& options)
      : model_(model), options_(options) {}

  Result<Engine> run() {
    const auto start = std::chrono::steady_clock::now();
    STOKER_TRY(configure());
    if (model_.from_engine && refittable()) {
      return unsupported(
          "an engine built from an engine cannot be refitted: it does not know the model's "
          "constants "
          "by their names; build from the model");
    }
    profile_ = model_.profile;
    graph_ = model_.imported.graph->clone();
    STOKER_TRY(apply_shapes());
    if (refittable()) open_weights(*graph_);
    STOKER_TRY(optimize());
    STOKER_TRY(lower());
    STOKER_TRY(tune());
    STOKER_TRY(finish_plan(contents_, *registry_));
    if (refittable()) keep_sources(contents_, *model_.imported.graph);
    STOKER_TRY(fill_manifest());
    STOKER_TRY(verify_plan(contents_, tactic_lists()));
    if (knobs_.get_bool(Knob::kSelfCheck)) STOKER_TRY(check_whole());
    if (options_.strip_weights) strip_weights(contents_);
    contents_.volatile_section.build_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    STOKER_ASSIGN(auto impl, LoadedEngine::create(std::move(contents_), runtime_));
    return Engine(std::move(impl));
  }

 private:
  Status configure() {
    STOKER_ASSIGN(knobs_, KnobSet::from_environment());
    for (const auto& [name, value] : options_.knobs) STOKER_TRY(knobs_.set(name, value));
    STOKER_TRY(set_log_level(knobs_.get_string(Knob::kLogLevel)));
    STOKER_ASSIGN(runtime_, runtime_options(options_.knobs));
    const OpLibraries& libraries = model_.op_libraries;
    runtime_.op_libraries.insert(runtime_.op_libraries.end(), libraries.begin(), libraries.end());
    STOKER_TRY(choose_device());
    if (!options_.decisions.empty()) {
      STOKER_ASSIGN(decisions_, parse_decisions(options_.decisions));
      if (decisions_->library_version != kLibraryVersion) {
        log_warn(
            "decisions were made by version {}, this is {}: they are followed where they still fit",
            decisions_->library_version, kLibraryVersion);
      }
      // Whatever the route says beside this build's own settings is what those decisions were made
      // under.
      STOKER_TRY(knobs_.parse_route(decisions_->route));
    }
    registry_ = std::make_unique<TacticRegistry>(target_);
    return Status::ok();
  }

  // "cpu" is this machine; "cpu:LEVEL" a described one, which may be another.
  Status choose_device() {
    const std::string& device = options_.device;
    target_ = runtime_.isa;
    if (device == "cpu") return Status::ok();
    if (device.rfind("null", 0) == 0) {
      place_ = {Place::Kind::kNull, 0};
      return Status::ok();
    }
    if (device.rfind("cpu:", 0) == 0) {
      std::string level = device.substr(4);
      if (level.rfind("x86-64-", 0) == 0) level = level.substr(7);
      if (level == "x86-64") level = "baseline";
      if (const auto isa = isa_from_name(level)) {
        target_ = *isa;
        return Status::ok();
      }
    }
    if (device.rfind("cuda", 0) == 0)
      return unsupported("device '{}': this version compiles for CPUs only", device);
    return invalid_argument(
        "unknown device '{}'; expected cpu, cpu:x86-64-v3, cpu:x86-64-v4, cpu:v4x or null:0",
        device);
  }

  bool absent_target() const { return target_ > detect_isa(); }

  Status apply_shapes() {
    std::map<std::string, Dims> shapes;
    for (const std::string& text : options_.shapes) {
      STOKER_ASSIGN(ShapeSpec spec, parse_shape_spec(text, *graph_));
      shapes[spec.input] = spec.dims;
      for (auto& [name, sizes] : spec.profile) profile_[name] = sizes;
    }
    return shapes.empty() ? Status::ok() : set_input_shapes(*graph_, shapes);
  }

  Status optimize() {
    progress("passes", 0, 1);
    const RegistryOracle oracle(*registry_, guessed_optimum(*graph_, profile_));
    PipelineOptions pipeline;
    pipeline.oracle = &oracle;
    pipeline.verify_each = knobs_.get_bool(Knob::kVerifyPasses);
    bool all = false;
    for (const std::string& name : knobs_.get_list(Knob::kDisablePasses)) {
      all |= name == "all";
      if (name != "all") pipeline.disabled.insert(name);
    }
    for (const PassEntry& pass : pass_list()) {
      if (all) pipeline.disabled.insert(std::string(pass.name));
      const KnobInfo* knob = find_knob(pass.knob);
      if (knob && knob->type == KnobType::kBool && !knobs_.get_bool(knob->knob))
        pipeline.disabled.insert(std::string(pass.name));
    }
    pipeline.max_folded_bytes = knobs_.get_int(Knob::kFoldConstantsLimitMib) << 20;
    pipeline.stop_after = knobs_.get_string(Knob::kStopAfter);
    const std::string wanted = knobs_.get_string(Knob::kDumpAfter);
    if (!wanted.empty() && wanted != "all" && !find_pass(wanted))
      return invalid_argument("knob dump_after: there is no pass '{}'", wanted);
    if (options_.dump && !wanted.empty()) {
      pipeline.dump_after = [this, wanted](std::string_view pass, const Graph& graph) {
        if (wanted == "all" || wanted == pass) options_.dump(std::string(pass), print(graph));
      };
    }
    STOKER_ASSIGN(const PassReport report, run_passes(*graph_, pipeline));
    for (const Refusal& refusal : report.refusals) {
      contents_notes_.push_back(refusal.pass + " refused for " + refusal.node + ": " +
                                refusal.reason);
    }
    progress("passes", 1, 1);
    return Status::ok();
  }

  Status lower() {
    LowerOptions lower_options;
    lower_options.profile = profile_;
    lower_options.place = place_;
    lower_options.refittable = refittable();
    STOKER_ASSIGN(contents_, lower_graph(*graph_, lower_options));
    insert_transfers(contents_);
    auto& notes = contents_.volatile_section.notes;
    notes.insert(notes.begin(), contents_notes_.begin(), contents_notes_.end());
    LayoutDecisions layouts;
    if (decisions_) {
      for (const auto& [name, decision] : decisions_->steps) layouts[name] = decision.layouts;
    }
    return assign_layouts(contents_, *registry_, knobs_.get_bool(Knob::kLayoutC16), layouts);
  }

  Status tune() {
    ContestOptions contest;
    const bool here = !absent_target() && place_.kind == Place::Kind::kCpu;
    contest.timing = knobs_.get_bool(Knob::kTacticTiming) && here;
    contest.self_check = knobs_.get_bool(Knob::kSelfCheck) && here;
    contest.rounds = static_cast<int>(knobs_.get_int(Knob::kTimingRounds));
    contest.check_elements = static_cast<int>(knobs_.get_int(Knob::kSelfCheckElements));
    contest.reference_only = knobs_.get_bool(Knob::kReferenceOnly);
    contest.low_memory = knobs_.get_string(Knob::kMemory) == "low";
    contest.cache_path = knobs_.get_string(Knob::kTimingCache);
    if (contest.cache_path.empty()) contest.cache_path = default_timing_cache();
    if (decisions_) contest.decisions = &*decisions_;
    contest.progress = [this](size_t done, size_t total) { progress("tactics", done, total); };
    pool_ = shared_worker_pool(runtime_.pool);
    return choose_tactics(contents_, *registry_, *pool_, contest);
  }

  Status fill_manifest() {
    Manifest& manifest = contents_.manifest;
    manifest.library_version = kLibraryVersion;
    manifest.model_name = graph_->name;
    manifest.model_hash = model_.hash;
    manifest.device = options_.device;
    manifest.route = knobs_.effective_route();
    manifest.op_libraries = used_op_libraries(contents_);
    manifest.source_weight_bytes = constant_bytes(*model_.imported.graph);
    for (const std::string& text : options_.shapes)
      manifest.options["shapes"] += (manifest.options["shapes"].empty() ? "" : " ") + text;
    if (refittable()) manifest.options["refittable"] = "true";
    if (!options_.lean) {
      STOKER_ASSIGN(contents_.graph_text, graph_section(*graph_, contents_));
    }
    contents_.volatile_section.fingerprint = machine_fingerprint();
    return Status::ok();
  }

  bool refittable() const { return options_.refittable || options_.strip_weights; }

  static int64_t constant_bytes(const Graph& graph) {
    int64_t bytes = 0;
    for (const auto& value : graph.values()) {
      if (value->constant) bytes += value->constant->bytes();
    }
    for (const auto& node : graph.nodes()) {
      for (const auto& body : node->subgraphs) bytes += constant_bytes(*body);
    }
    return bytes;
  }

  // The whole engine against a build of the graph as imported, without any fusion.
  Status check_whole() {
    if (absent_target() || place_.kind != Place::Kind::kCpu) return Status::ok();
    progress("check", 0, 1);
    auto plain = model_.imported.graph->clone();
    std::map<std::string, Dims> shapes;
    for (const std::string& text : options_.shapes) {
      STOKER_ASSIGN(ShapeSpec spec, parse_shape_spec(text, *plain));
      shapes[spec.input] = spec.dims;
    }
    if (!shapes.empty()) STOKER_TRY(set_input_shapes(*plain, shapes));
    STOKER_TRY(compare_with_unfused(contents_, *plain, profile_, *registry_, runtime_));
    progress("check", 1, 1);
    return Status::ok();
  }

  void progress(const char* phase, size_t done, size_t total) const {
    if (options_.progress) options_.progress({phase, done, total});
  }

  const LoadedModel& model_;
  const BuildOptions& options_;
  KnobSet knobs_;
  RuntimeOptions runtime_;
  IsaLevel target_ = IsaLevel::kBaseline;
  Place place_;
  std::optional<Decisions> decisions_;
  std::unique_ptr<TacticRegistry> registry_;
  std::shared_ptr<WorkerPool> pool_;
  std::unique_ptr<Graph> graph_;
  std::map<std::string, SymbolProfile> profile_;
  std::vector<std::string> contents_notes_;
  EngineContents contents_;
};

}  // namespace

Result<Engine> build(const Model& model, const BuildOptions& options) {
  return Builder(model.impl(), options).run();
}

std::string decisions(const Engine& engine) {
  return decisions_text(decisions_of(engine.impl().contents()));
}

}  // namespace stoker
