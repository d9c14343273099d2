// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "api/diff_parts.h"
#include "api/explain_parts.h"
#include "base/status.h"

namespace stoker {
namespace {

struct StepRef {
  const PlanProgram* program = nullptr;
  const PlanStep* step = nullptr;
};
using Steps = std::vector<StepRef>;

// In the order in which they stand; those that only run the steps of a segment are left out.
Steps steps_of(const EngineContents& contents) {
  Steps steps;
  for (const PlanProgram& program : contents.programs) {
    for (const PlanStep& step : program.steps) {
      if (!is_call(step)) steps.push_back({&program, &step});
    }
  }
  return steps;
}

std::set<std::string> nodes_of(const Steps& steps) {
  std::set<std::string> nodes;
  for (const StepRef& ref : steps) nodes.insert(ref.step->origins.begin(), ref.step->origins.end());
  return nodes;
}

// "Conv_0+Relu_1", in the order of the steps.
std::string nodes_text(const Steps& steps) {
  std::vector<std::string> nodes;
  for (const StepRef& ref : steps) {
    for (const std::string& node : ref.step->origins) {
      if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
    }
  }
  return joined(nodes, "+");
}

std::string kernel_text(const PlanStep& step) {
  const auto* fallback = std::get_if<FallbackParams>(&step.params);
  std::string text = fallback ? fallback->op + " evaluated" : step.tactic;
  if (step.tactic.empty() && !fallback) text = "chosen when sizes are known";
  return step.config.empty() || step.config == "default" ? text : text + "/" + step.config;
}

std::string family_text(const PlanStep& step) {
  return family_name(static_cast<Family>(step.params.index()));
}

// Kernels of these only move or select elements: whatever runs them gives the same bits.
bool is_exact(const PlanStep& step) {
  if (const auto* pool = std::get_if<PoolParams>(&step.params))
    return pool->kind == PoolParams::Kind::kMax;
  return std::holds_alternative<CopyParams>(step.params) ||
         std::holds_alternative<GatherParams>(step.params);
}

const PlanTensor* tensor_of(const StepRef& ref, int32_t index) {
  return index < 0 ? nullptr : &ref.program->tensors[static_cast<size_t>(index)];
}

bool multiplies_integers(const StepRef& ref) {
  const bool products = std::holds_alternative<GemmParams>(ref.step->params) ||
                        std::holds_alternative<ConvParams>(ref.step->params);
  if (!products || ref.step->inputs.empty()) return false;
  const PlanTensor* first = tensor_of(ref, ref.step->inputs[0]);
  return first && (first->dtype == DType::kU8 || first->dtype == DType::kI8);
}

// Parameters as text, without operands; sizes that follow from symbols as their expressions.
std::string params_text(const PlanStep& step) {
  return desc_key(Desc{step.params, {}, {}}) + " " + dims_text(step.param_dims);
}

class StepDiff {
 public:
  StepDiff(const EngineContents& a, const EngineContents& b, std::vector<Difference>& result)
      : a_(steps_of(a)), b_(steps_of(b)), result_(result) {}

  void run() {
    for (const auto& [of_a, of_b] : groups()) compare(of_a, of_b);
    helpers();
  }

 private:
  struct Group {
    Steps a, b;
  };

