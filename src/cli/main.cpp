// The program: finds the command, parses its options, runs it and turns its status into an exit
// code (0 done, 1 check failed or files differ, 2 wrong usage, 3 invalid model or data, 4
// resources, 5 internal).
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <new>
#include <optional>
#include <system_error>

#include "api/doctor.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/guard.h"

namespace stoker::cli {
namespace {

constexpr Command kCommands[] = {
    {"build", "compile a model into an engine file", add_build},
    {"run", "run a model or engine on tensors", add_run},
    {"bench", "measure latency and throughput", add_bench},
    {"check", "compare outputs with stored ones", add_check},
    {"inspect", "show what is in a model or engine file", add_inspect},
    {"explain", "show what the build chose for each step, and why", add_explain},
    {"diff", "show where two engines differ, and what that can change", add_diff},
    {"refit", "give an engine other weights without building it anew", add_refit},
    {"knobs", "list every tunable choice", add_knobs},
    {"ops", "list every operator, and what runs it", add_ops},
    {"doctor", "show this machine and measure its peaks", add_doctor},
    {"zoo", "write a well-known network with random weights", add_zoo},
};

// Commands of later versions.
constexpr const char* kPlanned[] = {"tune", "trtexec", "bisect", "generate", "chat", "serve"};

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  return names;
}

// Edit distance in which two letters that changed places count once: "biuld" is one slip.
size_t slips(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::string suggestion(const std::string& word, const std::vector<std::string>& candidates) {
  constexpr size_t kLongestWord = 64;
  if (word.size() > kLongestWord) return "";
  std::string nearest;
  size_t fewest = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t count = slips(word, candidate);
    if (count < fewest) {
      fewest = count;
      nearest = candidate;
    }
  }
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

// The first word must be a command or a global flag; CLI11's own message would not name the
// nearest.
Status check_command(const std::vector<std::string>& words) {
  if (words.empty()) {
    return invalid_argument("no command; `stoker --help` lists them");
  }
  const std::string& word = words.front();
  const std::vector<std::string> names = command_names();
  if (std::find(names.begin(), names.end(), word) != names.end()) return Status::ok();
  if (word.rfind('-', 0) == 0) return Status::ok();
  if (std::find(std::begin(kPlanned), std::end(kPlanned), word) != std::end(kPlanned)) {
    return invalid_argument(
        "command '{}' is not part of this version; `stoker --help` lists those "
        "that are",
        word);
  }
  return invalid_argument("unknown command '{}'{}; `stoker --help` lists the commands", word,
                          suggestion(word, names));
}

Status usage_error(const CLI::App& app, const CLI::ParseError& fault, const std::string& command) {
  const std::string help =
      fmt::format("`stoker{} --help` shows the options", command.empty() ? "" : " " + command);
  std::vector<std::string> known{"--help"};
  const CLI::App* parsed = &app;
  if (!app.get_subcommands().empty()) parsed = app.get_subcommands().front();
  for (const CLI::Option* option : parsed->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const std::string& word : app.remaining(true)) {
    const std::string name = word.substr(0, word.find('='));
    if (word.rfind('-', 0) == 0 && word.size() > 1) {
      return invalid_argument("unknown option '{}'{}; {}", name, suggestion(name, known), help);
    }
    return invalid_argument("unexpected argument '{}'; {}", word, help);
  }
  std::string what = fault.what();
  // CLI11 says "Could not convert: --threads = many".
  constexpr std::string_view kConversion = "Could not convert: ";
  if (what.rfind(kConversion, 0) == 0) {
    what.erase(0, kConversion.size());
    if (const size_t equals = what.find(" = "); equals != std::string::npos)
      what.replace(equals, 3, ": expected a whole number in range, found ");
  }
  // "--output: 1 required TEXT missing".
  if (const size_t at = what.find(": 1 required "); at != std::string::npos)
    what.replace(at, std::string::npos, " needs a value");
  return invalid_argument("{}; {}", what, help);
}

int run_action(const Action& action, Console& console) {
  // Third parties throw (protobuf, CLI11, the allocator); nothing of that may end the program
  // unnamed.
  try {
    const auto result = action(console);
    return result.is_ok() ? *result : console.fail(result.status());
  } catch (const std::bad_alloc&) {
    return console.fail(
        error(StatusCode::kResourceExhausted,
              "out of memory; close other programs or use a smaller model or shape"));
  } catch (const std::system_error& fault) {  // threads and files
    return console.fail(error(StatusCode::kResourceExhausted,
                              "the system refuses: {}; use fewer --threads or raise its limits",
                              fault.what()));
  } catch (const std::exception& fault) {
    return console.fail(
        internal_error("{} (a defect of Stoker: please report the command)", fault.what()));
  }
}

Status apply_environment() {
  STOKER_ASSIGN(const KnobSet knobs, KnobSet::from_environment());
  return set_log_level(knobs.get_string(Knob::kLogLevel));
}

// `--json -` means what `--json` means; only bench takes a file there.
std::vector<std::string> words_of(int count, char** values) {
  std::vector<std::string> words(values + 1, values + count);
  if (words.empty() || words[0] == "bench") return words;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "--json" && words[i + 1] == "-")
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return words;
}

void add_common_options(CLI::App& sub, Console& console, std::string& memory) {
  if (!sub.get_option_no_throw("--json")) {
    sub.add_flag("--json", console.json, "the answer as one JSON document on standard output");
  }
  sub.add_flag("--quiet", console.quiet, "no progress and no hints");
  sub.add_option("--limit-memory", memory,
                 "the most memory to hold, such as 512M or 2G; needing more is an error")
      ->type_name("SIZE");
}

int run_program(int count, char** values, Console& console) {
  const std::vector<std::string> words = words_of(count, values);
  console.json = std::find(words.begin(), words.end(), "--json") != words.end();
  if (Status status = check_command(words); !status) return console.fail(status);
  CLI::App app("Stoker compiles trained networks into fast engines and runs them.", "stoker");
  app.set_version_flag("--version", std::string("stoker ") + library_version());
  app.require_subcommand(1);
  std::map<std::string, Action> actions;
  std::string memory;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    actions[command.name] = command.add(*sub);
    add_common_options(*sub, console, memory);
  }
  if (actions.count(words.front())) console.command = words.front();
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // from the last word on
  } catch (const CLI::CallForHelp& call) {
    return app.exit(call);
  } catch (const CLI::CallForVersion& call) {
    return app.exit(call);
  } catch (const CLI::ParseError& fault) {
    return console.fail(usage_error(app, fault, console.command));
  }
  if (Status status = apply_environment(); !status) return console.fail(status);
  if (!memory.empty()) {
    const auto most = limit_memory(memory);
    if (!most) return console.fail(most.status());
    console.memory_limit = *most;
  }
  return run_action(actions[console.command], console);
}

}  // namespace
}  // namespace stoker::cli

int main(int count, char** values) {
  stoker::cli::guard_program();
  stoker::cli::Console console;
  const int code = stoker::cli::run_program(count, values, console);
  const stoker::Status written = stoker::cli::flush_output(console.write_error);
  // An answer that nobody got is no success; a failure has said its own reason.
  return written.is_ok() || code != stoker::cli::kDone ? code : console.fail(written);
}
