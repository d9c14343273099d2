// SPDX-License-Identifier: Apache-2.0
#include "ops/custom_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <shared_mutex>

#include "base/file.h"
#include "base/hash_stream.h"
#include "base/status.h"

namespace stoker {

namespace {

constexpr size_t kMaxName = 256;
constexpr uint32_t kMaxOps = 65536;
constexpr int32_t kMaxCount = 1 << 20;
constexpr int64_t kHashChunk = int64_t{1} << 20;
constexpr const char* kEntry = "stoker_op_library";

struct Table {
  std::mutex loading;  // held while a file's code runs for the first time
  std::shared_mutex mutex;
  std::map<std::string, std::shared_ptr<const OpLibrary>> by_identity;
  std::map<void*, std::shared_ptr<const OpLibrary>> by_handle;
};

Table& table() {
  static Table* const made = new Table;  // never destroyed: threads may outlive main
  return *made;
}

Result<std::string> hash_file(const std::string& path) {
  STOKER_ASSIGN(const InputFile file, InputFile::open(path));
  HashStream stream(HashStream::Width::k128);
  std::vector<std::byte> chunk(static_cast<size_t>(std::min(file.bytes(), kHashChunk)));
  for (int64_t at = 0; at < file.bytes(); at += kHashChunk) {
    const int64_t size = std::min(kHashChunk, file.bytes() - at);
    const auto part = std::span(chunk).first(static_cast<size_t>(size));
    STOKER_TRY(file.read_at(at, part));
    stream.update(part);
  }
  return stream.digest128();
}

// A text of the description: there, of bearable length, and of characters that messages and files
// can carry.
Result<std::string> described(const char* text, const char* what, std::string_view marks) {
  if (!text) return corrupt_file("its description has no {}", what);
  const size_t size = ::strnlen(text, kMaxName + 1);
  const std::string value(text, std::min(size, kMaxName));
  const bool plain = std::all_of(value.begin(), value.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || marks.find(c) != std::string_view::npos;
  });
  if (size == 0 || size > kMaxName || !plain) {
    return corrupt_file("its {} is not 1 to {} letters, digits and '{}'", what, kMaxName, marks);
  }
  return value;
}

bool sound_counts(int32_t min, int32_t max, int32_t least) {
  return min >= least && min <= kMaxCount && (max == -1 || (max >= min && max <= kMaxCount));
}

Result<CustomOp> read_op(const StokerOpDef& def) {
  CustomOp op;
  STOKER_ASSIGN(op.domain, described(def.domain, "operator's domain", "._-"));
  STOKER_ASSIGN(op.name, described(def.name, "operator's name", "._-"));
  const std::string label = op.domain + ":" + op.name;
  if (!sound_counts(def.min_inputs, def.max_inputs, 0) ||
      !sound_counts(def.min_outputs, def.max_outputs, 1)) {
    return corrupt_file("{} declares {} to {} inputs and {} to {} outputs", label, def.min_inputs,
                        def.max_inputs, def.min_outputs, def.max_outputs);
  }
  if (!def.infer || !def.evaluate) {
    return corrupt_file("{} has no {} callback", label, def.infer ? "evaluate" : "infer");
  }
  op.min_inputs = def.min_inputs;
  op.max_inputs = def.max_inputs;
  op.min_outputs = def.min_outputs;
  op.max_outputs = def.max_outputs;
  op.infer = def.infer;
  op.evaluate = def.evaluate;
  return op;
}

Result<OpLibrary> read_description(const StokerOpLibrary* description) {
  if (!description) {
    return unsupported(
        "it does not speak version {} of the interface: build it again with this "
        "Stoker's custom_op.h",
        STOKER_OP_ABI);
  }
  if (description->abi != STOKER_OP_ABI) {
    return unsupported(
        "it speaks version {} of the interface, this Stoker version {}: build it "
        "again with this Stoker's custom_op.h",
        description->abi, STOKER_OP_ABI);
  }
  OpLibrary library;
  STOKER_ASSIGN(library.name, described(description->name, "name", "._+-"));
  STOKER_ASSIGN(library.version, described(description->version, "version", "._+-"));
  if (description->op_count < 1 || description->op_count > kMaxOps || !description->ops)
    return corrupt_file("it describes {} operators", description->op_count);
  for (uint32_t i = 0; i < description->op_count; ++i) {
    auto op = read_op(description->ops[i]);
    if (!op) return op.status().at(fmt::format("operator {}", i));
    const auto key = std::make_pair(op->domain, op->name);
    if (!library.ops.emplace(key, std::move(*op)).second)
      return corrupt_file("{}:{} is described twice", key.first, key.second);
  }
  return library;
}

std::shared_ptr<const OpLibrary> keep(OpLibrary library) {
  Table& all = table();
  const std::unique_lock lock(all.mutex);
  auto& slot = all.by_identity[library.identity()];
  if (!slot) slot = std::make_shared<const OpLibrary>(std::move(library));
  return slot;
}

std::shared_ptr<const OpLibrary> find_by_hash(const std::string& hash) {
  Table& all = table();
  const std::shared_lock lock(all.mutex);
  for (const auto& [identity, library] : all.by_identity) {
    if (library->hash == hash) return library;
  }
  return nullptr;
}

class Handle {
 public:
  explicit Handle(void* handle) : handle_(handle) {}
  Handle(const Handle&) = delete;
  ~Handle() {
    if (handle_) ::dlclose(handle_);
  }
  void* get() const { return handle_; }
  void release() { handle_ = nullptr; }  // stays loaded

