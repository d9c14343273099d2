// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <span>

#include "base/file.h"
#include "base/hash.h"
#include "base/hash_stream.h"
#include "base/memory.h"
#include "engine/codec.h"
#include "engine/engine_file.h"
#include "engine/format.h"

namespace stoker {
namespace {

using engine::Header;
using engine::Section;
using engine::WeightPlace;
using Bytes = std::span<const std::byte>;

// Zeros for the gaps between sections and weights.
alignas(64) constexpr std::array<std::byte, engine::kSectionAlignment> kZeros{};

// A file as the list of its pieces; weights stay where they are in memory.
struct Image {
  Header header;
  std::vector<std::byte> plan, volatile_section;
  std::vector<std::vector<std::byte>> strings;  // encoded string weights
  std::vector<Bytes> weights;                   // with the gaps between them
  std::string digest;
};

Result<std::vector<WeightPlace>> gather_weights(const EngineContents& contents, Image& image) {
  std::vector<WeightPlace> places;
  int64_t end = 0;
  image.strings.reserve(contents.weights.size() + contents.sources.size());  // spans point into it
  const auto add = [&](const Tensor& tensor) {
    if (!tensor.defined()) return places.push_back({0, 0, true});
    Bytes bytes(static_cast<const std::byte*>(tensor.data()), static_cast<size_t>(tensor.bytes()));
    if (tensor.dtype() == DType::kString) {
      image.strings.push_back(engine::encode_strings(tensor.strings()));
      bytes = image.strings.back();
    }
    const int64_t offset = round_up(end, engine::kWeightAlignment);
    if (offset != end)
      image.weights.push_back(Bytes(kZeros).first(static_cast<size_t>(offset - end)));
    image.weights.push_back(bytes);
    places.push_back({offset, static_cast<int64_t>(bytes.size())});
    end = offset + static_cast<int64_t>(bytes.size());
  };
  for (const PlanWeight& weight : contents.weights) {
    if (!weight.bytes.defined() && contents.manifest.structure.empty())
      return invalid_argument("weight {} has no data to write", weight.name);
    add(weight.bytes);
  }
  for (const PlanSource& source : contents.sources) add(source.bytes);
  image.header.sections[2].bytes = end;
  return places;
}

// Over kind and size of each section and its bytes, the volatile section excepted.
std::string digest_of(const Image& image, const std::string& graph) {
  HashStream stream(HashStream::Width::k128);
  const auto head = [&](engine::SectionKind kind) {
    const uint64_t fields[2] = {
        static_cast<uint64_t>(kind),
        static_cast<uint64_t>(image.header.sections[static_cast<size_t>(kind) - 1].bytes)};
    stream.update(std::as_bytes(std::span(fields)));
  };
  head(engine::SectionKind::kPlan);
  stream.update(image.plan);
  head(engine::SectionKind::kGraph);
  stream.update(std::as_bytes(std::span(graph)));
  head(engine::SectionKind::kWeights);
  for (const Bytes piece : image.weights) stream.update(piece);
  return stream.digest128();
}

Result<Image> make_image(const EngineContents& contents) {
  Image image;
  image.header.library_version = contents.manifest.library_version;
  if (contents.manifest.library_version.size() > static_cast<size_t>(engine::kMaxVersionText)) {
    return invalid_argument("library version '{}' is longer than {} characters",
                            contents.manifest.library_version, engine::kMaxVersionText);
  }
  if (static_cast<int64_t>(contents.graph_text.size()) > engine::kMaxTableSection) {
    return error(StatusCode::kResourceExhausted,
                 "the graph text has {} bytes, at most {} fit: build a lean engine",
                 contents.graph_text.size(), engine::kMaxTableSection);
  }
  STOKER_ASSIGN(const std::vector<WeightPlace> places, gather_weights(contents, image));
  STOKER_ASSIGN(image.plan, engine::encode_plan(contents, places));
  STOKER_ASSIGN(image.volatile_section, engine::encode_volatile(contents.volatile_section));
  image.header.sections[0].bytes = static_cast<int64_t>(image.plan.size());
  image.header.sections[1].bytes = static_cast<int64_t>(contents.graph_text.size());
  image.header.sections[3].bytes = static_cast<int64_t>(image.volatile_section.size());
  engine::place_sections(image.header);
  image.digest = digest_of(image, contents.graph_text);
  return image;
}

void set_checksums(Image& image, Bytes graph) {
  image.header.sections[0].checksum = hash64(image.plan);
  image.header.sections[1].checksum = hash64(graph);
  HashStream stream(HashStream::Width::k64);
  for (const Bytes piece : image.weights) stream.update(piece);
  image.header.sections[2].checksum = stream.digest64();
  image.header.sections[3].checksum = hash64(image.volatile_section);
}

}  // namespace

Result<std::string> engine_digest(const EngineContents& contents) {
  STOKER_ASSIGN(const Image image, make_image(contents));
  return image.digest;
}

Result<std::string> write_engine(const EngineContents& contents, const std::string& path) {
  Result<Image> made = make_image(contents);
  if (!made.is_ok()) return made.status().at(path);
  Image& image = *made;
  const Bytes graph = std::as_bytes(std::span(contents.graph_text));
  set_checksums(image, graph);
  const auto header = engine::encode_header(image.header);

  std::vector<Bytes> pieces{header};
  int64_t end = engine::kHeaderBytes;
  const auto begin_section = [&](int index) {
    const Section& section = image.header.sections[static_cast<size_t>(index)];
    pieces.push_back(Bytes(kZeros).first(static_cast<size_t>(section.offset - end)));
    end = section.offset + section.bytes;
  };
  begin_section(0);
  pieces.push_back(image.plan);
  begin_section(1);
  pieces.push_back(graph);
  begin_section(2);
  pieces.insert(pieces.end(), image.weights.begin(), image.weights.end());
  begin_section(3);
  pieces.push_back(image.volatile_section);
  STOKER_TRY(write_file_atomic(path, pieces));
  return image.digest;
}

}  // namespace stoker
