// Libraries of custom operators (stoker/custom_op.h): loading the files that a caller names, and
// the table of what is loaded. A library stays loaded until the process ends. Which libraries an
// engine may call is for its loader to check; the table only knows what there is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/attributes.h"
#include "stoker/custom_op.h"
#include "stoker/status.h"

namespace stoker {

// Attributes of a node of op `custom` beside the model's own; no ONNX attribute has a dot.
inline constexpr const char* kCustomLibrary = "stoker.library";  // identity of the library
inline constexpr const char* kCustomDomain = "stoker.domain";
inline constexpr const char* kCustomName = "stoker.name";
inline constexpr const char* kCustomVersion = "stoker.version";  // opset version of the domain

struct CustomOp {
  std::string domain, name;
  int min_inputs = 0, max_inputs = -1;
  int min_outputs = 1, max_outputs = -1;
  StokerOpCallback infer = nullptr, evaluate = nullptr;

  Status check_counts(size_t inputs, size_t outputs) const;
};

// Immutable once loaded.
struct OpLibrary {
  std::string name, version;
  std::string hash;  // content hash of the file
  std::string path;  // that it was loaded from first
  std::map<std::pair<std::string, std::string>, CustomOp, std::less<>> ops;  // by domain and name

  std::string identity() const { return name + " " + version + " " + hash; }
  const CustomOp* find(const std::string& domain, const std::string& op) const;
};
using OpLibraries = std::vector<std::shared_ptr<const OpLibrary>>;

// Name, version and hash of an identity; all empty when the text is none.
struct LibraryIdentity {
  std::string name, version, hash;
};
LibraryIdentity parse_identity(std::string_view text);

// Loads the file, or finds it among those that are loaded. Thread-safe. Running a file's code is
// what this does: for files that the caller named, never for what a model or an engine says.
Result<std::shared_ptr<const OpLibrary>> load_op_library(const std::string& path);
// The files of knob op_libraries: names separated by ':'.
Result<OpLibraries> load_op_libraries(std::string_view list);

// The same for a description that is linked into the program; `hash` tells builds apart.
Result<std::shared_ptr<const OpLibrary>> adopt_op_library(const StokerOpLibrary* description,
                                                          const std::string& hash,
                                                          const std::string& path);

// Null when no such library is loaded.
std::shared_ptr<const OpLibrary> find_op_library(const std::string& identity);

}  // namespace stoker
