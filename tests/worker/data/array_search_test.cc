#include "worker/data/array_search.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::Raw;

// An array whose rows have one element.
template <typename T>
Array Numbers(ElementType type, const std::vector<T>& values) {
  Array::Layout layout;
  layout.type = type;
  return Array(FileBytes::InMemory("file", Raw(values)), static_cast<int64_t>(values.size()),
               layout);
}

// The row that was found; -1: none.
int64_t RowOf(const absl::StatusOr<std::optional<InvalidElement>>& found) {
  EXPECT_TRUE(found.ok());
  return found->has_value() ? (*found)->row : -1;
}

TEST(ArraySearchTest, FindsTheFirstElementThatIsNoInt32) {
  EXPECT_EQ(RowOf(FindNotInt32(Numbers<float>(ElementType::kFloat32, {1, 2.5f}))), 1);
  EXPECT_EQ(RowOf(FindNotInt32(Numbers<double>(ElementType::kFloat64, {0, 2147483648.0}))), 1);
  EXPECT_EQ(RowOf(FindNotInt32(Numbers<float>(ElementType::kFloat32, {std::nanf("")}))), 0);
  EXPECT_EQ(RowOf(FindNotInt32(Numbers<int64_t>(ElementType::kInt64, {1, int64_t{1} << 31}))), 1);
  EXPECT_EQ(RowOf(FindNotInt32(Numbers<uint32_t>(ElementType::kUint32, {2147483648u}))), 0);
  EXPECT_EQ(RowOf(FindNotInt32(Numbers<double>(ElementType::kFloat64, {-2147483648.0}))), -1);
  EXPECT_EQ(RowOf(FindNotInt32(Numbers<int8_t>(ElementType::kInt8, {-1}))), -1);
}

TEST(ArraySearchTest, AnArrayWithoutRowsTakesNoMemoryHoweverLongTheyWouldBe) {
  Array::Layout layout;
  layout.type = ElementType::kFloat64;
  layout.row_shape = {int64_t{1} << 50};
  EXPECT_EQ(RowOf(FindNotInt32(Array(FileBytes::InMemory("file", ""), 0, layout))), -1);
}

TEST(ArraySearchTest, FindsWhatIsOutsideOfBounds) {
  const Array numbers = Numbers<int16_t>(ElementType::kInt16, {0, 9, -7, 10});
  const auto found = FindOutside(numbers, 0, 9);
  EXPECT_EQ(RowOf(found), 2);
  EXPECT_EQ((*found)->value, -7);
  EXPECT_EQ(RowOf(FindOutside(numbers, -7, 10)), -1);
  EXPECT_EQ(RowOf(FindOutside(Numbers<float>(ElementType::kFloat32, {0, NAN}), 0, 1)), 1);
}

TEST(ArraySearchTest, FindsWhatIsNotFiniteAsAFloat) {
  EXPECT_EQ(RowOf(FindNotFinite(Numbers<float>(ElementType::kFloat32, {1, INFINITY}), 1)), 1);
  EXPECT_EQ(RowOf(FindNotFinite(Numbers<double>(ElementType::kFloat64, {1, 2, 1e300}), 1)), 2);
  EXPECT_EQ(RowOf(FindNotFinite(Numbers<double>(ElementType::kFloat64, {1e300}), 1e-290)), -1);
  EXPECT_EQ(RowOf(FindNotFinite(Numbers<uint8_t>(ElementType::kUint8, {0, 1}), 1e300)), 1);
  EXPECT_EQ(RowOf(FindNotFinite(Numbers<uint8_t>(ElementType::kUint8, {0, 1}), 1)), -1);
}

}  // namespace
}  // namespace cairn::worker
