// stoker explain: what the build chose for each step, and why nothing faster; with a run, where the
// time goes.
// SPDX-License-Identifier: Apache-2.0
#include "api/explain.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "base/file.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/tensors.h"

namespace stoker::cli {
namespace {

constexpr double kSeconds = 1;

struct ExplainArguments {
  std::shared_ptr<ModelOptions> model;
  InputOptions inputs;
  bool profile = false;
  std::string html, trace;
};

Status write_text(const std::string& path, const std::string& text, const char* what,
                  Console& console) {
  STOKER_TRY(write_file_atomic(path, std::as_bytes(std::span(text))));
  console.note("{}: {}\n", path, what);
  return Status::ok();
}

Result<RunRecord> profiled_run(const ExplainArguments& arguments, const OpenedEngine& opened,
                               Console& console) {
  STOKER_ASSIGN(const std::vector<Shape> shapes, run_shapes(opened, *arguments.model));
  STOKER_ASSIGN(const ValueMap inputs,
                parse_inputs(arguments.inputs, opened.engine.inputs(), shapes,
                             shaped_inputs(*arguments.model), console));
  Session session(opened.engine);
  STOKER_TRY(session.bind_values(inputs));
  return record_run(opened.engine, session, kSeconds);
}

Result<int> run_explain(const ExplainArguments& arguments, Console& console) {
  STOKER_ASSIGN(const OpenedEngine opened, open_engine(*arguments.model, console));
  std::optional<RunRecord> run;
  if (arguments.profile || !arguments.trace.empty() || !arguments.inputs.inputs.empty()) {
    STOKER_ASSIGN(run, profiled_run(arguments, opened, console));
  }
  const RunRecord* record = run ? &*run : nullptr;
  if (!arguments.html.empty()) {
    STOKER_TRY(write_text(arguments.html, explain_html(opened.engine, record),
                          "the page, for any browser", console));
  }
  if (!arguments.trace.empty()) {
    STOKER_TRY(write_text(arguments.trace, chrome_trace(*run),
                          "the trace of one run, for ui.perfetto.dev or chrome://tracing",
                          console));
  }
  if (console.json) {
    console.print_json(Json::parse(explain_json(opened.engine, record)));
    return kDone;
  }
  if (arguments.html.empty() && arguments.trace.empty())
    console.print("{}", explain_text(opened.engine, record));
  console.next(
      run ? fmt::format("stoker bench {} for its latency", arguments.model->path)
          : fmt::format("stoker explain {} --profile --html page.html shows where the time "
                        "goes",
                        arguments.model->path));
  return kDone;
}

}  // namespace

Action add_explain(CLI::App& app) {
  auto arguments = std::make_shared<ExplainArguments>();
  arguments->model = add_model_options(app);
  add_input_options(app, arguments->inputs);
  app.add_flag("--profile", arguments->profile, "run it, and show the time of each step and node");
  app.add_option("--html", arguments->html, "write one self-contained page instead of text");
  app.add_option("--trace", arguments->trace,
                 "write one run as Chrome trace events, a row per worker");
  return [arguments](Console& console) { return run_explain(*arguments, console); };
}

}  // namespace stoker::cli