  // Steps that share nodes, directly or through steps of the other engine, in A's order.
  std::vector<Group> groups() const {
    std::vector<size_t> parent(a_.size() + b_.size());
    std::iota(parent.begin(), parent.end(), size_t{0});
    const auto root = [&](size_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    std::map<std::string, size_t> first;
    const auto step_at = [&](size_t i) -> const StepRef& {
      return i < a_.size() ? a_[i] : b_[i - a_.size()];
    };
    for (size_t i = 0; i < parent.size(); ++i) {
      for (const std::string& node : step_at(i).step->origins) {
        const auto [it, added] = first.emplace(node, i);
        if (added) continue;
        const size_t x = root(it->second), y = root(i);
        parent[std::max(x, y)] = std::min(x, y);
      }
    }
    std::map<size_t, Group> by_root;
    for (size_t i = 0; i < parent.size(); ++i) {
      if (step_at(i).step->origins.empty()) continue;
      Group& group = by_root[root(i)];
      (i < a_.size() ? group.a : group.b).push_back(step_at(i));
    }
    std::vector<Group> groups;
    for (auto& [index, group] : by_root) groups.push_back(std::move(group));
    return groups;
  }

  void add(const std::string& subject, std::string a, std::string b, DiffEffect effect,
           std::string reason) {
    result_.push_back({"step", subject, std::move(a), std::move(b), effect, std::move(reason)});
  }

  static std::string list(const Steps& steps) {
    std::string text;
    for (const StepRef& ref : steps) {
      text +=
          fmt::format("{}{} ({}) by {}", text.empty() ? "" : "; ", joined(ref.step->origins, "+"),
                      family_text(*ref.step), kernel_text(*ref.step));
    }
    return text.empty() ? "no step" : text;
  }

  void compare(const Steps& a, const Steps& b) {
    if (a.empty() || b.empty()) {
      const Steps& there = a.empty() ? b : a;
      const bool moves = std::all_of(there.begin(), there.end(),
                                     [](const StepRef& ref) { return is_exact(*ref.step); });
      add(nodes_text(there), list(a), list(b), moves ? DiffEffect::kSpeed : DiffEffect::kBoth,
          moves ? "it only moves elements; the other engine does without"
                : "the other engine has the result as a constant, or found it to change nothing");
      return;
    }
    bool alike = a.size() == b.size();
    for (size_t i = 0; alike && i < a.size(); ++i) {
      alike = std::set(a[i].step->origins.begin(), a[i].step->origins.end()) ==
                  std::set(b[i].step->origins.begin(), b[i].step->origins.end()) &&
              a[i].step->params.index() == b[i].step->params.index();
    }
    if (alike) {
      for (size_t i = 0; i < a.size(); ++i) compare_step(a[i], b[i]);
      return;
    }
    add("fusion of " + nodes_text(a), list(a), list(b), DiffEffect::kBoth,
        "values between fused nodes are not written to memory and read again, and what is rounded "
        "between the nodes may be another number of bits");
  }

  void compare_step(const StepRef& a, const StepRef& b) {
    const std::string who = joined(a.step->origins, "+");
    if (params_text(*a.step) != params_text(*b.step)) {
      add("work of " + who, family_text(*a.step), "the same with other parameters",
          DiffEffect::kBoth,
          "attributes, constants inside, or the way it was fused differ: stoker inspect --verbose "
          "shows them");
    }
    compare_kernels(a, b, who);
    if (a.step->place != b.step->place) {
      add("place of " + who, place_text(a.step->place), place_text(b.step->place),
          DiffEffect::kBoth, "another device runs it");
    }
    compare_tensors(a, b, who);
  }

  void compare_kernels(const StepRef& a, const StepRef& b, const std::string& who) {
    const bool exact = is_exact(*a.step);
    const DiffEffect effect = exact ? DiffEffect::kSpeed : DiffEffect::kBoth;
    if (a.step->tactic != b.step->tactic) {
      std::string reason =
          "tactics may sum in orders of their own: bits may differ in the last places";
      if (exact) reason = "it only moves or selects elements: every tactic gives the same bits";
      if (multiplies_integers(a) && multiplies_integers(b)) {
        reason =
            "integer products are summed exactly by every tactic; what is computed in floats "
            "behind them may differ in the last place";
      }
      add("tactic of " + who, kernel_text(*a.step), kernel_text(*b.step), effect, reason);
      return;
    }
    if (a.step->tactic_version != b.step->tactic_version) {
      add("version of " + a.step->tactic + " for " + who, std::to_string(a.step->tactic_version),
          std::to_string(b.step->tactic_version), DiffEffect::kBoth,
          "a tactic's version is raised whenever its numbers or its packing change");
    }
    if (a.step->config != b.step->config) {
      add("config of " + who, kernel_text(*a.step), kernel_text(*b.step), effect,
          exact ? "it only moves or selects elements: every config gives the same bits"
                : "only the same tactic with the same config gives the same bits for sure");
    }
  }

  void compare_tensors(const StepRef& a, const StepRef& b, const std::string& who) {
    std::string types_a, types_b, layouts_a, layouts_b;
    const auto gather = [](const StepRef& ref, std::string& types, std::string& layouts) {
      for (const auto* list : {&ref.step->inputs, &ref.step->outputs}) {
        for (const int32_t index : *list) {
          const PlanTensor* tensor = tensor_of(ref, index);
          types += tensor ? fmt::format(" {}", dtype_name(tensor->dtype)) : " -";
          layouts += tensor ? fmt::format(" {}", layout_name(tensor->layout)) : " -";
        }
        if (list == &ref.step->inputs) {
          types += " ->";
          layouts += " ->";
        }
      }
    };
    gather(a, types_a, layouts_a);
    gather(b, types_b, layouts_b);
    if (types_a != types_b) {
      add("dtypes of " + who, types_a.substr(1), types_b.substr(1), DiffEffect::kBoth,
          "other dtypes round to other numbers and take other bytes");
    }
    if (layouts_a != layouts_b) {
      add("layouts of " + who, layouts_a.substr(1), layouts_b.substr(1),
          is_exact(*a.step) ? DiffEffect::kSpeed : DiffEffect::kBoth,
          is_exact(*a.step) ? "the elements lie in another order; their values are the same"
                            : "the elements lie in another order, in which a kernel may sum too");
    }
  }

  // Steps that stand for no node: changes of layout or place.
  void helpers() {
    const auto count = [](const Steps& steps) {
      std::map<std::string, int> kinds;
      for (const StepRef& ref : steps) {
        if (ref.step->origins.empty()) ++kinds[family_text(*ref.step)];
      }
      return kinds;
    };
    std::map<std::string, int> of_a = count(a_), of_b = count(b_);
    std::set<std::string> kinds;
    for (const auto& entry : of_a) kinds.insert(entry.first);
    for (const auto& entry : of_b) kinds.insert(entry.first);
    for (const std::string& kind : kinds) {
      if (of_a[kind] == of_b[kind]) continue;
      const bool copies = kind == family_name(Family::kCopy);
      add(fmt::format("{} steps that stand for no node", kind), std::to_string(of_a[kind]),
          std::to_string(of_b[kind]), copies ? DiffEffect::kSpeed : DiffEffect::kBoth,
          copies ? "they bring tensors into the layout that the next kernel reads"
                 : "passes put them in");
    }
  }

  const Steps a_, b_;
  std::vector<Difference>& result_;
};

}  // namespace

void diff_steps(const EngineContents& a, const EngineContents& b,
                std::vector<Difference>& differences) {
  StepDiff(a, b, differences).run();
}

double common_nodes(const EngineContents& a, const EngineContents& b) {
  const std::set<std::string> of_a = nodes_of(steps_of(a)), of_b = nodes_of(steps_of(b));
  size_t both = 0;
  for (const std::string& node : of_a) both += of_b.count(node);
  const size_t all = of_a.size() + of_b.size() - both;
  return all == 0 ? 1 : static_cast<double>(both) / static_cast<double>(all);
}

}  // namespace stoker
