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

// Dimensions, outermost first; row-major, channels last. Empty for a scalar.
using Shape = std::vector<int64_t>;

// What one example of a tensor looks like: without the batch axis. Inside models a type is FLOAT32
// or INT32 (ids); both have 4 bytes.
struct TensorSpec {
  Shape shape;
  proto::DataType type = proto::FLOAT32;
};

// No tensor of a model may have more elements, per example or per variable: sizes in bytes, times a
// batch, still fit an int64.
inline constexpr int64_t kTensorElementsMax = int64_t{1} << 40;

// The product of the dimensions, which are positive and known to fit.
int64_t ElementCount(absl::Span<const int64_t> shape);

// The same for dimensions that come from outside. INVALID_ARGUMENT if one is not positive or the
// product exceeds kTensorElementsMax.
absl::StatusOr<int64_t> CheckedElementCount(absl::Span<const int64_t> shape);

// "(28, 28, 1)", as Keras prints shapes.
std::string ShapeText(absl::Span<const int64_t> shape);

}  // namespace cairn::nn

#endif  // CAIRN_NN_TENSOR_H_
