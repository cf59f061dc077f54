#include "worker/data/features/serialized_tensor.h"

#include <climits>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/tensorflow.pb.h"

namespace cairn::worker {
namespace {

// Protobuf counts bytes in an int.
constexpr size_t kBytesMax = INT_MAX;

constexpr std::pair<tensorflow::DataType, ElementType> kTypes[] = {
    {tensorflow::DT_BOOL, ElementType::kBool},      {tensorflow::DT_UINT8, ElementType::kUint8},
    {tensorflow::DT_INT8, ElementType::kInt8},      {tensorflow::DT_UINT16, ElementType::kUint16},
    {tensorflow::DT_INT16, ElementType::kInt16},    {tensorflow::DT_UINT32, ElementType::kUint32},
    {tensorflow::DT_INT32, ElementType::kInt32},    {tensorflow::DT_UINT64, ElementType::kUint64},
    {tensorflow::DT_INT64, ElementType::kInt64},    {tensorflow::DT_FLOAT, ElementType::kFloat32},
    {tensorflow::DT_DOUBLE, ElementType::kFloat64},
};

// Nullopt: a type that Cairn does not read.
std::optional<ElementType> TypeOf(tensorflow::DataType type) {
  for (const auto& [theirs, ours] : kTypes) {
    if (theirs == type) return ours;
  }
  return std::nullopt;
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
