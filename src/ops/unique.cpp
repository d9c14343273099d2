// The different elements of the flattened input, or the different slices along `axis`: sorted or in
// the order in which they appear; where each appears first, which of them each input slice is, and
// how often each occurs. NaN is one value and the largest, as in numpy; complex numbers are ordered
// by their real parts first.
// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "ops/value_checks.h"

namespace stoker {

namespace {

constexpr DTypeSet kComparable = kReal | kStrings | dtypes({DType::kC64, DType::kC128});

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "unique", 0, "input", kComparable));
  const ValueType& x = c.type(0);
  const Dim count = c.fresh();
  for (size_t i = 1; i < 4; ++i) set_output(c, i, DType::kI64, {count});
  if (!c.attributes.has("axis")) {
    set_output(c, 0, x.dtype, {count});
    set_output(c, 2, DType::kI64, {x.ranked ? product(x.dims) : c.fresh()});
    return Status::ok();
  }
  c.outputs[0] = ValueType::unranked(x.dtype);
  set_output(c, 2, DType::kI64, {c.fresh()});
  if (!x.ranked) return Status::ok();
  STOKER_ASSIGN(const int64_t axis,
                normalize_axis("unique", c.attributes.get_int("axis"), x.rank()));
  Dims dims = x.dims;
  set_output(c, 2, DType::kI64, {dims[static_cast<size_t>(axis)]});
  dims[static_cast<size_t>(axis)] = count;
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

// The slices of the input along one axis, by number.
struct Slices {
  TensorView x;
  int64_t count = 1, outer = 1, inner = 1;
  int64_t elements() const { return outer * inner; }
  // Where element k of slice i lies.
  int64_t at(int64_t i, int64_t k) const { return (k / inner * count + i) * inner + k % inner; }
};

Slices slices_of(const Tensor& tensor, const Shape& shape, size_t axis) {
  Slices slices{view_of(tensor), shape[axis]};
  for (size_t d = 0; d < axis; ++d) slices.outer *= shape[d];
  for (size_t d = axis + 1; d < shape.size(); ++d) slices.inner *= shape[d];
  return slices;
}

// Of the parts of complex numbers.
DType number_type(DType dtype) {
  if (dtype == DType::kC64) return DType::kF32;
  return dtype == DType::kC128 ? DType::kF64 : dtype;
}

int order(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) - std::isnan(b);
  return a < b ? -1 : a > b;
}

// A total order of the slices, element by element: -1, 0, 1.
class Comparison {
 public:
  explicit Comparison(const Slices& slices) : slices_(slices) {}

  int operator()(int64_t i, int64_t j) const {
    for (int64_t k = 0; k < slices_.elements(); ++k) {
      const int found = element(slices_.at(i, k), slices_.at(j, k));
      if (found) return found;
    }
    return 0;
  }

 private:
  int element(int64_t a, int64_t b) const {
    const TensorView& x = slices_.x;
    if (x.dtype == DType::kString) {
      const int found =
          (*x.strings)[static_cast<size_t>(a)].compare((*x.strings)[static_cast<size_t>(b)]);
      return found < 0 ? -1 : found > 0;
    }
    if (x.dtype == DType::kC64 || x.dtype == DType::kC128) {
      const int found = order(load_(x.data, 2 * a), load_(x.data, 2 * b));
      return found ? found : order(load_(x.data, 2 * a + 1), load_(x.data, 2 * b + 1));
    }
    if (is_float(x.dtype)) return order(load_(x.data, a), load_(x.data, b));
    const int64_t u = load_int_(x.data, a), v = load_int_(x.data, b);
    if (x.dtype == DType::kU64) {
      const uint64_t p = static_cast<uint64_t>(u), q = static_cast<uint64_t>(v);
      return p < q ? -1 : p > q;
    }
    return u < v ? -1 : u > v;
  }

  const Slices& slices_;
  LoadDouble load_ = load_double(number_type(slices_.x.dtype));
  LoadInt load_int_ = load_int(slices_.x.dtype);
};

struct Groups {
  std::vector<int64_t> first, inverse, counts;
};

Groups group(const Slices& slices, bool sorted) {
  const Comparison compare(slices);
  std::vector<int64_t> by_value(static_cast<size_t>(slices.count));
  std::iota(by_value.begin(), by_value.end(), int64_t{0});
  std::stable_sort(by_value.begin(), by_value.end(),
                   [&](int64_t i, int64_t j) { return compare(i, j) < 0; });
  Groups groups;
  groups.inverse.resize(by_value.size());
  for (size_t k = 0; k < by_value.size(); ++k) {
    const int64_t i = by_value[k];
    if (k == 0 || compare(by_value[k - 1], i) != 0) {
      groups.first.push_back(i);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[static_cast<size_t>(i)] = static_cast<int64_t>(groups.first.size()) - 1;
  }
  if (sorted) return groups;
  std::vector<size_t> appearance(groups.first.size());
  std::iota(appearance.begin(), appearance.end(), size_t{0});
  std::sort(appearance.begin(), appearance.end(),
            [&](size_t a, size_t b) { return groups.first[a] < groups.first[b]; });
  Groups found;
  std::vector<int64_t> place(appearance.size());
  for (size_t k = 0; k < appearance.size(); ++k) {
    place[appearance[k]] = static_cast<int64_t>(k);
    found.first.push_back(groups.first[appearance[k]]);
    found.counts.push_back(groups.counts[appearance[k]]);
  }
  for (const int64_t g : groups.inverse) found.inverse.push_back(place[static_cast<size_t>(g)]);
  return found;
}

Status evaluate(ValueContext& c) {
  STOKER_TRY(check_tensor(c, "unique", 0, kComparable));
  const Tensor& x = c.tensor(0);
  const bool flat = !c.attributes.has("axis");
  Shape shape = flat ? Shape{x.count()} : x.shape();
  STOKER_ASSIGN(const int64_t axis, normalize_axis("unique", c.attributes.get_int("axis"),
                                                   static_cast<int64_t>(shape.size())));
  const Slices from = slices_of(x, shape, static_cast<size_t>(axis));
  const Groups groups = group(from, c.attributes.get_int("sorted", 1) != 0);
  const int64_t count = static_cast<int64_t>(groups.first.size());
  shape[static_cast<size_t>(axis)] = count;
  STOKER_ASSIGN(Tensor y, Tensor::allocate(x.dtype(), shape));
  const Slices to = slices_of(y, shape, static_cast<size_t>(axis));
  const Mover move(to.x, from.x);
  for (int64_t g = 0; g < count; ++g) {
    const int64_t i = groups.first[static_cast<size_t>(g)];
    for (int64_t k = 0; k < from.elements(); ++k) move(to.at(g, k), from.at(i, k));
  }
  c.outputs[0] = std::move(y);
  c.outputs[1] = Tensor::from<int64_t>({count}, groups.first);
  c.outputs[2] = Tensor::from<int64_t>({from.count}, groups.inverse);
  c.outputs[3] = Tensor::from<int64_t>({count}, groups.counts);
  return Status::ok();
}

}  // namespace

extern const Op op_unique;
const Op op_unique = {
    .name = "unique",
    .output_count = 4,
    .attributes = {{"axis", AttributeKind::kInt}, {"sorted", AttributeKind::kInt}},
    .infer = infer,
    .evaluate_values = evaluate,
};

}  // namespace stoker
