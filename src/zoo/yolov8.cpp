// YOLOv8n for 640x640 pictures as its exporter writes it: batch normalization fused into the
// convolutions, C2f blocks, and the detection head with the expectation over 16 distances (DFL),
// boxes decoded to pixels and joined with the class scores: [N, 4 + 80, 8400]. Weights named as in
// the original. Jocher et al., "Ultralytics YOLOv8", 2023.
// SPDX-License-Identifier: Apache-2.0
#include "zoo/layers.h"
#include "zoo/models.h"

namespace stoker::zoo {

namespace {

constexpr int64_t kSize = 640;
constexpr int64_t kClasses = 80;
constexpr int64_t kBins = 16;
constexpr int64_t kBoxes = 4 * kBins;
constexpr int64_t kStrides[] = {8, 16, 32};

constexpr double kGain = 0.95, kBias = 0.9;

std::string layer(int64_t number) { return "model." + std::to_string(number); }

// Conv, bias, SiLU. The large biases, as fused normalizations have them, keep the deviation of
// activations near one value; without them SiLU lets it run away up or down.
std::string block(ModelBuilder& model, const std::string& x, int64_t in, int64_t out,
                  int64_t kernel, int64_t stride, const std::string& name) {
  return silu(model, conv(model, x, {in, out, kernel, stride, 1, kGain, kBias}, name + ".conv"));
}

std::string concat(ModelBuilder& model, const std::vector<std::string>& parts, int64_t axis,
                   const std::string& output = "") {
  return model.node("Concat", parts, {{"axis", axis}}, output);
}

std::vector<std::string> split(ModelBuilder& model, const std::string& x, const Ints& sizes,
                               const std::string& sizes_name, int64_t axis) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < sizes.size(); ++i) parts.push_back(model.fresh("Split"));
  model.node("Split", {x, model.ints(sizes_name, sizes)}, {{"axis", axis}}, parts);
  return parts;
}

// Cross-stage block: half of the channels run through `count` bottlenecks, all stages are joined.
std::string c2f(ModelBuilder& model, const std::string& x, int64_t in, int64_t out, int64_t count,
                bool shortcut, int64_t number) {
  const std::string name = layer(number);
  const int64_t half = out / 2;
  const std::string wide = block(model, x, in, out, 1, 1, name + ".cv1");
  std::vector<std::string> parts =
      split(model, wide, {half, half}, "split_" + std::to_string(half), 1);
  for (int64_t i = 0; i < count; ++i) {
    const std::string inner = name + ".m." + std::to_string(i);
    std::string y = block(model, parts.back(), half, half, 3, 1, inner + ".cv1");
    y = block(model, y, half, half, 3, 1, inner + ".cv2");
    parts.push_back(shortcut ? model.node("Add", {parts.back(), y}) : y);
  }
  return block(model, concat(model, parts, 1), (2 + count) * half, out, 1, 1, name + ".cv2");
}

// Spatial pyramid: three poolings in a row, all joined.
std::string sppf(ModelBuilder& model, const std::string& x, int64_t width, int64_t number) {
  const std::string name = layer(number);
  std::vector<std::string> parts = {block(model, x, width, width / 2, 1, 1, name + ".cv1")};
  for (int i = 0; i < 3; ++i) parts.push_back(max_pool(model, parts.back(), 5, 1, 2));
  return block(model, concat(model, parts, 1), 2 * width, width, 1, 1, name + ".cv2");
}

std::string upsample(ModelBuilder& model, const std::string& x) {
  return model.node("Resize", {x, "", model.floats("upsample_scales", {4}, {1, 1, 2, 2})},
                    {{"coordinate_transformation_mode", std::string("asymmetric")},
                     {"mode", std::string("nearest")},
                     {"nearest_mode", std::string("floor")}});
}

// [N] of a tensor, to be joined with fixed sizes for a Reshape.
std::string batch_of(ModelBuilder& model, const std::string& x) {
  const std::string batch =
      model.node("Gather", {model.node("Shape", {x}), model.scalar("index_0", int64_t{0})},
                 {{"axis", int64_t{0}}});
  return model.node("Unsqueeze", {batch, model.ints("axes_0", {0})});
}

std::string reshape(ModelBuilder& model, const std::string& x, const Ints& rest,
                    const std::string& name) {
  const std::string shape = concat(model, {batch_of(model, x), model.ints(name, rest)}, 0);
  return model.node("Reshape", {x, shape});
}

// Distances and class scores of one level: [N, 144, cells].
std::string head_level(ModelBuilder& model, const std::string& x, int64_t in, size_t level) {
  std::vector<std::string> parts;
  for (const auto& [branch, hidden, out] :
       {std::tuple{".cv2.", int64_t{64}, kBoxes}, std::tuple{".cv3.", kClasses, kClasses}}) {
    const std::string name = layer(22) + branch + std::to_string(level);
    std::string y = block(model, x, in, hidden, 3, 1, name + ".0");
    y = block(model, y, hidden, hidden, 3, 1, name + ".1");
    parts.push_back(conv(model, y, {hidden, out, 1, 1, 1, kAfterSilu}, name + ".2"));
  }
  return reshape(model, concat(model, parts, 1), {kBoxes + kClasses, -1}, "head_shape");
}

