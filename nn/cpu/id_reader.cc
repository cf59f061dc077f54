#include "nn/cpu/id_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace cairn::nn {

int64_t IdReader::Read(const float* ids, int64_t i) const {
  if (ids_are_floats_) {
    const float id = std::trunc(ids[i]);
    return id >= 0 && id < static_cast<float>(bound_) ? static_cast<int64_t>(id) : -1;
  }
  int32_t id;
  std::memcpy(&id, ids + i, sizeof(id));
  return id < bound_ ? std::max(id, -1) : -1;
}

absl::Status IdReader::Error(const float* ids, int64_t i) const {
  int32_t id;
  std::memcpy(&id, ids + i, sizeof(id));
  return absl::InvalidArgumentError(
      absl::StrCat("layer '", layer_.name(), "' (", layer_.class_name(), "): id ",
                   ids_are_floats_ ? absl::StrCat(ids[i]) : absl::StrCat(id), " is not one of the ",
                   bound_name_, " 0 to ", bound_ - 1));
}

}  // namespace cairn::nn
