// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <unordered_map>

#include "engine/codec.h"
#include "engine/engine_generated.h"
#include "engine/format.h"

namespace stoker::engine {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

template <class T>
using Vector = Offset<flatbuffers::Vector<T>>;
template <class T>
using Tables = Offset<flatbuffers::Vector<Offset<T>>>;

constexpr size_t kShareUpTo = 64;  // longer strings are stored once per use; see the reader's budget

// Children are always built in the order of the fields, in statements of their own: the order in which
// a compiler evaluates arguments is free, and bytes must not depend on it.
class Encoder {
 public:
  Encoder() { b_.ForceDefaults(true); }

  Result<std::vector<std::byte>> plan(const EngineContents& contents, const std::vector<WeightPlace>& places);
  Result<std::vector<std::byte>> volatile_section(const Volatile& data);

 private:
  uint32_t text(const std::string& value) {
    if (value.size() <= kShareUpTo) {
      const auto [it, added] = string_index_.emplace(value, static_cast<uint32_t>(strings_.size()));
      if (!added) return it->second;
    }
    string_bytes_ += static_cast<int64_t>(value.size()) + 9;
    strings_.push_back(value);
    return static_cast<uint32_t>(strings_.size() - 1);
  }
  uint32_t expression(const Dim& dim) {
    const std::string value = dim.text();
    const auto [it, added] = expression_index_.emplace(value, static_cast<uint32_t>(expressions_.size()));
    if (added) {
      Status status = check_expression(value);
      if (status.is_ok()) {
        const Result<Dim> read = Dim::parse(value);
        if (!read.is_ok() || !(*read == dim)) status = internal_error("size expression '{}' does not read back", value);
      }
      fail(status);
      expressions_.push_back(value);
      string_bytes_ += static_cast<int64_t>(value.size()) + 9;
    }
    return it->second;
  }
  void fail(const Status& status) {
    if (status_.is_ok() && !status.is_ok()) status_ = status;
  }
  // False once an error occurred or the section outgrows what FlatBuffers can address.
  bool going() {
    if (int64_t{b_.GetSize()} + string_bytes_ > kMaxTableSection) {
      fail(error(StatusCode::kResourceExhausted, "the plan needs more than {} bytes: large constants belong into "
                 "weights, not into attributes", kMaxTableSection));
    }
    return status_.is_ok();
  }

  Vector<uint32_t> texts(const std::vector<std::string>& values) {
    std::vector<uint32_t> list;
    for (const auto& value : values) list.push_back(text(value));
    return b_.CreateVector(list);
  }
  Vector<uint32_t> dims(const Dims& values) {
    std::vector<uint32_t> list;
    for (const Dim& dim : values) list.push_back(expression(dim));
    return b_.CreateVector(list);
  }
  Tables<fb::Pair> pairs(const std::map<std::string, std::string>& values) {
    return tables<fb::Pair>(values, [&](const auto& pair) {
      const uint32_t key = text(pair.first), value = text(pair.second);
      return fb::CreatePair(b_, key, value);
    });
  }
  template <class T, class List, class Make>
  Tables<T> tables(const List& list, Make make) {
    std::vector<Offset<T>> offsets;
    for (const auto& item : list) {
      if (!going()) break;
      offsets.push_back(make(item));
    }
    return b_.CreateVector(offsets);
  }

  Offset<fb::Names> names();
  Offset<fb::Manifest> manifest(const Manifest& m);
  Offset<fb::Symbol> symbol(const PlanSymbol& s);
  Offset<fb::PlanTensor> tensor(const PlanTensor& t);
  Offset<fb::OperandMap> map(const RegionOperand& operand) {
    return fb::CreateOperandMap(b_, b_.CreateVector(operand.dim_of));
  }
  Offset<fb::RegionProgram> region(const RegionProgram& program);
  Offset<fb::Attribute> attribute(const std::string& name, const Attribute& value);
  Offset<fb::TensorValue> tensor_value(const Tensor& tensor);
  Tables<fb::Attribute> attributes(const Attributes& list) {
    return tables<fb::Attribute>(list.all(), [&](const auto& pair) { return attribute(pair.first, pair.second); });
  }
  Offset<void> params(const GemmParams& p);
  Offset<void> params(const ConvParams& p);
  Offset<void> params(const RegionParams& p);
  Offset<void> params(const PoolParams& p);
  Offset<void> params(const CopyParams& p);
  Offset<void> params(const GatherParams& p) { return fb::CreateGather(b_, p.axis).Union(); }
  Offset<void> params(const FallbackParams& p);
  Offset<fb::Step> step(const PlanStep& s);
  Tables<fb::Port> ports(const std::vector<PlanPort>& list) {
    return tables<fb::Port>(list, [&](const PlanPort& p) { return fb::CreatePort(b_, text(p.name), p.tensor); });
  }
  Offset<fb::Program> program(const PlanProgram& p);
  Offset<fb::Recipe> recipe(const WeightRecipe& r);
  Offset<fb::Weight> weight(const PlanWeight& w, const WeightPlace& place);
  Offset<fb::Measurement> measurement(const StepMeasurement& m);
  Offset<fb::Certificate> certificate(const Certificate& c);
  std::vector<std::byte> bytes() {
    const auto* data = reinterpret_cast<const std::byte*>(b_.GetBufferPointer());
    return {data, data + b_.GetSize()};
  }

