// SPDX-License-Identifier: Apache-2.0
#include "ir/constants.h"

#include "base/numeric.h"

namespace stoker {

std::optional<double> scalar_constant(const Value* value) {
  if (!value || !value->constant || value->constant->count() != 1) return std::nullopt;
  const LoadDouble load = load_double(value->constant->dtype());
  return load ? std::optional<double>(load(value->constant->data(), 0)) : std::nullopt;
}

std::optional<std::vector<int64_t>> constant_ints(const Value* value) {
  if (!value || !value->constant || !is_integer(value->constant->dtype())) return std::nullopt;
  std::vector<int64_t> values;
  const LoadInt load = load_int(value->constant->dtype());
  for (int64_t i = 0; i < value->constant->count(); ++i)
    values.push_back(load(value->constant->data(), i));
  return values;
}

}  // namespace stoker
