// Columns of blocks back to an image: every element of a block is added where the block lay.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

constexpr const char* kName = "col2_im";
constexpr int64_t kLargest = int64_t{1} << 40;  // of every size and attribute

// Sizes in a rank-1 input: image (1) or block (2).
Result<std::optional<Dims>> sizes_of(const InferContext& c, size_t i, const char* what) {
  STOKER_TRY(check_input(c, kName, i, what, kIndices));
  const auto sizes = c.elements(i);
  for (const Dim& size : sizes ? *sizes : Dims()) {
    if (size.is_const() && size.value() < (i == 2 ? 1 : 0))
      return invalid_model("{}: {} holds {}", kName, what, size.value());
  }
  return sizes;
}

// Number of spatial axes, from the first input that tells.
std::optional<size_t> spatial_rank(const InferContext& c) {
  for (const size_t i : {1, 2}) {
    if (const auto sizes = c.elements(i)) return sizes->size();
    const ValueType& type = c.type(i);
    if (type.ranked && type.rank() == 1 && type.dims[0].is_const())
      return static_cast<size_t>(type.dims[0].value());
  }
  return std::nullopt;
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, kName, 0, "input", kNumbers | kBools));
  STOKER_ASSIGN(const auto image, sizes_of(c, 1, "image_shape"));
  STOKER_ASSIGN(const auto block, sizes_of(c, 2, "block_shape"));
  const ValueType& x = c.type(0);
  if (x.ranked && x.rank() != 3)
    return invalid_model("{}: input is {}, expected (batch, channels * block, blocks)", kName,
                         type_text(x));
  const auto spatial = spatial_rank(c);
  if (!spatial) return set_unranked(c, x.dtype);
  if (image && block && image->size() != block->size()) {
    return invalid_model("{}: image_shape has {} elements, block_shape {}", kName, image->size(),
                         block->size());
  }
  Dims dims = {x.ranked ? x.dims[0] : c.fresh()};
  const Dim area = block ? product(*block) : Dim();
  if (!x.ranked || !block) {
    dims.push_back(c.fresh());
  } else if (x.dims[1].is_const() && area.is_const() && x.dims[1].value() % area.value() != 0) {
    return invalid_model("{}: {} rows do not hold whole blocks of {} elements", kName,
                         x.dims[1].value(), area.value());
  } else {
    dims.push_back(Dim::floor_div(x.dims[1], area));
  }
  for (size_t d = 0; d < *spatial; ++d) dims.push_back(image ? (*image)[d] : c.fresh());
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

struct Layout {
  Shape image, block, grid;  // grid: how many blocks along every axis
  Shape strides, dilations, pads;
};

Result<Layout> make_layout(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  Layout l;
  l.image = to_ints(c.inputs[1]);
  l.block = to_ints(c.inputs[2]);
  const size_t n = l.image.size();
  l.strides = c.attributes.get_ints("strides", Shape(n, 1));
  l.dilations = c.attributes.get_ints("dilations", Shape(n, 1));
  l.pads = c.attributes.get_ints("pads", Shape(2 * n, 0));
  if (l.block.size() != n || l.strides.size() != n || l.dilations.size() != n ||
      l.pads.size() != 2 * n) {
    return invalid_argument(
        "{}: image_shape has {} axes, block_shape {}, strides {}, dilations {}, "
        "pads {}",
        kName, n, l.block.size(), l.strides.size(), l.dilations.size(), l.pads.size());
  }
  int64_t area = 1, blocks = 1;
  for (size_t d = 0; d < n; ++d) {
    const int64_t sizes[] = {l.image[d],     l.block[d], l.strides[d],
                             l.dilations[d], l.pads[d],  l.pads[n + d]};
    const bool fits = std::all_of(std::begin(sizes), std::end(sizes),
                                  [](int64_t v) { return v >= 0 && v <= kLargest; });
    if (!fits || l.block[d] < 1 || l.strides[d] < 1 || l.dilations[d] < 1 ||
        l.block[d] > x.shape[1]) {
      return invalid_argument(
          "{}: axis {} has image {}, block {}, stride {}, dilation {}, pads {} "
          "and {}",
          kName, d, l.image[d], l.block[d], l.strides[d], l.dilations[d], l.pads[d], l.pads[n + d]);
    }
    // Before the division the sum lies below 2^42, the product below the largest tensor times 2^40.
    int64_t reach = 0, last = l.image[d] + l.pads[d] + l.pads[n + d];
    if (__builtin_mul_overflow(l.dilations[d], l.block[d] - 1, &reach) || reach >= last)
      return invalid_argument("{}: a block does not fit along axis {}", kName, d);
    l.grid.push_back((last - reach - 1) / l.strides[d] + 1);
    if (__builtin_mul_overflow(area, l.block[d], &area) ||
        __builtin_mul_overflow(blocks, l.grid[d], &blocks))
      return invalid_argument("{}: too many blocks", kName);
  }
  Shape shape = {x.shape[0], x.shape[1] / area};
  shape.insert(shape.end(), l.image.begin(), l.image.end());
  if (x.shape[1] % area != 0 || x.shape[2] != blocks || y.shape != shape) {
    return invalid_argument(
        "{}: input has shape {}, expected rows in multiples of {} and {} blocks", kName,
        shape_text(x.shape), area, blocks);
  }
  return l;
}

