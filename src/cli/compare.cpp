// SPDX-License-Identifier: Apache-2.0
#include "cli/compare.h"

#include "api/compare.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "api/data.h"
#include "base/file.h"
#include "base/status.h"

namespace stoker::cli {
namespace {

struct Side {
  ModelOptions options;
  OpenedEngine opened;
  std::string name;  // the file and what was set for it
};

Result<Side> open_side(const std::string& path, const std::vector<std::string>& knobs,
                       const ModelOptions& both, Console& console) {
  ModelOptions options = both;
  options.path = path;
  options.knobs.insert(options.knobs.end(), knobs.begin(), knobs.end());
  STOKER_ASSIGN(OpenedEngine opened, open_engine(options, console));
  std::string name = path;
  for (const std::string& knob : knobs) name += " " + knob;
  return Side{std::move(options), std::move(opened), std::move(name)};
}

// Shapes that both take: a size that B fixes, else that of A.
Result<std::vector<Shape>> common_shapes(const Side& a, const Side& b) {
  const bool of_b = b.options.is_engine() && !a.options.is_engine();
  const Side& first = of_b ? b : a;
  const Side& second = of_b ? a : b;
  STOKER_ASSIGN(std::vector<Shape> shapes, run_shapes(first.opened, first.options));
  const std::vector<TensorInfo> infos = second.opened.engine.inputs();
  for (size_t i = 0; i < shapes.size() && i < infos.size(); ++i) {
    for (size_t d = 0; d < shapes[i].size() && d < infos[i].dims.size(); ++d) {
      const std::string& dim = infos[i].dims[d];
      int64_t size = 0;
      const auto [end, fault] = std::from_chars(dim.data(), dim.data() + dim.size(), size);
      if (fault == std::errc() && end == dim.data() + dim.size()) shapes[i][d] = size;
    }
  }
  return shapes;
}

Result<std::vector<ValueMap>> inputs_of(const CompareOptions& options, const std::string& data,
                                        const Side& a, const Side& b, Console& console) {
  const Engine& engine = a.opened.engine;
  if (data.empty()) {
    STOKER_ASSIGN(const std::vector<Shape> shapes, common_shapes(a, b));
    STOKER_ASSIGN(ValueMap inputs, parse_inputs(options.inputs, engine.inputs(), shapes,
                                                shaped_inputs(a.options), console));
    return std::vector<ValueMap>{std::move(inputs)};
  }
  STOKER_ASSIGN(const std::vector<std::string> folders, data_set_folders(data));
  std::vector<ValueMap> sets;
  for (const std::string& folder : folders) {
    STOKER_ASSIGN(DataSet set, load_data_set(folder, engine.inputs(), {}));
    sets.push_back(std::move(set.inputs));
  }
  return sets;
}

std::string next_step(const EngineComparison& comparison, const Side& a, const Side& b) {
  const bool engines = a.options.is_engine() && b.options.is_engine();
  if (comparison.first_over() && comparison.only_b > comparison.only_a && !a.options.is_engine()) {
    return "--knob-a disable_passes=all keeps every node's value in a model given as A";
  }
  if (comparison.first_over()) {
    return fmt::format("stoker explain {} for the step that makes it", b.options.path);
  }
  if (engines) return fmt::format("stoker diff {} {}", a.options.path, b.options.path);
  return fmt::format("stoker bench {}", b.options.path);
}

}  // namespace

void add_compare_options(CLI::App& app, CompareOptions& options) {
  app.add_option("--compare", options.files,
                 "A B: run both (models or engines of one network) on the same inputs and compare "
                 "every value that both have; A is the reference")
      ->expected(2)
      ->type_name("A B");
  for (auto [name, knobs, which] : {std::tuple("--knob-a", &options.knobs_a, "A"),
                                    std::tuple("--knob-b", &options.knobs_b, "B")}) {
    app.add_option(name, *knobs, fmt::format("with --compare: a knob for {} only", which))
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  app.add_option("--html", options.html, "with --compare: write one self-contained page");
  add_input_options(app, options.inputs);
}

Result<int> compare_files(const CompareOptions& options, const ModelOptions& both,
                          const std::string& data, const Tolerance& tolerance, Console& console) {
  if (!data.empty() && !options.inputs.inputs.empty()) {
    return invalid_argument("--input and --data both say what to run on: leave one out");
  }
  STOKER_ASSIGN(const Side a, open_side(options.files[0], options.knobs_a, both, console));
  STOKER_ASSIGN(const Side b, open_side(options.files[1], options.knobs_b, both, console));
  const std::string difference = interface_difference(a.opened.engine, b.opened.engine);
  if (!difference.empty()) {
    return invalid_argument("'{}' (A) and '{}' (B) are not of one network: {}", a.options.path,
                            b.options.path, difference);
  }
  STOKER_ASSIGN(const std::vector<ValueMap> inputs, inputs_of(options, data, a, b, console));
  STOKER_ASSIGN(const EngineComparison comparison,
                compare_engines(a.opened.engine, b.opened.engine, inputs, tolerance));
  const ComparedNames names{a.name, b.name};
  if (!options.html.empty()) {
    const std::string page = comparison_html(comparison, names);
    STOKER_TRY(write_file_atomic(options.html, std::as_bytes(std::span(page))));
    console.note("{}: the page, for any browser\n", options.html);
  }
  if (console.json) console.print_json(Json::parse(comparison_json(comparison, names)));
  console.print("{}", comparison_text(comparison, names));
  if (!comparison.passed()) {
    console.warn(
        fmt::format("stoker check: outputs of '{}' and '{}' differ by more than the "
                    "tolerance\n",
                    a.options.path, b.options.path));
  }
  console.next(next_step(comparison, a, b));
  return comparison.passed() ? kDone : kFailedCheck;
}

}  // namespace stoker::cli
