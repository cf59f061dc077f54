#include "nn/tensor.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace cairn::nn {

int64_t ElementCount(absl::Span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t dimension : shape) count *= dimension;
  return count;
}

absl::StatusOr<int64_t> CheckedElementCount(absl::Span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t dimension : shape) {
    if (dimension <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", ShapeText(shape), " has a dimension that is not positive"));
    }
    if (dimension > kTensorElementsMax / count) {
      return absl::InvalidArgumentError(absl::StrCat("shape ", ShapeText(shape), " has more than ",
                                                     kTensorElementsMax, " elements"));
    }
    count *= dimension;
  }
  return count;
}

std::string ShapeText(absl::Span<const int64_t> shape) {
  return absl::StrCat("(", absl::StrJoin(shape, ", "), shape.size() == 1 ? ",)" : ")");
}

}  // namespace cairn::nn
