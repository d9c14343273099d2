// Descs with one thing wrong, which check_desc must refuse.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "kernels/desc/check.h"

namespace stoker::test {

inline TensorDesc plain(DType dtype, std::vector<int64_t> dims) { return {dtype, std::move(dims)}; }
inline TensorDesc f32(std::vector<int64_t> dims) { return plain(DType::kF32, std::move(dims)); }

template <class T>
T& params(Desc& d) {
  return std::get<T>(d.params);
}

struct Case {
  const char* name;
  std::function<Desc()> make;
  std::function<void(Desc&)> change;
};

inline void expect_refused(const std::vector<Case>& cases) {
  for (const Case& test_case : cases) {
    Desc desc = test_case.make();
    test_case.change(desc);
    const Status status = check_desc(desc);
    EXPECT_FALSE(status.is_ok()) << test_case.name;
    EXPECT_FALSE(status.message().empty()) << test_case.name;
  }
}

}  // namespace stoker::test
