// SPDX-License-Identifier: Apache-2.0
#include "cli/model_options.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>

#include "api/data.h"
#include "base/file.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/status.h"

namespace stoker::cli {
namespace {

constexpr int64_t kMaxDecisionsBytes = int64_t{64} << 20;

std::string ending_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

Status check_path(const std::string& path) {
  std::error_code fault;
  if (!std::filesystem::exists(path, fault)) {
    return error(StatusCode::kNotFound,
                 "'{}' does not exist; expected an .onnx or .engine file (`stoker zoo --list` "
                 "names models to start with)",
                 path);
  }
  if (std::filesystem::is_directory(path, fault)) {
    return invalid_argument(
        "'{}' is a folder: Hugging Face folders are not part of this version; "
        "expected an .onnx or .engine file",
        path);
  }
  const std::string ending = ending_of(path);
  if (ending == ".onnx" || ending == ".engine") return Status::ok();
  if (ending == ".gguf") {
    return invalid_argument(
        "'{}': GGUF files are not part of this version; expected an .onnx or "
        ".engine file",
        path);
  }
  return invalid_argument("'{}': expected a file that ends in .onnx or .engine", path);
}

Status refuse(const char* option, const std::string& value) {
  return value.empty() ? Status::ok()
                       : invalid_argument("{} is not part of this version; leave it out", option);
}

// What only a build reads.
Status refuse_on_engine(const ModelOptions& options) {
  const std::pair<const char*, bool> given[] = {{"--lean", options.lean},
                                                {"--decisions", !options.decisions.empty()},
                                                {"--dump-after", !options.dump_after.empty()},
                                                {"--stop-after", !options.stop_after.empty()},
                                                {"--memory", !options.memory.empty()},
                                                {"--device", options.device != "cpu"}};
  for (const auto& [name, used] : given) {
    if (used) {
      return invalid_argument("{} is for building, but '{}' is built already; give the model file",
                              name, options.path);
    }
  }
  return Status::ok();
}

// Names set by a route that KnobSet has accepted, in order.
std::vector<std::string> names_of_route(const std::string& route) {
  std::vector<std::string> names;
  size_t start = 0;
  bool quoted = false, in_value = false;
  for (size_t i = 0; i < route.size(); ++i) {
    const char c = route[i];
    if (quoted) {
      i += c == '\\';
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      in_value = false;
      start = i + 1;
    } else if (c == '=' && !in_value) {
      names.push_back(route.substr(start, i - start));
      in_value = true;
    }
  }
  return names;
}

Result<std::string> read_text(const std::string& path) {
  STOKER_ASSIGN(const Tensor file, read_file(path, kMaxDecisionsBytes));
  return std::string(static_cast<const char*>(file.data()), static_cast<size_t>(file.bytes()));
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

bool ModelOptions::is_engine() const { return ending_of(path) == ".engine"; }

std::shared_ptr<ModelOptions> add_model_options(CLI::App& app, bool required) {
  auto options = std::make_shared<ModelOptions>();
  app.add_option("MODEL", options->path, "an .onnx file (built in memory) or an .engine file")
      ->required(required);
  app.add_option(
         "--shapes", options->shapes,
         "shape of an input, repeatable: x:1x3x224x224, with names x:Nx3x224x224, or a range "
         "x:1x3x224x224..32x3x224x224,opt=8x3x224x224")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--device", options->device, "cpu, cpu:x86-64-v3, cpu:x86-64-v4 or null:0");
  app.add_option("--route", options->routes, "knob settings: 'layout_c16=false threads=2'")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--knob", options->knobs, "one knob, repeatable: name=value (see stoker knobs)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--threads", options->threads, "worker threads; 0 takes all CPUs");
  app.add_option("--memory", options->memory,
                 "normal, or low: store each weight once, also where that costs time");
  add_op_library_option(app, *options);
  app.add_option("--precision", options->precision, "keep: the model's own dtypes");
  app.add_option("--decisions", options->decisions, "file of choices to follow instead of timing");
  app.add_option("--dump-after", options->dump_after, "print the graph after this pass, or all");
  app.add_option("--stop-after", options->stop_after, "leave out the passes after this one");
  app.add_flag("--lean", options->lean, "leave the graph out of the engine");
  app.add_flag("--verbose", options->verbose, "log what happens");
  // Known names with a clear answer; not in the help.
  app.add_option("--calibrate", options->calibrate)->group("");
  app.add_option("--accuracy", options->accuracy)->group("");
  app.add_option("--time-budget", options->time_budget)->group("");
  app.add_option("--opt-level", options->opt_level)->group("");
  return options;
}

void add_op_library_option(CLI::App& app, ModelOptions& options) {
  app.add_option("--op-library", options.op_libraries,
                 "a shared library of custom operators, repeatable")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Status check_model_options(const ModelOptions& options) {
  if (options.precision != "keep") {
    return invalid_argument(
        "--precision {} is not part of this version; expected keep, which "
        "computes in the model's own dtypes",
        options.precision);
  }
  STOKER_TRY(refuse("--calibrate", options.calibrate));
  STOKER_TRY(refuse("--accuracy", options.accuracy));
  STOKER_TRY(refuse("--time-budget", options.time_budget));
  STOKER_TRY(refuse("--opt-level", options.opt_level));
  if (options.device.rfind("cuda", 0) == 0) {
    return invalid_argument(
        "--device {}: CUDA devices are not part of this version; expected cpu, "
        "cpu:x86-64-v3, cpu:x86-64-v4 or null:0",
        options.device);
  }
  STOKER_TRY(check_path(options.path));
  STOKER_TRY(knob_list(options).status());
  return options.builds() ? Status::ok() : refuse_on_engine(options);
}

Result<KnobList> knob_list(const ModelOptions& options) {
  KnobList list;
  KnobSet set;
  const auto add = [&](const std::string& name, const std::string& value) {
    Status status = set.set(name, value);
    if (status) list.emplace_back(name, value);
    return status;
  };
  for (const std::string& route : options.routes) {
    STOKER_TRY(set.parse_route(route));
    for (const std::string& name : names_of_route(route)) {
      if (const KnobInfo* info = find_knob(name)) list.emplace_back(name, set.text(info->knob));
    }
  }
  for (const std::string& text : options.knobs) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return invalid_argument("--knob {}: expected name=value", text);
    }
    STOKER_TRY(add(text.substr(0, equals), text.substr(equals + 1)));
  }
  for (const std::string& path : options.op_libraries) {
    if (path.empty() || path.find(':') != std::string::npos)
      return invalid_argument("--op-library '{}': expected a file name without ':'", path);
    // Beside those that a route or knob names.
    const std::string before = set.get_string(Knob::kOpLibraries);
    STOKER_TRY(add("op_libraries", before.empty() ? path : before + ":" + path));
  }
  if (!options.memory.empty()) STOKER_TRY(add("memory", options.memory));
  if (options.threads) STOKER_TRY(add("threads", std::to_string(*options.threads)));
  if (!options.dump_after.empty()) STOKER_TRY(add("dump_after", options.dump_after));
  if (!options.stop_after.empty()) STOKER_TRY(add("stop_after", options.stop_after));
  if (options.verbose) STOKER_TRY(add("log_level", "info"));
  return list;
}

Result<BuildOptions> build_options(const ModelOptions& options, Console& console) {
  BuildOptions build;
  build.shapes = options.shapes;
  build.device = options.device;
  build.lean = options.lean;
  build.refittable = options.refittable;
  build.strip_weights = options.strip_weights;
  STOKER_ASSIGN(build.knobs, knob_list(options));
  if (!options.decisions.empty()) {
    STOKER_ASSIGN(build.decisions, read_text(options.decisions));
    // An empty text would mean "contest everything", which is not what was asked for.
    if (build.decisions.empty()) return corrupt_file("'{}' is empty", options.decisions);
  }
  build.progress = [&console](const BuildProgress& progress) { console.progress(progress); };
  return build;
}

static Result<Model> load_model(const ModelOptions& options, const KnobList& knobs) {
  if (!options.is_engine()) return Model::load(options.path, knobs);
  STOKER_ASSIGN(const Engine engine, Engine::load(options.path, knobs));
  return Model::of(engine);
}

Result<OpenedEngine> open_engine(const ModelOptions& options, Console& console,
                                 std::vector<std::pair<std::string, std::string>>* dumps) {
  STOKER_TRY(check_model_options(options));
  if (options.verbose) set_log_level(LogLevel::kInfo);
  const auto start = std::chrono::steady_clock::now();
  if (!options.builds()) {
    STOKER_ASSIGN(const KnobList knobs, knob_list(options));
    auto engine = Engine::load(options.path, knobs);
    if (!engine) return engine.status();
    return OpenedEngine{*engine, std::nullopt, seconds_since(start) * 1e3};
  }
  STOKER_ASSIGN(BuildOptions build_settings, build_options(options, console));
  build_settings.dump = [&](const std::string& pass, const std::string& text) {
    if (dumps) {
      dumps->emplace_back(pass, text);
    } else {
      console.print("# after {}\n{}\n", pass, text);
    }
  };
  auto model = load_model(options, build_settings.knobs);
  if (!model) {
    const Status& status = model.status();
    const bool named = status.message().find(options.path) != std::string::npos;
    return named ? status : status.at("'" + options.path + "'");
  }
  auto engine = build(*model, build_settings);
  console.end_progress();
  if (!engine) return engine.status();
  return OpenedEngine{*engine, seconds_since(start), std::nullopt};
}

std::set<std::string> shaped_inputs(const ModelOptions& options) {
  std::set<std::string> names;
  for (const std::string& text : options.shapes) {
    if (options.is_engine()) names.insert(text.substr(0, text.rfind(':')));
  }
  return names;
}

Result<std::vector<Shape>> run_shapes(const OpenedEngine& opened, const ModelOptions& options) {
  std::vector<FixedShape> given;
  if (options.is_engine()) {
    for (const std::string& text : options.shapes) {
      STOKER_ASSIGN(FixedShape shape, parse_fixed_shape(text));
      given.push_back(std::move(shape));
    }
  }
  return input_shapes(opened.engine, given);
}

}  // namespace stoker::cli
