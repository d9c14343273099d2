// SPDX-License-Identifier: Apache-2.0
#include "tune/contest.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "device/cpu_info.h"
#include "tune/self_check.h"
#include "tune/share_weights.h"
#include "tune/timing_cache.h"

namespace stoker {
namespace {

// A challenger must be this much faster than the default, besides winning outside the spread.
constexpr double kMinimumGain = 0.03;
// After one round, candidates this much slower than the best are out.
constexpr double kHopeless = 4;
// Samples shorter than this are repeated inside: the clock and the fork cost would drown them.
constexpr double kShortestSampleNs = 20e3;

struct Candidate {
  const Tactic* tactic = nullptr;
  Config config;
  Desc desc;
  std::vector<double> samples;
  double median() const {
    if (samples.empty()) return 0;
    std::vector<double> sorted = samples;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<long>(sorted.size() / 2),
                     sorted.end());
    return sorted[sorted.size() / 2];
  }
  double fastest() const { return *std::min_element(samples.begin(), samples.end()); }
};

// What a contest of one desc came to; equal descs share it.
struct Outcome {
  std::vector<Candidate> candidates;  // the default first
  size_t winner = 0;
  CheckResult check;
  std::vector<std::string> demoted;
};

class Contest {
 public:
  Contest(EngineContents& contents, const TacticRegistry& registry, WorkerPool& pool,
          const ContestOptions& options, TimingCache& cache)
      : contents_(contents),
        optimum_(optimum_of(contents)),
        registry_(registry),
        pool_(pool),
        options_(options),
        cache_(cache) {}

  Status run() {
    size_t total = 0, done = 0;
    for (const PlanProgram& program : contents_.programs) {
      if (program.kind == PlanProgram::Kind::kStatic) total += program.steps.size();
    }
    for (size_t p = 0; p < contents_.programs.size(); ++p) {
      PlanProgram& program = contents_.programs[p];
      if (program.kind == PlanProgram::Kind::kDynamic) continue;
      for (size_t s = 0; s < program.steps.size(); ++s) {
        STOKER_TRY(choose(p, s).at(program.steps[s].name));
        if (options_.progress) options_.progress(++done, total);
      }
    }
    return Status::ok();
  }

 private:
  Status choose(size_t program_index, size_t index) {
    PlanProgram& program = contents_.programs[program_index];
    PlanStep& step = program.steps[index];
    std::vector<TacticRefusal> refusals;
    const std::vector<TacticOption> options =
        tactic_options(contents_, program, step, optimum_, registry_, true, &refusals);
    if (options.empty()) return internal_error("no tactic takes the assigned layouts");
    if (!options.front().tactic) return Status::ok();  // chosen when the sizes are known
    std::string key = desc_key(options.front().desc);
    const StepDecision* decision = find_decision(step.name);
    if (decision) key += "/" + decision->tactic + "/" + decision->config;
    auto it = outcomes_.find(key);
    if (it == outcomes_.end()) {
      STOKER_ASSIGN(Outcome outcome, contest(options, decision));
      it = outcomes_.emplace(key, std::move(outcome)).first;
    }
    const Outcome& outcome = it->second;
    const Candidate& winner = outcome.candidates[outcome.winner];
    step.tactic = winner.tactic->name;
    step.tactic_version = winner.tactic->version;
    step.config = winner.config.name;
    StepMeasurement row;
    row.program = static_cast<int32_t>(program_index);
    row.step = static_cast<int32_t>(index);
    record(step, std::move(row), outcome, refusals);
    return Status::ok();
  }

  const StepDecision* find_decision(const std::string& step) const {
    if (!options_.decisions) return nullptr;
    const auto it = options_.decisions->steps.find(step);
    return it == options_.decisions->steps.end() ? nullptr : &it->second;
  }

