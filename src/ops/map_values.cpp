// SPDX-License-Identifier: Apache-2.0
#include "ops/map_values.h"

namespace stoker {

Status check_map(const InferContext& c, const char* op, DTypeSet keys, DTypeSet values) {
  if (!c.has(0)) return invalid_model("{}: input 0 is missing", op);
  const ValueType& type = c.type(0);
  if (type.kind == ValueType::Kind::kMap && contains(keys, type.key) &&
      contains(values, type.dtype)) {
    return Status::ok();
  }
  return invalid_model("{}: input is {}, expected a map of keys and values that the op takes", op,
                       type_text(type));
}

Result<MapView> map_of(const ValueContext& c, const char* op, DTypeSet keys, DTypeSet values) {
  if (!c.has(0) || c.inputs[0].kind() != AnyValue::Kind::kMap)
    return invalid_argument("{}: input 0 is no map", op);
  const std::vector<AnyValue>& parts = c.inputs[0].elements();
  MapView map{parts[0].tensor(), parts[1].tensor()};
  if (contains(keys, map.keys.dtype()) && contains(values, map.values.dtype()) &&
      map.keys.rank() == 1 && map.keys.shape() == map.values.shape()) {
    return map;
  }
  return invalid_argument("{}: a map from {}{} to {}{} is not one that the op takes", op,
                          dtype_name(map.keys.dtype()), shape_text(map.keys.shape()),
                          dtype_name(map.values.dtype()), shape_text(map.values.shape()));
}

}  // namespace stoker
