// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "base/status.h"
#include "engine/verify_internal.h"

namespace stoker {
namespace {

constexpr int64_t kMaxPackedPoints = int64_t{1} << 42;

Status check_symbols(const std::vector<PlanSymbol>& symbols) {
  std::set<std::string> names;
  for (const PlanSymbol& symbol : symbols) {
    if (symbol.name.empty() || !names.insert(symbol.name).second) {
      return corrupt_file("symbol '{}' is unnamed or stands twice", symbol.name);
    }
    if (symbol.kind > PlanSymbol::Kind::kData)
      return corrupt_file("symbol {} is of unknown kind", symbol.name);
    if (symbol.min < 0 || symbol.min > symbol.max || symbol.optimum < 0) {
      return corrupt_file("symbol {} has the range {}..{} and optimum {}", symbol.name, symbol.min,
                          symbol.max, symbol.optimum);
    }
  }
  return Status::ok();
}

// Loops over a packing run over all extents, so that an empty weight must not hide huge ones.
bool packable(const PlanWeight& weight) {
  int64_t points = 1;
  for (const int64_t extent : weight.shape) {
    const int64_t factor = std::max<int64_t>(extent, 1);
    if (__builtin_mul_overflow(points, factor, &points) || points > kMaxPackedPoints) return false;
  }
  return weight.dtype != DType::kString;
}

Status check_weight(const PlanWeight& weight) {
  if (weight.dtype == DType::kInvalid || static_cast<int>(weight.dtype) >= kDTypeCount) {
    return corrupt_file("dtype {}", static_cast<int>(weight.dtype));
  }
  if (weight.shape.size() > engine::kMaxRank)
    return corrupt_file("rank {}, at most {}", weight.shape.size(), engine::kMaxRank);
  const Result<int64_t> count = element_count(weight.shape);
  if (!count.is_ok()) return corrupt_file("{}", count.status().message());
  const bool packed = weight.packing != Packing::kNone;
  const bool agrees =
      !weight.bytes.defined() ? true  // see verify_sources
      : packed ? weight.bytes.dtype() == DType::kU8 && weight.bytes.rank() == 1
             : weight.bytes.dtype() == weight.dtype && weight.bytes.shape() == weight.shape;
  if (!agrees) {
    return corrupt_file("holds {}{}, expected {}{}", dtype_name(weight.bytes.dtype()),
                        shape_text(weight.bytes.shape()), packed ? "u8" : dtype_name(weight.dtype),
                        packed ? "[bytes]" : shape_text(weight.shape));
  }
  if (packed && !packable(weight)) {
    return corrupt_file("{}{} cannot be packed", dtype_name(weight.dtype),
                        shape_text(weight.shape));
  }
  return Status::ok();
}

// The runtime recurses as deep as programs call each other.
constexpr size_t kMaxCallDepth = 64;

// Sub-programs must not call each other in a circle.
Status check_calls(const std::vector<PlanProgram>& programs) {
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> state(programs.size(), kNew);
  std::vector<std::vector<int32_t>> calls(programs.size());
  for (size_t p = 0; p < programs.size(); ++p) {
    for (const PlanStep& step : programs[p].steps) {
      calls[p].insert(calls[p].end(), step.subprograms.begin(), step.subprograms.end());
    }
  }
  for (size_t start = 0; start < programs.size(); ++start) {
    std::vector<std::pair<size_t, size_t>>
        path;  // program, next call; no recursion: depth is the file's
    if (state[start] == kNew) path.emplace_back(start, 0);
    while (!path.empty()) {
      auto& [program, next] = path.back();
      state[program] = kOpen;
      if (next == calls[program].size()) {
        state[program] = kDone;
        path.pop_back();
        continue;
      }
      const auto target = static_cast<size_t>(calls[program][next++]);
      if (state[target] == kOpen)
        return corrupt_file("program {} calls itself", programs[target].name);
      if (path.size() >= kMaxCallDepth)
        return corrupt_file("sub-programs are nested deeper than {}", kMaxCallDepth);
      if (state[target] == kNew) path.emplace_back(target, 0);
    }
  }
  return Status::ok();
}

Status check_figures(const EngineContents& contents) {
  for (const StepMeasurement& measurement : contents.volatile_section.steps) {
    const auto program = static_cast<size_t>(measurement.program);
    if (measurement.program < 0 || program >= contents.programs.size() || measurement.step < 0 ||
        static_cast<size_t>(measurement.step) >= contents.programs[program].steps.size()) {
      return corrupt_file("a measurement of step {} of program {}", measurement.step,
                          measurement.program);
    }
  }
  return Status::ok();
}

}  // namespace

Status verify_plan(const EngineContents& contents, const TacticLists& tactics) {
  if (contents.programs.empty()) return corrupt_file("the plan holds no program");
  STOKER_TRY(check_symbols(contents.symbols));
  for (const PlanWeight& weight : contents.weights) {
    STOKER_TRY(check_weight(weight).at("weight " + weight.name));
  }
  STOKER_TRY(engine::verify_sources(contents));
  engine::SymbolNames symbols;
  for (const PlanSymbol& symbol : contents.symbols) symbols.insert(symbol.name);
  for (const PlanProgram& program : contents.programs) {
    const std::string where = "program " + program.name;
    STOKER_TRY(engine::verify_tensors(contents, program, symbols).at(where));
    if (program.kind == PlanProgram::Kind::kDynamic) {
      STOKER_TRY(engine::verify_dynamic(contents, program).at(where));
      continue;
    }
    STOKER_TRY(engine::verify_steps(contents, program, tactics).at(where));
    STOKER_TRY(engine::verify_order(program).at(where));
  }
  STOKER_TRY(check_calls(contents.programs));
  return check_figures(contents);
}

}  // namespace stoker
