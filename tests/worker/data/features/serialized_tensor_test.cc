#include "worker/data/features/serialized_tensor.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"

namespace cairn::worker {
namespace {

// What tf.io.serialize_tensor of TensorFlow 2.21 has written, in hexadecimal digits.
constexpr char kInt16[] = "080512081202080212020803220c010002000300040005000600";  // (2, 3): 1 to 6
constexpr char kDouble[] = "0802120022080000000000000440";                         // 2.5
constexpr char kHalf[] = "08131204120208012202003e";                               // (1,): 1.5
constexpr char kText[] = "0807120412020801420161";                                 // (1,): "a"
// And tf.make_tensor_proto(3), whose number is elsewhere.
constexpr char kField[] = "080312003a0103";

std::string Read(const std::string& hex, ElementType type, const nn::Shape& shape) {
  const auto elements = ReadSerializedTensor(absl::HexStringToBytes(hex), type, shape);
  return elements.ok() ? absl::BytesToHexString(*elements)
                       : std::string(elements.status().message());
}

TEST(SerializedTensorTest, ElementsAreThoseOfTheTensor) {
  EXPECT_EQ(Read(kInt16, ElementType::kInt16, {2, 3}), "010002000300040005000600");
  EXPECT_EQ(Read(kDouble, ElementType::kFloat64, {}), "0000000000000440");
  EXPECT_EQ(Read(kDouble, ElementType::kFloat64, {1}), "0000000000000440");
  EXPECT_EQ(Read(kDouble, ElementType::kFloat64, {1, 1}), "0000000000000440");
}

TEST(SerializedTensorTest, AnotherTypeOrShapeIsNamed) {
  EXPECT_EQ(Read(kInt16, ElementType::kUint16, {2, 3}), "has a tensor of int16, expected: uint16");
  EXPECT_EQ(Read(kHalf, ElementType::kFloat32, {1}),
            "has a tensor of TensorFlow's type 19, expected: float32");
  EXPECT_EQ(Read(kText, ElementType::kFloat32, {1}),
            "has a tensor of TensorFlow's type 7, expected: float32");
  for (const nn::Shape& shape : {nn::Shape{3, 2}, nn::Shape{6}, nn::Shape{2, 3, 1}, nn::Shape{}}) {
    EXPECT_EQ(Read(kInt16, ElementType::kInt16, shape),
              "has a tensor of shape (2, 3), expected: " + nn::ShapeText(shape));
  }
}

TEST(SerializedTensorTest, OtherBytesAreRefused) {
  EXPECT_EQ(Read("ff", ElementType::kInt16, {2, 3}),
            "has 1 bytes that are not a tensor of tf.io.serialize_tensor");
  EXPECT_EQ(Read("", ElementType::kInt16, {2, 3}),
            "has a tensor of TensorFlow's type 0, expected: int16");
  EXPECT_EQ(Read(kField, ElementType::kInt32, {}),
            "has a tensor with 0 bytes of content, 4 expected; write it by tf.io.serialize_tensor");
  // Every truncation.
  const std::string whole = kInt16;
  for (size_t digits = 0; digits < whole.size(); digits += 2) {
    EXPECT_NE(Read(whole.substr(0, digits), ElementType::kInt16, {2, 3}),
              Read(whole, ElementType::kInt16, {2, 3}));
  }
}

}  // namespace
}  // namespace cairn::worker
