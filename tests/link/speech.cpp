// Speech probabilities of a Silero engine over raw float samples, chunk by chunk with the state
// handed on, linked to stoker_run alone: speech ENGINE SAMPLES. Prints one probability per line.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "stoker/engine.h"

namespace {

using stoker::Result;
using stoker::Status;
using stoker::Tensor;

constexpr int64_t kChunk = 512, kContext = 64;

std::vector<float> read_samples(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<float> samples(bytes.size() / sizeof(float));
  std::memcpy(samples.data(), bytes.data(), samples.size() * sizeof(float));
  return samples;
}

Status speech(const char* engine_path, const char* samples_path) {
  auto engine = stoker::Engine::load(engine_path);
  if (!engine) return engine.status();
  const std::vector<float> samples = read_samples(samples_path);
  stoker::Session session(*engine);
  auto input = Tensor::allocate(stoker::DType::kF32, {1, kContext + kChunk});
  auto state = Tensor::allocate(stoker::DType::kF32, {2, 1, 128});
  if (!input || !state) return input ? state.status() : input.status();
  auto* const window = static_cast<float*>(input->data());
  std::fill(window, window + kContext, 0.0f);
  std::memset(state->data(), 0, static_cast<size_t>(state->bytes()));
  const Tensor rate = Tensor::from<int64_t>({}, {16000});
  Tensor carried = *state;
  for (size_t at = 0; at + kChunk <= samples.size(); at += kChunk) {
    std::copy_n(samples.begin() + static_cast<long>(at), kChunk, window + kContext);
    auto outputs = session.run({{"input", *input}, {"state", carried}, {"sr", rate}});
    if (!outputs) return outputs.status();
    std::cout << outputs->at("output").values<float>()[0] << "\n";
    carried = outputs->at("stateN");
    std::copy_n(window + kChunk, kContext, window);
  }
  return Status::ok();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: speech ENGINE SAMPLES\n";
    return 2;
  }
  std::cout.precision(9);
  const Status status = speech(arguments[1], arguments[2]);
  if (!status) std::cerr << "speech: " << status.message() << "\n";
  return status ? 0 : 1;
}
