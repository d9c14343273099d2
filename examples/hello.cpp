// Builds an engine from a model file, saves it, and runs it once on zeros: hello model.onnx
// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <iostream>

#include "stoker/builder.h"
#include "stoker/engine.h"

namespace {

// "3" is 3; a size that the model leaves open ("N") is 1 here.
stoker::Shape example_shape(const stoker::TensorInfo& info) {
  stoker::Shape shape;
  for (const std::string& dim : info.dims) {
    int64_t size = 1;
    std::from_chars(dim.data(), dim.data() + dim.size(), size);
    shape.push_back(size);
  }
  return shape;
}

stoker::Status hello(const char* path) {
  auto model = stoker::Model::load(path);  // Result<Model>
  if (!model) return model.status();
  auto engine = stoker::build(*model, {});  // Result<Engine>
  if (!engine) return engine.status();
  if (auto saved = engine->save("hello.engine"); !saved) return saved;

  stoker::Session session(*engine);
  stoker::TensorMap inputs;
  for (const auto& input : engine->inputs()) {
    auto zeros = stoker::Tensor::allocate(input.dtype, example_shape(input));
    if (!zeros) return zeros.status();
    inputs[input.name] = *zeros;
  }
  auto outputs = session.run(inputs);  // Result<TensorMap>
  if (!outputs) return outputs.status();
  for (const auto& [name, tensor] : *outputs) {
    std::cout << name << " " << stoker::shape_text(tensor.shape()) << "\n";
  }
  return stoker::Status::ok();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: hello MODEL.onnx\n";
    return 2;
  }
  const stoker::Status status = hello(arguments[1]);
  if (!status) std::cerr << "hello: " << status.message() << "\n";
  return status ? 0 : 1;
}
