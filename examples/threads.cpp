// One engine, several threads, a session each: threads ENGINE [THREADS] [RUNS]. Links stoker_run
// alone. Each thread binds its tensors once; after the first run of a shape nothing is allocated.
// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstring>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "stoker/engine.h"

namespace {

int number_or(const char* text, int otherwise) {
  int number = otherwise;
  if (text) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

// Zeros for every input; a size that the engine leaves open is 1.
stoker::Result<stoker::TensorMap> zeros(const stoker::Engine& engine) {
  stoker::TensorMap inputs;
  for (const stoker::TensorInfo& info : engine.inputs()) {
    stoker::Shape shape;
    for (const std::string& dim : info.dims) {
      int64_t size = 1;
      std::from_chars(dim.data(), dim.data() + dim.size(), size);
      shape.push_back(size);
    }
    auto tensor = stoker::Tensor::allocate(info.dtype, shape);
    if (!tensor) return tensor.status();
    inputs[info.name] = *tensor;
  }
  return inputs;
}

stoker::Status serve(const stoker::Engine& engine, int runs) {
  auto inputs = zeros(engine);
  if (!inputs) return inputs.status();
  stoker::Session session(engine);
  if (auto bound = session.bind(*inputs); !bound) return bound;
  for (int run = 0; run < runs; ++run) {
    // A service would write the next request into the tensors of `inputs` here...
    if (auto done = session.run_bound(); !done) return done;
    // ... and read session.bound_outputs(), which are the same tensors every time.
  }
  return stoker::Status::ok();
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::cerr << "usage: threads ENGINE [THREADS] [RUNS]\n";
    return 2;
  }
  const int threads = number_or(count > 2 ? arguments[2] : nullptr, 4);
  const int runs = number_or(count > 3 ? arguments[3] : nullptr, 100);
  auto engine = stoker::Engine::load(arguments[1]);
  if (!engine) {
    std::cerr << "threads: " << engine.status().message() << "\n";
    return 1;
  }
  std::mutex mutex;
  int failed = 0;
  std::vector<std::thread> callers;
  for (int t = 0; t < threads; ++t) {
    callers.emplace_back([&] {
      const stoker::Status status = serve(*engine, runs);
      const std::lock_guard<std::mutex> lock(mutex);
      if (status) return;
      ++failed;
      std::cerr << "threads: " << status.message() << "\n";
    });
  }
  for (std::thread& caller : callers) caller.join();
  std::cout << threads << " threads, " << runs << " runs each, " << failed << " failed\n";
  return failed ? 1 : 0;
}
