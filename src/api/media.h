// Pictures and sound as inputs of a network, shaped by what the network declares.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "stoker/engine.h"

namespace stoker {

// How the 8-bit channels of a picture become numbers.
enum class Preprocess : uint8_t {
  kNone,      // 0 to 255
  kUnit,      // 0 to 1
  kImagenet,  // the middle of the picture, cut as classifiers are evaluated (8/7 of the size, then
              // the centre), 0 to 1 less the mean of ImageNet, over its deviation
};
// "none", "unit", "imagenet"; "auto" is none for integer inputs and unit for floats.
Result<Preprocess> parse_preprocess(const std::string& name, DType dtype);

// Whether load_media reads a file of this name: .png, .jpg, .jpeg, .wav.
bool is_media_file(const std::string& path);

// `shape`: of the input, -1 where its size is open: those are taken from the file.
// Pictures fill inputs of shape [N,C,H,W], [N,H,W,C], [C,H,W], [H,W,C] or [H,W] with C of 1 (luma)
// or 3 (RGB) and N of 1, scaled to H x W by a triangle filter that averages when it shrinks.
// Sound fills [T], [N,T] or [N,1,T]: its channels are averaged, a fixed T cuts it or fills it up
// with silence, floats run from -1 to 1, i16 keeps the usual integers. `note` takes what a user
// should know about the file: its size, or its sample rate and length.
Result<Tensor> load_media(const std::string& path, const TensorInfo& input, const Shape& shape,
                          Preprocess preprocess, std::string& note);

}  // namespace stoker
