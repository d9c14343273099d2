// The decoder of the table sections, shared by decode.cpp and decode_params.cpp only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/codec.h"
#include "engine/engine_generated.h"

namespace stoker::engine {

// What may be built per byte of a section. Our writer stays far below: it shares strings of up to
// 64 bytes, each use costing 4, and nothing else.
inline constexpr int64_t kBudgetPerByte = 32;
inline constexpr int64_t kBudgetBase = int64_t{1} << 20;
template <class T>
using TableVector = flatbuffers::Vector<flatbuffers::Offset<T>>;
using StringVector = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

// Keeps the first error; after it everything yields empty values and loops end.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> section)
      : budget_(kBudgetBase + kBudgetPerByte * static_cast<int64_t>(section.size())) {}

  Result<std::vector<WeightPlace>> plan(const fb::Plan* plan, const ReadLimits& limits,
                                        EngineContents& contents);
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
    if (value > static_cast<uint8_t>(last))
      fail(corrupt_file("{} number {} is unknown", what, value));
    return ok() ? static_cast<E>(value) : E{};
  }
  DType dtype(uint8_t value) { return number(value, static_cast<DType>(kDTypeCount - 1), "dtype"); }

  template <class T>
  std::vector<T> list(const flatbuffers::Vector<T>* values) {
    if (!values || !charge(int64_t{values->size()} * static_cast<int64_t>(sizeof(T)) + 8))
      return {};
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
  auto tables(const TableVector<T>* values, Make make) {
    std::vector<std::decay_t<decltype(make(*values->Get(0)))>> result;
    for (uint32_t i = 0; values && i < values->size() && charge(16); ++i)
      result.push_back(make(*values->Get(i)));
    return result;
  }
  std::map<std::string, std::string> pairs(const TableVector<fb::Pair>* values) {
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
      if (index >= expressions_.size())
        fail(corrupt_file("size expression {} of {}", index, expressions_.size()));
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
  void expect_names(const flatbuffers::Vector<uint32_t>* found,
                    const std::vector<std::string>& known, const char* what);
  Manifest manifest(const fb::Manifest* m);
  PlanTensor tensor(const fb::PlanTensor& t);
  RegionOperand map(const fb::OperandMap* m) {
    return {m ? list(m->dim_of()) : std::vector<int8_t>()};
  }
  RegionProgram region(const fb::RegionProgram* r);
  Tensor tensor_value(const fb::TensorValue& t);
  Attribute attribute(const fb::Attribute& a);
  Attributes attributes(const TableVector<fb::Attribute>* list);
  Params params(const fb::Step& s);
  ConvParams conv(const fb::Conv& c);
  ResizeParams resize_params(const fb::Resize& from);
  RecurrentParams recurrent_params(const fb::Recurrent& from);
  PoolParams pool_params(const fb::Pool& p);
  PlanStep step(const fb::Step& s);
  std::vector<PlanPort> ports(const TableVector<fb::Port>* list) {
    return tables(list, [&](const fb::Port& p) { return PlanPort{text(p.name()), p.tensor()}; });
  }
  PlanProgram program(const fb::Program& p, const ReadLimits& limits);
  WeightRecipe recipe(const fb::Recipe* r);
  WeightPlace place(uint64_t offset, uint64_t bytes, bool missing);
  PlanWeight weight(const fb::Weight& w, WeightPlace& place);
  PlanSource source(const fb::Source& s, WeightPlace& place);

  int64_t budget_;
  int64_t steps_ = 0, tensors_ = 0;
  const StringVector* strings_ = nullptr;
  std::vector<Dim> expressions_;
  Status status_;
};

}  // namespace stoker::engine
