// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "base/status.h"
#include "engine/verify_internal.h"

namespace stoker::engine {
namespace {

constexpr int32_t kMaxRecipeOutputs = 1024;

// -1, or nothing at all: the weight was made by the builder and has no source.
bool has_no_source(const WeightRecipe& recipe) {
  return recipe.sources.empty() && recipe.steps.empty() && recipe.result <= 0 &&
         recipe.result >= -1;
}

Status check_recipe(const WeightRecipe& recipe) {
  if (has_no_source(recipe)) return Status::ok();
  int64_t operands = static_cast<int64_t>(recipe.sources.size());
  for (size_t i = 0; i < recipe.steps.size(); ++i) {
    const RecipeStep& step = recipe.steps[i];
    for (const int32_t input : step.inputs) {
      if (input < -1 || input >= operands) {
        return corrupt_file("recipe step {} ({}) takes operand {} of {}", i, step.op, input,
                            operands);
      }
    }
    if (step.op.empty() || step.output_count < 1 || step.output_count > kMaxRecipeOutputs) {
      return corrupt_file("recipe step {} ('{}') has {} outputs", i, step.op, step.output_count);
    }
    operands += step.output_count;
  }
  if (recipe.result >= 0 && recipe.result < operands) return Status::ok();
  return corrupt_file("the recipe's result is operand {} of {}", recipe.result, operands);
}

Status check_source(const PlanSource& source) {
  if (source.dtype == DType::kInvalid || static_cast<int>(source.dtype) >= kDTypeCount)
    return corrupt_file("dtype {}", static_cast<int>(source.dtype));
  if (source.shape.size() > kMaxRank)
    return corrupt_file("rank {}, at most {}", source.shape.size(), kMaxRank);
  const Result<int64_t> count = element_count(source.shape);
  if (!count.is_ok()) return corrupt_file("{}", count.status().message());
  if (!source.bytes.defined()) {
    if (!source.kept || source.frozen.empty()) return Status::ok();
    return corrupt_file("has no data, and no refit can give it: {}", source.frozen);
  }
  if (!source.kept) return corrupt_file("has data that no recipe needs");
  if (source.bytes.dtype() == source.dtype && source.bytes.shape() == source.shape)
    return Status::ok();
  return corrupt_file("holds {}{}, expected {}{}", dtype_name(source.bytes.dtype()),
                      shape_text(source.bytes.shape()), dtype_name(source.dtype),
                      shape_text(source.shape));
}

}  // namespace

Status verify_sources(const EngineContents& contents) {
  const bool refittable = !contents.manifest.structure.empty();
  if (!refittable && !contents.sources.empty())
    return corrupt_file("lists constants to refit, but was not built to be refitted");
  std::map<std::string, const PlanSource*> sources;
  for (size_t i = 0; i < contents.sources.size(); ++i) {
    const PlanSource& source = contents.sources[i];
    if (i > 0 && contents.sources[i - 1].name >= source.name)
      return corrupt_file("constant '{}' is out of order or stands twice", source.name);
    STOKER_TRY(check_source(source).at("constant " + source.name));
    sources[source.name] = &source;
  }
  for (const PlanWeight& weight : contents.weights) {
    const std::string where = "weight " + weight.name;
    STOKER_TRY(check_recipe(weight.recipe).at(where));
    bool open = false;  // may a refit change it?
    for (const std::string& name : weight.recipe.sources) {
      const auto it = sources.find(name);
      if (refittable && it == sources.end())
        return corrupt_file("{} is made from '{}', which is not listed", where, name);
      open |= it != sources.end() && it->second->frozen.empty();
    }
    if (!weight.bytes.defined() && !open) {
      return corrupt_file("{} has no data, and no refit can give it: build the engine anew", where);
    }
  }
  return Status::ok();
}

}  // namespace stoker::engine
