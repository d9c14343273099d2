// ModelBuilder: short spelling for writing ONNX graphs, and the seeded weights of the zoo. A
// weight's values depend on its name and shape only, so that editing one layer leaves the others
// alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace onnx {
class ModelProto;
class NodeProto;
class GraphProto;
class TensorProto;
}  // namespace onnx

namespace stoker::zoo {

using Ints = std::vector<int64_t>;
using AttributeValue = std::variant<int64_t, float, std::string, Ints>;
using AttributeList = std::vector<std::pair<std::string, AttributeValue>>;
using Extent = std::variant<int64_t, std::string>;  // a number or a symbol
using Extents = std::vector<Extent>;

enum class Elements { kF32, kI64 };

class ModelBuilder {
 public:
  ModelBuilder(onnx::ModelProto& model, const std::string& name, int64_t opset);

  std::string input(const std::string& name, Elements type, const Extents& shape);
  void output(const std::string& name, Elements type, const Extents& shape);

  // Adds a node named after its first output and returns that output. An empty `output` is
  // numbered.
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const AttributeList& attributes = {}, const std::string& output = "");

  // Initializers; each returns its name.
  std::string normal(const std::string& name, const Ints& shape, double deviation);
  std::string uniform(const std::string& name, const Ints& shape, double low, double high);
  std::string fill(const std::string& name, const Ints& shape, float value);
  std::string ints(const std::string& name, const Ints& values);  // rank 1
  std::string scalar(const std::string& name, float value);       // rank 0
  std::string scalar(const std::string& name, int64_t value);     // rank 0

 private:
  onnx::TensorProto& add(const std::string& name, const Ints& shape, Elements type);
  onnx::ModelProto& model_;
  onnx::GraphProto& graph_;
  int64_t unnamed_ = 0;
};

// The number of weights a framework would report: float initializers of rank 1 and more, without
// the running statistics of batch normalization.
int64_t parameter_count(const onnx::ModelProto& model);

}  // namespace stoker::zoo
