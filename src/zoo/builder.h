// ModelBuilder: short spelling for writing ONNX graphs, and the seeded weights of the zoo. A
// weight's values depend on its name and shape only, so that editing one layer leaves the others
// alone. They are made when the model is written, so that a graph of any size costs nothing before.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace onnx {
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace stoker::zoo {

using Ints = std::vector<int64_t>;
using AttributeValue = std::variant<int64_t, float, std::string, Ints>;
using AttributeList = std::vector<std::pair<std::string, AttributeValue>>;
using Extent = std::variant<int64_t, std::string>;  // a number or a symbol
using Extents = std::vector<Extent>;

enum class Elements { kF32, kI64 };

// How the f32 elements of one initializer are made.
struct Weight {
  enum class Kind { kNormal, kUniform, kFill };
  int initializer = 0;  // its place in the graph
  int64_t count = 0;
  Kind kind = Kind::kFill;
  double first = 0;   // deviation, lower bound, the value
  double second = 0;  // upper bound
  uint64_t seed = 0;

  int64_t bytes() const { return count * static_cast<int64_t>(sizeof(float)); }
  // Elements `begin`, `begin` + 1, ...
  void generate(int64_t begin, std::span<float> target) const;
};

class ModelBuilder {
 public:
  explicit ModelBuilder(std::string_view name, int64_t opset = 17);
  ~ModelBuilder();
  ModelBuilder(const ModelBuilder&) = delete;
  ModelBuilder& operator=(const ModelBuilder&) = delete;

  std::string input(const std::string& name, Elements type, const Extents& shape);
  void output(const std::string& name, Elements type, const Extents& shape);

  // Adds a node named after its first output and returns that output. An empty `output` is
  // numbered.
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const AttributeList& attributes = {}, const std::string& output = "");
  // The same for a node of several outputs; an empty name stands for an output left out.
  void node(const std::string& op, const std::vector<std::string>& inputs,
            const AttributeList& attributes, const std::vector<std::string>& outputs);
  // A name that no other value has.
  std::string fresh(const std::string& stem);

  // Weights; each returns its name.
  std::string normal(const std::string& name, const Ints& shape, double deviation);
  std::string uniform(const std::string& name, const Ints& shape, double low, double high);
  std::string fill(const std::string& name, const Ints& shape, float value);

  // Known numbers. Asking for a name once more returns the first one; the values must be the same.
  std::string floats(const std::string& name, const Ints& shape, const std::vector<float>& values);
  std::string ints(const std::string& name, const Ints& values);  // rank 1
  std::string scalar(const std::string& name, float value);       // rank 0
  std::string scalar(const std::string& name, int64_t value);     // rank 0

  // The model; its weights have no data yet.
  onnx::ModelProto& proto() { return *model_; }
  const onnx::ModelProto& proto() const { return *model_; }
  std::span<const Weight> weights() const { return weights_; }

 private:
  onnx::TensorProto& add(const std::string& name, const Ints& shape, Elements type);
  std::string add_weight(const std::string& name, const Ints& shape, Weight weight);
  std::string add_known(const std::string& name, const Ints& shape, Elements type,
                        std::span<const std::byte> bytes);
  std::unique_ptr<onnx::ModelProto> model_;
  std::vector<Weight> weights_;
  int64_t unnamed_ = 0;
};

// The number of weights a framework would report: without the running statistics of batch
// normalization and without known numbers.
int64_t parameter_count(const ModelBuilder& model);

}  // namespace stoker::zoo