// body(row in the block, number of the block, offset in the image) where the element falls into it.
template <class Body>
void for_each_landing(const Layout& l, Body body) {
  const size_t n = l.image.size();
  const Shape steps = dense_strides(l.image);
  Shape in_block(n), in_grid(n);
  const int64_t area = Walk{l.block, {}}.count(), blocks = Walk{l.grid, {}}.count();
  for (int64_t row = 0; row < area; ++row) {
    unravel(l.block, row, in_block.data());
    for (int64_t number = 0; number < blocks; ++number) {
      unravel(l.grid, number, in_grid.data());
      int64_t offset = 0;
      bool inside = true;
      for (size_t d = 0; d < n; ++d) {
        const int64_t at = in_grid[d] * l.strides[d] + in_block[d] * l.dilations[d] - l.pads[d];
        inside &= at >= 0 && at < l.image[d];
        offset += at * steps[d];
      }
      if (inside) body(row, number, offset);
    }
  }
}

template <class T, class Load, class Store>
void run(const EvalContext& c, const Layout& l, Load load, Store store) {
  const TensorView& x = c.inputs[0];
  const int64_t pixels = Walk{l.image, {}}.count(), area = Walk{l.block, {}}.count();
  const int64_t planes = c.outputs[0].shape[0] * c.outputs[0].shape[1];
  std::vector<T> sums(static_cast<size_t>(planes * pixels));
  for_each_landing(l, [&](int64_t row, int64_t number, int64_t offset) {
    for (int64_t plane = 0; plane < planes; ++plane)
      sums[plane * pixels + offset] += load((plane * area + row) * x.shape[2] + number);
  });
  for (size_t i = 0; i < sums.size(); ++i) store(static_cast<int64_t>(i), sums[i]);
}

Status evaluate(const EvalContext& c) {
  if (c.inputs[0].rank() != 3)
    return invalid_argument("{}: input has shape {}", kName, shape_text(c.inputs[0].shape));
  STOKER_ASSIGN(const Layout layout, make_layout(c));
  const Reader read(c.inputs[0]);
  const Writer write(c.outputs[0]);
  if (is_exact_integer(c.inputs[0].dtype)) {
    run<uint64_t>(
        c, layout, [&](int64_t i) { return static_cast<uint64_t>(read.integer(i)); },
        [&](int64_t i, uint64_t sum) { write.integer(i, static_cast<int64_t>(sum)); });
  } else {
    run<double>(
        c, layout, [&](int64_t i) { return read.number(i); },
        [&](int64_t i, double sum) { write.number(i, sum); });
  }
  return Status::ok();
}

}  // namespace

extern const Op op_col2_im;
const Op op_col2_im = {
    .name = kName,
    .min_inputs = 3,
    .max_inputs = 3,
    .attributes = {{"dilations", AttributeKind::kInts},
                   {"pads", AttributeKind::kInts},
                   {"strides", AttributeKind::kInts}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
