#include "worker/data/array_search.h"

#include <cmath>
#include <vector>

#include "common/status_macros.h"

namespace cairn::worker {
namespace {

template <typename IsWrong>
absl::StatusOr<std::optional<InvalidElement>> Find(const Array& array, IsWrong is_wrong) {
  std::optional<InvalidElement> found;
  // The size of a row is not checked against the file if there are no rows, so it may not fit into
  // memory.
  if (array.rows() == 0) return found;
  std::vector<double> values(array.elements());
  CAIRN_RETURN_IF_ERROR(array.ForEachRow([&](int64_t row, const char* bytes) {
    if (found) return absl::OkStatus();
    array.RowToDoubles(bytes, values.data());
    for (int64_t i = 0; i < array.elements() && !found; ++i) {
      if (is_wrong(values[i])) found = InvalidElement{row, i, values[i]};
    }
    return absl::OkStatus();
  }));
  return found;
}

// Integer types all of whose values fit into int32.
bool IsNarrow(ElementType type) {
  return !IsFloat(type) && type != ElementType::kUint32 && ElementBytes(type) <= 4;
}

}  // namespace

absl::StatusOr<std::optional<InvalidElement>> FindNotInt32(const Array& array) {
  if (IsNarrow(array.type())) return std::nullopt;
  return Find(array, [](double value) {
    return !(value >= -2147483648.0 && value < 2147483648.0) || value != std::trunc(value);
  });
}

absl::StatusOr<std::optional<InvalidElement>> FindOutside(const Array& array, double least,
                                                          double most) {
  return Find(array, [=](double value) { return !(value >= least && value <= most); });
}

absl::StatusOr<std::optional<InvalidElement>> FindNotFinite(const Array& array, double scale) {
  if (!IsFloat(array.type()) && std::abs(scale) < 1e18) return std::nullopt;
  return Find(array,
              [scale](double value) { return !std::isfinite(static_cast<float>(value * scale)); });
}

}  // namespace cairn::worker
