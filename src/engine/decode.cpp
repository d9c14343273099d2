// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "engine/codec.h"
#include "engine/engine_generated.h"
#include "engine/format.h"

namespace stoker::engine {
namespace {

// What may be built per byte of a section. Our writer stays far below: it shares strings of up to 64
// bytes, each use costing 4, and nothing else.
constexpr int64_t kBudgetPerByte = 32;
constexpr int64_t kBudgetBase = int64_t{1} << 20;
constexpr uint32_t kMaxDepth = 64;

template <class T>
using Tables = flatbuffers::Vector<flatbuffers::Offset<T>>;
using StringVector = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

// Keeps the first error; after it everything yields empty values and loops end.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> section)
      : budget_(kBudgetBase + kBudgetPerByte * static_cast<int64_t>(section.size())) {}

  Result<std::vector<WeightPlace>> plan(const fb::Plan* plan, const ReadLimits& limits, EngineContents& contents);
  Result<Volatile> volatile_section(const fb::Volatile* data);

 private:
  bool ok() const { return status_.is_ok(); }
  void fail(Status status) {
    if (ok()) status_ = std::move(status);
  }
  bool charge(int64_t bytes) {
    budget_ -= bytes;
    if (budget_ < 0) fail(corrupt_file("its objects lie on top of each other"));
    return ok();
  }

  void pool(const StringVector* list) {
    if (!list || !charge(8 * int64_t{list->size()})) return;
    strings_ = list;
  }
  std::string text(uint32_t index) {
    if (!strings_ || index >= strings_->size()) {
      fail(corrupt_file("string {} of {}", index, strings_ ? strings_->size() : 0));
      return "";
    }
    const auto* value = strings_->Get(index);
    return charge(int64_t{value->size()} + 8) ? value->str() : "";
  }
  template <class E>
  E number(uint8_t value, E last, const char* what) {
    if (value > static_cast<uint8_t>(last)) fail(corrupt_file("{} number {} is unknown", what, value));
    return ok() ? static_cast<E>(value) : E{};
  }
  DType dtype(uint8_t value) { return number(value, static_cast<DType>(kDTypeCount - 1), "dtype"); }

  template <class T>
  std::vector<T> list(const flatbuffers::Vector<T>* values) {
    if (!values || !charge(int64_t{values->size()} * static_cast<int64_t>(sizeof(T)) + 8)) return {};
    return {values->data(), values->data() + values->size()};
  }
  std::vector<std::string> texts(const flatbuffers::Vector<uint32_t>* values) {
    std::vector<std::string> result;
    for (const uint32_t index : list(values)) {
      if (!ok()) break;
      result.push_back(text(index));
    }
    return result;
  }
  template <class T, class Make>
  auto tables(const Tables<T>* values, Make make) {
    std::vector<std::decay_t<decltype(make(*values->Get(0)))>> result;
    for (uint32_t i = 0; values && i < values->size() && charge(16); ++i) result.push_back(make(*values->Get(i)));
    return result;
  }
  std::map<std::string, std::string> pairs(const Tables<fb::Pair>* values) {
    std::map<std::string, std::string> result;
    for (uint32_t i = 0; values && i < values->size() && charge(16); ++i) {
      std::string key = text(values->Get(i)->key());
      if (!result.emplace(std::move(key), text(values->Get(i)->value())).second) {
        fail(corrupt_file("a key stands twice"));
      }
    }
    return result;
  }
  Dims dims(const flatbuffers::Vector<uint32_t>* values) {
    Dims result;
    for (const uint32_t index : list(values)) {
      if (index >= expressions_.size()) fail(corrupt_file("size expression {} of {}", index, expressions_.size()));
      if (!ok()) break;
      result.push_back(expressions_[index]);
    }
    return result;
  }
  Place place(const fb::Place* value) {
    if (!value) return {};
    return {number(value->kind(), Place::Kind::kNull, "place"), value->index()};
  }

