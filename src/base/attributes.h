// Attributes: the named constants of a node.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "stoker/tensor.h"

namespace stoker {

using Attribute = std::variant<int64_t, double, std::string, DType, std::vector<int64_t>,
                               std::vector<double>, std::vector<std::string>, Tensor>;

// Name -> value, ordered by name, so that printing is deterministic.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> list) : map_(list) {}

  bool has(const std::string& name) const { return map_.count(name) != 0; }
  void set(const std::string& name, Attribute value) { map_[name] = std::move(value); }
  void erase(const std::string& name) { map_.erase(name); }
  const std::map<std::string, Attribute>& all() const { return map_; }

  // The value when present and of that kind, otherwise the fallback.
  int64_t get_int(const std::string& name, int64_t fallback = 0) const {
    return get(name, fallback);
  }
  double get_float(const std::string& name, double fallback = 0) const {
    return get(name, fallback);
  }
  std::string get_string(const std::string& name, std::string fallback = "") const {
    return get(name, fallback);
  }
  DType get_dtype(const std::string& name, DType fallback) const { return get(name, fallback); }
  std::vector<int64_t> get_ints(const std::string& name, std::vector<int64_t> fallback = {}) const {
    return get(name, std::move(fallback));
  }
  std::vector<double> get_floats(const std::string& name, std::vector<double> fallback = {}) const {
    return get(name, std::move(fallback));
  }
  const Tensor* get_tensor(const std::string& name) const {
    const auto it = map_.find(name);
    return it == map_.end() ? nullptr : std::get_if<Tensor>(&it->second);
  }

 private:
  template <class T>
  T get(const std::string& name, T fallback) const {
    const auto it = map_.find(name);
    if (it == map_.end()) return fallback;
    const T* value = std::get_if<T>(&it->second);
    return value ? *value : fallback;
  }
  std::map<std::string, Attribute> map_;
};

}  // namespace stoker
