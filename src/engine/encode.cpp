// SPDX-License-Identifier: Apache-2.0
#include "engine/encoder.h"

namespace stoker::engine {
namespace {

fb::Place place_of(const Place& place) {
  return fb::Place(static_cast<uint8_t>(place.kind), place.index);
}

}  // namespace

Offset<fb::Names> Encoder::names() {
  const auto dtypes = texts(dtype_names());
  const auto layouts = texts(layout_names());
  const auto packings = texts(packing_names());
  const auto families = texts(family_names());
  const auto region_ops = texts(region_op_names());
  return fb::CreateNames(b_, dtypes, layouts, packings, families, region_ops);
}

Offset<fb::Manifest> Encoder::manifest(const Manifest& m) {
  const uint32_t version = text(m.library_version), name = text(m.model_name),
                 hash = text(m.model_hash);
  const uint32_t device = text(m.device);
  const auto options = pairs(m.options);
  const uint32_t route = text(m.route);
  const auto libraries = tables<fb::UsedLibrary>(m.op_libraries, [&](const UsedLibrary& l) {
    const uint32_t library = text(l.name), release = text(l.version), content = text(l.hash);
    return fb::CreateUsedLibrary(b_, library, release, content);
  });
  const uint32_t structure = text(m.structure);
  return fb::CreateManifest(b_, version, name, hash, device, options, route, libraries,
                            m.source_weight_bytes, structure);
}

Offset<fb::Symbol> Encoder::symbol(const PlanSymbol& s) {
  return fb::CreateSymbol(b_, text(s.name), static_cast<uint8_t>(s.kind), s.min, s.max, s.optimum);
}

Offset<fb::PlanTensor> Encoder::tensor(const PlanTensor& t) {
  const uint32_t name = text(t.name);
  const auto extents = dims(t.dims);
  const auto elements = dims(t.elements);
  const fb::Place place = place_of(t.place);
  return fb::CreatePlanTensor(b_, name, static_cast<uint8_t>(t.kind), static_cast<uint8_t>(t.dtype),
                              static_cast<uint8_t>(t.layout), extents, &place, t.weight, t.alias_of,
                              elements, static_cast<uint8_t>(t.holds), !t.ranked);
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
  return fb::CreateStep(b_, name, static_cast<fb::Params>(s.params.index() + 1), stored, param_dims,
                        inputs, outputs, after, &place, tactic, s.tactic_version, config, origins,
                        subprograms);
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
  return fb::CreateProgram(b_, name, tensors, steps, inputs, outputs, states,
                           static_cast<uint8_t>(p.kind));
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
  return fb::CreateWeight(b_, name, static_cast<uint8_t>(w.dtype), shape,
                          static_cast<uint8_t>(w.packing), made,
                          static_cast<uint64_t>(place.offset), static_cast<uint64_t>(place.bytes),
                          !w.bytes.defined());
}

Offset<fb::Source> Encoder::source(const PlanSource& s, const WeightPlace& place) {
  const uint32_t name = text(s.name);
  const auto shape = b_.CreateVector(s.shape);
  const uint32_t hash = text(s.hash), frozen = text(s.frozen);
  return fb::CreateSource(b_, name, static_cast<uint8_t>(s.dtype), shape, hash, frozen, s.kept,
                          static_cast<uint64_t>(place.offset), static_cast<uint64_t>(place.bytes),
                          !s.bytes.defined());
}

Result<std::vector<std::byte>> Encoder::plan(const EngineContents& contents,
                                             const std::vector<WeightPlace>& places) {
  const auto name_lists = names();
  const auto head = manifest(contents.manifest);
  const auto symbols =
      tables<fb::Symbol>(contents.symbols, [&](const auto& s) { return symbol(s); });
  const auto programs =
      tables<fb::Program>(contents.programs, [&](const auto& p) { return program(p); });
  size_t index = 0;
  const auto weights = tables<fb::Weight>(
      contents.weights, [&](const auto& w) { return weight(w, places[index++]); });
  const auto sources = tables<fb::Source>(
      contents.sources, [&](const auto& s) { return source(s, places[index++]); });
  if (!going()) return status_;
  const auto strings = b_.CreateVectorOfStrings(strings_);
  const auto expressions = b_.CreateVectorOfStrings(expressions_);
  b_.Finish(fb::CreatePlan(b_, name_lists, head, strings, expressions, symbols, programs, weights,
                            sources));
  return bytes();
}

Offset<fb::Measurement> Encoder::measurement(const StepMeasurement& m) {
  const auto candidates = tables<fb::Timing>(m.candidates, [&](const TacticTiming& t) {
    const uint32_t tactic = text(t.tactic), config = text(t.config), refusal = text(t.refusal);
    return fb::CreateTiming(b_, tactic, config, t.median_ns, t.samples, refusal);
  });
  return fb::CreateMeasurement(b_, m.step, candidates, m.check_error, m.check_bound,
                               m.check_elements, m.program);
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
  const auto steps =
      tables<fb::Measurement>(data.steps, [&](const auto& m) { return measurement(m); });
  const auto checked = certificate(data.certificate);
  const auto notes = texts(data.notes);
  if (!going()) return status_;
  const auto strings = b_.CreateVectorOfStrings(strings_);
  b_.Finish(
      fb::CreateVolatile(b_, strings, fingerprint, data.build_seconds, steps, checked, notes));
  return bytes();
}

Result<std::vector<std::byte>> encode_plan(const EngineContents& contents,
                                           const std::vector<WeightPlace>& places) {
  return Encoder().plan(contents, places);
}

Result<std::vector<std::byte>> encode_volatile(const Volatile& data) {
  return Encoder().volatile_section(data);
}

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
