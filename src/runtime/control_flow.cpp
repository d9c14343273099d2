// The steps that run sub-programs: If, Loop, Scan and SequenceMap as ONNX defines them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/numeric.h"
#include "runtime/interpreter.h"
#include "runtime/tensor_parts.h"

namespace stoker {
namespace {

using Values = std::vector<AnyValue>;

const Attributes& attributes_of(const PlanStep& step) {
  return std::get<FallbackParams>(step.params).attributes;
}

// The one element of an integer or boolean operand, whatever its rank.
Result<int64_t> single_integer(const AnyValue& value, const char* what) {
  if (!value.is_tensor() || value.tensor().count() != 1 || !load_int(value.tensor().dtype()))
    return invalid_argument("{} is not a tensor of one integer or boolean", what);
  return load_int(value.tensor().dtype())(value.tensor().data(), 0);
}

Result<AnyValue> boolean(bool value) {
  STOKER_ASSIGN(Tensor tensor,
                Tensor::from_bytes(DType::kBool, {}, std::as_bytes(std::span(&value, 1))));
  return AnyValue(std::move(tensor));
}

// What an output collects over the iterations, stacked. Without any iteration the sizes that the
// plan does not know are 0.
Result<AnyValue> collected(const std::vector<Tensor>& parts, int64_t axis, bool reversed,
                           const PlanProgram& body, size_t port, const SymbolValues& symbols) {
  if (!parts.empty()) {
    std::vector<Tensor> ordered = parts;
    if (reversed) std::reverse(ordered.begin(), ordered.end());
    STOKER_ASSIGN(Tensor stacked, stack(ordered, axis));
    return AnyValue(std::move(stacked));
  }
  const PlanTensor& element = body.tensors[static_cast<size_t>(body.outputs[port].tensor)];
  Shape shape;
  for (const Dim& dim : element.dims) {
    const auto extent = dim.evaluate(symbols);
    shape.push_back(extent ? *extent : 0);
  }
  const auto rank = static_cast<int64_t>(shape.size()) + 1;
  shape.insert(shape.begin() + std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank - 1), 0);
  STOKER_ASSIGN(Tensor empty, Tensor::allocate(element.dtype, std::move(shape)));
  return AnyValue(std::move(empty));
}

// Keeps the tensors that iterations give beside the carried values.
Status collect(const Values& outputs, size_t first, std::vector<std::vector<Tensor>>& kept) {
  for (size_t i = 0; i < kept.size(); ++i) {
    const AnyValue& value = outputs[first + i];
    if (!value.is_tensor())
      return invalid_argument("output {} of the body is no tensor", first + i);
    kept[i].push_back(value.tensor());
  }
  return Status::ok();
}

int64_t at_or(const std::vector<int64_t>& list, size_t index, int64_t fallback) {
  return index < list.size() ? list[index] : fallback;
}

}  // namespace

Result<Values> Interpreter::run_if(const PlanStep& step, Values operands,
                                   const SymbolValues& symbols) {
  STOKER_ASSIGN(const int64_t condition, single_integer(operands[0], "the condition"));
  operands.erase(operands.begin());
  return run_program(step.subprograms[condition != 0 ? 0 : 1], std::move(operands), symbols);
}

Result<Values> Interpreter::run_loop(const PlanStep& step, Values operands,
                                     const SymbolValues& symbols) {
  const PlanProgram& body = engine_.program(step.subprograms[0]);
  const auto carried = static_cast<size_t>(attributes_of(step).get_int("carried"));
  const int64_t limit = engine_.options().loop_limit;
  int64_t trips = INT64_MAX, condition = 1;
  if (operands[0].has_value()) {
    STOKER_ASSIGN(trips, single_integer(operands[0], "the trip count"));
  }
  if (operands[1].has_value()) {
    STOKER_ASSIGN(condition, single_integer(operands[1], "the condition"));
  }
  STOKER_ASSIGN(operands[1], boolean(true));
  std::vector<std::vector<Tensor>> kept(step.outputs.size() - carried);
  for (int64_t i = 0; i < trips && condition != 0; ++i) {
    if (i >= limit) {
      return error(StatusCode::kResourceExhausted,
                   "the loop has run {} times; raise knob loop_limit if it is not endless", limit);
    }
    operands[0] = AnyValue(Tensor::scalar_i64(i));
    STOKER_ASSIGN(Values outputs, run_program(step.subprograms[0], operands, symbols));
    STOKER_ASSIGN(condition, single_integer(outputs[0], "the body's condition"));
    for (size_t c = 0; c < carried; ++c) operands[2 + c] = std::move(outputs[1 + c]);
    STOKER_TRY(collect(outputs, 1 + carried, kept));
  }
  Values results(operands.begin() + 2, operands.begin() + 2 + static_cast<std::ptrdiff_t>(carried));
  for (size_t k = 0; k < kept.size(); ++k) {
    STOKER_ASSIGN(AnyValue output, collected(kept[k], 0, false, body, 1 + carried + k, symbols));
    results.push_back(std::move(output));
  }
  return results;
}

