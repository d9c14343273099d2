// SPDX-License-Identifier: Apache-2.0
#include "engine/codec.h"

namespace stoker::engine {
namespace {

// The names up to the first unknown number; every name function answers "?" there.
template <class Enum, class Name>
std::vector<std::string> list_names(int count, Name name) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    const std::string text(name(static_cast<Enum>(i)));
    if (text == "?") break;
    names.push_back(text);
  }
  return names;
}

}  // namespace

std::vector<std::string> dtype_names() { return list_names<DType>(kDTypeCount, dtype_name); }
std::vector<std::string> layout_names() { return list_names<Layout>(256, layout_name); }
std::vector<std::string> packing_names() { return list_names<Packing>(256, packing_name); }
std::vector<std::string> family_names() { return list_names<Family>(kFamilyCount, family_name); }
std::vector<std::string> region_op_names() {
  return list_names<RegionOp>(kRegionOpCount, region_op_name);
}

}  // namespace stoker::engine