struct Grid {
  std::vector<float> anchors, strides;  // [2, cells] in units of the stride, [cells]
};

Grid make_grid() {
  std::vector<float> xs, ys;
  Grid grid;
  for (const int64_t stride : kStrides) {
    for (int64_t y = 0; y < kSize / stride; ++y) {
      for (int64_t x = 0; x < kSize / stride; ++x) {
        xs.push_back(static_cast<float>(x) + 0.5f);
        ys.push_back(static_cast<float>(y) + 0.5f);
        grid.strides.push_back(static_cast<float>(stride));
      }
    }
  }
  grid.anchors = std::move(xs);
  grid.anchors.insert(grid.anchors.end(), ys.begin(), ys.end());
  return grid;
}

// Expected distances to the four sides: softmax over the bins times 0..15.
std::string expected_distances(ModelBuilder& model, const std::string& boxes, int64_t cells) {
  std::vector<float> bins(kBins);
  for (size_t i = 0; i < bins.size(); ++i) bins[i] = static_cast<float>(i);
  const std::string weight = model.floats(layer(22) + ".dfl.conv.weight", {1, kBins, 1, 1}, bins);
  std::string y = reshape(model, boxes, {4, kBins, cells}, "bins_shape");
  y = model.node("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
  y = model.node("Softmax", {y}, {{"axis", int64_t{1}}});
  y = model.node("Conv", {y, weight},
                 {{"dilations", Ints{1, 1}},
                  {"group", int64_t{1}},
                  {"kernel_shape", Ints{1, 1}},
                  {"pads", Ints{0, 0, 0, 0}},
                  {"strides", Ints{1, 1}}});
  return reshape(model, y, {4, cells}, "sides_shape");
}

void detect(ModelBuilder& model, const std::vector<std::string>& levels) {
  constexpr int64_t kWidths[] = {64, 128, 256};
  std::vector<std::string> parts;
  for (size_t i = 0; i < levels.size(); ++i)
    parts.push_back(head_level(model, levels[i], kWidths[i], i));
  const Grid grid = make_grid();
  const int64_t cells = static_cast<int64_t>(grid.strides.size());
  const std::string anchors = model.floats("anchors", {1, 2, cells}, grid.anchors);
  const std::string strides = model.floats("strides", {1, cells}, grid.strides);
  const auto halves = split(model, concat(model, parts, 2), {kBoxes, kClasses}, "head_parts", 1);
  const std::string sides = expected_distances(model, halves[0], cells);
  const auto side = [&](int64_t begin) {
    return model.node("Slice", {sides, model.ints("at_" + std::to_string(begin), {begin}),
                                model.ints("at_" + std::to_string(begin + 2), {begin + 2}),
                                model.ints("axes_1", {1})});
  };
  const std::string low = model.node("Sub", {anchors, side(0)});
  const std::string high = model.node("Add", {anchors, side(2)});
  const std::string center =
      model.node("Div", {model.node("Add", {low, high}), model.scalar("two", 2.0f)});
  const std::string extent = model.node("Sub", {high, low});
  const std::string box = model.node("Mul", {concat(model, {center, extent}, 1), strides});
  concat(model, {box, model.node("Sigmoid", {halves[1]})}, 1, "output0");
}

}  // namespace

void build_yolov8n(ModelBuilder& model) {
  std::string x = model.input("images", Elements::kF32, {"N", int64_t{3}, kSize, kSize});
  x = block(model, x, 3, 16, 3, 2, layer(0));
  x = block(model, x, 16, 32, 3, 2, layer(1));
  x = c2f(model, x, 32, 32, 1, true, 2);
  x = block(model, x, 32, 64, 3, 2, layer(3));
  const std::string fine = c2f(model, x, 64, 64, 2, true, 4);
  x = block(model, fine, 64, 128, 3, 2, layer(5));
  const std::string middle = c2f(model, x, 128, 128, 2, true, 6);
  x = block(model, middle, 128, 256, 3, 2, layer(7));
  x = c2f(model, x, 256, 256, 1, true, 8);
  const std::string coarse = sppf(model, x, 256, 9);
  x = concat(model, {upsample(model, coarse), middle}, 1);
  const std::string down = c2f(model, x, 384, 128, 1, false, 12);
  x = concat(model, {upsample(model, down), fine}, 1);
  const std::string small = c2f(model, x, 192, 64, 1, false, 15);
  x = concat(model, {block(model, small, 64, 64, 3, 2, layer(16)), down}, 1);
  const std::string medium = c2f(model, x, 192, 128, 1, false, 18);
  x = concat(model, {block(model, medium, 128, 128, 3, 2, layer(19)), coarse}, 1);
  const std::string large = c2f(model, x, 384, 256, 1, false, 21);
  detect(model, {small, medium, large});
  model.output("output0", Elements::kF32, {"N", 4 + kClasses, int64_t{8400}});
}

}  // namespace stoker::zoo
