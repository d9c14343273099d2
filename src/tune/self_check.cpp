// SPDX-License-Identifier: Apache-2.0
#include "tune/self_check.h"

#include <cmath>
#include <limits>

#include "base/numeric.h"
#include "kernels/reference.h"

namespace stoker {
namespace {

// Terms summed for one output element.
double reduction_length(const Desc& desc) {
  const auto count = static_cast<double>(std::max<int64_t>(logical_count(desc.outputs[0]), 1));
  switch (desc.family()) {
    case Family::kGemm:
    case Family::kConv: return std::max(1.0, desc_work(desc).flops / 2 / count);
    case Family::kRegion: {
      double length = 1;
      const auto& region = desc.as<RegionParams>();
      for (size_t d = 0; d < region.extents.size(); ++d) {
        if (region.program.reduced[d]) length *= static_cast<double>(region.extents[d]);
      }
      return length;
    }
    case Family::kPool: return 64;
    default: return 1;
  }
}

double error_bound(const Desc& desc, double magnitude) {
  const DType dtype = desc.outputs[0].dtype;
  if (dtype == DType::kU8 || dtype == DType::kI8) return 1;
  if (!is_float(dtype)) return 0;
  double epsilon = std::numeric_limits<float>::epsilon();
  if (dtype == DType::kF64) epsilon = std::numeric_limits<double>::epsilon();
  if (dtype == DType::kF16) epsilon = 1.0 / 1024;
  if (dtype == DType::kBF16) epsilon = 1.0 / 128;
  return 4 * (std::sqrt(reduction_length(desc)) + 8) * epsilon * std::max(magnitude, 1e-30);
}

}  // namespace

Result<CheckResult> check_contender(Contender& contender, const Desc& desc,
                                    const std::vector<Tensor>& inputs, WorkerPool& pool,
                                    int elements, uint64_t seed) {
  CheckResult result;
  const int64_t count = logical_count(desc.outputs[0]);
  if (count == 0 || desc.outputs[0].dtype == DType::kString) return result;
  STOKER_TRY(contender.run(pool));
  std::vector<int64_t> wanted;
  const int64_t chosen = std::min<int64_t>(elements, count);
  for (int64_t i = 0; i < chosen; ++i) {
    // Spread evenly with a seeded shift; the first and last elements, where tails live, are always
    // in.
    wanted.push_back(i == 0 ? 0
                     : i == chosen - 1
                         ? count - 1
                         : (i * count / chosen + static_cast<int64_t>(seed % 97)) % count);
  }
  Desc canonical = desc;
  for (TensorDesc& operand : canonical.inputs) operand.packing = Packing::kNone;
  std::vector<const void*> pointers;
  for (size_t i = 0; i < inputs.size(); ++i)
    pointers.push_back(desc.inputs[i].present() ? inputs[i].data() : nullptr);
  double slack = 0;
  STOKER_ASSIGN(const std::vector<double> expected,
                reference_elements(canonical, pointers.data(), 0, wanted, &slack));
  const LoadDouble load = load_double(desc.outputs[0].dtype);
  double magnitude = 0;
  for (const double value : expected) {
    if (std::isfinite(value)) magnitude = std::max(magnitude, std::fabs(value));
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double found =
        load(contender.outputs()[0].data(), stored_position(desc.outputs[0], wanted[i]));
    if (!std::isfinite(expected[i]) && !std::isfinite(found))
      continue;  // overflow points differ between f32 and f64
    const double difference = std::fabs(found - expected[i]);
    result.worst = std::isnan(difference) ? INFINITY : std::max(result.worst, difference);
  }
  result.bound = error_bound(desc, magnitude) + (is_float(desc.outputs[0].dtype) ? slack : 0);
  result.elements = static_cast<int32_t>(wanted.size());
  return result;
}

}  // namespace stoker
