#include "worker/data/array.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::Raw;
using ::testing::HasSubstr;

Array MakeArray(const Array::Layout& layout, int64_t rows, const std::string& bytes,
                const std::string& name = "file") {
  return Array(FileBytes::InMemory(name, bytes), rows, layout);
}

template <typename T>
Array Numbers(ElementType type, const std::vector<T>& values) {
  return MakeArray({.type = type}, static_cast<int64_t>(values.size()), Raw(values));
}

std::vector<float> Floats(const Array& array, double scale) {
  std::vector<float> out(array.rows() * array.elements());
  EXPECT_TRUE(array
                  .ForEachRow([&](int64_t row, const char* bytes) {
                    array.RowToFloats(bytes, scale, out.data() + row * array.elements());
                    return absl::OkStatus();
                  })
                  .ok());
  return out;
}

TEST(ArrayTest, EveryTypeBecomesFloatExactly) {
  EXPECT_EQ(Floats(Numbers<uint8_t>(ElementType::kUint8, {0, 255}), 1),
            (std::vector<float>{0, 255}));
  EXPECT_EQ(Floats(Numbers<int8_t>(ElementType::kInt8, {-128, 127}), 1),
            (std::vector<float>{-128, 127}));
  EXPECT_EQ(Floats(Numbers<uint16_t>(ElementType::kUint16, {65535}), 1),
            (std::vector<float>{65535}));
  EXPECT_EQ(Floats(Numbers<int16_t>(ElementType::kInt16, {-32768}), 1),
            (std::vector<float>{-32768}));
  EXPECT_EQ(Floats(Numbers<int64_t>(ElementType::kInt64, {-5}), 1), (std::vector<float>{-5}));
  EXPECT_EQ(Floats(Numbers<uint64_t>(ElementType::kUint64, {5}), 1), (std::vector<float>{5}));
  EXPECT_EQ(Floats(Numbers<uint32_t>(ElementType::kUint32, {4294967295u}), 1),
            (std::vector<float>{4294967296.0f}));
  EXPECT_EQ(Floats(Numbers<double>(ElementType::kFloat64, {0.1}), 1), (std::vector<float>{0.1f}));
  EXPECT_EQ(Floats(Numbers<uint8_t>(ElementType::kBool, {0, 1}), 1), (std::vector<float>{0, 1}));
}

TEST(ArrayTest, ScaleIsRoundedOnce) {
  const double scale = 0.00392156862745098;
  const auto out = Floats(Numbers<uint8_t>(ElementType::kUint8, {7, 255}), scale);
  EXPECT_EQ(out[0], static_cast<float>(7 * scale));
  EXPECT_EQ(out[1], 1.0f);
}

TEST(ArrayTest, RowsLieBehindHeadersApartAndUnaligned) {
  const Array array =
      MakeArray({.type = ElementType::kInt16, .row_shape = {2}, .offset = 3, .stride = 5}, 2,
                "abc" + Raw<int16_t>({10, 20}) + "-" + Raw<int16_t>({30, -40}));
  EXPECT_EQ(Floats(array, 1), (std::vector<float>{10, 20, 30, -40}));
  std::string scratch;
  int32_t out[2];
  array.RowToInts(*array.Row(1, &scratch), out);
  EXPECT_EQ(out[1], -40);
}

TEST(ArrayTest, SelectedRowsKeepTheirPlacesInTheFiles) {
  Array all = Numbers<uint8_t>(ElementType::kUint8, {0, 1, 2, 3});
  ASSERT_TRUE(all.Append(MakeArray({.type = ElementType::kUint8}, 3, "\4\5\6", "second")).ok());
  const Array middle = all.Rows(2, 6);
  EXPECT_EQ(Floats(middle, 1), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(middle.Place(1), "file, row 3");
  EXPECT_EQ(middle.Place(3), "second, row 1");
  const Array last = middle.Rows(3, 4);
  EXPECT_EQ(Floats(last, 1), (std::vector<float>{5}));
  EXPECT_EQ(last.Place(0), "second, row 1");
  EXPECT_EQ(Floats(all.Rows(0, 7), 1), Floats(all, 1));
}

TEST(ArrayTest, BigEndianElementsAreTurned) {
  const Array array = MakeArray({.type = ElementType::kInt16, .big_endian = true}, 2,
                                std::string("\x01\x02\xff\xfe", 4));
  EXPECT_EQ(Floats(array, 1), (std::vector<float>{258, -2}));
}

TEST(ArrayTest, PlanesBecomeTheLastAxis) {
  const Array array = MakeArray(
      {.type = ElementType::kUint8, .row_shape = {1, 2, 3}, .planes = true}, 1, "\1\2\3\4\5\6");
  EXPECT_EQ(Floats(array, 1), (std::vector<float>{1, 3, 5, 2, 4, 6}));
}

TEST(ArrayTest, FilesFollowEachOtherAndRowsKnowTheirPlace) {
  Array array = MakeArray({.type = ElementType::kUint8}, 2, "\1\2", "a");
  ASSERT_TRUE(array.Append(MakeArray({.type = ElementType::kUint8}, 3, "\3\4\5", "b")).ok());
  EXPECT_EQ(array.rows(), 5);
  EXPECT_EQ(Floats(array, 1), (std::vector<float>{1, 2, 3, 4, 5}));
  std::string scratch;
  EXPECT_EQ(**array.Row(1, &scratch), 2);
  EXPECT_EQ(**array.Row(2, &scratch), 3);
  EXPECT_EQ(**array.Row(4, &scratch), 5);
  EXPECT_EQ(array.Place(1), "a, row 1");
  EXPECT_EQ(array.Place(4), "b, row 2");
  EXPECT_EQ(array.ToString(), "uint8 (5,)");
}

TEST(ArrayTest, FilesOfOtherTypesOrShapesDoNotContinueOne) {
  Array array = MakeArray({.type = ElementType::kUint8}, 2, "\1\2", "a");
  const absl::Status type = array.Append(MakeArray({.type = ElementType::kInt8}, 1, "\1", "b"));
  EXPECT_THAT(std::string(type.message()),
              HasSubstr("data file b: int8 (1,) does not continue uint8 (2,) of a"));
  EXPECT_FALSE(
      array.Append(MakeArray({.type = ElementType::kUint8, .row_shape = {2}}, 1, "\1\2", "c"))
          .ok());
  EXPECT_EQ(array.rows(), 2);
}

}  // namespace
}  // namespace cairn::worker
