#ifndef CAIRN_WORKER_DATA_FEATURES_SERIALIZED_TENSOR_H_
#define CAIRN_WORKER_DATA_FEATURES_SERIALIZED_TENSOR_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nn/signature.h"
#include "worker/data/array.h"

namespace cairn::worker {

// Returns the little-endian elements of a tensor that tf.io.serialize_tensor has written: a
// TensorProto (tensorflow/core/framework/tensor.proto). One value may have any number of axes.
// InvalidArgument, "has ...": it is none, or one of another type or shape.
absl::StatusOr<std::string> ReadSerializedTensor(std::string_view bytes, ElementType type,
                                                 const nn::Shape& shape);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FEATURES_SERIALIZED_TENSOR_H_