  Result<Outcome> contest(const std::vector<TacticOption>& options, const StepDecision* decision) {
    Outcome outcome;
    for (const TacticOption& option : options) {
      if (option.tactic->reference && (options.size() > 1 && !options_.reference_only)) continue;
      if (options_.reference_only && !option.tactic->reference) continue;
      if (option.tactic->shares && !(decision && decision->tactic == option.tactic->name)) continue;
      for (const Config& config : configs_of(*option.tactic, option.desc)) {
        outcome.candidates.push_back({option.tactic, config, option.desc, {}});
      }
    }
    if (decision) {
      auto decided = outcome.candidates;
      decided.erase(std::remove_if(decided.begin(), decided.end(),
                                   [&](const Candidate& c) {
                                     return decision->tactic != c.tactic->name ||
                                            decision->config != c.config.name;
                                   }),
                    decided.end());
      if (!decided.empty())
        outcome.candidates = std::move(decided);
      else
        log_warn("decision {} {} does not fit this step any more; choosing anew", decision->tactic,
                 decision->config);
    }
    const bool only_reference =
        outcome.candidates.size() == 1 && outcome.candidates[0].tactic->reference;
    if (only_reference || outcome.candidates.empty()) return outcome;
    if (const Status status = run_candidates(outcome, options); !status) {
      // Sample values need not be legal for every step: an index outside a table that is empty at
      // the sizes guessed for it.
      log_info("{}: not timed or checked: {}", desc_key(options.front().desc), status.message());
      outcome.winner = 0;
      for (Candidate& candidate : outcome.candidates) candidate.samples.clear();
    }
    return outcome;
  }

  Status run_candidates(Outcome& outcome, const std::vector<TacticOption>& options) {
    STOKER_ASSIGN(const auto inputs, sample_inputs(options.front().desc, 1));
    if (options_.timing && outcome.candidates.size() > 1) {
      STOKER_TRY(time_candidates(outcome, inputs));
      outcome.winner = pick(outcome.candidates);
    }
    return options_.self_check ? check_winner(outcome, inputs, options) : Status::ok();
  }

  Status time_candidates(Outcome& outcome, const std::vector<Tensor>& inputs) {
    std::vector<std::unique_ptr<Contender>> contenders(outcome.candidates.size());
    bool all_known = true;
    for (size_t c = 0; c < contenders.size(); ++c) {
      if (const auto* known = cache_.find(timing_key(outcome.candidates[c])))
        outcome.candidates[c].samples = *known;
      else
        all_known = false;
    }
    if (all_known) return Status::ok();
    // Samples of different runs do not compare, so the contest is held anew as a whole.
    for (size_t c = 0; c < contenders.size(); ++c) {
      Candidate& candidate = outcome.candidates[c];
      candidate.samples.clear();
      STOKER_ASSIGN(contenders[c], Contender::create(*candidate.tactic, candidate.config,
                                                     candidate.desc, inputs, pool_.workers()));
      STOKER_TRY(contenders[c]->run(pool_));  // warm-up: pages, code
    }
    for (int round = 0; round < options_.rounds; ++round) {
      double best = 0;
      for (size_t c = 0; c < contenders.size(); ++c) {
        if (!contenders[c]) continue;
        STOKER_ASSIGN(const double ns, sample(*contenders[c]));
        outcome.candidates[c].samples.push_back(ns);
        best = best == 0 ? ns : std::min(best, ns);
      }
      if (round > 0) continue;
      for (size_t c = 0; c < contenders.size(); ++c) {
        if (outcome.candidates[c].samples[0] > kHopeless * best) contenders[c].reset();
      }
    }
    for (const Candidate& candidate : outcome.candidates)
      cache_.add(timing_key(candidate), candidate.samples);
    return Status::ok();
  }

  Result<double> sample(Contender& contender) {
    using Clock = std::chrono::steady_clock;
    double total = 0;
    int runs = 0;
    while (total < kShortestSampleNs && runs < 16) {
      contender.evict_weights();
      const auto start = Clock::now();
      STOKER_TRY(contender.run(pool_));
      total += std::chrono::duration<double, std::nano>(Clock::now() - start).count();
      ++runs;
    }
    return total / runs;
  }

