// SPDX-License-Identifier: Apache-2.0
#include "tune/share_weights.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "tune/self_check.h"

namespace stoker {
namespace {

struct Reader {
  PlanStep* step =
      nullptr;  // null: a reader that cannot change (a program's output, a dynamic step)
  const PlanProgram* program = nullptr;
  size_t input = 0;
};

// What the steps want of a weight.
struct Wishes {
  std::set<std::string> packings;  // keys
  std::vector<Reader> plain;
};

class Sharing {
 public:
  Sharing(EngineContents& contents, const TacticRegistry& registry, WorkerPool& pool,
          const ContestOptions& options)
      : contents_(contents),
        registry_(registry),
        pool_(pool),
        options_(options),
        optimum_(optimum_of(contents)) {}

  Status run() {
    count_readers();
    for (PlanProgram& program : contents_.programs) {
      for (PlanStep& step : program.steps) STOKER_TRY(collect(program, step));
      for (const PlanPort& port : program.outputs) {
        if (const int32_t weight = weight_of(program, port.tensor); weight >= 0)
          wishes_[weight].plain.push_back({});
      }
    }
    for (const auto& [weight, wishes] : wishes_) {
      if (!wishes.packings.empty() && !wishes.plain.empty()) STOKER_TRY(share(wishes));
    }
    return Status::ok();
  }

 private:
  static int32_t weight_of(const PlanProgram& program, int32_t tensor) {
    if (tensor < 0) return -1;
    const PlanTensor& entry = program.tensors[static_cast<size_t>(tensor)];
    return entry.kind == PlanTensor::Kind::kWeight ? entry.weight : -1;
  }

  void count_readers() {
    for (const PlanProgram& program : contents_.programs) {
      for (const PlanStep& step : program.steps) {
        for (const int32_t input : step.inputs) {
          if (const int32_t weight = weight_of(program, input); weight >= 0) ++readers_[weight];
        }
      }
    }
  }
  bool is_shared(int32_t weight) const { return weight >= 0 && readers_.at(weight) > 1; }

  Status collect(PlanProgram& program, PlanStep& step) {
    const bool reads = std::any_of(step.inputs.begin(), step.inputs.end(), [&](int32_t input) {
      return is_shared(weight_of(program, input));
    });
    if (!reads) return Status::ok();
    const bool fixed = program.kind == PlanProgram::Kind::kDynamic || step.tactic.empty();
    const TacticOption* chosen = nullptr;
    std::vector<TacticOption> options;
    if (!fixed) {
      options = tactic_options(contents_, program, step, optimum_, registry_, true);
      for (const TacticOption& option : options) {
        if (option.tactic && option.tactic->name == step.tactic) chosen = &option;
      }
    }
    const bool decided = options_.decisions && options_.decisions->steps.count(step.name) > 0;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const int32_t weight = weight_of(program, step.inputs[i]);
      if (!is_shared(weight)) continue;
      const Packing packing = chosen ? chosen->desc.inputs[i].packing : Packing::kNone;
      if (packing != Packing::kNone) {
        wishes_[weight].packings.insert(packing_key(chosen->desc, static_cast<int>(i), packing));
      } else {
        wishes_[weight].plain.push_back({chosen && !decided ? &step : nullptr, &program, i});
      }
    }
    return Status::ok();
  }

  // The option by which the reader takes one of the packings; no tactic when there is none.
  TacticOption sharing_option(const Reader& reader, const Wishes& wishes) const {
    if (!reader.step) return {};
    for (TacticOption& option :
         tactic_options(contents_, *reader.program, *reader.step, optimum_, registry_, true)) {
      if (!option.tactic || !option.tactic->shares) continue;
      const Packing packing = option.desc.inputs[reader.input].packing;
      if (packing == Packing::kNone) continue;
      const std::string key = packing_key(option.desc, static_cast<int>(reader.input), packing);
      if (wishes.packings.count(key) > 0) return std::move(option);
    }
    return {};
  }