// Operands: carried values, scanned tensors, captured values.
Result<Values> Interpreter::run_scan_once(const PlanStep& step, const Values& operands,
                                          int64_t length, const SymbolValues& symbols) {
  const Attributes& attributes = attributes_of(step);
  const auto carried = static_cast<size_t>(attributes.get_int("carried")),
             scanned = static_cast<size_t>(attributes.get_int("scanned"));
  const auto axes = attributes.get_ints("scan_input_axes"),
             directions = attributes.get_ints("scan_input_directions"),
             output_axes = attributes.get_ints("scan_output_axes"),
             output_directions = attributes.get_ints("scan_output_directions");
  for (size_t s = 0; s < scanned; ++s) {
    const AnyValue& value = operands[carried + s];
    if (!value.is_tensor()) return invalid_argument("scanned input {} is no tensor", s);
    const Tensor& tensor = value.tensor();
    int64_t axis = at_or(axes, s, 0);
    if (axis < 0) axis += tensor.rank();
    if (axis < 0 || axis >= tensor.rank())
      return invalid_argument("scanned input {} {} has no axis {}", s, shape_text(tensor.shape()),
                              at_or(axes, s, 0));
    const int64_t extent = tensor.shape()[static_cast<size_t>(axis)];
    if (length < 0) length = extent;
    if (length > extent || (length != extent && attributes.get_int("batched") == 0)) {
      return invalid_argument("scanned input {} has {} elements along axis {}, expected {}", s,
                              extent, axis, length);
    }
  }
  Values state = operands;
  std::vector<std::vector<Tensor>> kept(step.outputs.size() - carried);
  for (int64_t i = 0; i < length; ++i) {
    Values inputs = state;
    for (size_t s = 0; s < scanned; ++s) {
      const Tensor& tensor = operands[carried + s].tensor();
      int64_t axis = at_or(axes, s, 0);
      if (axis < 0) axis += tensor.rank();
      const bool backwards = at_or(directions, s, 0) == 1;
      STOKER_ASSIGN(Tensor element, take(tensor, axis, backwards ? length - 1 - i : i));
      inputs[carried + s] = AnyValue(std::move(element));
    }
    STOKER_ASSIGN(Values outputs, run_program(step.subprograms[0], std::move(inputs), symbols));
    for (size_t c = 0; c < carried; ++c) state[c] = outputs[c];
    STOKER_TRY(collect(outputs, carried, kept));
  }
  Values results(state.begin(), state.begin() + static_cast<std::ptrdiff_t>(carried));
  const PlanProgram& body = engine_.program(step.subprograms[0]);
  for (size_t k = 0; k < kept.size(); ++k) {
    STOKER_ASSIGN(AnyValue output,
                  collected(kept[k], at_or(output_axes, k, 0), at_or(output_directions, k, 0) == 1,
                            body, carried + k, symbols));
    results.push_back(std::move(output));
  }
  return results;
}

Result<Values> Interpreter::run_scan(const PlanStep& step, Values operands,
                                     const SymbolValues& symbols) {
  if (attributes_of(step).get_int("batched") != 0)
    return run_batched_scan(step, std::move(operands), symbols);
  return run_scan_once(step, operands, -1, symbols);
}