 private:
  void* handle_;
};

using Entry = const StokerOpLibrary* (*)(uint32_t);

Result<const StokerOpLibrary*> call_entry(Entry entry) {
  try {
    return entry(STOKER_OP_ABI);
  } catch (...) {
    return corrupt_file("{} threw an exception", kEntry);
  }
}

Result<std::shared_ptr<const OpLibrary>> load_file(const std::string& path) {
  STOKER_ASSIGN(const std::string hash, hash_file(path));
  Table& all = table();
  const std::lock_guard lock(all.loading);
  if (auto known = find_by_hash(hash)) return known;
  Handle handle(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!handle.get()) {
    const char* reason = ::dlerror();
    return corrupt_file("cannot be loaded as a shared library: {}", reason ? reason : "no reason");
  }
  if (const auto loaded = all.by_handle.find(handle.get()); loaded != all.by_handle.end()) {
    return invalid_argument("the file has changed since this process loaded it as {}; start again",
                            loaded->second->identity());
  }
  const auto entry = reinterpret_cast<Entry>(::dlsym(handle.get(), kEntry));
  if (!entry) {
    return corrupt_file("exports no function {}: it is no library of operators for Stoker", kEntry);
  }
  STOKER_ASSIGN(const StokerOpLibrary* const description, call_entry(entry));
  STOKER_ASSIGN(auto library, adopt_op_library(description, hash, path));
  all.by_handle[handle.get()] = library;
  handle.release();
  return library;
}

}  // namespace

Status CustomOp::check_counts(size_t inputs, size_t outputs) const {
  const auto check = [&](size_t count, int min, int max, const char* what) {
    const auto given = static_cast<int64_t>(count);
    if (given >= min && (max < 0 || given <= max)) return Status::ok();
    return invalid_model("{}:{} takes {} to {} {}, found {}", domain, name, min,
                         max < 0 ? std::string("any number of") : std::to_string(max), what, given);
  };
  STOKER_TRY(check(inputs, min_inputs, max_inputs, "inputs"));
  return check(outputs, min_outputs, max_outputs, "outputs");
}

const CustomOp* OpLibrary::find(const std::string& domain, const std::string& op) const {
  const auto found = ops.find(std::make_pair(domain, op));
  return found == ops.end() ? nullptr : &found->second;
}

LibraryIdentity parse_identity(std::string_view text) {
  const size_t first = text.find(' ');
  const size_t second = first == std::string_view::npos ? first : text.find(' ', first + 1);
  if (second == std::string_view::npos) return {};
  return {std::string(text.substr(0, first)),
          std::string(text.substr(first + 1, second - first - 1)),
          std::string(text.substr(second + 1))};
}

Result<std::shared_ptr<const OpLibrary>> adopt_op_library(const StokerOpLibrary* description,
                                                          const std::string& hash,
                                                          const std::string& path) {
  STOKER_ASSIGN(OpLibrary library, read_description(description));
  library.hash = hash;
  library.path = path;
  return keep(std::move(library));
}

Result<std::shared_ptr<const OpLibrary>> load_op_library(const std::string& path) {
  const std::string where = "operator library '" + path + "'";
  // dlopen would look up a bare name in the system's folders: the file meant is the one hashed.
  std::error_code fault;
  const auto file = std::filesystem::canonical(path, fault);
  if (fault) return error(StatusCode::kNotFound, "{}: {}", where, fault.message());
  auto library = load_file(file.string());
  if (!library) return library.status().at(where);
  return library;
}

Result<OpLibraries> load_op_libraries(std::string_view list) {
  OpLibraries libraries;
  while (!list.empty()) {
    const size_t end = list.find(':');
    const std::string path(list.substr(0, end));
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
    if (path.empty()) continue;
    STOKER_ASSIGN(auto library, load_op_library(path));
    if (std::find(libraries.begin(), libraries.end(), library) == libraries.end())
      libraries.push_back(std::move(library));
  }
  return libraries;
}

std::shared_ptr<const OpLibrary> find_op_library(const std::string& identity) {
  Table& all = table();
  const std::shared_lock lock(all.mutex);
  const auto found = all.by_identity.find(identity);
  return found == all.by_identity.end() ? nullptr : found->second;
}

}  // namespace stoker
