// Binding: from a plan program and the caller's shapes to a BoundProgram. Small and deterministic;
// used when building (at the profile's optimum) and when running (at the first run of a shape).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "plan/bound.h"

namespace stoker {

// The packed bytes of a weight in the packing that a tactic wants; packs again when the engine
// holds another. `spec` and `index` name the operand it is for. Called during bind only.
using WeightSource =
    std::function<Result<Tensor>(int32_t weight, Packing packing, const Desc& spec, int index)>;

struct BindOptions {
  int workers = 1;
  bool reuse = true;            // let buffers with disjoint lifetimes share memory
  bool reference_only = false;  // every step by its reference tactic
};

// Values of the symbols from the shapes of the program's inputs (one per port). Checks constant
// extents, agreement between inputs, ranges of symbols.
Result<SymbolValues> match_shapes(const EngineContents& contents, const PlanProgram& program,
                                  const std::vector<Shape>& shapes);

// Its parts, for values whose sizes become known while running: symbols that stand alone as an
// extent and have no value yet take it from the shape (of the same rank); every extent must then
// come out as it is; symbols that have values must lie inside their ranges.
void learn_symbols(const Dims& dims, const Shape& shape, SymbolValues& symbols);
// `kind` and `name` say in the message whose shape it is.
Status check_shape(const char* kind, const std::string& name, const Dims& dims, const Shape& shape,
                   const SymbolValues& symbols);
Status check_ranges(std::span<const PlanSymbol> ranges, const SymbolValues& symbols);

Result<std::shared_ptr<const BoundProgram>> bind_program(
    const EngineContents& contents, const PlanProgram& program, const SymbolValues& symbols,
    const TacticRegistry& registry, const WeightSource& weights, const BindOptions& options);

// The desc of a step at bound shapes: parameters with their expressions evaluated, operands of the
// program's tensors. Packings are left at kNone.
Result<Desc> bind_desc(const EngineContents& contents, const PlanProgram& program,
                       const PlanStep& step, const SymbolValues& symbols);

// The first step that reads a weight, which says how it is packed and unpacked: its desc with the
// weight's packing, and the operand. All steps that share a weight agree.
struct WeightUse {
  Desc desc;
  int operand = 0;
};
Result<WeightUse> use_of_weight(const EngineContents& contents, int32_t weight,
                                const SymbolValues& symbols);

// Sets packings of constant operands to what the tactic wants and asks it; the reason when it
// refuses.
Status adapt_desc(const Tactic& tactic, Desc& desc);

}  // namespace stoker
