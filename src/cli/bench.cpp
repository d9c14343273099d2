// stoker bench: latency of one session running the same bound inputs over and over.
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <numeric>

#include "api/data.h"
#include "base/file.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/tensors.h"

namespace stoker::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxSamples = 50'000'000;
constexpr size_t kProfileRows = 40;

struct BenchArguments {
  std::shared_ptr<ModelOptions> model;
  InputOptions inputs;
  std::string warmup = "1s", duration = "5s", json_target;
  bool profile = false;
};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// "2s", "500ms", "1.5" (seconds).
Result<double> parse_seconds(const char* option, const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [next, fault] = std::from_chars(text.data(), end, value);
  const std::string_view unit(next, static_cast<size_t>(end - next));
  const double factor = unit == "ms" ? 1e-3 : unit == "s" || unit.empty() ? 1 : 0;
  if (fault != std::errc() || factor == 0 || !(value >= 0) || value * factor > 86400) {
    return invalid_argument("{} {}: expected a time such as 2s or 500ms, from 0 to 86400s", option,
                            text);
  }
  return value * factor;
}

struct Latencies {
  std::vector<double> ms;  // sorted
  double total_s = 0;
  double at(double share) const {
    const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(ms.size())));
    return ms[std::min(std::max<size_t>(rank, 1), ms.size()) - 1];
  }
  double mean() const {
    return std::accumulate(ms.begin(), ms.end(), 0.0) / static_cast<double>(ms.size());
  }
  double per_second() const { return static_cast<double>(ms.size()) / total_s; }
};

Status run_for(Session& session, double seconds) {
  for (const auto start = Clock::now(); ms_since(start) < seconds * 1e3;) {
    STOKER_TRY(session.run_bound());
  }
  return Status::ok();
}

Result<Latencies> measure(Session& session, double seconds) {
  Latencies latencies;
  const auto start = Clock::now();
  do {
    const auto begin = Clock::now();
    STOKER_TRY(session.run_bound());
    latencies.ms.push_back(ms_since(begin));
  } while (ms_since(start) < seconds * 1e3 && latencies.ms.size() < kMaxSamples);
  latencies.total_s = ms_since(start) / 1e3;
  std::sort(latencies.ms.begin(), latencies.ms.end());
  return latencies;
}

struct Profile {
  std::vector<StepProfile> steps;  // slowest first
  double total_us = 0;
};

Result<Profile> measure_profile(Session& session, double seconds) {
  session.enable_profile(true);
  do {
    STOKER_TRY(session.run_bound());
    STOKER_TRY(run_for(session, std::min(seconds, 2.0)));
  } while (false);
  Profile profile;
  profile.steps = session.profile();
  session.enable_profile(false);
  for (const StepProfile& step : profile.steps) profile.total_us += step.time_us;
  std::stable_sort(
      profile.steps.begin(), profile.steps.end(),
      [](const StepProfile& a, const StepProfile& b) { return a.time_us > b.time_us; });
  return profile;
}

// Billions per second of an amount done in some microseconds.
double giga_rate(double amount, double time_us) { return time_us > 0 ? amount / time_us / 1e3 : 0; }

std::string origins_of(const StepProfile& step) {
  std::string text;
  for (const std::string& origin : step.origins) text += (text.empty() ? "" : "+") + origin;
  return text;
}

std::string profile_table(const Profile& profile, bool all) {
  std::string text = fmt::format("\n{:>10} {:>6} {:>9} {:>7}  {:32} {}\n", "us", "share", "GFLOP/s",
                                 "GB/s", "tactic", "step (origins)");
  double rest = 0;
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    const StepProfile& step = profile.steps[i];
    if (!all && i >= kProfileRows) {
      rest += step.time_us;
      continue;
    }
    text += fmt::format("{:10.2f} {:5.1f}% {:9.1f} {:7.1f}  {:32} {} ({}){}\n", step.time_us,
                        100 * step.time_us / profile.total_us, giga_rate(step.flops, step.time_us),
                        giga_rate(step.bytes, step.time_us), step.tactic + "/" + step.config,
                        step.step, origins_of(step),
                        step.substituted.empty() ? "" : "  [" + step.substituted + "]");
  }
  if (rest > 0) {
    text += fmt::format("{:10.2f} {:5.1f}%  {} more steps (--verbose shows them)\n", rest,
                        100 * rest / profile.total_us, profile.steps.size() - kProfileRows);
  }
  return text;
}

