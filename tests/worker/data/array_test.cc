#include "worker/data/array.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::Raw;

template <typename T>
Array MakeArray(ElementType type, const std::vector<T>& values) {
  return {"file", type, {static_cast<int64_t>(values.size())}, Raw(values), 0};
}

std::vector<float> Floats(const Array& array, double scale) {
  std::vector<float> out(array.examples());
  CopyAsFloat(array, 0, array.examples(), scale, out.data());
  return out;
}

TEST(ArrayTest, EveryTypeBecomesFloatExactly) {
  EXPECT_EQ(Floats(MakeArray<uint8_t>(ElementType::kUint8, {0, 255}), 1),
            (std::vector<float>{0, 255}));
  EXPECT_EQ(Floats(MakeArray<int8_t>(ElementType::kInt8, {-128, 127}), 1),
            (std::vector<float>{-128, 127}));
  EXPECT_EQ(Floats(MakeArray<uint16_t>(ElementType::kUint16, {65535}), 1),
            (std::vector<float>{65535}));
  EXPECT_EQ(Floats(MakeArray<int16_t>(ElementType::kInt16, {-32768}), 1),
            (std::vector<float>{-32768}));
  EXPECT_EQ(Floats(MakeArray<int64_t>(ElementType::kInt64, {-5}), 1), (std::vector<float>{-5}));
  EXPECT_EQ(Floats(MakeArray<uint32_t>(ElementType::kUint32, {4294967295u}), 1),
            (std::vector<float>{4294967296.0f}));
  EXPECT_EQ(Floats(MakeArray<double>(ElementType::kFloat64, {0.1}), 1), (std::vector<float>{0.1f}));
  EXPECT_EQ(Floats(MakeArray<uint8_t>(ElementType::kBool, {0, 1}), 1), (std::vector<float>{0, 1}));
}

TEST(ArrayTest, ScaleIsRoundedOnce) {
  const double scale = 0.00392156862745098;
  const auto out = Floats(MakeArray<uint8_t>(ElementType::kUint8, {7, 255}), scale);
  EXPECT_EQ(out[0], static_cast<float>(7 * scale));
  EXPECT_EQ(out[1], 1.0f);
}

TEST(ArrayTest, CopiesFromUnalignedHeadersAndFromTheMiddle) {
  Array array = MakeArray<int32_t>(ElementType::kInt32, {10, 20, 30});
  array.bytes = "abc" + array.bytes;
  array.data_offset = 3;
  int32_t out[2];
  CopyAsInt32(array, 1, 2, out);
  EXPECT_EQ(out[0], 20);
  EXPECT_EQ(out[1], 30);
}

TEST(ArrayTest, FindsTheRangeAndNan) {
  const auto range = FindRange(MakeArray<int16_t>(ElementType::kInt16, {3, -7, 5}));
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->minimum, -7);
  EXPECT_EQ(range->maximum, 5);
  const auto nan = FindRange(MakeArray<float>(ElementType::kFloat32, {1, std::nanf(""), 2}));
  EXPECT_TRUE(std::isnan(nan->minimum));
  EXPECT_FALSE(FindRange(MakeArray<float>(ElementType::kFloat32, {})).has_value());
}

TEST(ArrayTest, FindsTheFirstElementThatIsNoInt32) {
  EXPECT_EQ(FindNotInt32(MakeArray<float>(ElementType::kFloat32, {1, 2.5f})), 1);
  EXPECT_EQ(FindNotInt32(MakeArray<double>(ElementType::kFloat64, {0, 2147483648.0})), 1);
  EXPECT_EQ(FindNotInt32(MakeArray<float>(ElementType::kFloat32, {std::nanf("")})), 0);
  EXPECT_EQ(FindNotInt32(MakeArray<int64_t>(ElementType::kInt64, {1, int64_t{1} << 31})), 1);
  EXPECT_EQ(FindNotInt32(MakeArray<uint32_t>(ElementType::kUint32, {2147483648u})), 0);
  EXPECT_FALSE(FindNotInt32(MakeArray<double>(ElementType::kFloat64, {-2147483648.0})));
  EXPECT_FALSE(FindNotInt32(MakeArray<int8_t>(ElementType::kInt8, {-1})));
}

}  // namespace
}  // namespace cairn::worker