// Opset 8: every operand has a batch axis in front, operand 0 may say how long each batch is. What
// an output collects is padded with zeros to the longest.
Result<Values> Interpreter::run_batched_scan(const PlanStep& step, Values operands,
                                             const SymbolValues& symbols) {
  const Attributes& attributes = attributes_of(step);
  const auto own =
      static_cast<size_t>(attributes.get_int("carried") + attributes.get_int("scanned"));
  const AnyValue lengths = std::move(operands[0]);
  operands.erase(operands.begin());
  for (size_t i = 0; i < own; ++i) {
    if (!operands[i].is_tensor() || operands[i].tensor().rank() < 1)
      return invalid_argument("operand {} has no batch axis", i);
    if (operands[i].tensor().shape()[0] != operands[0].tensor().shape()[0])
      return invalid_argument("operand {} has another batch size", i);
  }
  const int64_t batch = operands[0].tensor().shape()[0];
  if (lengths.has_value() && (!lengths.is_tensor() || lengths.tensor().count() != batch ||
                              !load_int(lengths.tensor().dtype())))
    return invalid_argument("expected {} lengths", batch);
  std::vector<std::vector<Tensor>> results(step.outputs.size());
  const auto carried = static_cast<size_t>(attributes.get_int("carried"));
  for (int64_t b = 0; b < batch; ++b) {
    Values item = operands;
    for (size_t i = 0; i < own; ++i) {
      STOKER_ASSIGN(Tensor part, take(operands[i].tensor(), 0, b));
      item[i] = AnyValue(std::move(part));
    }
    const int64_t length =
        lengths.has_value() ? load_int(lengths.tensor().dtype())(lengths.tensor().data(), b) : -1;
    STOKER_ASSIGN(Values outputs, run_scan_once(step, item, length, symbols));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].is_tensor()) return invalid_argument("output {} is no tensor", i);
      Tensor tensor = outputs[i].tensor();
      if (i >= carried && length >= 0 && tensor.rank() > 0) {
        const int64_t full = item[carried].tensor().shape()[0] - tensor.shape()[0];
        std::vector<int64_t> pads(2 * static_cast<size_t>(tensor.rank()), 0);
        pads[static_cast<size_t>(tensor.rank())] = std::max<int64_t>(full, 0);
        const auto rank = static_cast<int64_t>(pads.size());
        STOKER_ASSIGN(auto padded, evaluate_op(*find_op("pad"), {},
                                               {tensor, Tensor::from<int64_t>({rank}, pads)}, 1));
        tensor = std::move(padded[0]);
      }
      results[i].push_back(std::move(tensor));
    }
  }
  Values stacked;
  for (size_t i = 0; i < results.size(); ++i) {
    const PlanProgram& body = engine_.program(step.subprograms[0]);
    STOKER_ASSIGN(AnyValue output, collected(results[i], 0, false, body, i, symbols));
    stacked.push_back(std::move(output));
  }
  return stacked;
}

// Operand 0 is a sequence; of the next `mapped` ones a sequence gives its element, anything else
// itself; the rest is captured.
Result<Values> Interpreter::run_sequence_map(const PlanStep& step, Values operands,
                                             const SymbolValues& symbols) {
  const auto mapped = static_cast<size_t>(attributes_of(step).get_int("mapped"));
  const auto is_sequence = [](const AnyValue& value) {
    return value.kind() == AnyValue::Kind::kSequence;
  };
  if (!is_sequence(operands[0])) return invalid_argument("input 0 is no sequence");
  const size_t length = operands[0].elements().size();
  for (size_t i = 1; i <= mapped; ++i) {
    if (is_sequence(operands[i]) && operands[i].elements().size() != length) {
      return invalid_argument("input {} has {} elements, input 0 {}", i,
                              operands[i].elements().size(), length);
    }
  }
  std::vector<Values> collected(step.outputs.size());
  for (size_t e = 0; e < length; ++e) {
    Values inputs = operands;
    for (size_t i = 0; i <= mapped; ++i) {
      if (is_sequence(operands[i])) inputs[i] = operands[i].elements()[e];
    }
    STOKER_ASSIGN(Values outputs, run_program(step.subprograms[0], std::move(inputs), symbols));
    for (size_t i = 0; i < outputs.size(); ++i) collected[i].push_back(std::move(outputs[i]));
  }
  Values results;
  for (Values& elements : collected) results.push_back(AnyValue::sequence(std::move(elements)));
  return results;
}

}  // namespace stoker
