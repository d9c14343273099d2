// Layout assignment: which layout each edge of the lowered graph has. A step's options are what its
// tactics take; a change of layout between producer and consumer is a copy step with a price. The
// problem is a partitioned boolean quadratic one (PBQP; Anderson and Gregg, "Optimal DNN primitive
// selection with partitioned boolean quadratic programming", 2018); it is solved by coordinate
// descent from two starts (blocked wherever possible, plain everywhere), the cheaper result wins.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "lower/lower_graph.h"
#include "plan/bind.h"

namespace stoker {
namespace {

constexpr double kBytesPerSecond = 12e9, kCopyOverhead = 2e-6;

class LayoutSolver {
 public:
  LayoutSolver(const EngineContents& contents, PlanProgram& program, const SymbolValues& optimum,
               const TacticRegistry& registry, bool allow_blocked, const LayoutDecisions& decisions)
      : contents_(contents),
        program_(program),
        optimum_(optimum),
        registry_(registry),
        allow_blocked_(allow_blocked),
        decisions_(decisions) {}

  Status run() {
    STOKER_TRY(collect());
    const std::vector<int> blocked = descend(true), plain = descend(false);
    choice_ = total(blocked) <= total(plain) ? blocked : plain;
    apply();
    return Status::ok();
  }

 private:
  struct Consumer {
    size_t step, input;
  };

  const TacticOption& chosen(const std::vector<int>& choice, size_t s) const {
    return options_[s][static_cast<size_t>(choice[s])];
  }
  size_t root(int32_t tensor) const {
    const int32_t alias = program_.tensors[static_cast<size_t>(tensor)].alias_of;
    return static_cast<size_t>(alias >= 0 ? alias : tensor);
  }
  bool is_weight(int32_t tensor) const {
    return program_.tensors[static_cast<size_t>(tensor)].kind == PlanTensor::Kind::kWeight;
  }

