// The printer of the text form; parse.cpp reads exactly what this writes.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "base/numeric.h"
#include "ir/text.h"

namespace stoker {
namespace {

bool plain_name(const std::string& name) {
  if (name.empty()) return false;
  for (const char c : name) {
    const bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '.' || c == '/';
    if (!ok) return false;
  }
  return true;
}

std::string name_text(const std::string& name) { return plain_name(name) ? name : quoted(name); }

std::string value_text(const Value* value) {
  if (!value) return "_";
  return (value->is_constant() ? "@" : "%") + name_text(value->name);
}

// Bits of element `index`, low bits first for packed types.
uint64_t element_bits(const void* data, int bits, int64_t index) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  if (bits >= 8) {
    uint64_t value = 0;
    std::memcpy(&value, bytes + index * (bits / 8), static_cast<size_t>(bits / 8));
    return value;
  }
  const int64_t bit = index * bits;
  return (static_cast<uint64_t>(bytes[bit / 8]) >> (bit % 8)) & ((uint64_t{1} << bits) - 1);
}

std::string float_element(const Tensor& tensor, int64_t index) {
  const DType dtype = tensor.dtype();
  const double value = load_double(dtype)(tensor.data(), index);
  const int bits = dtype_bits(dtype);
  // What the number would read back as: a NaN with a payload prints as its bits instead.
  uint64_t back = 0;
  store_double(dtype)(&back, 0, value);
  const uint64_t raw = element_bits(tensor.data(), bits, index);
  if (element_bits(&back, bits, 0) != raw) return fmt::format("{:#x}", raw);
  if (std::isnan(value)) return std::signbit(value) ? fmt::format("{:#x}", raw) : "nan";
  if (dtype == DType::kF64) return fmt::format("{}", value);
  return fmt::format("{}", static_cast<float>(value));
}

std::string element_text(const Tensor& tensor, int64_t index) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::kString) return quoted(tensor.strings()[static_cast<size_t>(index)]);
  if (is_float(dtype)) return float_element(tensor, index);
  const int64_t value = load_int(dtype)(tensor.data(), index);
  if (dtype == DType::kU64) return fmt::format("{}", static_cast<uint64_t>(value));
  return fmt::format("{}", value);
}

bool prints_inline(const Tensor& tensor, int64_t limit) {
  if (tensor.dtype() == DType::kC64 || tensor.dtype() == DType::kC128) return false;
  return tensor.dtype() == DType::kString || tensor.count() <= limit;
}

// " {1, 2}" or " hash ...": what follows the type of a constant.
std::string content_text(const Tensor& tensor, int64_t limit = kInlineElements) {
  if (!prints_inline(tensor, limit)) return " hash " + content_hash(tensor);
  std::string text = " {";
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (i) text += ", ";
    text += element_text(tensor, i);
  }
  return text + "}";
}

