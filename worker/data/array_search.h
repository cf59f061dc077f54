#ifndef CAIRN_WORKER_DATA_ARRAY_SEARCH_H_
#define CAIRN_WORKER_DATA_ARRAY_SEARCH_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "worker/data/array.h"

namespace cairn::worker {

// Searches of an array for elements that are not valid.

// An invalid element.
struct InvalidElement {
  int64_t row = 0;      // In the array.
  int64_t element = 0;  // In the row.
  double value = 0;
};

// Each function reads the whole array, unless its type excludes invalid elements, and returns the
// first invalid element, if any. Errors as Array::ForEachRow's.

// Finds an element that is not an integer of 32 bits.
absl::StatusOr<std::optional<InvalidElement>> FindNotInt32(const Array& array);
// Finds an element below `least` or above `most`, or NaN.
absl::StatusOr<std::optional<InvalidElement>> FindOutside(const Array& array, double least,
                                                          double most);
// Finds an element that, multiplied by `scale`, is NaN or infinite as a float32.
absl::StatusOr<std::optional<InvalidElement>> FindNotFinite(const Array& array, double scale);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_ARRAY_SEARCH_H_
