// Loads an engine and runs it, linked to stoker_run alone:
//   run_only ENGINE THREADS OUTPUT_FOLDER NAME=DTYPE:SHAPE:RAW_FILE...
// Writes each output as NAME.raw and prints "NAME DTYPE SHAPE".
// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>

#include "stoker/engine.h"

namespace {

using stoker::Result;
using stoker::Status;
using stoker::StatusCode;
using stoker::Tensor;
using stoker::TensorMap;

Status wrong(const std::string& message) { return Status(StatusCode::kInvalidArgument, message); }

// "1x3x8" or "" for a scalar.
Result<stoker::Shape> parse_shape(const std::string& text) {
  stoker::Shape shape;
  for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
    int64_t size = 0;
    const auto parsed = std::from_chars(at, end, size);
    if (parsed.ec != std::errc()) return wrong("not a shape: " + text);
    shape.push_back(size);
    at = parsed.ptr;
  }
  return shape;
}

Status add_input(const std::string& text, TensorMap& inputs) {
  const size_t equals = text.find('='), first = text.find(':', equals);
  const size_t second = first == std::string::npos ? first : text.find(':', first + 1);
  if (second == std::string::npos) return wrong("expected NAME=DTYPE:SHAPE:FILE, found " + text);
  const auto dtype = stoker::dtype_from_name(text.substr(equals + 1, first - equals - 1));
  if (!dtype) return wrong("unknown dtype in " + text);
  auto shape = parse_shape(text.substr(first + 1, second - first - 1));
  if (!shape) return shape.status();
  std::ifstream file(text.substr(second + 1), std::ios::binary);
  if (!file) return wrong("cannot open " + text.substr(second + 1));
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  auto tensor = Tensor::from_bytes(*dtype, *shape, std::as_bytes(std::span(bytes)));
  if (!tensor) return tensor.status();
  inputs[text.substr(0, equals)] = *tensor;
  return Status::ok();
}

Status run(const std::vector<std::string>& arguments) {
  auto engine = stoker::Engine::load(arguments[0], {{"threads", arguments[1]}});
  if (!engine) return engine.status();
  TensorMap inputs;
  for (size_t i = 3; i < arguments.size(); ++i) {
    if (Status added = add_input(arguments[i], inputs); !added) return added;
  }
  stoker::Session session(*engine);
  auto outputs = session.run(inputs);
  if (!outputs) return outputs.status();
  for (const auto& [name, tensor] : *outputs) {
    std::ofstream file(arguments[2] + "/" + name + ".raw", std::ios::binary);
    file.write(static_cast<const char*>(tensor.data()), tensor.bytes());
    if (!file) return wrong("cannot write " + arguments[2] + "/" + name + ".raw");
    std::cout << name << " " << stoker::dtype_name(tensor.dtype()) << " "
              << stoker::shape_text(tensor.shape()) << "\n";
  }
  return Status::ok();
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  if (arguments.size() < 3) {
    std::cerr << "usage: run_only ENGINE THREADS OUTPUT_FOLDER NAME=DTYPE:SHAPE:RAW_FILE...\n";
    return 2;
  }
  const Status status = run(arguments);
  if (!status) std::cerr << "run_only: " << status.message() << "\n";
  return status ? 0 : 1;
}
