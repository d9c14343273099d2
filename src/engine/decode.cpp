// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/status.h"
#include "engine/decoder.h"

namespace stoker::engine {
namespace {

constexpr uint32_t kMaxDepth = 64;

template <class Root>
Result<const Root*> verified_root(std::span<const std::byte> section) {
  // Every table takes 8 bytes at least, so an honest section has no more of them.
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(section.data()), section.size(),
                                 kMaxDepth, static_cast<uint32_t>(section.size() / 8 + 16));
  if (section.size() < 8 || !verifier.VerifyBuffer<Root>(nullptr)) {
    return corrupt_file(
        "its tables do not verify: the file is damaged or was not written by Stoker");
  }
  return flatbuffers::GetRoot<Root>(section.data());
}

}  // namespace

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

void Decoder::expect_names(const flatbuffers::Vector<uint32_t>* found,
                           const std::vector<std::string>& known, const char* what) {
  const std::vector<std::string> stored = texts(found);
  for (size_t i = 0; i < stored.size() && ok(); ++i) {
    if (i < known.size() && stored[i] == known[i]) continue;
    fail(
        corrupt_file("{} {} is '{}' in this engine and '{}' in this library: rebuild the engine or "
                     "update Stoker",
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
  result.op_libraries = tables(m->op_libraries(), [&](const fb::UsedLibrary& l) {
    return UsedLibrary{text(l.name()), text(l.version()), text(l.hash())};
  });
  if (m->structure() != UINT32_MAX) result.structure = text(m->structure());
  result.source_weight_bytes = m->source_weight_bytes();
  if (result.source_weight_bytes < 0) fail(corrupt_file("the source has a negative size"));
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
  result.holds = number(t.holds(), PlanTensor::Holds::kMap, "value kind");
  result.ranked = !t.unranked();
  return result;
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
    fail(error(StatusCode::kResourceExhausted,
               "{} steps and {} tensors; at most {} and {} are read", steps_, tensors_,
               limits.max_steps, 8 * limits.max_steps));
    return {};
  }
  PlanProgram result;
  result.name = text(p.name());
  result.kind = number(p.kind(), PlanProgram::Kind::kDynamic, "program kind");
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

WeightPlace Decoder::place(uint64_t offset, uint64_t bytes, bool missing) {
  if (offset > INT64_MAX || bytes > INT64_MAX || (missing && (offset > 0 || bytes > 0)))
    fail(corrupt_file("a weight at {} of {} bytes", offset, bytes));
  return {static_cast<int64_t>(offset), static_cast<int64_t>(bytes), missing};
}

PlanWeight Decoder::weight(const fb::Weight& w, WeightPlace& place) {
  PlanWeight result;
  result.name = text(w.name());
  result.dtype = dtype(w.dtype());
  result.shape = list(w.shape());
  result.packing = number(w.packing(), static_cast<Packing>(packing_names().size() - 1), "packing");
  result.recipe = recipe(w.recipe());
  place = this->place(w.offset(), w.bytes(), w.missing());
  return result;
}

PlanSource Decoder::source(const fb::Source& s, WeightPlace& place) {
  PlanSource result;
  result.name = text(s.name());
  result.dtype = dtype(s.dtype());
  result.shape = list(s.shape());
  result.hash = text(s.hash());
  result.frozen = text(s.frozen());
  result.kept = s.kept();
  place = this->place(s.offset(), s.bytes(), s.missing());
  return result;
}

Result<std::vector<WeightPlace>> Decoder::plan(const fb::Plan* plan, const ReadLimits& limits,
                                               EngineContents& contents) {
  pool(plan->strings());
  names(plan->names());
  contents.manifest = manifest(plan->manifest());
  expressions(plan->expressions());
  contents.symbols = tables(plan->symbols(), [&](const fb::Symbol& s) {
    return PlanSymbol{text(s.name()), number(s.kind(), PlanSymbol::Kind::kData, "symbol kind"),
                      s.min(), s.max(), s.optimum()};
  });
  contents.programs =
      tables(plan->programs(), [&](const fb::Program& p) { return program(p, limits); });
  std::vector<WeightPlace> places;
  contents.weights = tables(plan->weights(), [&](const fb::Weight& w) {
    places.emplace_back();
    return weight(w, places.back());
  });
  contents.sources = tables(plan->sources(), [&](const fb::Source& s) {
    places.emplace_back();
    return source(s, places.back());
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
    made.program = m.program();
    made.step = m.step();
    made.candidates = tables(m.candidates(), [&](const fb::Timing& t) {
      return TacticTiming{text(t.tactic()), text(t.config()), t.median_ns(), t.samples(),
                          text(t.refusal())};
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

Result<std::vector<WeightPlace>> decode_plan(std::span<const std::byte> section,
                                             const ReadLimits& limits, EngineContents& contents) {
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
    if (size > bytes.size())
      return corrupt_file("string {} has {} bytes, {} are left", i, size, bytes.size());
    strings.emplace_back(reinterpret_cast<const char*>(bytes.data()), size);
    bytes = bytes.subspan(size);
  }
  if (!bytes.empty())
    return corrupt_file("{} bytes behind the last of {} strings", bytes.size(), count);
  return strings;
}

}  // namespace stoker::engine
