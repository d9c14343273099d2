// The parts of verify_plan, which verify.cpp calls in this order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_set>

#include "engine/engine_file.h"

namespace stoker::engine {

using SymbolNames = std::unordered_set<std::string>;

inline constexpr size_t kMaxRank = 8;

// Recipes of the weights and the constants that they start from; weights without bytes are those
// that a refit can give. Dtypes, shapes and bytes of the weights are sound.
Status verify_sources(const EngineContents& contents);

// Tensors of one program: kinds, dtypes, ranks, symbols, weights, aliases. `symbols`: all that the
// engine declares.
Status verify_tensors(const EngineContents& contents, const PlanProgram& program,
                      const SymbolNames& symbols);

// Steps of one program: operands, params, tactics, packed sizes. The tensors are sound.
Status verify_steps(const EngineContents& contents, const PlanProgram& program,
                    const TacticLists& tactics);

// Ports and states, one writer a storage, and an order that makes every writer finish before its
// readers. Tensors and steps are sound.
Status verify_order(const PlanProgram& program);

// The steps of a dynamic program in their order: known control flow, as many operands as the
// sub-programs have ports, every value written once and before it is read. The tensors are sound.
Status verify_dynamic(const EngineContents& contents, const PlanProgram& program);

// Tensor `index` with the dims that are numbers; others are -1. Packing and constness from the
// weight.
TensorDesc operand_desc(const EngineContents& contents, const PlanProgram& program, int32_t index);

}  // namespace stoker::engine