  Status share(const Wishes& wishes) {
    std::vector<TacticOption> options;
    for (const Reader& reader : wishes.plain) {
      options.push_back(sharing_option(reader, wishes));
      if (!options.back().tactic) return Status::ok();
    }
    double loss = 0;
    for (size_t r = 0; r < options.size(); ++r) {
      STOKER_ASSIGN(const double slower, try_out(*wishes.plain[r].step, options[r]));
      if (slower < 0) return Status::ok();
      loss += slower;
    }
    if (!options_.low_memory && loss > kSharingLoss * total_time()) return Status::ok();
    for (size_t r = 0; r < options.size(); ++r) {
      PlanStep& step = *wishes.plain[r].step;
      step.tactic = options[r].tactic->name;
      step.tactic_version = options[r].tactic->version;
      step.config = configs_of(*options[r].tactic, options[r].desc).front().name;
    }
    return Status::ok();
  }

  // Nanoseconds that the step takes longer by the option (0 where nothing is timed); -1 when the
  // option is wrong. The figures are recorded beside the other candidates'.
  Result<double> try_out(const PlanStep& step, const TacticOption& option) {
    const Config config = configs_of(*option.tactic, option.desc).front();
    TacticTiming timing{option.tactic->name, config.name, 0, 0, ""};
    double fastest = 0;
    if (options_.timing || options_.self_check) {
      STOKER_ASSIGN(const auto inputs, sample_inputs(option.desc, 1));
      STOKER_ASSIGN(auto contender, Contender::create(*option.tactic, config, option.desc, inputs,
                                                      pool_.workers()));
      if (options_.self_check) {
        STOKER_ASSIGN(const CheckResult check, check_contender(*contender, option.desc, inputs,
                                                               pool_, options_.check_elements, 17));
        if (!check.passed()) return -1.0;
      }
      if (options_.timing) {
        STOKER_ASSIGN(fastest, measure(*contender, timing));
      }
    }
    StepMeasurement* row = row_of(step);
    if (!row) return 0.0;
    row->candidates.push_back(timing);
    const auto present =
        std::find_if(row->candidates.begin(), row->candidates.end(),
                     [&](const TacticTiming& t) { return t.tactic == step.tactic; });
    // One candidate is not timed in the contest: then it counts as nothing.
    const double before = present == row->candidates.end() ? 0 : present->median_ns;
    return std::max(fastest - before, 0.0);
  }

  // The fastest run, in nanoseconds.
  Result<double> measure(Contender& contender, TacticTiming& timing) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> samples;
    STOKER_TRY(contender.run(pool_));
    for (int round = 0; round < options_.rounds; ++round) {
      contender.evict_weights();
      const auto start = Clock::now();
      STOKER_TRY(contender.run(pool_));
      samples.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
    }
    std::sort(samples.begin(), samples.end());
    timing.median_ns = samples[samples.size() / 2];
    timing.samples = static_cast<int32_t>(samples.size());
    return samples.front();
  }

  const PlanStep& step_of(const StepMeasurement& row) const {
    return contents_.programs[static_cast<size_t>(row.program)]
        .steps[static_cast<size_t>(row.step)];
  }
  StepMeasurement* row_of(const PlanStep& step) {
    for (StepMeasurement& row : contents_.volatile_section.steps) {
      if (&step_of(row) == &step) return &row;
    }
    return nullptr;
  }

  // Nanoseconds of all steps by their chosen tactics; by the cost model where there was no rival
  // and nothing was timed.
  double total_time() const {
    double total = 0;
    for (const StepMeasurement& row : contents_.volatile_section.steps) {
      const PlanProgram& program = contents_.programs[static_cast<size_t>(row.program)];
      const PlanStep& step = step_of(row);
      double spent = 0;
      for (const TacticTiming& t : row.candidates) {
        if (t.tactic == step.tactic && t.config == step.config) spent = t.median_ns;
      }
      if (spent == 0) {
        for (const TacticOption& option :
             tactic_options(contents_, program, step, optimum_, registry_, true)) {
          if (option.tactic && option.tactic->name == step.tactic) spent = option.cost * 1e9;
        }
      }
      total += spent;
    }
    return total;
  }

  EngineContents& contents_;
  const TacticRegistry& registry_;
  WorkerPool& pool_;
  const ContestOptions& options_;
  const SymbolValues optimum_;
  std::map<int32_t, int> readers_;  // of each weight, in steps
  std::map<int32_t, Wishes> wishes_;
};

}  // namespace

Status share_weights(EngineContents& contents, const TacticRegistry& registry, WorkerPool& pool,
                     const ContestOptions& options) {
  return Sharing(contents, registry, pool, options).run();
}

}  // namespace stoker