  void expressions(const StringVector* list);
  void names(const fb::Names* names);
  void expect_names(const flatbuffers::Vector<uint32_t>* found, const std::vector<std::string>& known,
                    const char* what);
  Manifest manifest(const fb::Manifest* m);
  PlanTensor tensor(const fb::PlanTensor& t);
  RegionOperand map(const fb::OperandMap* m) { return {m ? list(m->dim_of()) : std::vector<int8_t>()}; }
  RegionProgram region(const fb::RegionProgram* r);
  Tensor tensor_value(const fb::TensorValue& t);
  Attribute attribute(const fb::Attribute& a);
  Attributes attributes(const Tables<fb::Attribute>* list);
  Params params(const fb::Step& s);
  ConvParams conv(const fb::Conv& c);
  PoolParams pool_params(const fb::Pool& p);
  PlanStep step(const fb::Step& s);
  std::vector<PlanPort> ports(const Tables<fb::Port>* list) {
    return tables(list, [&](const fb::Port& p) { return PlanPort{text(p.name()), p.tensor()}; });
  }
  PlanProgram program(const fb::Program& p, const ReadLimits& limits);
  WeightRecipe recipe(const fb::Recipe* r);
  PlanWeight weight(const fb::Weight& w, WeightPlace& place);

  int64_t budget_;
  int64_t steps_ = 0, tensors_ = 0;
  const StringVector* strings_ = nullptr;
  std::vector<Dim> expressions_;
  Status status_;
};

void Decoder::expressions(const StringVector* list) {
  for (uint32_t i = 0; list && i < list->size() && charge(8 + list->Get(i)->size()); ++i) {
    const std::string value = list->Get(i)->str();
    fail(check_expression(value));
    if (!ok()) return;
    Result<Dim> dim = Dim::parse(value);
    if (!dim.is_ok()) return fail(corrupt_file("{}", dim.status().message()));
    expressions_.push_back(*dim);
  }
}

void Decoder::expect_names(const flatbuffers::Vector<uint32_t>* found, const std::vector<std::string>& known,
                           const char* what) {
  const std::vector<std::string> stored = texts(found);
  for (size_t i = 0; i < stored.size() && ok(); ++i) {
    if (i < known.size() && stored[i] == known[i]) continue;
    fail(corrupt_file("{} {} is '{}' in this engine and '{}' in this library: rebuild the engine or update Stoker",
                      what, i, stored[i], i < known.size() ? known[i] : "unknown"));
  }
}

void Decoder::names(const fb::Names* names) {
  if (!names) return fail(corrupt_file("the list of names is missing"));
  expect_names(names->dtypes(), dtype_names(), "dtype");
  expect_names(names->layouts(), layout_names(), "layout");
  expect_names(names->packings(), packing_names(), "packing");
  expect_names(names->families(), family_names(), "family");
  expect_names(names->region_ops(), region_op_names(), "region op");
}

Manifest Decoder::manifest(const fb::Manifest* m) {
  if (!m) {
    fail(corrupt_file("the manifest is missing"));
    return {};
  }
  Manifest result;
  result.library_version = text(m->library_version());
  result.model_name = text(m->model_name());
  result.model_hash = text(m->model_hash());
  result.device = text(m->device());
  result.options = pairs(m->options());
  result.route = text(m->route());
  return result;
}

PlanTensor Decoder::tensor(const fb::PlanTensor& t) {
  PlanTensor result;
  result.name = text(t.name());
  result.kind = number(t.kind(), PlanTensor::Kind::kState, "tensor kind");
  result.dtype = dtype(t.dtype());
  result.dims = dims(t.dims());
  result.layout = number(t.layout(), Layout::kC16, "layout");
  result.place = place(t.place());
  result.weight = t.weight();
  result.alias_of = t.alias_of();
  result.elements = dims(t.elements());
  return result;
}

RegionProgram Decoder::region(const fb::RegionProgram* r) {
  RegionProgram result;
  if (!r) return result;
  result.rank = r->rank();
  result.reduced = list(r->reduced());
  result.inputs = tables(r->inputs(), [&](const fb::OperandMap& m) { return map(&m); });
  const uint32_t count = r->instructions() ? r->instructions()->size() : 0;
  if (charge(int64_t{count} * static_cast<int64_t>(sizeof(fb::Instruction)))) {
    for (uint32_t i = 0; i < count; ++i) {
      const fb::Instruction& from = *r->instructions()->Get(i);
      const auto op = number(from.op(), static_cast<RegionOp>(kRegionOpCount - 1), "region op");
      result.instructions.push_back({op, dtype(from.dtype()), {from.arg0(), from.arg1(), from.arg2()}, from.constant()});
    }
  }
  result.outputs = tables(r->outputs(), [&](const fb::RegionOutput& o) { return RegionOutput{o.value(), map(o.map())}; });
  return result;
}

Tensor Decoder::tensor_value(const fb::TensorValue& t) {
  const DType type = dtype(t.dtype());
  const Shape shape = list(t.shape());
  if (!ok() || type == DType::kInvalid) return {};
  Result<Tensor> tensor = Tensor();
  if (type == DType::kString) {
    tensor = Tensor::from_strings(shape, texts(t.strings()));
  } else {
    const uint32_t size = t.bytes() ? t.bytes()->size() : 0;
    if (!charge(size)) return {};
    tensor = Tensor::from_bytes(type, shape, {reinterpret_cast<const std::byte*>(size ? t.bytes()->data() : nullptr), size});
  }
  if (tensor.is_ok()) return *tensor;
  fail(corrupt_file("attribute: {}", tensor.status().message()));
  return {};
}

Attribute Decoder::attribute(const fb::Attribute& a) {
  using Kind = fb::AttributeValue;
  if (a.value()) {
    switch (a.value_type()) {
      case Kind::IntValue: return a.value_as_IntValue()->value();
      case Kind::FloatValue: return a.value_as_FloatValue()->value();
      case Kind::StringValue: return text(a.value_as_StringValue()->value());
      case Kind::DTypeValue: return dtype(a.value_as_DTypeValue()->value());
      case Kind::IntsValue: return list(a.value_as_IntsValue()->values());
      case Kind::FloatsValue: return list(a.value_as_FloatsValue()->values());
      case Kind::StringsValue: return texts(a.value_as_StringsValue()->values());
      case Kind::TensorValue: return tensor_value(*a.value_as_TensorValue());
      case Kind::NONE: break;
    }
  }
  fail(corrupt_file("an attribute of unknown kind {}", static_cast<int>(a.value_type())));
  return int64_t{0};
}

Attributes Decoder::attributes(const Tables<fb::Attribute>* list) {
  Attributes result;
  for (uint32_t i = 0; list && i < list->size() && charge(16); ++i) {
    const std::string name = text(list->Get(i)->name());
    if (result.has(name)) fail(corrupt_file("attribute {} stands twice", name));
    result.set(name, attribute(*list->Get(i)));
  }
  return result;
}

ConvParams Decoder::conv(const fb::Conv& c) {
  ConvParams p;
  p.strides = list(c.strides());
  p.dilations = list(c.dilations());
  p.pads = list(c.pads());
  p.group = c.group();
  p.auto_pad = number(c.auto_pad(), ConvParams::AutoPad::kValid, "auto_pad");
  p.x_zero = c.x_zero();
  p.w_zero = c.w_zero();
  p.epilogue = region(c.epilogue());
  return p;
}

PoolParams Decoder::pool_params(const fb::Pool& from) {
  PoolParams p;
  p.kind = number(from.kind(), PoolParams::Kind::kAverage, "pool kind");
  p.kernel = list(from.kernel());
  p.strides = list(from.strides());
  p.dilations = list(from.dilations());
  p.pads = list(from.pads());
  p.auto_pad = number(from.auto_pad(), ConvParams::AutoPad::kValid, "auto_pad");
  p.ceil_mode = from.ceil_mode();
  p.count_include_pad = from.count_include_pad();
  p.global = from.global();
  return p;
}

Params Decoder::params(const fb::Step& s) {
  if (s.params()) {
    switch (s.params_type()) {
      case fb::Params::Gemm: {
        const fb::Gemm& g = *s.params_as_Gemm();
        return GemmParams{g.transpose_a(), g.transpose_b(), g.a_zero(), g.b_zero(), region(g.epilogue())};
      }
      case fb::Params::Conv: return conv(*s.params_as_Conv());
      case fb::Params::Region: {
        const fb::Region& r = *s.params_as_Region();
        return RegionParams{region(r.program()), list(r.extents())};
      }
      case fb::Params::Pool: return pool_params(*s.params_as_Pool());
      case fb::Params::Copy: {
        const fb::Copy& c = *s.params_as_Copy();
        return CopyParams{list(c.perm()), list(c.starts()), list(c.steps()), c.concat_axis()};
      }
      case fb::Params::Gather: return GatherParams{s.params_as_Gather()->axis()};
      case fb::Params::Fallback: {
        const fb::Fallback& f = *s.params_as_Fallback();
        return FallbackParams{text(f.op()), attributes(f.attributes())};
      }
      case fb::Params::NONE: break;
    }
  }
  fail(corrupt_file("a step of unknown family {}", static_cast<int>(s.params_type())));
  return FallbackParams{};
}

PlanStep Decoder::step(const fb::Step& s) {
  PlanStep result;
  result.name = text(s.name());
  result.params = params(s);
  result.param_dims = dims(s.param_dims());
  result.inputs = list(s.inputs());
  result.outputs = list(s.outputs());
  result.after = list(s.after());
  result.place = place(s.place());
  result.tactic = text(s.tactic());
  result.tactic_version = s.tactic_version();
  result.config = text(s.config());
  result.origins = texts(s.origins());
  result.subprograms = list(s.subprograms());
  return result;
}

PlanProgram Decoder::program(const fb::Program& p, const ReadLimits& limits) {
  steps_ += p.steps() ? p.steps()->size() : 0;
  tensors_ += p.tensors() ? p.tensors()->size() : 0;
  if (steps_ > limits.max_steps || tensors_ / 8 > limits.max_steps) {
    fail(error(StatusCode::kResourceExhausted, "{} steps and {} tensors; at most {} and {} are read", steps_,
               tensors_, limits.max_steps, 8 * limits.max_steps));
    return {};
  }
  PlanProgram result;
  result.name = text(p.name());
  result.tensors = tables(p.tensors(), [&](const fb::PlanTensor& t) { return tensor(t); });
  result.steps = tables(p.steps(), [&](const fb::Step& s) { return step(s); });
  result.inputs = ports(p.inputs());
  result.outputs = ports(p.outputs());
  result.states = tables(p.states(), [&](const fb::State& s) {
    return PlanState{text(s.name()), s.initial(), s.final_value()};
  });
  return result;
}

WeightRecipe Decoder::recipe(const fb::Recipe* r) {
  if (!r) return {};
  WeightRecipe result;
  result.sources = texts(r->sources());
  result.steps = tables(r->steps(), [&](const fb::RecipeStep& s) {
    RecipeStep made;
    made.op = text(s.op());
    made.attributes = attributes(s.attributes());
    made.inputs = list(s.inputs());
    made.output_count = s.output_count();
    return made;
  });
  result.result = r->result();
  return result;
}

PlanWeight Decoder::weight(const fb::Weight& w, WeightPlace& place) {
  PlanWeight result;
  result.name = text(w.name());
  result.dtype = dtype(w.dtype());
  result.shape = list(w.shape());
  result.packing = number(w.packing(), static_cast<Packing>(packing_names().size() - 1), "packing");
  result.recipe = recipe(w.recipe());
  if (w.offset() > INT64_MAX || w.bytes() > INT64_MAX) fail(corrupt_file("a weight at {} of {} bytes", w.offset(), w.bytes()));
  place = {static_cast<int64_t>(w.offset()), static_cast<int64_t>(w.bytes())};
  return result;
}

Result<std::vector<WeightPlace>> Decoder::plan(const fb::Plan* plan, const ReadLimits& limits,
                                               EngineContents& contents) {
  pool(plan->strings());
  names(plan->names());
  contents.manifest = manifest(plan->manifest());
  expressions(plan->expressions());
  contents.symbols = tables(plan->symbols(), [&](const fb::Symbol& s) {
    return PlanSymbol{text(s.name()), number(s.kind(), PlanSymbol::Kind::kStep, "symbol kind"), s.min(), s.max(),
                      s.optimum()};
  });
  contents.programs = tables(plan->programs(), [&](const fb::Program& p) { return program(p, limits); });
  std::vector<WeightPlace> places;
  contents.weights = tables(plan->weights(), [&](const fb::Weight& w) {
    places.emplace_back();
    return weight(w, places.back());
  });
  if (!ok()) return status_;
  return places;
}

Result<Volatile> Decoder::volatile_section(const fb::Volatile* data) {
  Volatile result;
  pool(data->strings());
  result.fingerprint = pairs(data->fingerprint());
  result.build_seconds = data->build_seconds();
  result.steps = tables(data->steps(), [&](const fb::Measurement& m) {
    StepMeasurement made;
    made.step = m.step();
    made.candidates = tables(m.candidates(), [&](const fb::Timing& t) {
      return TacticTiming{text(t.tactic()), text(t.config()), t.median_ns(), t.samples(), text(t.refusal())};
    });
    made.check_error = m.check_error();
    made.check_bound = m.check_bound();
    made.check_elements = m.check_elements();
    return made;
  });
  if (const fb::Certificate* c = data->certificate()) {
    result.certificate.checked_against = text(c->checked_against());
    result.certificate.data = text(c->data());
    result.certificate.data_hash = text(c->data_hash());
    result.certificate.outputs = tables(c->outputs(), [&](const fb::Loss& loss) {
      return OutputLoss{text(loss.output()), loss.max_abs_error(), loss.max_rel_error()};
    });
    result.certificate.demoted = texts(c->demoted());
  }
  result.notes = texts(data->notes());
  if (!ok()) return status_;
  return result;
}

template <class Root>
Result<const Root*> verified_root(std::span<const std::byte> section) {
  // Every table takes 8 bytes at least, so an honest section has no more of them.
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(section.data()), section.size(), kMaxDepth,
                                 static_cast<uint32_t>(section.size() / 8 + 16));
  if (section.size() < 8 || !verifier.VerifyBuffer<Root>(nullptr)) {
    return corrupt_file("its tables do not verify: the file is damaged or was not written by Stoker");
  }
  return flatbuffers::GetRoot<Root>(section.data());
}

}  // namespace

Result<std::vector<WeightPlace>> decode_plan(std::span<const std::byte> section, const ReadLimits& limits,
                                             EngineContents& contents) {
  STOKER_ASSIGN(const fb::Plan* const root, verified_root<fb::Plan>(section));
  return Decoder(section).plan(root, limits, contents);
}

Result<Volatile> decode_volatile(std::span<const std::byte> section) {
  STOKER_ASSIGN(const fb::Volatile* const root, verified_root<fb::Volatile>(section));
  return Decoder(section).volatile_section(root);
}

Result<std::vector<std::string>> decode_strings(std::span<const std::byte> bytes, int64_t count) {
  std::vector<std::string> strings;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t size = 0;
    if (bytes.size() < sizeof size) return corrupt_file("{} of {} strings found", i, count);
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes = bytes.subspan(sizeof size);
    if (size > bytes.size()) return corrupt_file("string {} has {} bytes, {} are left", i, size, bytes.size());
    strings.emplace_back(reinterpret_cast<const char*>(bytes.data()), size);
    bytes = bytes.subspan(size);
  }
  if (!bytes.empty()) return corrupt_file("{} bytes behind the last of {} strings", bytes.size(), count);
  return strings;
}

}  // namespace stoker::engine
