#include "worker/data/features/serialized_tensor.h"

#include <climits>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/tensorflow.pb.h"

namespace cairn::worker {
namespace {

// TensorFlow writes much smaller ones, and protobuf counts bytes in an int.
constexpr size_t kBytesMax = INT_MAX;

// Nullopt: a type that Cairn does not read.
std::optional<ElementType> TypeOf(tensorflow::DataType type) {
  switch (type) {
    case tensorflow::DT_BOOL:
      return ElementType::kBool;
    case tensorflow::DT_UINT8:
      return ElementType::kUint8;
    case tensorflow::DT_INT8:
      return ElementType::kInt8;
    case tensorflow::DT_UINT16:
      return ElementType::kUint16;
    case tensorflow::DT_INT16:
      return ElementType::kInt16;
    case tensorflow::DT_UINT32:
      return ElementType::kUint32;
    case tensorflow::DT_INT32:
      return ElementType::kInt32;
    case tensorflow::DT_UINT64:
      return ElementType::kUint64;
    case tensorflow::DT_INT64:
      return ElementType::kInt64;
    case tensorflow::DT_FLOAT:
      return ElementType::kFloat32;
    case tensorflow::DT_DOUBLE:
      return ElementType::kFloat64;
    default:
      return std::nullopt;
  }
}

}  // namespace

absl::StatusOr<std::string> ReadSerializedTensor(std::string_view bytes, ElementType type,
                                                 const nn::Shape& shape) {
  tensorflow::TensorProto tensor;
  if (bytes.size() > kBytesMax ||
      !tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", bytes.size(), " bytes that are not a tensor of tf.io.serialize_tensor"));
  }
  const std::optional<ElementType> found = TypeOf(tensor.dtype());
  if (found != type) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has a tensor of ",
        found ? ElementName(*found) : absl::StrCat("TensorFlow's type ", tensor.dtype()),
        ", expected: ", ElementName(type)));
  }
  nn::Shape own;
  for (const auto& dim : tensor.tensor_shape().dim()) own.push_back(dim.size());
  const int64_t count = nn::ElementCount(shape);
  const bool is_one_value =
      count == 1 && tensor.tensor_content().size() == static_cast<size_t>(ElementBytes(type));
  if (own != shape && !is_one_value) {
    return absl::InvalidArgumentError(absl::StrCat("has a tensor of shape ", nn::ShapeText(own),
                                                   ", expected: ", nn::ShapeText(shape)));
  }
  const int64_t expected = count * ElementBytes(type);
  if (static_cast<int64_t>(tensor.tensor_content().size()) != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("has a tensor with ", tensor.tensor_content().size(), " bytes of content, ",
                     expected, " expected; write it by tf.io.serialize_tensor"));
  }
  return std::move(*tensor.mutable_tensor_content());
}

}  // namespace cairn::worker
