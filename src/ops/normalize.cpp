// SPDX-License-Identifier: Apache-2.0
#include "ops/normalize.h"

namespace stoker {

std::vector<int64_t> axes_from(int64_t first, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t d = first; d < rank; ++d) axes.push_back(d);
  return axes;
}

MeanVariance mean_variance(const TensorView& x, int64_t base, const Walk& inner) {
  const LoadDouble load = load_double(x.dtype);
  const double n = static_cast<double>(inner.count());
  double sum = 0, squares = 0;
  for_each_wanted(inner, {}, [&](const int64_t* o) { sum += load(x.data, base + o[0]); });
  const double mean = sum / n;
  for_each_wanted(inner, {}, [&](const int64_t* o) {
    const double d = load(x.data, base + o[0]) - mean;
    squares += d * d;
  });
  return {mean, squares / n};
}

}  // namespace stoker
