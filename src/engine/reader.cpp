// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "engine/codec.h"
#include "engine/engine_file.h"
#include "engine/format.h"

namespace stoker {
namespace {

using engine::Header;
using engine::Section;
using engine::WeightPlace;

struct Loaded {
  std::shared_ptr<void> memory;
  std::span<std::byte> bytes;
};

// Bytes before the section must be zero, so that every byte of a file is checked.
Status check_gap(const InputFile& file, int64_t begin, int64_t end) {
  std::vector<std::byte> gap(static_cast<size_t>(end - begin));
  STOKER_TRY(file.read_at(begin, gap));
  const auto found =
      std::find_if(gap.begin(), gap.end(), [](std::byte b) { return b != std::byte{0}; });
  if (found == gap.end()) return Status::ok();
  return corrupt_file(
      "byte {} lies between two sections and is not zero: the file is damaged, copy it again",
      begin + (found - gap.begin()));
}

Result<Loaded> read_section(const InputFile& file, const Header& header, int index) {
  const Section& section = header.sections[static_cast<size_t>(index)];
  const char* name = engine::section_name(index);
  const bool is_weights = index == static_cast<int>(engine::SectionKind::kWeights) - 1;
  if (!is_weights && section.bytes > engine::kMaxTableSection) {
    return error(StatusCode::kResourceExhausted, "section {} has {} bytes, at most {} are read",
                 name, section.bytes, engine::kMaxTableSection);
  }
  const Section* before = index > 0 ? &header.sections[static_cast<size_t>(index) - 1] : nullptr;
  STOKER_TRY(check_gap(file, before ? before->offset + before->bytes : engine::kHeaderBytes,
                       section.offset));
  Loaded loaded;
  loaded.memory = allocate_aligned(section.bytes);
  if (!loaded.memory) {
    return error(StatusCode::kResourceExhausted, "no memory for the {} bytes of section {}",
                 section.bytes, name);
  }
  loaded.bytes = {static_cast<std::byte*>(loaded.memory.get()), static_cast<size_t>(section.bytes)};
  STOKER_TRY(file.read_at(section.offset, loaded.bytes));
  const uint64_t checksum = hash64(loaded.bytes);
  if (checksum != section.checksum) {
    return corrupt_file(
        "section {} has checksum {:016x}, expected {:016x}: the file is damaged, copy it again",
        name, checksum, section.checksum);
  }
  return loaded;
}

Status check_place(const std::string& name, const WeightPlace& place, int64_t& end,
                   int64_t section_bytes) {
  // The exact layout that the writer makes: in order, without gaps but those of the alignment.
  const int64_t expected = round_up(end, engine::kWeightAlignment);
  if (place.offset != expected || place.bytes > section_bytes ||
      place.offset > section_bytes - place.bytes) {
    return corrupt_file(
        "weight {} is said to lie at {} with {} bytes, expected at {} inside a section of {}",
        name, place.offset, place.bytes, expected, section_bytes);
  }
  end = place.offset + place.bytes;
  return Status::ok();
}

// A tensor over the section's bytes, whose memory it keeps alive.
Result<Tensor> tensor_over(const std::string& name, DType dtype, const Shape& shape,
                           std::span<std::byte> bytes, const std::shared_ptr<void>& memory) {
  const Result<int64_t> count = element_count(shape);
  if (!count.is_ok()) return corrupt_file("weight {}: {}", name, count.status().message());
  if (dtype == DType::kString) {
    STOKER_ASSIGN(std::vector<std::string> strings, engine::decode_strings(bytes, *count));
    return Tensor::from_strings(shape, std::move(strings));
  }
  const Result<int64_t> expected = byte_size(dtype, *count);
  if (!expected.is_ok() || *expected != static_cast<int64_t>(bytes.size()) ||
      dtype == DType::kInvalid) {
    return corrupt_file("weight {} of {}{} has {} bytes, expected {}", name, dtype_name(dtype),
                        shape_text(shape), bytes.size(), expected.is_ok() ? *expected : -1);
  }
  return Tensor::wrap(dtype, shape, bytes.data(), memory);
}

Status attach_weights(EngineContents& contents, const std::vector<WeightPlace>& places,
                      const Loaded& loaded) {
  int64_t end = 0;
  size_t next = 0;
  // The bytes at the next place; none where they are missing.
  const auto take = [&](const std::string& name) -> Result<std::optional<std::span<std::byte>>> {
    const WeightPlace& place = places[next++];
    if (place.missing) return std::optional<std::span<std::byte>>{};
    STOKER_TRY(check_place(name, place, end, static_cast<int64_t>(loaded.bytes.size())));
    return std::optional(loaded.bytes.subspan(static_cast<size_t>(place.offset),
                                              static_cast<size_t>(place.bytes)));
  };
  for (PlanWeight& weight : contents.weights) {
    STOKER_ASSIGN(const auto bytes, take(weight.name));
    if (!bytes) continue;
    if (weight.packing != Packing::kNone) {
      STOKER_ASSIGN(weight.bytes, Tensor::wrap(DType::kU8, {static_cast<int64_t>(bytes->size())},
                                               bytes->data(), loaded.memory));
      continue;
    }
    STOKER_ASSIGN(weight.bytes,
                  tensor_over(weight.name, weight.dtype, weight.shape, *bytes, loaded.memory));
  }
  for (PlanSource& source : contents.sources) {
    STOKER_ASSIGN(const auto bytes, take(source.name));
    if (!bytes) continue;
    STOKER_ASSIGN(source.bytes,
                  tensor_over(source.name, source.dtype, source.shape, *bytes, loaded.memory));
  }
  if (end == static_cast<int64_t>(loaded.bytes.size())) return Status::ok();
  return corrupt_file("the weights end at byte {} of a section of {}", end, loaded.bytes.size());
}

Result<EngineContents> read_contents(const InputFile& file, const ReadLimits& limits) {
  if (file.bytes() > limits.max_file_bytes) {
    return error(StatusCode::kResourceExhausted, "the file has {} bytes, at most {} are read",
                 file.bytes(), limits.max_file_bytes);
  }
  std::vector<std::byte> head(static_cast<size_t>(std::min(file.bytes(), engine::kHeaderBytes)));
  STOKER_TRY(file.read_at(0, head));
  STOKER_ASSIGN(const Header header, engine::decode_header(head, file.bytes()));

  EngineContents contents;
  STOKER_ASSIGN(const Loaded plan, read_section(file, header, 0));
  const auto places = engine::decode_plan(plan.bytes, limits, contents);
  if (!places.is_ok()) return places.status().at("section plan");
  if (contents.manifest.library_version != header.library_version) {
    return corrupt_file("header and manifest name different library versions, {} and {}",
                        header.library_version, contents.manifest.library_version);
  }
  STOKER_ASSIGN(const Loaded graph, read_section(file, header, 1));
  contents.graph_text.assign(reinterpret_cast<const char*>(graph.bytes.data()), graph.bytes.size());
  STOKER_ASSIGN(const Loaded weights, read_section(file, header, 2));
  STOKER_TRY(attach_weights(contents, *places, weights).at("section weights"));
  STOKER_ASSIGN(const Loaded figures, read_section(file, header, 3));
  Result<Volatile> read = engine::decode_volatile(figures.bytes);
  if (!read.is_ok()) return read.status().at("section volatile");
  contents.volatile_section = std::move(*read);
  return contents;
}

}  // namespace

Result<EngineContents> read_engine(const std::string& path, const TacticLists& tactics,
                                   const ReadLimits& limits) {
  STOKER_ASSIGN(const InputFile file, InputFile::open(path));
  Result<EngineContents> contents = read_contents(file, limits);
  if (!contents.is_ok()) return contents.status().at(path);
  STOKER_TRY(verify_plan(*contents, tactics).at(path));
  return contents;
}

}  // namespace stoker