  // The default (index 0) stays unless a challenger's slowest half is still faster than the
  // default's best.
  static size_t pick(const std::vector<Candidate>& candidates) {
    size_t winner = 0;
    for (size_t c = 1; c < candidates.size(); ++c) {
      if (candidates[c].samples.empty()) continue;
      const Candidate& holder = candidates[winner];
      const bool clear = candidates[c].median() < holder.median() * (1 - kMinimumGain);
      if (holder.samples.empty() || (clear && candidates[c].median() < holder.fastest()))
        winner = c;
    }
    return winner;
  }

  TimingKey timing_key(const Candidate& candidate) const {
    return {desc_key(candidate.desc), candidate.tactic->name, candidate.config.name,
            candidate.tactic->version, pool_.workers()};
  }

  // A winner that strays from the reference is demoted, loudly, and the next best takes its place;
  // the reference itself cannot fail.
  Status check_winner(Outcome& outcome, const std::vector<Tensor>& inputs,
                      const std::vector<TacticOption>& options) {
    std::vector<size_t> order{outcome.winner};
    for (size_t c = 0; c < outcome.candidates.size(); ++c) {
      if (c != outcome.winner) order.push_back(c);
    }
    for (const size_t c : order) {
      Candidate& candidate = outcome.candidates[c];
      STOKER_ASSIGN(auto contender, Contender::create(*candidate.tactic, candidate.config,
                                                      candidate.desc, inputs, pool_.workers()));
      STOKER_ASSIGN(outcome.check, check_contender(*contender, candidate.desc, inputs, pool_,
                                                   options_.check_elements, 17));
      if (outcome.check.passed()) {
        outcome.winner = c;
        return Status::ok();
      }
      outcome.demoted.push_back(fmt::format("{} {}: error {:.3g} over the bound {:.3g}",
                                            candidate.tactic->name, candidate.config.name,
                                            outcome.check.worst, outcome.check.bound));
      log_error("self-check: {} on {}", outcome.demoted.back(), desc_key(candidate.desc));
    }
    for (const TacticOption& option : options) {
      if (!option.tactic->reference) continue;
      outcome.winner = outcome.candidates.size();
      outcome.candidates.push_back(
          {option.tactic, configs_of(*option.tactic, option.desc).front(), option.desc, {}});
      return Status::ok();
    }
    return internal_error(
        "every tactic failed the self-check and the reference does not take these layouts");
  }

  void record(const PlanStep& step, StepMeasurement row, const Outcome& outcome,
              const std::vector<TacticRefusal>& refusals) {
    for (const Candidate& candidate : outcome.candidates) {
      row.candidates.push_back({candidate.tactic->name, candidate.config.name, candidate.median(),
                                static_cast<int32_t>(candidate.samples.size()), ""});
    }
    for (const TacticRefusal& refusal : refusals)
      row.candidates.push_back({refusal.tactic, "", 0, 0, refusal.reason});
    if (outcome.check.elements > 0) {
      row.check_error = outcome.check.worst;
      row.check_bound = outcome.check.bound;
      row.check_elements = outcome.check.elements;
    }
    for (const std::string& demoted : outcome.demoted) {
      contents_.volatile_section.certificate.demoted.push_back("step " + step.name + ": " +
                                                               demoted);
    }
    contents_.volatile_section.steps.push_back(std::move(row));
  }

  EngineContents& contents_;
  const SymbolValues optimum_;
  const TacticRegistry& registry_;
  WorkerPool& pool_;
  const ContestOptions& options_;
  TimingCache& cache_;
  std::map<std::string, Outcome> outcomes_;
};

}  // namespace

Status choose_tactics(EngineContents& contents, const TacticRegistry& registry, WorkerPool& pool,
                      const ContestOptions& options) {
  STOKER_ASSIGN(auto cache,
                TimingCache::open(options.timing ? options.cache_path : "",
                                  fingerprint_text() + std::string(isa_name(registry.isa()))));
  STOKER_TRY(Contest(contents, registry, pool, options, *cache).run());
  if (!options.reference_only) STOKER_TRY(share_weights(contents, registry, pool, options));
  if (const Status status = cache->commit(); !status) log_warn("{}", status.message());
  return Status::ok();
}

}  // namespace stoker
