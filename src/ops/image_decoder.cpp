// The pixels [H,W,C] of an encoded image; bytes that are no image give an empty one.
// SPDX-License-Identifier: Apache-2.0
#include "base/image.h"
#include "ops/support.h"

namespace stoker {

namespace {

Result<std::string> pixel_format(const Attributes& attributes) {
  std::string format = attributes.get_string("pixel_format", "RGB");
  if (format == "RGB" || format == "BGR" || format == "Grayscale") return format;
  return invalid_model("image_decoder: pixel_format is \"{}\", expected RGB, BGR or Grayscale",
                       format);
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "image_decoder", 0, "encoded stream", dtypes({DType::kU8})));
  STOKER_ASSIGN(const std::string format, pixel_format(c.attributes));
  if (c.type(0).ranked && c.type(0).rank() != 1) {
    return invalid_model("image_decoder: encoded stream is {}, expected rank 1",
                         type_text(c.type(0)));
  }
  set_output(c, 0, DType::kU8, {c.fresh(), c.fresh(), Dim(format == "Grayscale" ? 1 : 3)});
  return Status::ok();
}

Status evaluate_values(ValueContext& c) {
  if (!c.has(0) || !c.inputs[0].is_tensor() || c.tensor(0).dtype() != DType::kU8)
    return invalid_argument("image_decoder: the encoded stream is no tensor of u8");
  STOKER_ASSIGN(const std::string format, pixel_format(c.attributes));
  auto decoded = decode_image(c.tensor(0).values<uint8_t>());
  // The standard asks for an empty image when the bytes cannot be decoded.
  if (!decoded.is_ok() && decoded.status().code() != StatusCode::kCorruptFile)
    return decoded.status().at("image_decoder");
  const Image image = decoded.is_ok() ? std::move(*decoded) : Image{};
  const bool gray = format == "Grayscale", swapped = format == "BGR";
  STOKER_ASSIGN(Tensor out,
                Tensor::allocate(DType::kU8, {image.height, image.width, gray ? 1 : 3}));
  const std::span<uint8_t> pixels = out.values<uint8_t>();
  for (size_t i = 0; i < pixels.size(); ++i) {
    const size_t channel = i % 3;
    pixels[i] = gray      ? luma(image.rgb.data() + i * 3)
                : swapped ? image.rgb[i - channel + 2 - channel]
                          : image.rgb[i];
  }
  c.outputs[0] = std::move(out);
  return Status::ok();
}

}  // namespace

extern const Op op_image_decoder;
const Op op_image_decoder = {
    .name = "image_decoder",
    .attributes = {{"pixel_format", AttributeKind::kString}},
    .infer = infer,
    .evaluate_values = evaluate_values,
};

}  // namespace stoker
