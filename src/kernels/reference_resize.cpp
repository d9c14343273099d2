// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference_resize.h"

#include <cstring>

#include "base/numeric.h"
#include "kernels/desc/resize.h"
#include "kernels/region_interpreter.h"

namespace stoker {
namespace {

// Which input indices an output index of each axis reads, and with what weights.
class Sampler {
 public:
  explicit Sampler(const Desc& desc) : x_(desc.inputs[0]) {
    const ResampleRule& rule = desc.as<ResizeParams>().rule;
    const bool nearest = rule.mode == ResampleRule::Mode::kNearest;
    for (const ResizeAxis& axis : resize_axes_of(desc)) {
      taps_.emplace_back();
      for (int64_t o = 0; o < axis.out; ++o) {
        if (nearest)
          taps_.back().push_back({{nearest_index(rule, axis, o)}, {1.0}});
        else
          taps_.back().push_back(axis.kept() ? AxisTaps{{o}, {1.0}} : axis_taps(rule, axis, o));
      }
    }
  }

  // Where the only source of an output of mode nearest lies in the input's buffer.
  int64_t source(const std::vector<int64_t>& at) const {
    std::vector<int64_t> from(at.size());
    for (size_t d = 0; d < at.size(); ++d) from[d] = taps_of(d, at).indices[0];
    return element_offset(x_, from);
  }

  double sum(const void* input, const std::vector<int64_t>& at) const {
    std::vector<int64_t> from(at.size());
    return sum_from(load_double(x_.dtype), input, at, 0, from);
  }

 private:
  const AxisTaps& taps_of(size_t d, const std::vector<int64_t>& at) const {
    return taps_[d][static_cast<size_t>(at[d])];
  }

  double sum_from(LoadDouble load, const void* input, const std::vector<int64_t>& at, size_t d,
                  std::vector<int64_t>& from) const {
    if (d == at.size()) return load(input, element_offset(x_, from));
    const AxisTaps& taps = taps_of(d, at);
    double sum = 0;
    for (size_t t = 0; t < taps.indices.size(); ++t) {
      if (taps.weights[t] == 0) continue;
      from[d] = taps.indices[t];
      sum += taps.weights[t] * sum_from(load, input, at, d + 1, from);
    }
    return sum;
  }

  const TensorDesc& x_;
  std::vector<std::vector<AxisTaps>> taps_;  // by axis and output index
};

bool next(const std::vector<int64_t>& extents, std::vector<int64_t>& at) {
  for (size_t d = at.size(); d-- > 0;) {
    if (++at[d] < extents[d]) return true;
    at[d] = 0;
  }
  return false;
}

}  // namespace

Status reference_resize(const Desc& desc, const void* input, void* output) {
  const TensorDesc& y = desc.outputs[0];
  const auto bytes = static_cast<size_t>(dtype_bits(y.dtype) / 8);
  if (y.layout == Layout::kC16)
    std::memset(output, 0, static_cast<size_t>(stored_count(y)) * bytes);
  if (logical_count(y) == 0) return Status::ok();
  const Sampler sampler(desc);
  const bool nearest = desc.as<ResizeParams>().rule.mode == ResampleRule::Mode::kNearest;
  std::vector<int64_t> at(y.dims.size(), 0);
  do {
    const int64_t to = element_offset(y, at);
    if (nearest) {
      std::memcpy(static_cast<char*>(output) + static_cast<size_t>(to) * bytes,
                  static_cast<const char*>(input) + static_cast<size_t>(sampler.source(at)) * bytes,
                  bytes);
    } else {
      store_double(y.dtype)(output, to, sampler.sum(input, at));
    }
  } while (next(y.dims, at));
  return Status::ok();
}

std::vector<double> resized_elements(const Desc& desc, const void* input,
                                     std::span<const int64_t> wanted) {
  const std::vector<int64_t>& extents = desc.outputs[0].dims;
  const Sampler sampler(desc);
  std::vector<double> values;
  for (int64_t index : wanted) {
    std::vector<int64_t> at(extents.size());
    for (size_t d = extents.size(); d-- > 0; index /= extents[d]) at[d] = index % extents[d];
    values.push_back(sampler.sum(input, at));
  }
  return values;
}

}  // namespace stoker