Json profile_json(const Profile& profile) {
  Json json = Json::array();
  for (const StepProfile& step : profile.steps) {
    json.push_back({{"step", step.step},
                    {"family", step.family},
                    {"tactic", step.tactic},
                    {"config", step.config},
                    {"origins", step.origins},
                    {"time_us", step.time_us},
                    {"share", profile.total_us > 0 ? step.time_us / profile.total_us : 0},
                    {"flops", step.flops},
                    {"bytes", step.bytes},
                    {"gflop_per_s", giga_rate(step.flops, step.time_us)},
                    {"gb_per_s", giga_rate(step.bytes, step.time_us)},
                    {"substituted", step.substituted}});
  }
  return json;
}

int64_t peak_rss_bytes() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss * int64_t{1024} : 0;
}

Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string memory_text(const MemoryUse& memory) {
  const auto mb = [](int64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  const auto ratio = [](int64_t a, int64_t b) {
    return b > 0 ? fmt::format("{:.2f}x", static_cast<double>(a) / static_cast<double>(b)) : "-";
  };
  return fmt::format(
      "memory: weights {:.1f} MB ({} of the model's){}, arena {:.1f} MB (activations {:.1f} MB, {} "
      "of "
      "what is alive at once), scratch of workers {:.1f} MB, inputs and outputs {:.1f} MB, peak of "
      "the process {:.1f} MB\n",
      mb(memory.weights_bytes), ratio(memory.weights_bytes, memory.source_weights_bytes),
      memory.refit_bytes > 0 ? fmt::format(", {:.1f} MB kept for refits", mb(memory.refit_bytes))
                             : "",
      mb(memory.arena_bytes), mb(memory.activation_bytes),
      ratio(memory.activation_bytes, memory.liveness_bytes), mb(memory.workspace_bytes),
      mb(memory.caller_bytes), mb(peak_rss_bytes()));
}

struct Outcome {
  EngineFacts facts;
  Json shapes = Json::object();
  Latencies latencies;
  double first_run_ms = 0;
  MemoryUse memory;
  std::optional<Profile> profile;
};

Json outcome_json(const BenchArguments& arguments, const OpenedEngine& opened,
                  const Outcome& outcome) {
  const Latencies& times = outcome.latencies;
  Json json = {{"model", arguments.model->path},
               {"device", outcome.facts.device},
               {"threads", outcome.facts.threads},
               {"shapes", outcome.shapes},
               {"latency_ms",
                {{"min", times.ms.front()},
                 {"p50", times.at(0.5)},
                 {"mean", times.mean()},
                 {"p90", times.at(0.9)},
                 {"p95", times.at(0.95)},
                 {"p99", times.at(0.99)},
                 {"max", times.ms.back()}}},
               {"throughput_per_s", times.per_second()},
               {"iterations", times.ms.size()},
               {"build_s", optional_json(opened.build_seconds)},
               {"load_ms", optional_json(opened.load_ms)},
               {"first_run_ms", outcome.first_run_ms},
               {"memory",
                {{"weights_bytes", outcome.memory.weights_bytes},
                 {"source_weights_bytes", outcome.memory.source_weights_bytes},
                 {"refit_bytes", outcome.memory.refit_bytes},
                 {"arena_bytes", outcome.memory.arena_bytes},
                 {"activation_bytes", outcome.memory.activation_bytes},
                 {"liveness_bytes", outcome.memory.liveness_bytes},
                 {"workspace_bytes", outcome.memory.workspace_bytes},
                 {"caller_bytes", outcome.memory.caller_bytes},
                 {"peak_rss_bytes", peak_rss_bytes()}}},
               {"fingerprint", outcome.facts.machine}};
  if (outcome.profile) json["profile"] = profile_json(*outcome.profile);
  return json;
}

Result<Outcome> run_engine(const BenchArguments& arguments, const OpenedEngine& opened,
                           double warmup, double duration, Console& console) {
  Outcome outcome;
  outcome.facts = engine_facts(opened.engine);
  const std::vector<TensorInfo> infos = opened.engine.inputs();
  STOKER_ASSIGN(const std::vector<Shape> shapes, run_shapes(opened, *arguments.model));
  STOKER_ASSIGN(const ValueMap inputs, parse_inputs(arguments.inputs, infos, shapes,
                                                    shaped_inputs(*arguments.model), console));
  for (const auto& [name, value] : inputs) {
    if (value.is_tensor()) outcome.shapes[name] = value.tensor().shape();
  }
  Session session(opened.engine);
  const auto start = Clock::now();
  STOKER_TRY(session.bind_values(inputs));
  STOKER_TRY(session.run_bound());
  outcome.first_run_ms = ms_since(start);
  STOKER_TRY(run_for(session, warmup));
  STOKER_ASSIGN(outcome.latencies, measure(session, duration));
  outcome.memory = session.memory();
  if (arguments.profile) {
    STOKER_ASSIGN(outcome.profile, measure_profile(session, duration));
  }
  return outcome;
}

Result<int> run_bench(const BenchArguments& arguments, Console& console) {
  STOKER_ASSIGN(const double warmup, parse_seconds("--warmup", arguments.warmup));
  STOKER_ASSIGN(const double duration, parse_seconds("--duration", arguments.duration));
  console.json = arguments.json_target == "-";
  STOKER_ASSIGN(const OpenedEngine opened, open_engine(*arguments.model, console));
  STOKER_ASSIGN(const Outcome outcome, run_engine(arguments, opened, warmup, duration, console));
  const Json report = outcome_json(arguments, opened, outcome);
  if (console.json) {
    console.print_json(report);
    return kDone;
  }
  const Latencies& times = outcome.latencies;
  console.print("{} on {} with {} threads, shapes {}\n", arguments.model->path,
                outcome.facts.device, outcome.facts.threads, outcome.shapes.dump());
  console.print(
      "latency ms: min {:.4g}, p50 {:.4g}, mean {:.4g}, p90 {:.4g}, p95 {:.4g}, p99 "
      "{:.4g}, max {:.4g}\n",
      times.ms.front(), times.at(0.5), times.mean(), times.at(0.9), times.at(0.95), times.at(0.99),
      times.ms.back());
  console.print("{:.5g} runs/s over {} runs; first run {:.3g} ms\n", times.per_second(),
                times.ms.size(), outcome.first_run_ms);
  console.print("{}", memory_text(outcome.memory));
  if (outcome.profile) {
    console.print("{}", profile_table(*outcome.profile, arguments.model->verbose));
  }
  if (!arguments.json_target.empty()) {
    const std::string text = Console::json_text(report) + "\n";
    STOKER_TRY(write_file_atomic(arguments.json_target, std::as_bytes(std::span(text))));
    console.note("{}: the report as JSON\n", arguments.json_target);
  }
  console.next(arguments.profile ? fmt::format("stoker explain {} names each step's rivals",
                                               arguments.model->path)
                                 : fmt::format("stoker bench {} --profile", arguments.model->path));
  return kDone;
}

}  // namespace

Action add_bench(CLI::App& app) {
  auto arguments = std::make_shared<BenchArguments>();
  arguments->model = add_model_options(app);
  add_input_options(app, arguments->inputs);
  app.add_option("--warmup", arguments->warmup, "runs that are not counted, such as 1s or 500ms")
      ->capture_default_str();
  app.add_option("--duration", arguments->duration, "runs that are counted")->capture_default_str();
  app.add_flag("--profile", arguments->profile, "time of every step");
  app.add_option("--json", arguments->json_target,
                 "write the report to a file, or - for standard output");
  return [arguments](Console& console) { return run_bench(*arguments, console); };
}

}  // namespace stoker::cli
