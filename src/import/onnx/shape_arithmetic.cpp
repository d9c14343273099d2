// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/shape_arithmetic.h"

#include <algorithm>
#include <cmath>

#include "base/numeric.h"
#include "base/status.h"
#include "ops/open_sizes.h"

namespace stoker {

namespace {

constexpr int kMaxDepth = 12;
constexpr int64_t kLargestFactor = int64_t{1} << 20;

// sizes / divisor, elementwise. A divisor that is no power of two has been rounded, which does not
// show in the floor or ceiling that must follow at once.
struct Ratio {
  Value* sizes = nullptr;  // i64, with a shape value; null: not such a computation
  int64_t divisor = 1;

  bool exact() const { return (divisor & (divisor - 1)) == 0; }
};

// The elements of a constant as numerators over one common power of two, all positive.
std::optional<std::pair<std::vector<int64_t>, int64_t>> as_fractions(const Tensor& tensor) {
  const LoadDouble load = load_double(tensor.dtype());
  for (int64_t q = 1; q <= 4096; q *= 2) {
    std::vector<int64_t> numerators;
    for (int64_t i = 0; i < tensor.count(); ++i) {
      const double p = load(tensor.data(), i) * static_cast<double>(q);
      if (!(p > 0 && p < static_cast<double>(kLargestFactor))) return std::nullopt;
      if (p == std::floor(p)) numerators.push_back(static_cast<int64_t>(p));
    }
    if (static_cast<int64_t>(numerators.size()) == tensor.count()) return std::pair(numerators, q);
  }
  return std::nullopt;
}

class Tracer {
 public:
  explicit Tracer(NodeImporter& node) : node_(node) {}

  // The integers below `value` once its fraction is cut off.
  Result<Value*> truncated(const Value* value) {
    STOKER_ASSIGN(const Ratio ratio, trace(value, 0));
    return divided(ratio, 0);
  }

 private:
  Result<Ratio> trace(const Value* value, int depth) {
    const Node* made = value->producer;
    const DType dtype = value->type.dtype;
    if (!made || depth > kMaxDepth || (dtype != DType::kF32 && dtype != DType::kF64))
      return Ratio();
    if (made->is("cast")) return trace_cast(*made->inputs[0], depth);
    if (made->is("mul") || made->is("div")) return trace_factor(*made, depth);
    if (!made->is("floor") && !made->is("ceil")) return Ratio();
    STOKER_ASSIGN(const Ratio ratio, trace(made->inputs[0], depth + 1));
    STOKER_ASSIGN(Value* const whole, divided(ratio, made->is("ceil") ? ratio.divisor - 1 : 0));
    return Ratio{whole, 1};
  }

  Result<Ratio> trace_cast(Value& from, int depth) {
    if (is_float(from.type.dtype)) return trace(&from, depth + 1);
    const bool sizes = is_integer(from.type.dtype) && from.elements &&
                       std::all_of(from.elements->begin(), from.elements->end(),
                                   [](const Dim& d) { return surely_not_negative(d); });
    if (!sizes) return Ratio();
    if (from.type.dtype == DType::kI64) return Ratio{&from, 1};
    STOKER_ASSIGN(Value* const wide, node_.apply("cast", {&from}, {{"to", DType::kI64}}));
    return Ratio{wide, 1};
  }

  // A product or quotient with a constant.
  Result<Ratio> trace_factor(const Node& made, int depth) {
    const bool swapped = made.is("mul") && made.inputs[0]->constant.has_value();
    const Value *factor = made.inputs[swapped ? 0 : 1], *from = made.inputs[swapped ? 1 : 0];
    if (!factor->constant || factor->constant->count() == 0) return Ratio();
    const auto fractions = as_fractions(*factor->constant);
    STOKER_ASSIGN(Ratio ratio, fractions ? trace(from, depth + 1) : Result<Ratio>(Ratio()));
    if (!ratio.sizes || !ratio.exact()) return Ratio();
    auto [multipliers, divisor] = *fractions;
    if (made.is("div")) {
      const bool uniform = std::all_of(multipliers.begin(), multipliers.end(),
                                       [&](int64_t m) { return m == multipliers[0]; });
      if (!uniform) return Ratio();
      const int64_t inverse = divisor;
      divisor = multipliers[0];
      std::fill(multipliers.begin(), multipliers.end(), inverse);
    }
    if (__builtin_mul_overflow(ratio.divisor, divisor, &ratio.divisor) ||
        ratio.divisor > kLargestFactor)
      return Ratio();
    Value* const scale =
        node_.constant(Tensor::from<int64_t>(factor->constant->shape(), multipliers), "factor");
    STOKER_ASSIGN(ratio.sizes, node_.apply("mul", {ratio.sizes, scale}));
    return ratio;
  }

  // (sizes + extra) / divisor in integers.
  Result<Value*> divided(const Ratio& ratio, int64_t extra) {
    Value* sizes = ratio.sizes;
    if (!sizes) return sizes;
    if (extra != 0) {
      Value* const addend = node_.constant(Tensor::scalar_i64(extra), "rounding");
      STOKER_ASSIGN(sizes, node_.apply("add", {sizes, addend}));
    }
    if (ratio.divisor != 1) {
      Value* const divisor = node_.constant(Tensor::scalar_i64(ratio.divisor), "divisor");
      STOKER_ASSIGN(sizes, node_.apply("div", {sizes, divisor}));
    }
    return sizes->elements ? sizes : nullptr;
  }

  NodeImporter& node_;
};

}  // namespace

Result<Value*> sizes_in_float(NodeImporter& node, const Value* value) {
  if (!value->type.ranked || value->type.rank() > 1) return static_cast<Value*>(nullptr);
  STOKER_ASSIGN(Value* const sizes, Tracer(node).truncated(value));
  const bool same_shape = sizes && sizes->type.ranked && sizes->type.rank() == value->type.rank();
  return same_shape ? sizes : nullptr;
}

}  // namespace stoker