  FlatBufferBuilder b_{1 << 20};
  std::vector<std::string> strings_, expressions_;
  std::unordered_map<std::string, uint32_t> string_index_, expression_index_;
  int64_t string_bytes_ = 0;
  Status status_;
};

Offset<fb::Names> Encoder::names() {
  const auto dtypes = texts(dtype_names());
  const auto layouts = texts(layout_names());
  const auto packings = texts(packing_names());
  const auto families = texts(family_names());
  const auto region_ops = texts(region_op_names());
  return fb::CreateNames(b_, dtypes, layouts, packings, families, region_ops);
}

Offset<fb::Manifest> Encoder::manifest(const Manifest& m) {
  const uint32_t version = text(m.library_version), name = text(m.model_name), hash = text(m.model_hash);
  const uint32_t device = text(m.device);
  const auto options = pairs(m.options);
  const uint32_t route = text(m.route);
  return fb::CreateManifest(b_, version, name, hash, device, options, route);
}

Offset<fb::Symbol> Encoder::symbol(const PlanSymbol& s) {
  return fb::CreateSymbol(b_, text(s.name), static_cast<uint8_t>(s.kind), s.min, s.max, s.optimum);
}

fb::Place place_of(const Place& place) { return fb::Place(static_cast<uint8_t>(place.kind), place.index); }

Offset<fb::PlanTensor> Encoder::tensor(const PlanTensor& t) {
  const uint32_t name = text(t.name);
  const auto extents = dims(t.dims);
  const auto elements = dims(t.elements);
  const fb::Place place = place_of(t.place);
  return fb::CreatePlanTensor(b_, name, static_cast<uint8_t>(t.kind), static_cast<uint8_t>(t.dtype),
                              static_cast<uint8_t>(t.layout), extents, &place, t.weight, t.alias_of, elements);
}

Offset<fb::RegionProgram> Encoder::region(const RegionProgram& program) {
  const auto reduced = b_.CreateVector(program.reduced);
  const auto inputs = tables<fb::OperandMap>(program.inputs, [&](const auto& input) { return map(input); });
  std::vector<fb::Instruction> list;
  for (const RegionInstruction& i : program.instructions) {
    list.emplace_back(static_cast<uint8_t>(i.op), static_cast<uint8_t>(i.dtype), i.args[0], i.args[1], i.args[2],
                      i.constant);
  }
  const auto instructions = b_.CreateVectorOfStructs(list);
  const auto outputs = tables<fb::RegionOutput>(program.outputs, [&](const RegionOutput& output) {
    const auto operand = map(output.map);
    return fb::CreateRegionOutput(b_, output.value, operand);
  });
  return fb::CreateRegionProgram(b_, program.rank, reduced, inputs, instructions, outputs);
}

Offset<fb::TensorValue> Encoder::tensor_value(const Tensor& tensor) {
  if (tensor.bytes() > kMaxTableSection / 2) {
    fail(error(StatusCode::kResourceExhausted, "a tensor of {} bytes in an attribute: it belongs into the weights",
               tensor.bytes()));
    return 0;
  }
  const auto shape = b_.CreateVector(tensor.shape());
  const bool is_string = tensor.dtype() == DType::kString;
  const auto* data = static_cast<const uint8_t*>(tensor.data());
  const auto bytes = b_.CreateVector(data, is_string ? 0 : static_cast<size_t>(tensor.bytes()));
  const auto strings = texts(is_string ? tensor.strings() : std::vector<std::string>());
  return fb::CreateTensorValue(b_, static_cast<uint8_t>(tensor.dtype()), shape, bytes, strings);
}

Offset<fb::Attribute> Encoder::attribute(const std::string& name, const Attribute& value) {
  const uint32_t key = text(name);
  struct Visitor {
    Encoder& e;
    Offset<void> operator()(int64_t v) { return fb::CreateIntValue(e.b_, v).Union(); }
    Offset<void> operator()(double v) { return fb::CreateFloatValue(e.b_, v).Union(); }
    Offset<void> operator()(const std::string& v) { return fb::CreateStringValue(e.b_, e.text(v)).Union(); }
    Offset<void> operator()(DType v) { return fb::CreateDTypeValue(e.b_, static_cast<uint8_t>(v)).Union(); }
    Offset<void> operator()(const std::vector<int64_t>& v) {
      return fb::CreateIntsValue(e.b_, e.b_.CreateVector(v)).Union();
    }
    Offset<void> operator()(const std::vector<double>& v) {
      return fb::CreateFloatsValue(e.b_, e.b_.CreateVector(v)).Union();
    }
    Offset<void> operator()(const std::vector<std::string>& v) {
      return fb::CreateStringsValue(e.b_, e.texts(v)).Union();
    }
    Offset<void> operator()(const Tensor& v) { return e.tensor_value(v).Union(); }
  };
  static_assert(std::variant_size_v<Attribute> == static_cast<size_t>(fb::AttributeValue::MAX));
  const auto stored = std::visit(Visitor{*this}, value);
  return fb::CreateAttribute(b_, key, static_cast<fb::AttributeValue>(value.index() + 1), stored);
}

Offset<void> Encoder::params(const GemmParams& p) {
  const auto epilogue = region(p.epilogue);
  return fb::CreateGemm(b_, p.transpose_a, p.transpose_b, p.a_zero, p.b_zero, epilogue).Union();
}

Offset<void> Encoder::params(const ConvParams& p) {
  const auto strides = b_.CreateVector(p.strides);
  const auto dilations = b_.CreateVector(p.dilations);
  const auto pads = b_.CreateVector(p.pads);
  const auto epilogue = region(p.epilogue);
  return fb::CreateConv(b_, strides, dilations, pads, p.group, static_cast<uint8_t>(p.auto_pad), p.x_zero, p.w_zero,
                        epilogue).Union();
}

Offset<void> Encoder::params(const RegionParams& p) {
  const auto program = region(p.program);
  const auto extents = b_.CreateVector(p.extents);
  return fb::CreateRegion(b_, program, extents).Union();
}

Offset<void> Encoder::params(const PoolParams& p) {
  const auto kernel = b_.CreateVector(p.kernel);
  const auto strides = b_.CreateVector(p.strides);
  const auto dilations = b_.CreateVector(p.dilations);
  const auto pads = b_.CreateVector(p.pads);
  return fb::CreatePool(b_, static_cast<uint8_t>(p.kind), kernel, strides, dilations, pads,
                        static_cast<uint8_t>(p.auto_pad), p.ceil_mode, p.count_include_pad, p.global).Union();
}

Offset<void> Encoder::params(const CopyParams& p) {
  const auto perm = b_.CreateVector(p.perm);
  const auto starts = b_.CreateVector(p.starts);
  const auto steps = b_.CreateVector(p.steps);
  return fb::CreateCopy(b_, perm, starts, steps, p.concat_axis).Union();
}

Offset<void> Encoder::params(const FallbackParams& p) {
  const uint32_t op = text(p.op);
  const auto list = attributes(p.attributes);
  return fb::CreateFallback(b_, op, list).Union();
}

Offset<fb::Step> Encoder::step(const PlanStep& s) {
  static_assert(std::variant_size_v<Params> == static_cast<size_t>(fb::Params::MAX));
  const uint32_t name = text(s.name);
  const auto stored = std::visit([&](const auto& p) { return params(p); }, s.params);
  const auto param_dims = dims(s.param_dims);
  const auto inputs = b_.CreateVector(s.inputs);
  const auto outputs = b_.CreateVector(s.outputs);
  const auto after = b_.CreateVector(s.after);
  const fb::Place place = place_of(s.place);
  const uint32_t tactic = text(s.tactic), config = text(s.config);
  const auto origins = texts(s.origins);
  const auto subprograms = b_.CreateVector(s.subprograms);
  return fb::CreateStep(b_, name, static_cast<fb::Params>(s.params.index() + 1), stored, param_dims, inputs, outputs,
                        after, &place, tactic, s.tactic_version, config, origins, subprograms);
}

Offset<fb::Program> Encoder::program(const PlanProgram& p) {
  const uint32_t name = text(p.name);
  const auto tensors = tables<fb::PlanTensor>(p.tensors, [&](const auto& t) { return tensor(t); });
  const auto steps = tables<fb::Step>(p.steps, [&](const auto& s) { return step(s); });
  const auto inputs = ports(p.inputs);
  const auto outputs = ports(p.outputs);
  const auto states = tables<fb::State>(p.states, [&](const PlanState& s) {
    return fb::CreateState(b_, text(s.name), s.initial, s.final_value);
  });
  return fb::CreateProgram(b_, name, tensors, steps, inputs, outputs, states);
}

Offset<fb::Recipe> Encoder::recipe(const WeightRecipe& r) {
  const auto sources = texts(r.sources);
  const auto steps = tables<fb::RecipeStep>(r.steps, [&](const RecipeStep& s) {
    const uint32_t op = text(s.op);
    const auto list = attributes(s.attributes);
    const auto inputs = b_.CreateVector(s.inputs);
    return fb::CreateRecipeStep(b_, op, list, inputs, s.output_count);
  });
  return fb::CreateRecipe(b_, sources, steps, r.result);
}

Offset<fb::Weight> Encoder::weight(const PlanWeight& w, const WeightPlace& place) {
  const uint32_t name = text(w.name);
  const auto shape = b_.CreateVector(w.shape);
  const auto made = recipe(w.recipe);
  return fb::CreateWeight(b_, name, static_cast<uint8_t>(w.dtype), shape, static_cast<uint8_t>(w.packing), made,
                          static_cast<uint64_t>(place.offset), static_cast<uint64_t>(place.bytes));
}

Result<std::vector<std::byte>> Encoder::plan(const EngineContents& contents, const std::vector<WeightPlace>& places) {
  const auto name_lists = names();
  const auto head = manifest(contents.manifest);
  const auto symbols = tables<fb::Symbol>(contents.symbols, [&](const auto& s) { return symbol(s); });
  const auto programs = tables<fb::Program>(contents.programs, [&](const auto& p) { return program(p); });
  size_t index = 0;
  const auto weights =
      tables<fb::Weight>(contents.weights, [&](const auto& w) { return weight(w, places[index++]); });
  if (!going()) return status_;
  const auto strings = b_.CreateVectorOfStrings(strings_);
  const auto expressions = b_.CreateVectorOfStrings(expressions_);
  b_.Finish(fb::CreatePlan(b_, name_lists, head, strings, expressions, symbols, programs, weights));
  return bytes();
}

Offset<fb::Measurement> Encoder::measurement(const StepMeasurement& m) {
  const auto candidates = tables<fb::Timing>(m.candidates, [&](const TacticTiming& t) {
    const uint32_t tactic = text(t.tactic), config = text(t.config), refusal = text(t.refusal);
    return fb::CreateTiming(b_, tactic, config, t.median_ns, t.samples, refusal);
  });
  return fb::CreateMeasurement(b_, m.step, candidates, m.check_error, m.check_bound, m.check_elements);
}

Offset<fb::Certificate> Encoder::certificate(const Certificate& c) {
  const uint32_t against = text(c.checked_against), data = text(c.data), hash = text(c.data_hash);
  const auto outputs = tables<fb::Loss>(c.outputs, [&](const OutputLoss& loss) {
    return fb::CreateLoss(b_, text(loss.output), loss.max_abs_error, loss.max_rel_error);
  });
  const auto demoted = texts(c.demoted);
  return fb::CreateCertificate(b_, against, data, hash, outputs, demoted);
}

Result<std::vector<std::byte>> Encoder::volatile_section(const Volatile& data) {
  const auto fingerprint = pairs(data.fingerprint);
  const auto steps = tables<fb::Measurement>(data.steps, [&](const auto& m) { return measurement(m); });
  const auto checked = certificate(data.certificate);
  const auto notes = texts(data.notes);
  if (!going()) return status_;
  const auto strings = b_.CreateVectorOfStrings(strings_);
  b_.Finish(fb::CreateVolatile(b_, strings, fingerprint, data.build_seconds, steps, checked, notes));
  return bytes();
}

}  // namespace

Result<std::vector<std::byte>> encode_plan(const EngineContents& contents, const std::vector<WeightPlace>& weights) {
  return Encoder().plan(contents, weights);
}

Result<std::vector<std::byte>> encode_volatile(const Volatile& data) { return Encoder().volatile_section(data); }

std::vector<std::byte> encode_strings(const std::vector<std::string>& strings) {
  std::vector<std::byte> bytes;
  for (const std::string& value : strings) {
    const uint64_t size = value.size();
    const auto* head = reinterpret_cast<const std::byte*>(&size);
    const auto* body = reinterpret_cast<const std::byte*>(value.data());
    bytes.insert(bytes.end(), head, head + sizeof size);
    bytes.insert(bytes.end(), body, body + value.size());
  }
  return bytes;
}

}  // namespace stoker::engine
