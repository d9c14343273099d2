// Graph spelling and the random number generator of the zoo: splitmix64 as a counter-based
// generator, and sums of uniform numbers for the normal distribution, since library functions such
// as log differ between machines in the last bit.
// SPDX-License-Identifier: Apache-2.0
#include "zoo/builder.h"

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "onnx/onnx-ml.pb.h"

namespace stoker::zoo {

namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ull;

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

uint64_t seed_of(const std::string& name) {
  uint64_t seed = 1;
  for (const char c : name) seed = mix(seed * kGolden + static_cast<unsigned char>(c));
  return seed;
}

uint64_t draw(uint64_t seed, uint64_t index) { return mix(seed + (index + 1) * kGolden); }

// Four 16-bit uniforms added: near enough to normal (kurtosis 2.7), exact in every rounding mode.
double unit_normal(uint64_t bits) {
  int64_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<int64_t>((bits >> (16 * i)) & 0xFFFF);
  // Mean 2 * 65535, variance 4 * (65536^2 - 1) / 12.
  return (static_cast<double>(sum) - 131070.0) / 37837.22754;
}

int64_t product(const Ints& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

onnx::TensorProto::DataType element_type(Elements type) {
  return type == Elements::kF32 ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64;
}

void declare(onnx::ValueInfoProto& info, const std::string& name, Elements type,
             const Extents& shape) {
  info.set_name(name);
  auto* tensor = info.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(element_type(type));
  tensor->mutable_shape();
  for (const Extent& extent : shape) {
    auto* dim = tensor->mutable_shape()->add_dim();
    if (const auto* number = std::get_if<int64_t>(&extent)) {
      dim->set_dim_value(*number);
    } else {
      dim->set_dim_param(std::get<std::string>(extent));
    }
  }
}

}  // namespace

void Weight::generate(int64_t begin, std::span<float> target) const {
  uint64_t index = static_cast<uint64_t>(begin);
  switch (kind) {
    case Kind::kNormal:
      for (float& value : target)
        value = static_cast<float>(unit_normal(draw(seed, index++)) * first);
      return;
    case Kind::kUniform:
      for (float& value : target) {
        const double unit = static_cast<double>(draw(seed, index++) >> 11) * 0x1p-53;
        value = static_cast<float>(first + unit * (second - first));
      }
      return;
    case Kind::kFill: std::ranges::fill(target, static_cast<float>(first)); return;
  }
}

ModelBuilder::ModelBuilder(std::string_view name, int64_t opset)
    : model_(std::make_unique<onnx::ModelProto>()) {
  model_->set_ir_version(8);
  model_->set_producer_name("stoker-zoo");
  model_->set_producer_version("1");
  auto* entry = model_->add_opset_import();
  entry->set_domain("");
  entry->set_version(opset);
  model_->mutable_graph()->set_name(std::string(name));
}

ModelBuilder::~ModelBuilder() = default;

std::string ModelBuilder::input(const std::string& name, Elements type, const Extents& shape) {
  declare(*model_->mutable_graph()->add_input(), name, type, shape);
  return name;
}

void ModelBuilder::output(const std::string& name, Elements type, const Extents& shape) {
  declare(*model_->mutable_graph()->add_output(), name, type, shape);
}

std::string ModelBuilder::fresh(const std::string& stem) {
  return stem + "_" + std::to_string(unnamed_++);
}

std::string ModelBuilder::node(const std::string& op, const std::vector<std::string>& inputs,
                               const AttributeList& attributes, const std::string& output) {
  const std::string name = output.empty() ? fresh(op) : output;
  node(op, inputs, attributes, std::vector<std::string>{name});
  return name;
}

void ModelBuilder::node(const std::string& op, const std::vector<std::string>& inputs,
                        const AttributeList& attributes, const std::vector<std::string>& outputs) {
  auto* node = model_->mutable_graph()->add_node();
  node->set_op_type(op);
  for (const std::string& value : inputs) node->add_input(value);
  for (const std::string& value : outputs) {
    if (node->name().empty()) node->set_name(value);
    node->add_output(value);
  }
  for (const auto& [key, value] : attributes) {
    auto* attribute = node->add_attribute();
    attribute->set_name(key);
    if (const auto* number = std::get_if<int64_t>(&value)) {
      attribute->set_type(onnx::AttributeProto::INT);
      attribute->set_i(*number);
    } else if (const auto* real = std::get_if<float>(&value)) {
      attribute->set_type(onnx::AttributeProto::FLOAT);
      attribute->set_f(*real);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      attribute->set_type(onnx::AttributeProto::STRING);
      attribute->set_s(*text);
    } else {
      attribute->set_type(onnx::AttributeProto::INTS);
      for (const int64_t item : std::get<Ints>(value)) attribute->add_ints(item);
    }
  }
}

onnx::TensorProto& ModelBuilder::add(const std::string& name, const Ints& shape, Elements type) {
  auto* tensor = model_->mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(element_type(type));
  for (const int64_t extent : shape) tensor->add_dims(extent);
  return *tensor;
}

std::string ModelBuilder::add_weight(const std::string& name, const Ints& shape, Weight weight) {
  weight.initializer = model_->graph().initializer_size();
  weight.count = product(shape);
  weight.seed = seed_of(name);
  weights_.push_back(weight);
  add(name, shape, Elements::kF32);
  return name;
}

std::string ModelBuilder::normal(const std::string& name, const Ints& shape, double deviation) {
  return add_weight(name, shape, {.kind = Weight::Kind::kNormal, .first = deviation});
}

std::string ModelBuilder::uniform(const std::string& name, const Ints& shape, double low,
                                  double high) {
  return add_weight(name, shape, {.kind = Weight::Kind::kUniform, .first = low, .second = high});
}

std::string ModelBuilder::fill(const std::string& name, const Ints& shape, float value) {
  return add_weight(name, shape, {.kind = Weight::Kind::kFill, .first = value});
}

std::string ModelBuilder::add_known(const std::string& name, const Ints& shape, Elements type,
                                    std::span<const std::byte> bytes) {
  const std::string data(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const auto& known : model_->graph().initializer()) {
    if (known.name() != name) continue;
    STOKER_CHECK(known.raw_data() == data && known.data_type() == element_type(type));
    return name;
  }
  add(name, shape, type).set_raw_data(data);
  return name;
}

std::string ModelBuilder::floats(const std::string& name, const Ints& shape,
                                 const std::vector<float>& values) {
  STOKER_CHECK(product(shape) == static_cast<int64_t>(values.size()));
  return add_known(name, shape, Elements::kF32, std::as_bytes(std::span(values)));
}

std::string ModelBuilder::ints(const std::string& name, const Ints& values) {
  return add_known(name, {static_cast<int64_t>(values.size())}, Elements::kI64,
                   std::as_bytes(std::span(values)));
}

std::string ModelBuilder::scalar(const std::string& name, float value) {
  return add_known(name, {}, Elements::kF32, std::as_bytes(std::span(&value, 1)));
}

std::string ModelBuilder::scalar(const std::string& name, int64_t value) {
  return add_known(name, {}, Elements::kI64, std::as_bytes(std::span(&value, 1)));
}

int64_t parameter_count(const ModelBuilder& model) {
  int64_t total = 0;
  for (const Weight& weight : model.weights()) {
    const std::string& name = model.proto().graph().initializer(weight.initializer).name();
    if (name.find("running_") == std::string::npos) total += weight.count;
  }
  return total;
}

}  // namespace stoker::zoo
