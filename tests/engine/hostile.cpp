// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/hostile.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>

#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "engine/engine_file.h"
#include "runtime/executor.h"
#include "runtime/interpreter.h"
#include "runtime/loaded_engine.h"
#include "runtime/refit.h"

namespace stoker::test {
namespace {

constexpr int64_t kMostBytes = int64_t{4} << 20;
constexpr int64_t kSmallExtent = 2;

template <class T>
T value_at(const FileBytes& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

void set_at(FileBytes& bytes, size_t offset, uint64_t value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// Memory whose end is the end of a page, with a page behind it that faults.
std::shared_ptr<void> guarded(int64_t bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t body = round_up(std::max<int64_t>(bytes, 1), page);
  const auto mapped = static_cast<size_t>(body + page);
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  if (mprotect(static_cast<char*>(base) + body, static_cast<size_t>(page), PROT_NONE) != 0) abort();
  return {static_cast<char*>(base) + (body - bytes),
          [base, mapped](void*) { munmap(base, mapped); }};
}

SymbolValues small_sizes(const EngineContents& contents) {
  SymbolValues values;
  for (const PlanSymbol& symbol : contents.symbols)
    values[symbol.name] = std::clamp(kSmallExtent, symbol.min, std::max(symbol.min, symbol.max));
  return values;
}

Result<std::vector<Tensor>> make_inputs(const PlanProgram& program, const SymbolValues& sizes) {
  std::vector<Tensor> inputs;
  for (const PlanPort& port : program.inputs) {
    const PlanTensor& tensor = program.tensors[static_cast<size_t>(port.tensor)];
    if (tensor.holds != PlanTensor::Holds::kTensor)
      return unsupported("input '{}' is no tensor", port.name);
    Shape shape;
    for (const Dim& dim : tensor.dims) {
      STOKER_ASSIGN(const int64_t extent, dim.evaluate(sizes));
      shape.push_back(extent);
    }
    STOKER_ASSIGN(Tensor input, guarded_tensor(tensor.dtype, shape));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

int64_t total_bytes(const BoundProgram& bound) {
  int64_t total = 0;
  for (const BoundTensor& tensor : bound.tensors) {
    if (__builtin_add_overflow(total, tensor.bytes, &total)) return INT64_MAX;
  }
  return total;
}

Outcome run_static(LoadedEngine& engine, const SymbolValues& sizes,
                   const std::vector<Tensor>& inputs) {
  auto bound = engine.bind(0, sizes);
  if (!bound) return Outcome::kUnbound;
  if (total_bytes(**bound) > kMostBytes || engine.check_complete().is_ok() == false)
    return Outcome::kTooLarge;
  auto executor = Executor::create(*bound);
  if (!executor) return Outcome::kTooLarge;
  for (size_t i = 0; i < inputs.size(); ++i) (*executor)->set_input(i, inputs[i].data());
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < engine.main().outputs.size(); ++i) {
    const auto index = static_cast<size_t>(engine.main().outputs[i].tensor);
    const TensorDesc& desc = (*bound)->tensors[index].desc;
    auto output = guarded_tensor(desc.dtype, desc.dims);
    if (!output) return Outcome::kTooLarge;
    (*executor)->set_output(i, output->data());
    outputs.push_back(std::move(*output));
  }
  return (*executor)->run(engine.pool()) ? Outcome::kRan : Outcome::kFailed;
}

}  // namespace

Result<Tensor> guarded_tensor(DType dtype, const Shape& shape) {
  if (dtype == DType::kString) return Tensor::allocate(dtype, shape);
  STOKER_ASSIGN(const int64_t count, element_count(shape));
  STOKER_ASSIGN(const int64_t bytes, byte_size(dtype, count));
  if (bytes > kMostBytes)
    return error(StatusCode::kResourceExhausted, "an input of {} bytes", bytes);
  const std::shared_ptr<void> memory = guarded(bytes);
  if (!memory) return error(StatusCode::kResourceExhausted, "no memory");
  // Small numbers whatever the dtype; booleans are 0 or 1.
  auto* data = static_cast<uint8_t*>(memory.get());
  for (int64_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(i % 7 == 0);
  return Tensor::wrap(dtype, shape, data, memory);
}

void repair_checksums(FileBytes& bytes) {
  if (bytes.size() < 256) return;
  set_at(bytes, 16, bytes.size());
  for (size_t i = 0; i < 4; ++i) {
    const size_t entry = 64 + 32 * i;
    const auto offset = value_at<uint64_t>(bytes, entry + 8),
               size = value_at<uint64_t>(bytes, entry + 16);
    if (offset > bytes.size() || size > bytes.size() - offset) continue;
    set_at(bytes, entry + 24, hash64(std::span(bytes).subspan(offset, size)));
  }
  set_at(bytes, 248, hash64(std::span(bytes).first(248)));
}

namespace {

// New values for every constant that an engine lets change: recipes run, weights are packed anew.
void exercise_refit(const EngineContents& contents) {
  TensorMap constants;
  for (const PlanSource& source : contents.sources) {
    if (!source.frozen.empty() || source.dtype == DType::kString) continue;
    auto value = guarded_tensor(source.dtype, source.shape);
    if (value) constants.emplace(source.name, std::move(*value));
  }
  if (!constants.empty()) (void)refit(contents, constants);
}

Outcome run_at(const EngineContents& contents, IsaLevel isa) {
  RuntimeOptions options;
  options.isa = isa;
  options.pool.workers = 1;
  options.loop_limit = 100;
  auto engine = LoadedEngine::create(contents, options);
  if (!engine) return Outcome::kRefused;
  const SymbolValues sizes = small_sizes(contents);
  const auto inputs = make_inputs((*engine)->main(), sizes);
  if (!inputs) return Outcome::kUnbound;
  if (!(*engine)->is_dynamic()) return run_static(**engine, sizes, *inputs);
  if (!(*engine)->check_complete()) return Outcome::kFailed;
  Interpreter interpreter(**engine);
  std::vector<AnyValue> values(inputs->begin(), inputs->end());
  return interpreter.run(std::move(values)) ? Outcome::kRan : Outcome::kFailed;
}

}  // namespace

Outcome exercise_engine(const std::string& path) {
  const TacticLists lists = tactic_lists();
  auto contents = read_engine(path, lists);
  if (!contents) return Outcome::kRefused;
  if (!verify_plan(*contents, lists) || describe_engine(*contents, true).empty() ||
      describe_engine_json(*contents).empty())
    abort();  // what the reader accepts is sound
  exercise_refit(*contents);
  // The lowest level takes other tactics, and often other packings, than those of the file.
  (void)run_at(*contents, IsaLevel::kBaseline);
  return run_at(*contents, detect_isa());
}

}  // namespace stoker::test