template <class T, class Format>
std::string list_text(const std::vector<T>& list, const char* kind_when_empty, Format format) {
  std::string text = list.empty() ? std::string(kind_when_empty) + "[" : "[";
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) text += ',';
    text += format(list[i]);
  }
  return text + "]";
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  std::string run(const Graph& graph) {
    print_graph(graph, "");
    return std::move(text_);
  }

 private:
  void print_graph(const Graph& graph, const std::string& indent) {
    outputs_.insert(graph.outputs.begin(), graph.outputs.end());
    text_ += indent + "graph @" + name_text(graph.name) + "(";
    print_interface(graph.inputs);
    text_ += ") -> (";
    print_interface(graph.outputs);
    text_ += ") {\n";
    const std::string inner = indent + "  ";
    print_symbols(graph, inner);
    for (const auto& value : graph.values()) {
      if (value->is_constant() && !value->producer) print_constant(*value, inner);
    }
    for (const auto& node : graph.nodes()) print_node(*node, inner);
    text_ += indent + "}\n";
  }

  void print_interface(const std::vector<Value*>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i) text_ += ", ";
      text_ += value_text(values[i]) + ": " + type_text(values[i]->type);
      if (!values[i]->producer && !values[i]->is_constant()) print_elements(*values[i]);
    }
  }

  void print_symbols(const Graph& graph, const std::string& indent) {
    std::string list;
    for (const Symbol& symbol : graph.symbols) {
      const bool usual =
          symbol.kind == Symbol::Kind::kBind && symbol.min == 0 && symbol.max == INT64_MAX;
      if (usual) continue;
      if (!list.empty()) list += ", ";
      list += fmt::format("{}: {} {}..{}", symbol.name,
                          symbol.kind == Symbol::Kind::kBind ? "bind" : "step", symbol.min,
                          symbol.max == INT64_MAX ? "*" : std::to_string(symbol.max));
    }
    if (!list.empty()) text_ += indent + "symbols { " + list + " }\n";
  }

  void print_constant(const Value& value, const std::string& indent) {
    text_ += indent + value_text(&value) + " = const " + type_text(value.type) + content(value);
    if (!value.origin.empty()) text_ += "  # origin " + quoted(value.origin);
    text_ += '\n';
  }

  void print_elements(const Value& value) {
    if (value.elements && !value.is_constant()) text_ += " elements " + dims_text(*value.elements);
  }

  void print_node(const Node& node, const std::string& indent) {
    text_ += indent;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      text_ += (i ? ", " : "") + value_text(node.outputs[i]);
    text_ += " = " + std::string(node.op->name) + "(";
    for (size_t i = 0; i < node.inputs.size(); ++i)
      text_ += (i ? ", " : "") + value_text(node.inputs[i]);
    text_ += ")";
    const std::string attributes = attributes_text(node.attributes);
    if (!attributes.empty()) text_ += " " + attributes;
    text_ += " : ";
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Value& value = *node.outputs[i];
      text_ += std::string(i ? ", " : "") + (value.is_constant() ? "const " : "") +
               type_text(value.type);
      if (value.is_constant()) text_ += content(value);
      print_elements(value);
      if (!value.origin.empty()) text_ += " origin " + quoted(value.origin);
    }
    if (node.name != node.outputs[0]->name) text_ += " name " + quoted(node.name);
    for (size_t i = 0; i < node.origins.size(); ++i) {
      text_ += (i ? ", " : "  # onnx ") + quoted(node.origins[i]);
    }
    text_ += '\n';
    for (const auto& sub : node.subgraphs) print_graph(*sub, indent + "  ");
  }

  bool is_read(const Value& value) const {
    const auto runs = [](const Use& use) { return !use.node->is_constant(); };
    return std::any_of(value.uses.begin(), value.uses.end(), runs) || outputs_.count(&value) > 0;
  }

  // Can the reader make it from weights and constants in line?
  bool is_made_from_weights(const Value& value) const {
    if (!value.producer || options_.weights.empty()) return false;
    return std::all_of(value.producer->inputs.begin(), value.producer->inputs.end(),
                       [&](const Value* input) {
                         return !input || options_.weights.count(input) > 0 ||
                                prints_inline(*input->constant, kInlineElements);
                       });
  }

  // Open ones are met before what is made from them.
  std::string content(const Value& value) {
    if (const auto held = options_.weights.find(&value); held != options_.weights.end())
      return fmt::format(" weight {}", held->second);
    bool left_out = !value.producer && options_.open.count(value.origin) > 0;
    if (value.producer && !open_values_.empty()) {
      for (const Value* input : value.producer->inputs)
        left_out |= input && open_values_.count(input) > 0;
    }
    if (!left_out) {
      return content_text(*value.constant, is_read(value) && !is_made_from_weights(value)
                                               ? options_.inline_elements
                                               : kInlineElements);
    }
    open_values_.insert(&value);
    return " open";
  }

  const PrintOptions& options_;
  std::unordered_set<const Value*> outputs_;  // of all graphs
  std::unordered_set<const Value*> open_values_;
  std::string text_;
};

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string double_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}

std::string tensor_text(const Tensor& tensor) {
  return std::string(dtype_name(tensor.dtype())) + shape_text(tensor.shape()) +
         content_text(tensor);
}

std::string attribute_text(const Attribute& attribute) {
  struct Visitor {
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return double_text(v); }
    std::string operator()(const std::string& v) const { return quoted(v); }
    std::string operator()(DType v) const { return std::string(dtype_name(v)); }
    std::string operator()(const std::vector<int64_t>& v) const {
      return list_text(v, "", [](int64_t x) { return std::to_string(x); });
    }
    std::string operator()(const std::vector<double>& v) const {
      return list_text(v, "floats", [](double x) { return double_text(x); });
    }
    std::string operator()(const std::vector<std::string>& v) const {
      return list_text(v, "strings", [](const std::string& x) { return quoted(x); });
    }
    std::string operator()(const Tensor& v) const { return "tensor " + tensor_text(v); }
  };
  return std::visit(Visitor{}, attribute);
}

std::string attributes_text(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, attribute] : attributes.all()) {
    text += (text.empty() ? "{" : ", ") + name_text(name) + "=" + attribute_text(attribute);
  }
  return text.empty() ? text : text + "}";
}

std::string print(const Graph& graph, const PrintOptions& options) {
  return Printer(options).run(graph);
}

}  // namespace stoker
