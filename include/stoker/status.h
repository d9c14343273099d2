// Status and Result<T>: the one way errors travel through Stoker. No exception crosses a folder
// border. A message says what, where (node, op, tensor), expected and found, and the next step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace stoker {

enum class StatusCode {
  kOk,
  kInvalidArgument,    // the caller asked for something wrong: flags, names, shapes
  kInvalidModel,       // the model or data is not valid
  kUnsupported,        // valid, but not something this build can do
  kNotFound,           // a file, name or entry does not exist
  kResourceExhausted,  // memory, disk or a limit
  kDeviceError,        // a device or its driver failed
  kCorruptFile,        // a file is truncated, damaged or of another version
  kCheckFailed,        // an accuracy or comparison gate was not met
  kInternal,           // a defect of Stoker itself
};

// Name of a code in lower case, for messages and JSON ("invalid_model").
const char* status_code_name(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status ok() { return {}; }
  bool is_ok() const { return code_ == StatusCode::kOk; }
  explicit operator bool() const { return is_ok(); }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // The same error with "where: " in front; an ok status stays ok.
  Status at(const std::string& where) const {
    return is_ok() ? *this : Status(code_, where + ": " + message_);
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

// Either a value or an error. Reading the value of an error is a programmer's mistake (asserted).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) { assert(!status_.is_ok()); }

  bool is_ok() const { return value_.has_value(); }
  explicit operator bool() const { return is_ok(); }
  const Status& status() const { return status_; }

  T& operator*() & {
    assert(is_ok());
    return *value_;
  }
  const T& operator*() const& {
    assert(is_ok());
    return *value_;
  }
  T&& operator*() && {
    assert(is_ok());
    return std::move(*value_);
  }
  T* operator->() {
    assert(is_ok());
    return &*value_;
  }
  const T* operator->() const {
    assert(is_ok());
    return &*value_;
  }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace stoker
