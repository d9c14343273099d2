// SPDX-License-Identifier: Apache-2.0
#include "api/media.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/image.h"
#include "base/numeric.h"
#include "base/status.h"
#include "base/wav.h"

namespace stoker {
namespace {

constexpr std::array<double, 3> kImagenetMean{0.485, 0.456, 0.406};
constexpr std::array<double, 3> kImagenetDeviation{0.229, 0.224, 0.225};
constexpr int64_t kMaxPictureElements = int64_t{1} << 29;
constexpr int64_t kMaxMediaBytes = int64_t{1} << 30;

std::string ending_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

// Positions of the dims in the input's shape; -1: it has none.
struct PictureLayout {
  int batch = -1, channel = -1, row = -1, column = -1;
};

std::optional<PictureLayout> picture_layout(const Shape& shape) {
  const auto rank = static_cast<int>(shape.size());
  if (rank == 2) return PictureLayout{-1, -1, 0, 1};
  if (rank != 3 && rank != 4) return std::nullopt;
  const int first = rank - 3, batch = rank == 4 ? 0 : -1;
  if (batch == 0 && shape[0] > 1) return std::nullopt;
  const int64_t front = shape[static_cast<size_t>(first)], back = shape.back();
  const PictureLayout channels_first{batch, first, first + 1, first + 2};
  const PictureLayout channels_last{batch, rank - 1, first, first + 1};
  for (const int64_t channels : {3, 1}) {
    if (front == channels) return channels_first;
    if (back == channels) return channels_last;
  }
  if (front < 0) return channels_first;
  return std::nullopt;
}

// A picture as floats, [height][width][channels].
struct Pixels {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<float> values;
};

Pixels pixels_of(const Image& image, int64_t channels) {
  Pixels pixels{image.height, image.width, channels, {}};
  pixels.values.reserve(image.rgb.size() / 3 * static_cast<size_t>(channels));
  for (size_t i = 0; i < image.rgb.size(); i += 3) {
    if (channels == 1) {
      pixels.values.push_back(luma(&image.rgb[i]));
    } else {
      for (size_t c = 0; c < 3; ++c) pixels.values.push_back(image.rgb[i + c]);
    }
  }
  return pixels;
}

// Resampling along one axis: out[o] = sum of weights[k] * in[first + k].
struct Filter {
  int64_t first = 0;
  std::vector<float> weights;
};

// The triangle filter over half-pixel centres; shrinking widens it, so that it averages. `begin`
// and `extent` are the stretch of the source that is shown.
std::vector<Filter> triangle_filters(int64_t source, double begin, double extent, int64_t target) {
  const double scale = extent / static_cast<double>(target), reach = std::max(scale, 1.0);
  std::vector<Filter> filters(static_cast<size_t>(target));
  for (size_t o = 0; o < filters.size(); ++o) {
    const double centre = begin + (static_cast<double>(o) + 0.5) * scale;
    const auto first = std::clamp<int64_t>(std::llround(centre - reach), 0, source - 1);
    const auto end = std::clamp<int64_t>(std::llround(centre + reach), first + 1, source);
    double total = 0;
    filters[o].first = first;
    for (int64_t i = first; i < end; ++i) {
      const double distance = std::abs(static_cast<double>(i) + 0.5 - centre) / reach;
      filters[o].weights.push_back(static_cast<float>(std::max(1 - distance, 0.0)));
      total += filters[o].weights.back();
    }
    if (total <= 0) {
      filters[o].weights.assign(filters[o].weights.size(), 0);
      filters[o].weights[0] = 1;
      continue;
    }
    for (float& weight : filters[o].weights) weight = static_cast<float>(weight / total);
  }
  return filters;
}

Pixels resampled(const Pixels& from, const std::vector<Filter>& rows,
                 const std::vector<Filter>& columns) {
  const auto width = static_cast<int64_t>(columns.size()), channels = from.channels;
  Pixels wide{from.height, width, channels, {}};
  wide.values.assign(static_cast<size_t>(from.height * width * channels), 0);
  for (int64_t y = 0; y < from.height; ++y) {
    const float* line = &from.values[static_cast<size_t>(y * from.width * channels)];
    float* out = &wide.values[static_cast<size_t>(y * width * channels)];
    for (const Filter& filter : columns) {
      const float* in = line + filter.first * channels;
      for (const float weight : filter.weights) {
        for (int64_t c = 0; c < channels; ++c) out[c] += weight * *in++;
      }
      out += channels;
    }
  }
  Pixels result{static_cast<int64_t>(rows.size()), width, channels, {}};
  result.values.assign(rows.size() * static_cast<size_t>(width * channels), 0);
  const auto stride = static_cast<size_t>(width * channels);
  for (size_t y = 0; y < rows.size(); ++y) {
    float* out = &result.values[y * stride];
    for (size_t k = 0; k < rows[y].weights.size(); ++k) {
      const float* in = &wide.values[(static_cast<size_t>(rows[y].first) + k) * stride];
      for (size_t i = 0; i < stride; ++i) out[i] += rows[y].weights[k] * in[i];
    }
  }
  return result;
}

Pixels fitted(const Pixels& from, int64_t height, int64_t width, Preprocess preprocess) {
  double top = 0, left = 0;
  auto rows = static_cast<double>(from.height), columns = static_cast<double>(from.width);
  if (preprocess == Preprocess::kImagenet) {
    // The largest stretch of the target's proportions, then 7/8 of it.
    const double scale =
        std::min(rows / static_cast<double>(height), columns / static_cast<double>(width)) * 7 / 8;
    top = (rows - scale * static_cast<double>(height)) / 2;
    left = (columns - scale * static_cast<double>(width)) / 2;
    rows = scale * static_cast<double>(height);
    columns = scale * static_cast<double>(width);
  } else if (from.height == height && from.width == width) {
    return from;
  }
  return resampled(from, triangle_filters(from.height, top, rows, height),
                   triangle_filters(from.width, left, columns, width));
}

double number_of(float value, int64_t channel, Preprocess preprocess) {
  if (preprocess == Preprocess::kNone) return double{value};
  const double unit = double{value} / 255;
  if (preprocess == Preprocess::kUnit) return unit;
  const auto c = static_cast<size_t>(channel);
  return (unit - kImagenetMean[c]) / kImagenetDeviation[c];
}

Status store_pixels(const Pixels& pixels, bool channels_first, Preprocess preprocess,
                    Tensor& tensor) {
  const DType dtype = tensor.dtype();
  const int64_t plane = pixels.height * pixels.width;
  for (int64_t p = 0; p < plane; ++p) {
    for (int64_t c = 0; c < pixels.channels; ++c) {
      const double number =
          number_of(pixels.values[static_cast<size_t>(p * pixels.channels + c)], c, preprocess);
      const int64_t at = channels_first ? c * plane + p : p * pixels.channels + c;
      if (is_float(dtype)) {
        store_double(dtype)(tensor.data(), at, number);
      } else {
        store_int(dtype)(tensor.data(), at, std::llround(number));
      }
    }
  }
  return Status::ok();
}

Result<Tensor> load_picture(std::span<const uint8_t> bytes, const TensorInfo& input, Shape shape,
                            Preprocess preprocess, std::string& note) {
  const auto layout = picture_layout(shape);
  const bool wide = is_integer(input.dtype) && dtype_bits(input.dtype) >= 8;
  if (!layout || (!is_float(input.dtype) && !wide) || input.dtype == DType::kI8) {
    return unsupported(
        "a picture fills numbers of shape [N,C,H,W], [N,H,W,C], [C,H,W], [H,W,C] or [H,W] with 1 "
        "or 3 channels and a batch of 1; this is {}{}: give a .npy file",
        dtype_name(input.dtype), shape_text(shape));
  }
  if (!is_float(input.dtype) && preprocess != Preprocess::kNone)
    return invalid_argument("{} holds no fractions: use --preprocess none",
                            dtype_name(input.dtype));
  STOKER_ASSIGN(const Image image, decode_image(bytes));
  const auto settle = [&](int dim, int64_t extent) {
    if (dim >= 0 && shape[static_cast<size_t>(dim)] < 0) shape[static_cast<size_t>(dim)] = extent;
  };
  settle(layout->batch, 1);
  settle(layout->channel, 3);
  settle(layout->row, image.height);
  settle(layout->column, image.width);
  const int64_t channels = layout->channel < 0 ? 1 : shape[static_cast<size_t>(layout->channel)];
  if (preprocess == Preprocess::kImagenet && channels != 3)
    return invalid_argument("--preprocess imagenet is for 3 channels; this input has {}", channels);
  STOKER_ASSIGN(const int64_t count, element_count(shape));
  if (count > kMaxPictureElements)
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("a picture of shape {}", shape_text(shape)));
  STOKER_ASSIGN(Tensor tensor, Tensor::allocate(input.dtype, shape));
  note = fmt::format("{} x {} pixels", image.width, image.height);
  if (count == 0) return tensor;
  const Pixels pixels = fitted(pixels_of(image, channels), shape[static_cast<size_t>(layout->row)],
                               shape[static_cast<size_t>(layout->column)], preprocess);
  STOKER_TRY(store_pixels(pixels, layout->channel < layout->row, preprocess, tensor));
  return tensor;
}

Result<Tensor> load_sound(std::span<const uint8_t> bytes, const TensorInfo& input, Shape shape,
                          std::string& note) {
  const bool fits = !shape.empty() && shape.size() <= 3 &&
                    std::all_of(shape.begin(), shape.end() - 1, [](int64_t n) { return n <= 1; });
  if (!fits || (!is_float(input.dtype) && input.dtype != DType::kI16)) {
    return unsupported(
        "sound fills floats or i16 of shape [T], [1,T] or [1,1,T]; this is {}{}: give a .npy file",
        dtype_name(input.dtype), shape_text(shape));
  }
  STOKER_ASSIGN(const Sound sound, decode_wav(bytes));
  const auto length = static_cast<int64_t>(sound.samples.size());
  for (size_t d = 0; d + 1 < shape.size(); ++d) shape[d] = 1;
  if (shape.back() < 0) shape.back() = length;
  STOKER_ASSIGN(Tensor tensor, Tensor::allocate(input.dtype, shape));
  for (int64_t i = 0; i < shape.back(); ++i) {
    const double value = i < length ? double{sound.samples[static_cast<size_t>(i)]} : 0;
    if (is_float(input.dtype)) {
      store_double(input.dtype)(tensor.data(), i, value);
    } else {
      const double scaled = std::isfinite(value) ? std::clamp(value * 32768, -32768.0, 32767.0) : 0;
      store_int(input.dtype)(tensor.data(), i, std::llround(scaled));
    }
  }
  note = fmt::format("{:.2f} s at {} samples per second",
                     static_cast<double>(length) / static_cast<double>(sound.rate), sound.rate);
  if (shape.back() < length) note += fmt::format(", of which the first {} are taken", shape.back());
  return tensor;
}

}  // namespace

Result<Preprocess> parse_preprocess(const std::string& name, DType dtype) {
  if (name == "none") return Preprocess::kNone;
  if (name == "unit") return Preprocess::kUnit;
  if (name == "imagenet") return Preprocess::kImagenet;
  if (name == "auto") return is_float(dtype) ? Preprocess::kUnit : Preprocess::kNone;
  return invalid_argument("--preprocess {}: expected auto, imagenet, unit or none", name);
}

bool is_media_file(const std::string& path) {
  const std::string ending = ending_of(path);
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg" || ending == ".wav";
}

Result<Tensor> load_media(const std::string& path, const TensorInfo& input, const Shape& shape,
                          Preprocess preprocess, std::string& note) {
  STOKER_ASSIGN(const Tensor bytes, read_file(path, kMaxMediaBytes));
  const std::span view(static_cast<const uint8_t*>(bytes.data()),
                       static_cast<size_t>(bytes.count()));
  auto tensor = ending_of(path) == ".wav" ? load_sound(view, input, shape, note)
                                          : load_picture(view, input, shape, preprocess, note);
  return tensor.is_ok() ? std::move(tensor) : tensor.status().at("'" + path + "'");
}

}  // namespace stoker