  Status collect() {
    consumers_.resize(program_.tensors.size());
    producer_.assign(program_.tensors.size(), {SIZE_MAX, 0});
    plain_reader_.assign(program_.tensors.size(), false);
    copy_cost_.assign(program_.tensors.size(), 0);
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      const PlanTensor& tensor = program_.tensors[t];
      if (tensor.alias_of >= 0) plain_reader_[root(static_cast<int32_t>(t))] = true;
      if (tensor.kind == PlanTensor::Kind::kOutput) plain_reader_[t] = true;
      if (tensor.kind == PlanTensor::Kind::kWeight) continue;
      // Guessed sizes need not fit each other.
      const auto dims = evaluate_dims(tensor.dims, optimum_);
      const auto count = dims ? element_count(*dims) : Result<int64_t>(dims.status());
      copy_cost_[t] = 2.0 * static_cast<double>(count ? *count : 0) * dtype_bits(tensor.dtype) / 8 /
                          kBytesPerSecond +
                      kCopyOverhead;
    }
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      const PlanStep& step = program_.steps[s];
      auto options = tactic_options(contents_, program_, step, optimum_, registry_, false);
      if (!allow_blocked_)
        keep(options, [](const TacticOption& o) {
          return std::all_of(o.layouts.begin(), o.layouts.end(),
                             [](Layout l) { return l == Layout::kPlain; });
        });
      if (const auto it = decisions_.find(step.name); it != decisions_.end()) {
        auto decided = options;
        keep(decided, [&](const TacticOption& o) { return o.layouts == it->second; });
        if (!decided.empty()) options = std::move(decided);
      }
      if (options.empty())
        return internal_error("step '{}' has no tactic, not even the reference", step.name);
      options_.push_back(std::move(options));
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        if (step.inputs[i] >= 0 && !is_weight(step.inputs[i]))
          consumers_[static_cast<size_t>(step.inputs[i])].push_back({s, i});
      }
      for (size_t i = 0; i < step.outputs.size(); ++i) {
        if (step.outputs[i] >= 0) producer_[static_cast<size_t>(step.outputs[i])] = {s, i};
      }
    }
    return Status::ok();
  }

  template <class Predicate>
  static void keep(std::vector<TacticOption>& options, Predicate predicate) {
    options.erase(std::remove_if(options.begin(), options.end(),
                                 [&](const TacticOption& o) { return !predicate(o); }),
                  options.end());
  }

  // The layout in which a tensor exists: its producer's choice; inputs and views are plain.
  Layout layout_of(const std::vector<int>& choice, size_t tensor) const {
    const auto [s, output] = producer_[tensor];
    if (s == SIZE_MAX) return Layout::kPlain;
    return chosen(choice, s).layouts[program_.steps[s].inputs.size() + output];
  }

  double edge_cost(const std::vector<int>& choice, size_t s, const TacticOption& option) const {
    const PlanStep& step = program_.steps[s];
    double cost = 0;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i] < 0 || is_weight(step.inputs[i])) continue;
      const auto tensor = static_cast<size_t>(step.inputs[i]);
      if (layout_of(choice, tensor) != option.layouts[i]) cost += copy_cost_[tensor];
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      if (step.outputs[i] < 0) continue;
      const auto tensor = static_cast<size_t>(step.outputs[i]);
      const Layout layout = option.layouts[step.inputs.size() + i];
      bool changed = plain_reader_[tensor] && layout != Layout::kPlain;
      for (const Consumer& consumer : consumers_[tensor]) {
        changed |= chosen(choice, consumer.step).layouts[consumer.input] != layout;
      }
      if (changed) cost += copy_cost_[tensor];
    }
    return cost;
  }

  std::vector<int> descend(bool prefer_blocked) const {
    std::vector<int> choice(options_.size(), 0);
    for (size_t s = 0; s < options_.size(); ++s) {
      int best = -1;
      for (size_t o = 0; o < options_[s].size(); ++o) {
        const auto& layouts = options_[s][o].layouts;
        const bool blocked =
            std::find(layouts.begin(), layouts.end(), Layout::kC16) != layouts.end();
        if (blocked == prefer_blocked && best < 0) best = static_cast<int>(o);
      }
      choice[s] = std::max(best, 0);
    }
    for (int sweep = 0; sweep < 24; ++sweep) {
      bool changed = false;
      for (size_t i = 0; i < options_.size(); ++i) {
        const size_t s = sweep % 2 == 0 ? i : options_.size() - 1 - i;
        changed |= improve(choice, s);
      }
      if (!changed) break;
    }
    return choice;
  }

  bool improve(std::vector<int>& choice, size_t s) const {
    int best = choice[s];
    double best_cost = chosen(choice, s).cost + edge_cost(choice, s, chosen(choice, s));
    for (size_t o = 0; o < options_[s].size(); ++o) {
      const double cost = options_[s][o].cost + edge_cost(choice, s, options_[s][o]);
      if (cost < best_cost * (1 - 1e-9)) {
        best = static_cast<int>(o);
        best_cost = cost;
      }
    }
    const bool changed = best != choice[s];
    choice[s] = best;
    return changed;
  }

  double total(const std::vector<int>& choice) const {
    double cost = 0;
    for (size_t s = 0; s < options_.size(); ++s) {
      cost += chosen(choice, s).cost;
      const PlanStep& step = program_.steps[s];
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        if (step.inputs[i] < 0 || is_weight(step.inputs[i])) continue;
        const auto tensor = static_cast<size_t>(step.inputs[i]);
        if (layout_of(choice, tensor) != chosen(choice, s).layouts[i]) cost += copy_cost_[tensor];
      }
    }
    return cost;
  }

  // Writes the layouts into the tensors and inserts the copies, one per tensor and layout.
  void apply() {
    std::vector<PlanStep> steps;
    std::map<std::pair<int32_t, Layout>, int32_t> copies;
    // Views read their root as plain: when the root is blocked, a plain copy becomes the new root.
    std::unordered_map<int32_t, std::vector<int32_t>> views;
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      const int32_t alias = program_.tensors[t].alias_of;
      if (alias >= 0) views[alias].push_back(static_cast<int32_t>(t));
    }
    for (size_t s = 0; s < options_.size(); ++s) {
      PlanStep step = program_.steps[s];
      const TacticOption& option = chosen(choice_, s);
      for (size_t i = 0; i < step.outputs.size(); ++i) {
        if (step.outputs[i] >= 0)
          program_.tensors[static_cast<size_t>(step.outputs[i])].layout =
              option.layouts[step.inputs.size() + i];
      }
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        if (step.inputs[i] < 0 || is_weight(step.inputs[i])) continue;
        step.inputs[i] = in_layout(step.inputs[i], option.layouts[i], steps, copies);
      }
      const std::vector<int32_t> outputs = step.outputs;
      steps.push_back(std::move(step));
      for (const int32_t output : outputs) {
        if (output < 0 || !plain_reader_[static_cast<size_t>(output)]) continue;
        if (program_.tensors[static_cast<size_t>(output)].layout == Layout::kPlain) continue;
        const int32_t plain = in_layout(output, Layout::kPlain, steps, copies);
        for (const int32_t view : views[output])
          program_.tensors[static_cast<size_t>(view)].alias_of = plain;
        give_out(output, plain);
      }
    }
    program_.steps = std::move(steps);
    order_views();
  }

  // The caller's memory is plain: a blocked output becomes a temporary, its plain copy the output.
  void give_out(int32_t blocked, int32_t plain) {
    PlanTensor& tensor = program_.tensors[static_cast<size_t>(blocked)];
    if (tensor.kind != PlanTensor::Kind::kOutput) return;
    tensor.kind = PlanTensor::Kind::kTemporary;
    program_.tensors[static_cast<size_t>(plain)].kind = PlanTensor::Kind::kOutput;
    for (PlanPort& port : program_.outputs) {
      if (port.tensor == blocked) port.tensor = plain;
    }
  }

  int32_t in_layout(int32_t tensor, Layout layout, std::vector<PlanStep>& steps,
                    std::map<std::pair<int32_t, Layout>, int32_t>& copies) {
    if (program_.tensors[static_cast<size_t>(tensor)].layout == layout) return tensor;
    const auto [it, added] =
        copies.try_emplace({tensor, layout}, static_cast<int32_t>(program_.tensors.size()));
    if (!added) return it->second;
    PlanTensor copy = program_.tensors[static_cast<size_t>(tensor)];
    copy.name += layout == Layout::kPlain ? ".plain" : ".c16";
    copy.kind = PlanTensor::Kind::kTemporary;
    copy.alias_of = -1;
    copy.elements.clear();
    copy.layout = layout;
    PlanStep step;
    step.name = "layout_" + copy.name;
    step.place = copy.place;
    step.inputs = {tensor};
    step.outputs = {it->second};
    step.params = identity_copy(static_cast<int64_t>(copy.dims.size()));
    steps.push_back(std::move(step));
    program_.tensors.push_back(std::move(copy));
    return it->second;
  }

  // A view must stand behind its root in the tensor list; copies were appended at its end.
  void order_views() {
    std::vector<int32_t> order;
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      if (program_.tensors[t].alias_of < 0) order.push_back(static_cast<int32_t>(t));
    }
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      if (program_.tensors[t].alias_of >= 0) order.push_back(static_cast<int32_t>(t));
    }
    std::vector<int32_t> position(order.size());
    std::vector<PlanTensor> tensors;
    for (size_t i = 0; i < order.size(); ++i) {
      position[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
      tensors.push_back(std::move(program_.tensors[static_cast<size_t>(order[i])]));
    }
    const auto renumber = [&](int32_t& id) {
      if (id >= 0) id = position[static_cast<size_t>(id)];
    };
    for (PlanTensor& tensor : tensors) renumber(tensor.alias_of);
    for (PlanStep& step : program_.steps) {
      for (int32_t& id : step.inputs) renumber(id);
      for (int32_t& id : step.outputs) renumber(id);
    }
    for (PlanPort& port : program_.inputs) renumber(port.tensor);
    for (PlanPort& port : program_.outputs) renumber(port.tensor);
    program_.tensors = std::move(tensors);
  }

  const EngineContents& contents_;
  PlanProgram& program_;
  const SymbolValues& optimum_;
  const TacticRegistry& registry_;
  const bool allow_blocked_;
  const LayoutDecisions& decisions_;
  std::vector<std::vector<TacticOption>> options_;
  std::vector<std::vector<Consumer>> consumers_;
  std::vector<std::pair<size_t, size_t>> producer_;
  std::vector<bool> plain_reader_;
  std::vector<double> copy_cost_;
  std::vector<int> choice_;
};

}  // namespace

Status assign_layouts(EngineContents& contents, const TacticRegistry& registry, bool allow_blocked,
                      const LayoutDecisions& decisions) {
  const SymbolValues optimum = optimum_of(contents);
  for (PlanProgram& program : contents.programs) {
    if (program.kind == PlanProgram::Kind::kDynamic) continue;
    STOKER_TRY(LayoutSolver(contents, program, optimum, registry, allow_blocked, decisions).run());
  }
  return Status::ok();
}

}  // namespace stoker
