#ifndef CAIRN_NN_TENSOR_H_
#define CAIRN_NN_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Dimensions of a row-major tensor, outermost first, channels last. Empty for a scalar.
using Shape = std::vector<int64_t>;

// Shape and type of one example of a tensor, without the batch axis. Inside models the type is
// FLOAT32 or INT32 (ids); both have 4 bytes.
struct TensorSpec {
  Shape shape;
  proto::DataType type = proto::FLOAT32;
};

// The maximum number of elements of a tensor, per example or per variable. Sizes in bytes,
// multiplied by a batch size, still fit int64.
inline constexpr int64_t kTensorElementsMax = int64_t{1} << 40;

// The product of the dimensions. They must be positive and their product at most
// kTensorElementsMax.
int64_t ElementCount(absl::Span<const int64_t> shape);

// Like ElementCount, for untrusted dimensions. INVALID_ARGUMENT if one is not positive or the
// product exceeds kTensorElementsMax.
absl::StatusOr<int64_t> CheckedElementCount(absl::Span<const int64_t> shape);

// The shape as Keras prints it: "(28, 28, 1)", "(3,)".
std::string ShapeText(absl::Span<const int64_t> shape);

}  // namespace cairn::nn

#endif  // CAIRN_NN_TENSOR_H_
