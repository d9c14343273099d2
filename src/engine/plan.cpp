// SPDX-License-Identifier: Apache-2.0
#include "engine/plan.h"

#include "base/status.h"

namespace stoker {

std::string place_text(const Place& place) {
  switch (place.kind) {
    case Place::Kind::kCpu: return "cpu";
    case Place::Kind::kCuda: return fmt::format("cuda:{}", place.index);
    case Place::Kind::kNull: return fmt::format("null:{}", place.index);
  }
  return fmt::format("place {}:{}", static_cast<int>(place.kind), place.index);
}

}  // namespace stoker
