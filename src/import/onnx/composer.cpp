// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/composer.h"

#include <algorithm>
#include <numeric>

#include "base/status.h"

namespace stoker {

Value* Composer::input(size_t i, const char* what) {
  if (ok() && !node_.has_input(i)) {
    fail(invalid_model("input {} ({}) is left out, expected a tensor", i, what));
  }
  return optional_input(i);
}

int64_t Composer::rank(const Value* value, const char* what) {
  if (!ok()) return 0;
  if (value->type.ranked) return value->type.rank();
  fail(unsupported("{}: expected a known rank, found {}", what, type_text(value->type)));
  return 0;
}

int64_t Composer::extent(const Value* value, int64_t axis, const char* what) {
  const int64_t known = rank(value, what);
  if (!ok()) return 1;
  const int64_t at = axis < 0 ? axis + known : axis;
  if (at >= 0 && at < known) {
    const Dim& dim = value->type.dims[static_cast<size_t>(at)];
    constexpr int64_t kMost = int64_t{1} << 40;  // leaves room to multiply
    if (dim.is_const() && dim.value() <= kMost) return dim.value();
  }
  fail(unsupported("{}: expected a known extent of axis {}, found {}", what, axis,
                   type_text(value->type)));
  return 1;
}

Value* Composer::op(const std::string& name, std::vector<Value*> inputs, Attributes attributes) {
  return outputs(name, std::move(inputs), std::move(attributes), 1)[0];
}

std::vector<Value*> Composer::outputs(const std::string& name, std::vector<Value*> inputs,
                                      Attributes attributes, int count) {
  std::vector<Value*> none(static_cast<size_t>(count), nullptr);
  if (!ok()) return none;
  auto made = node_.emit(name, std::move(inputs), std::move(attributes), count);
  if (!made.is_ok()) {
    fail(made.status());
    return none;
  }
  return (*made)->outputs;
}

Value* Composer::ints(const std::vector<int64_t>& values, const char* role) {
  return ok() ? node_.constant_i64(values, role) : nullptr;
}

Value* Composer::scalar(DType dtype, double value, const char* role) {
  if (!ok()) return nullptr;
  auto made = node_.scalar_like(dtype, value, role);
  if (made.is_ok()) return *made;
  fail(made.status());
  return nullptr;
}

Value* Composer::constant(Result<Tensor> tensor, const char* role) {
  if (!tensor.is_ok()) fail(tensor.status());
  return ok() ? node_.constant(*std::move(tensor), role) : nullptr;
}

Value* Composer::scaled(Value* x, double factor, const char* role) {
  return factor == 1 ? x : mul(x, scalar(dtype(x), factor, role));
}

Value* Composer::cast(Value* x, DType to) {
  return !ok() || dtype(x) == to ? x : op("cast", {x}, {{"to", to}});
}

Value* Composer::transpose(Value* x, std::vector<int64_t> perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return x;  // nothing moves
  return op("transpose", {x}, {{"perm", std::move(perm)}});
}

Value* Composer::reshape(Value* x, const std::vector<int64_t>& shape, const char* role) {
  return op("reshape", {x, ints(shape, role)});
}

Value* Composer::unsqueeze(Value* x, const std::vector<int64_t>& axes, const char* role) {
  return op("unsqueeze", {x, ints(axes, role)});
}

Value* Composer::slice(Value* x, int64_t axis, int64_t start, int64_t end, const char* role) {
  const std::string name(role);
  return op("slice",
            {x, ints({start}, (name + "_start").c_str()), ints({end}, (name + "_end").c_str()),
             ints({axis}, (name + "_axis").c_str())});
}

Value* Composer::channels_first(Value* x) {
  std::vector<int64_t> perm(static_cast<size_t>(rank(x, "input")));
  if (perm.size() < 3) return x;
  std::iota(perm.begin() + 1, perm.end(), 0);
  perm[0] = 0;
  perm[1] = static_cast<int64_t>(perm.size()) - 1;
  for (size_t i = 2; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i) - 1;
  return transpose(x, std::move(perm));
}

Value* Composer::channels_last(Value* x) {
  std::vector<int64_t> perm(static_cast<size_t>(rank(x, "output")));
  if (perm.size() < 3) return x;
  perm[0] = 0;
  for (size_t i = 1; i + 1 < perm.size(); ++i) perm[i] = static_cast<int64_t>(i) + 1;
  perm.back() = 1;
  return transpose(x, std::move(perm));
}

void Composer::bind(size_t i, Value* value) {
  if (!ok() || !node_.wants(i)) return;
  // An input passed through needs a node, so that the output can have its own name.
  const auto& inputs = node_.inputs();
  if (std::find(inputs.begin(), inputs.end(), value) != inputs.end()) {
    value = op("identity", {value});
  }
  if (ok()) node_.bind(i, value);
}

Value* activate(Composer& c, const std::string& name, Value* x, const std::vector<double>& params) {
  struct Activation {
    const char *onnx, *op, *first, *second;
  };
  static constexpr Activation kKnown[] = {
      {"Celu", "celu", "alpha", nullptr},
      {"Elu", "elu", "alpha", nullptr},
      {"Gelu", "gelu", nullptr, nullptr},
      {"HardSigmoid", "hard_sigmoid", "alpha", "beta"},
      {"HardSwish", "hard_swish", nullptr, nullptr},
      {"LeakyRelu", "leaky_relu", "alpha", nullptr},
      {"Mish", "mish", nullptr, nullptr},
      {"Relu", "relu", nullptr, nullptr},
      {"Selu", "selu", "alpha", "gamma"},
      {"Sigmoid", "sigmoid", nullptr, nullptr},
      {"Softplus", "softplus", nullptr, nullptr},
      {"Softsign", "softsign", nullptr, nullptr},
      {"Swish", "swish", "alpha", nullptr},
      {"Tanh", "tanh", nullptr, nullptr},
      {"ThresholdedRelu", "thresholded_relu", "alpha", nullptr},
  };
  if (name.empty() || !c.ok()) return x;
  if (name == "Clip" && params.size() == 2) {
    return c.op("clip", {x, c.scalar(c.dtype(x), params[0], "min"),
                         c.scalar(c.dtype(x), params[1], "max")});
  }
  for (const Activation& known : kKnown) {
    if (name != known.onnx) continue;
    Attributes attributes;
    if (known.first && !params.empty()) attributes.set(known.first, params[0]);
    if (known.second && params.size() > 1) attributes.set(known.second, params[1]);
    return c.op(known.op, {x}, std::move(attributes));
  }
  c.fail(unsupported("activation '{}' with {} parameters is not known; expected an ONNX activation",
                     name, params.size()));
  return nullptr;
}

}  // namespace stoker
