// Symbols from the shapes that a caller brings.
// SPDX-License-Identifier: Apache-2.0
#include "plan/bind.h"

namespace stoker {
void learn_symbols(const Dims& dims, const Shape& shape, SymbolValues& symbols) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].is_symbol()) symbols.emplace(dims[d].text(), shape[d]);
  }
}

Status check_shape(const char* kind, const std::string& name, const Dims& dims, const Shape& shape,
                   const SymbolValues& symbols) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].is_const() && dims[d].value() == shape[d]) continue;
    STOKER_ASSIGN(const int64_t expected, dims[d].evaluate(symbols));
    if (expected == shape[d]) continue;
    if (dims[d].is_const()) {
      return invalid_argument("{} '{}' has shape {}, expected {}: dim {} is {}, expected {}", kind,
                              name, shape_text(shape), dims_text(dims), d, shape[d], expected);
    }
    return invalid_argument("{} '{}' has shape {}, expected {} with {} = {}", kind, name,
                            shape_text(shape), dims_text(dims), dims[d].text(), expected);
  }
  return Status::ok();
}

Status check_ranges(std::span<const PlanSymbol> ranges, const SymbolValues& values) {
  for (const PlanSymbol& symbol : ranges) {
    const auto it = values.find(symbol.name);
    if (it == values.end()) continue;
    if (it->second < symbol.min || it->second > symbol.max) {
      return invalid_argument("size {} = {} is outside the engine's range {}..{}", symbol.name,
                              it->second, symbol.min, symbol.max);
    }
  }
  return Status::ok();
}

Result<SymbolValues> match_shapes(const EngineContents& contents, const PlanProgram& program,
                                  const std::vector<Shape>& shapes) {
  STOKER_CHECK(shapes.size() == program.inputs.size());
  SymbolValues values;
  const auto dims_of = [&](size_t i) -> const Dims& {
    return program.tensors[static_cast<size_t>(program.inputs[i].tensor)].dims;
  };
  // Plain symbols first, so that composite extents can be checked whatever the order of the inputs.
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].size() != dims_of(i).size()) {
      return invalid_argument("input '{}' has shape {}, the model expects {}",
                              program.inputs[i].name, shape_text(shapes[i]), dims_text(dims_of(i)));
    }
    learn_symbols(dims_of(i), shapes[i], values);
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    STOKER_TRY(check_shape("input", program.inputs[i].name, dims_of(i), shapes[i], values));
  }
  STOKER_TRY(check_ranges(contents.symbols, values));
  return values;
}

}  // namespace stoker
