// SPDX-License-Identifier: Apache-2.0
#include "runtime/refit.h"

#include <algorithm>

#include "base/hash.h"
#include "base/knobs.h"
#include "ops/op.h"
#include "plan/bind.h"

namespace stoker {
namespace {

std::string type_of(DType dtype, const Shape& shape) {
  return std::string(dtype_name(dtype)) + shape_text(shape);
}

class Refitter {
 public:
  Refitter(EngineContents contents, const TensorMap& constants)
      : contents_(std::move(contents)), constants_(constants) {
    for (size_t i = 0; i < contents_.sources.size(); ++i) index_[contents_.sources[i].name] = i;
    for (const PlanSymbol& symbol : contents_.symbols) symbols_[symbol.name] = symbol.optimum;
  }

  Result<EngineContents> run(const std::string& model_hash) {
    if (contents_.manifest.structure.empty()) {
      return unsupported(
          "the engine was built without --refittable: it does not keep what a refit needs; build "
          "it anew from the model");
    }
    STOKER_TRY(accept());
    for (size_t w = 0; w < contents_.weights.size(); ++w) {
      if (!is_affected(contents_.weights[w])) continue;
      STOKER_TRY(remake(w).at("weight " + contents_.weights[w].name));
    }
    std::string text = contents_.manifest.model_hash;
    for (PlanSource& source : contents_.sources) {
      const auto it = constants_.find(source.name);
      if (it == constants_.end()) continue;
      source.hash = content_hash(it->second);
      if (source.kept) source.bytes = it->second;
      text += " " + source.name + " " + source.hash;
    }
    contents_.manifest.model_hash =
        model_hash.empty() ? content_hash(std::as_bytes(std::span(text))) : model_hash;
    contents_.volatile_section.certificate = {};
    contents_.volatile_section.notes.push_back(
        "refitted after the build: what was measured and compared then had other weights");
    return std::move(contents_);
  }

 private:
  // All problems of the given constants at once.
  Status accept() {
    std::vector<std::string> problems;
    for (const auto& [name, value] : constants_) {
      std::string problem = problem_of(name, value);
      if (!problem.empty()) problems.push_back(std::move(problem));
    }
    if (problems.empty()) return Status::ok();
    constexpr size_t kShown = 20;
    std::string text = fmt::format("{} constant(s) cannot be refitted:", problems.size());
    for (size_t i = 0; i < std::min(problems.size(), kShown); ++i) text += "\n  " + problems[i];
    if (problems.size() > kShown)
      text += fmt::format("\n  ... and {} more", problems.size() - kShown);
    return {StatusCode::kInvalidArgument, text};
  }

  std::string problem_of(const std::string& name, const Tensor& value) const {
    const auto it = index_.find(name);
    if (it == index_.end()) {
      std::vector<std::string> names;
      for (const PlanSource& source : contents_.sources) names.push_back(source.name);
      const std::string nearest = nearest_name(name, names);
      return fmt::format("'{}': the model has no such constant{}", name,
                         nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
    }
    const PlanSource& source = contents_.sources[it->second];
    if (value.dtype() != source.dtype || value.shape() != source.shape) {
      return fmt::format("'{}': {} is given, expected {}", name,
                         type_of(value.dtype(), value.shape()),
                         type_of(source.dtype, source.shape));
    }
    if (source.frozen.empty() || holds(source, value)) return "";
    return fmt::format("'{}': its value was compiled in ({}); build the engine anew", name,
                       source.frozen);
  }

  bool is_affected(const PlanWeight& weight) const {
    const auto& names = weight.recipe.sources;
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return constants_.count(name) > 0; });
  }

  Result<Tensor> operand(const std::string& name) const {
    if (const auto it = constants_.find(name); it != constants_.end()) return it->second;
    const PlanSource& source = contents_.sources[index_.at(name)];
    if (source.bytes.defined()) return source.bytes;
    return invalid_argument("'{}' is missing: give it too, since the weight is made from both",
                            name);
  }

  // Runs the recipe and packs its result.
  Status remake(size_t index) {
    PlanWeight& weight = contents_.weights[index];
    std::vector<Tensor> operands;
    for (const std::string& name : weight.recipe.sources) {
      STOKER_ASSIGN(operands.emplace_back(), operand(name));
    }
    for (const RecipeStep& step : weight.recipe.steps) {
      const Op* op = find_op(step.op);
      if (!op) return corrupt_file("its recipe has the unknown op '{}'", step.op);
      std::vector<Tensor> inputs;
      for (const int32_t input : step.inputs)
        inputs.push_back(input < 0 ? Tensor() : operands[static_cast<size_t>(input)]);
      STOKER_ASSIGN(std::vector<Tensor> outputs,
                    evaluate_op(*op, step.attributes, inputs, step.output_count));
      for (Tensor& output : outputs) operands.push_back(std::move(output));
    }
    if (weight.recipe.result < 0 || static_cast<size_t>(weight.recipe.result) >= operands.size())
      return corrupt_file("its recipe gives no result");
    Tensor made = operands[static_cast<size_t>(weight.recipe.result)];
    if (made.dtype() != weight.dtype || made.shape() != weight.shape) {
      return corrupt_file("its recipe gives {}, expected {}", type_of(made.dtype(), made.shape()),
                          type_of(weight.dtype, weight.shape));
    }
    if (weight.packing != Packing::kNone) {
      STOKER_ASSIGN(const WeightUse use,
                    use_of_weight(contents_, static_cast<int32_t>(index), symbols_));
      STOKER_ASSIGN(made, pack_weight(use.desc, use.operand, weight.packing, made));
    }
    weight.bytes = std::move(made);
    return Status::ok();
  }

  EngineContents contents_;
  const TensorMap& constants_;
  std::map<std::string, size_t> index_;
  SymbolValues symbols_;
};

}  // namespace

bool holds(const PlanSource& source, const Tensor& value) {
  return source.hash == content_hash(value);
}

Result<EngineContents> refit(const EngineContents& contents, const TensorMap& constants,
                             const std::string& model_hash) {
  return Refitter(contents, constants).run(model_hash);
}

}  // namespace stoker
