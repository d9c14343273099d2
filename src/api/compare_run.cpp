// SPDX-License-Identifier: Apache-2.0
#include "api/compare_run.h"

#include <algorithm>

#include "base/status.h"
#include "runtime/interpreter.h"

namespace stoker {
namespace {

// Row-major, whatever the layout.
Result<Tensor> plain_tensor(const TensorDesc& desc, const void* data) {
  STOKER_ASSIGN(Tensor tensor, Tensor::allocate(desc.dtype, desc.dims));
  const auto* from = static_cast<const std::byte*>(data);
  auto* to = static_cast<std::byte*>(tensor.data());
  if (desc.layout == Layout::kPlain) {
    std::copy_n(from, tensor.bytes(), to);
    return tensor;
  }
  const int64_t size = dtype_bits(desc.dtype) / 8, images = desc.dims[0], channels = desc.dims[1];
  if (tensor.count() == 0) return tensor;
  const int64_t pixels = tensor.count() / images / channels;
  const int64_t groups = (channels + kLaneCount - 1) / kLaneCount;
  for (int64_t n = 0; n < images; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t first = (n * groups + c / kLaneCount) * pixels * kLaneCount + c % kLaneCount;
      for (int64_t p = 0; p < pixels; ++p) {
        std::copy_n(from + (first + p * kLaneCount) * size, size, to);
        to += size;
      }
    }
  }
  return tensor;
}

// Hands the wanted values of a run to `take`, each with its number.
class ValueReader : public RunObserver {
 public:
  ValueReader(const std::vector<MadeValue>& wanted, TakeValue take) : take_(std::move(take)) {
    for (size_t i = 0; i < wanted.size(); ++i)
      places_[{wanted[i].program, wanted[i].step}].push_back(
          {i, wanted[i].output, wanted[i].tensor});
  }

  void after_step(int32_t program, const Executor& executor, int32_t step) override {
    const auto it = places_.find({program, step});
    if (it == places_.end()) return;
    for (const Place& place : it->second) {
      const void* data = executor.output(step, place.output);
      const TensorDesc& desc = executor.bound().tensors[static_cast<size_t>(place.tensor)].desc;
      auto tensor = plain_tensor(desc, data);
      if (!tensor) {
        status_ = tensor.status();
        return;
      }
      take_(place.wanted, AnyValue(std::move(*tensor)));
    }
  }

  void after_value(int32_t program, int32_t step, size_t output, const AnyValue& value) override {
    const auto it = places_.find({program, step});
    if (it == places_.end()) return;
    for (const Place& place : it->second) {
      if (place.output == output) take_(place.wanted, value);
    }
  }

  Status status() const { return status_; }

 private:
  struct Place {
    size_t wanted;
    size_t output;
    int32_t tensor;
  };
  TakeValue take_;
  std::map<std::pair<int32_t, int32_t>, std::vector<Place>> places_;  // by program and step
  Status status_;
};

}  // namespace

Result<ValueMap> run_reading(const Engine& engine, const ValueMap& inputs,
                             const std::vector<MadeValue>& wanted, TakeValue take) {
  ValueReader reader(wanted, std::move(take));
  LoadedEngine& loaded = engine.impl();
  const PlanProgram& program = loaded.main();
  std::vector<AnyValue> values;
  for (const PlanPort& port : program.inputs) {
    const auto it = inputs.find(port.name);
    AnyValue value = it == inputs.end() ? AnyValue() : it->second;
    const PlanTensor& tensor = program.tensors[static_cast<size_t>(port.tensor)];
    if (value.is_tensor() && tensor.ranked && tensor.dims.empty() && value.tensor().rank() > 0) {
      STOKER_ASSIGN(Tensor scalar, value.tensor().reshaped({}));
      value = AnyValue(std::move(scalar));
    }
    values.push_back(std::move(value));
  }
  Interpreter interpreter(loaded);
  interpreter.observe(&reader);
  STOKER_ASSIGN(std::vector<AnyValue> results, interpreter.run(std::move(values)));
  STOKER_TRY(reader.status());
  ValueMap outputs;
  for (size_t i = 0; i < results.size(); ++i)
    outputs[program.outputs[i].name] = std::move(results[i]);
  return outputs;
}

}  // namespace stoker
