// Symbols from the shapes that a caller brings.
// SPDX-License-Identifier: Apache-2.0
#include "plan/bind.h"

namespace stoker {
namespace {

Status check_rank(const PlanPort& port, const PlanTensor& tensor, const Shape& shape) {
  if (shape.size() != tensor.dims.size()) {
    return invalid_argument("input '{}' has shape {}, the model expects {}", port.name,
                            shape_text(shape), dims_text(tensor.dims));
  }
  return Status::ok();
}

}  // namespace

Result<SymbolValues> match_shapes(const EngineContents& contents, const PlanProgram& program,
                                  const std::vector<Shape>& shapes) {
  STOKER_CHECK(shapes.size() == program.inputs.size());
  SymbolValues values;
  // Plain symbols first, so that composite extents can be checked whatever the order of the inputs.
  for (size_t i = 0; i < shapes.size(); ++i) {
    const PlanTensor& tensor = program.tensors[static_cast<size_t>(program.inputs[i].tensor)];
    STOKER_TRY(check_rank(program.inputs[i], tensor, shapes[i]));
    for (size_t d = 0; d < shapes[i].size(); ++d) {
      const std::string name = tensor.dims[d].text();
      for (const PlanSymbol& symbol : contents.symbols) {
        if (symbol.name == name) values.emplace(name, shapes[i][d]);
      }
    }
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const PlanTensor& tensor = program.tensors[static_cast<size_t>(program.inputs[i].tensor)];
    for (size_t d = 0; d < shapes[i].size(); ++d) {
      STOKER_ASSIGN(const int64_t expected, tensor.dims[d].evaluate(values));
      if (expected != shapes[i][d]) {
        return invalid_argument("input '{}' has shape {}, expected {} with {} = {}",
                                program.inputs[i].name, shape_text(shapes[i]),
                                dims_text(tensor.dims), tensor.dims[d].text(), expected);
      }
    }
  }
  for (const PlanSymbol& symbol : contents.symbols) {
    const auto it = values.find(symbol.name);
    if (it == values.end()) continue;
    if (it->second < symbol.min || it->second > symbol.max) {
      return invalid_argument("size {} = {} is outside the engine's range {}..{}", symbol.name,
                              it->second, symbol.min, symbol.max);
    }
  }
  return values;
}

}  // namespace stoker
