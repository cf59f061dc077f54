#ifndef CAIRN_WORKER_DATA_ARRAY_SEARCH_H_
#define CAIRN_WORKER_DATA_ARRAY_SEARCH_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "worker/data/array.h"

namespace cairn::worker {

// An element that is not as it should be.
struct FoundElement {
  int64_t row = 0;      // In the array.
  int64_t element = 0;  // In the row.
  double value = 0;
};

// Each reads the whole array and returns the first element that is wrong, if there is one. Errors
// are Array::ForEachRow's.

// Not a whole number of 32 bits.
absl::StatusOr<std::optional<FoundElement>> FindNotInt32(const Array& array);
// Below `least` or above `most`, or NaN.
absl::StatusOr<std::optional<FoundElement>> FindOutside(const Array& array, double least,
                                                        double most);
// NaN or infinite as a float32, multiplied by `scale`.
absl::StatusOr<std::optional<FoundElement>> FindNotFinite(const Array& array, double scale);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_ARRAY_SEARCH_H_
