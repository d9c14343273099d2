// Accuracy of an MNIST engine on images in IDX form, linked to stoker_run alone:
//   mnist ENGINE IMAGES LABELS raw|normalized BATCH KNOB=VALUE...
// Prints "correct COUNT bits HASH": the right answers and a hash over all output bits.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "stoker/engine.h"

namespace {

using stoker::Result;
using stoker::Status;
using stoker::StatusCode;
using stoker::Tensor;

constexpr int64_t kPixels = 28 * 28;

Status wrong(const std::string& message) { return Status(StatusCode::kInvalidArgument, message); }

// The payload of an IDX file (magic, extents, then bytes).
std::vector<unsigned char> read_idx(const std::string& path, size_t header) {
  std::ifstream file(path, std::ios::binary);
  std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(file), {}};
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<long>(std::min(header, bytes.size())));
  return bytes;
}

uint64_t fold(uint64_t hash, const Tensor& tensor) {  // FNV-1a
  const auto* bytes = static_cast<const unsigned char*>(tensor.data());
  for (int64_t i = 0; i < tensor.bytes(); ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
  return hash;
}

int64_t count_right(const Tensor& scores, const unsigned char* labels, int64_t batch) {
  const auto values = scores.values<float>();
  int64_t right = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const float* row = values.data() + b * 10;
    right += std::max_element(row, row + 10) - row == labels[b];
  }
  return right;
}

int64_t parse_count(const std::string& text) {
  int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

Status run(const std::vector<std::string>& a) {
  stoker::KnobList knobs;
  for (size_t i = 5; i < a.size(); ++i) {
    const size_t equals = a[i].find('=');
    if (equals == std::string::npos) return wrong("expected KNOB=VALUE, found " + a[i]);
    knobs.emplace_back(a[i].substr(0, equals), a[i].substr(equals + 1));
  }
  auto engine = stoker::Engine::load(a[0], knobs);
  if (!engine) return engine.status();
  const auto images = read_idx(a[1], 16), labels = read_idx(a[2], 8);
  const auto count = static_cast<int64_t>(labels.size()), batch = parse_count(a[4]);
  if (count == 0 || batch < 1 || static_cast<int64_t>(images.size()) != count * kPixels)
    return wrong("images and labels do not match");
  auto x = Tensor::allocate(stoker::DType::kF32, {batch, 1, 28, 28});
  if (!x) return x.status();
  stoker::Session session(*engine);
  if (Status bound = session.bind({{engine->inputs()[0].name, *x}}); !bound) return bound;
  int64_t right = 0;
  uint64_t hash = 14695981039346656037ull;
  for (int64_t first = 0; first + batch <= count; first += batch) {
    for (int64_t i = 0; i < batch * kPixels; ++i) {
      const auto pixel = static_cast<float>(images[static_cast<size_t>(first * kPixels + i)]);
      x->values<float>()[static_cast<size_t>(i)] =
          a[3] == "raw" ? pixel : (pixel / 255 - 0.1307f) / 0.3081f;
    }
    if (Status ran = session.run_bound(); !ran) return ran;
    const Tensor& scores = session.bound_outputs().begin()->second;
    right += count_right(scores, labels.data() + first, batch);
    hash = fold(hash, scores);
  }
  std::cout << "correct " << right << " bits " << hash << "\n";
  return Status::ok();
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  if (arguments.size() < 5) {
    std::cerr << "usage: mnist ENGINE IMAGES LABELS raw|normalized BATCH KNOB=VALUE...\n";
    return 2;
  }
  const Status status = run(arguments);
  if (!status) std::cerr << "mnist: " << status.message() << "\n";
  return status ? 0 : 1;
}
