// Graph spelling and the random number generator of the zoo: splitmix64 as a counter-based
// generator, and sums of uniform numbers for the normal distribution, since library functions such
// as log differ between machines in the last bit.
// SPDX-License-Identifier: Apache-2.0
#include "zoo/builder.h"

#include <cstring>

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

template <class Generate>
void fill_floats(onnx::TensorProto& tensor, int64_t count, Generate generate) {
  std::string& bytes = *tensor.mutable_raw_data();
  bytes.resize(static_cast<size_t>(count) * sizeof(float));
  for (int64_t i = 0; i < count; ++i) {
    const float value = generate(static_cast<uint64_t>(i));
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof value, &value, sizeof value);
  }
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

ModelBuilder::ModelBuilder(onnx::ModelProto& model, const std::string& name, int64_t opset)
    : model_(model), graph_(*model.mutable_graph()) {
  model_.set_ir_version(8);
  model_.set_producer_name("stoker-zoo");
  model_.set_producer_version("1");
  auto* entry = model_.add_opset_import();
  entry->set_domain("");
  entry->set_version(opset);
  graph_.set_name(name);
}

std::string ModelBuilder::input(const std::string& name, Elements type, const Extents& shape) {
  declare(*graph_.add_input(), name, type, shape);
  return name;
}

void ModelBuilder::output(const std::string& name, Elements type, const Extents& shape) {
  declare(*graph_.add_output(), name, type, shape);
}

std::string ModelBuilder::node(const std::string& op, const std::vector<std::string>& inputs,
                               const AttributeList& attributes, const std::string& output) {
  const std::string name = output.empty() ? op + "_" + std::to_string(unnamed_++) : output;
  auto* node = graph_.add_node();
  node->set_op_type(op);
  node->set_name(name);
  for (const std::string& value : inputs) node->add_input(value);
  node->add_output(name);
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
  return name;
}

onnx::TensorProto& ModelBuilder::add(const std::string& name, const Ints& shape, Elements type) {
  auto* tensor = graph_.add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(element_type(type));
  for (const int64_t extent : shape) tensor->add_dims(extent);
  return *tensor;
}

std::string ModelBuilder::normal(const std::string& name, const Ints& shape, double deviation) {
  const uint64_t seed = seed_of(name);
  fill_floats(add(name, shape, Elements::kF32), product(shape), [&](uint64_t i) {
    return static_cast<float>(unit_normal(draw(seed, i)) * deviation);
  });
  return name;
}

std::string ModelBuilder::uniform(const std::string& name, const Ints& shape, double low,
                                  double high) {
  const uint64_t seed = seed_of(name);
  fill_floats(add(name, shape, Elements::kF32), product(shape), [&](uint64_t i) {
    const double unit = static_cast<double>(draw(seed, i) >> 11) * 0x1p-53;
    return static_cast<float>(low + unit * (high - low));
  });
  return name;
}

std::string ModelBuilder::fill(const std::string& name, const Ints& shape, float value) {
  fill_floats(add(name, shape, Elements::kF32), product(shape), [&](uint64_t) { return value; });
  return name;
}

std::string ModelBuilder::ints(const std::string& name, const Ints& values) {
  auto& tensor = add(name, {static_cast<int64_t>(values.size())}, Elements::kI64);
  tensor.set_raw_data(values.data(), values.size() * sizeof(int64_t));
  return name;
}

std::string ModelBuilder::scalar(const std::string& name, float value) {
  add(name, {}, Elements::kF32).set_raw_data(&value, sizeof value);
  return name;
}

std::string ModelBuilder::scalar(const std::string& name, int64_t value) {
  add(name, {}, Elements::kI64).set_raw_data(&value, sizeof value);
  return name;
}

int64_t parameter_count(const onnx::ModelProto& model) {
  int64_t total = 0;
  for (const auto& tensor : model.graph().initializer()) {
    const bool statistic = tensor.name().find("running_") != std::string::npos;
    if (tensor.data_type() != onnx::TensorProto::FLOAT || tensor.dims_size() == 0 || statistic)
      continue;
    total += product({tensor.dims().begin(), tensor.dims().end()});
  }
  return total;
}

}  // namespace stoker::zoo
