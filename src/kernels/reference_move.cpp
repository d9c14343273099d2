// Copy and gather, element by element, for all layouts and all dtypes but strings.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference_move.h"

#include <algorithm>
#include <cstring>

#include "base/numeric.h"
#include "kernels/region_interpreter.h"

namespace stoker {
namespace {

void move_element(DType dtype, void* to, int64_t to_offset, const void* from, int64_t from_offset) {
  const int bits = dtype_bits(dtype);
  if (bits < 8) {
    store_int(dtype)(to, to_offset, load_int(dtype)(from, from_offset));
    return;
  }
  const int64_t bytes = bits / 8;
  std::memcpy(static_cast<char*>(to) + to_offset * bytes,
              static_cast<const char*>(from) + from_offset * bytes, static_cast<size_t>(bytes));
}

bool next(const std::vector<int64_t>& extents, std::vector<int64_t>& at) {
  for (size_t d = at.size(); d-- > 0;) {
    if (++at[d] < extents[d]) return true;
    at[d] = 0;
  }
  return false;
}

// Where each input of a concatenation begins along its axis.
std::vector<int64_t> concat_begins(const Desc& desc) {
  std::vector<int64_t> begins;
  const int64_t axis = desc.as<CopyParams>().concat_axis;
  int64_t total = 0;
  for (size_t i = 0; axis >= 0 && i < desc.inputs.size(); ++i) {
    begins.push_back(total);
    total += desc.inputs[i].dims[static_cast<size_t>(axis)];
  }
  return begins;
}

}  // namespace

Status reference_copy(const Desc& desc, const void* const* inputs, void* output) {
  const auto& p = desc.as<CopyParams>();
  const TensorDesc& y = desc.outputs[0];
  if (y.layout == Layout::kC16) {
    std::memset(output, 0, static_cast<size_t>((stored_count(y) * dtype_bits(y.dtype) + 7) / 8));
  }
  if (logical_count(y) == 0) return Status::ok();
  const std::vector<int64_t> begins = concat_begins(desc);
  std::vector<int64_t> at(y.dims.size(), 0), from(desc.inputs[0].dims.size(), 0);
  do {
    size_t source = 0;
    if (p.concat_axis >= 0) {
      const auto axis = static_cast<size_t>(p.concat_axis);
      const auto after = std::upper_bound(begins.begin(), begins.end(), at[axis]);
      source = static_cast<size_t>(after - begins.begin()) - 1;
      from = at;
      from[axis] -= begins[source];
    } else {
      for (size_t i = 0; i < at.size(); ++i) {
        const size_t dim = p.perm.empty() ? i : static_cast<size_t>(p.perm[i]);
        from[dim] =
            (p.starts.empty() ? 0 : p.starts[i]) + at[i] * (p.steps.empty() ? 1 : p.steps[i]);
      }
    }
    move_element(y.dtype, output, element_offset(y, at), inputs[source],
                 element_offset(desc.inputs[source], from));
  } while (next(y.dims, at));
  return Status::ok();
}

Status reference_gather(const Desc& desc, const void* const* inputs, void* output) {
  const TensorDesc &x = desc.inputs[0], &indices = desc.inputs[1], &y = desc.outputs[0];
  const int64_t axis = desc.as<GatherParams>().axis;
  const size_t a = static_cast<size_t>(axis < 0 ? axis + x.rank() : axis);
  const int64_t extent = x.dims[a];
  for (int64_t i = 0; i < logical_count(indices); ++i) {
    const int64_t index = load_int(indices.dtype)(inputs[1], i);
    if (index < -extent || index >= extent) {
      return invalid_argument(
          "gather: index {} at position {} is outside of the axis, which has {} entries; "
          "indices must lie in [{}, {}]",
          index, i, extent, -extent, extent - 1);
    }
  }
  if (logical_count(y) == 0) return Status::ok();
  std::vector<int64_t> at(y.dims.size(), 0);
  do {
    std::vector<int64_t> where(at.begin() + static_cast<int64_t>(a),
                               at.begin() + static_cast<int64_t>(a) + indices.rank());
    int64_t index = load_int(indices.dtype)(inputs[1], element_offset(indices, where));
    if (index < 0) index += extent;
    std::vector<int64_t> from(at.begin(), at.begin() + static_cast<int64_t>(a));
    from.push_back(index);
    from.insert(from.end(), at.begin() + static_cast<int64_t>(a) + indices.rank(), at.end());
    move_element(y.dtype, output, element_offset(y, at), inputs[0], element_offset(x, from));
  } while (next(y.dims, at));
  return Status::ok();
}

}  // namespace stoker
