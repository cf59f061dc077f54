#include "worker/data/array.h"

#include <fcntl.h>

#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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
  const Array middle = all.Select(RowSelection::Range(2, 6));
  EXPECT_EQ(Floats(middle, 1), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(middle.Place(1), "file, row 3");
  EXPECT_EQ(middle.Place(3), "second, row 1");
  const Array last = middle.Select(RowSelection::Range(3, 4));
  EXPECT_EQ(Floats(last, 1), (std::vector<float>{5}));
  EXPECT_EQ(last.Place(0), "second, row 1");
  EXPECT_EQ(Floats(all.Select(RowSelection(7)), 1), Floats(all, 1));
  const Array kept = all.Select(RowSelection(std::vector<int64_t>{1, 3, 4, 6}));
  EXPECT_EQ(Floats(kept, 1), (std::vector<float>{1, 3, 4, 6}));
  EXPECT_EQ(kept.Place(3), "second, row 2");
}

RowSelection WindowsOf(int64_t rows, int64_t size, int64_t shift, int64_t stride) {
  proto::DataSource source;
  auto& window = *source.add_pipeline()->mutable_window();
  window.set_size(size);
  window.set_shift(shift);
  window.set_stride(stride);
  return *RowSelection::Create(source, rows, {}, /*has_labels=*/false);
}

// The elements of all rows, by Row and by ForEachRow.
std::vector<float> BothWays(const Array& array) {
  std::vector<float> out(array.rows() * array.elements());
  std::string scratch;
  for (int64_t row = 0; row < array.rows(); ++row) {
    array.RowToFloats(*array.Row(row, &scratch), 1, out.data() + row * array.elements());
  }
  EXPECT_EQ(Floats(array, 1), out);
  return out;
}

TEST(ArrayTest, WindowsAreRowsOfRowsInMemoryAndOnDisk) {
  const std::string bytes = Raw<int16_t>({0, 1, 10, 11, 20, 21, 30, 31});
  const int descriptor = open(cairn::testing::WriteDataFile("w", bytes).c_str(), O_RDONLY);
  const std::vector<std::shared_ptr<const FileBytes>> files = {
      FileBytes::InMemory("memory", bytes), *FileBytes::OnDisk("disk", descriptor)};
  for (const auto& file : files) {
    Array all(file, 4, {.type = ElementType::kInt16, .row_shape = {2}});
    ASSERT_TRUE(all.Append(Array(file, 1, {.type = ElementType::kInt16, .row_shape = {2}})).ok());
    const Array adjacent = all.Select(WindowsOf(5, 2, 1, 1));
    EXPECT_EQ(adjacent.ToString(), "int16 (4, 2, 2)");
    EXPECT_EQ(BothWays(adjacent), (std::vector<float>{0, 1, 10, 11, 10, 11, 20, 21,  //
                                                      20, 21, 30, 31, 30, 31, 0, 1}));
    EXPECT_EQ(BothWays(all.Select(WindowsOf(5, 2, 2, 2))),
              (std::vector<float>{0, 1, 20, 21, 20, 21, 0, 1}));
    EXPECT_EQ(adjacent.Place(3), file->name() + ", row 3");
  }
}

TEST(ArrayTest, AWindowOfOneRowHasAnAxisToo) {
  const Array all =
      MakeArray({.type = ElementType::kUint8, .row_shape = {2}}, 3, std::string("\0\1\2\3\4\5", 6));
  const Array each = all.Select(WindowsOf(3, 1, 1, 1));
  EXPECT_EQ(each.ToString(), "uint8 (3, 1, 2)");
  EXPECT_EQ(BothWays(each), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  const Array apart = all.Select(WindowsOf(3, 1, 2, 1));
  EXPECT_EQ(apart.ToString(), "uint8 (2, 1, 2)");
  EXPECT_EQ(BothWays(apart), (std::vector<float>{0, 1, 4, 5}));
}

TEST(ArrayTest, TheRowsOfWindowsAreEachThereOnce) {
  std::vector<uint8_t> numbers(100);
  std::iota(numbers.begin(), numbers.end(), uint8_t{0});
  const Array all = Numbers(ElementType::kUint8, numbers);
  const Array overlapping = all.Select(WindowsOf(100, 10, 1, 2)).Rows();
  EXPECT_EQ(overlapping.rows(), 100);
  EXPECT_EQ(overlapping.elements(), 1);
  EXPECT_EQ(overlapping.Place(99), "file, row 99");
  EXPECT_EQ(Floats(all.Select(WindowsOf(100, 3, 4, 2)).Rows(), 1)[1], 2);
  // Most rows are in no window.
  EXPECT_EQ(all.Select(WindowsOf(100, 2, 50, 1)).Rows().ToString(), "uint8 (2, 2)");
}

TEST(ArrayTest, WindowsOfRowsFarApart) {
  std::string bytes(int64_t{3} << 20, '\0');
  bytes[0] = 1;
  bytes[bytes.size() - 1] = 2;
  const std::string name = cairn::testing::WriteDataFile("sparse", bytes);
  const int descriptor = open(name.c_str(), O_RDONLY);
  const auto rows = static_cast<int64_t>(bytes.size());
  const Array all(*FileBytes::OnDisk("disk", descriptor), rows, {.type = ElementType::kUint8});
  EXPECT_EQ(BothWays(all.Select(WindowsOf(rows, 2, rows, rows - 1))), (std::vector<float>{1, 2}));
}

TEST(ArrayTest, WindowsOfPlanesAndOfRowsApart) {
  const Array planes = MakeArray({.type = ElementType::kUint8, .row_shape = {2, 2}, .planes = true},
                                 3, std::string("\0\1\2\3\4\5\6\7\10\11\12\13", 12));
  EXPECT_EQ(BothWays(planes.Select(WindowsOf(3, 2, 1, 1))),
            (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7, 4, 6, 5, 7, 8, 10, 9, 11}));
  const Array apart =
      MakeArray({.type = ElementType::kUint8, .stride = 2}, 4, std::string("\0-\1-\2-\3", 7));
  EXPECT_EQ(BothWays(apart.Select(WindowsOf(4, 2, 1, 1))), (std::vector<float>{0, 1, 1, 2, 2, 3}));
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

TEST(ArrayTest, AFileHasOneReaderIfThereAreEnough) {
  // Files of 1, 2, ... 7 rows.
  Array all = Numbers<uint8_t>(ElementType::kUint8, {0});
  for (int rows = 2; rows <= 7; ++rows) {
    ASSERT_TRUE(all.Append(MakeArray({.type = ElementType::kUint8}, rows,
                                     std::string(rows, static_cast<char>(rows)),
                                     absl::StrCat("file", rows)))
                    .ok());
  }
  const auto file_of = [](const Array& array, int64_t row) {
    return array.Place(row).substr(0, array.Place(row).find(','));
  };
  // Also of rows that are chosen, which leave out files.
  for (const Array& array :
       {all, all.Select(RowSelection::Range(2, 20)),
        all.Select(RowSelection(std::vector<int64_t>{0, 1, 7, 8, 9, 22, 23}))}) {
    for (const int readers : {1, 2, 3, 7}) {
      EXPECT_EQ(array.FirstRowOf(0, readers), 0);
      EXPECT_EQ(array.FirstRowOf(readers, readers), array.rows());
      for (int number = 1; number < readers; ++number) {
        const int64_t first = array.FirstRowOf(number, readers);
        EXPECT_GE(first, array.FirstRowOf(number - 1, readers));
        if (readers > 5 || first == 0 || first == array.rows()) continue;
        EXPECT_NE(file_of(array, first), file_of(array, first - 1)) << number << " of " << readers;
      }
    }
  }
  // More readers than files: each gets as many rows.
  EXPECT_EQ(all.FirstRowOf(1, 14), 2);
  EXPECT_EQ(all.FirstRowOf(13, 14), 26);
}

TEST(ArrayTest, RowsOfManyFilesAreFoundWhateverTheirSizes) {
  const std::vector<std::vector<int64_t>> cases = {
      {5, 5, 5, 5, 5, 5, 5}, {5, 6, 4, 5, 7, 5, 1}, {1000, 1, 1, 1, 1, 2}, {1, 1, 1, 2, 1000},
      {1, 0, 0, 3, 0, 40},   {0, 0, 9, 1, 0},       {3, 500, 1, 500, 3},
  };
  for (const std::vector<int64_t>& sizes : cases) {
    std::optional<Array> array;
    int64_t row = 0;
    for (size_t file = 0; file < sizes.size(); ++file) {
      std::vector<int64_t> values(sizes[file]);
      std::iota(values.begin(), values.end(), row);
      row += sizes[file];
      Array next = MakeArray({.type = ElementType::kInt64}, sizes[file], Raw(values),
                             absl::StrCat("file ", file));
      if (array.has_value()) {
        ASSERT_TRUE(array->Append(next).ok());
      } else {
        array = std::move(next);
      }
    }
    std::string scratch;
    for (int64_t i = 0, file = 0, first = 0; i < array->rows(); ++i) {
      while (i >= first + sizes[file]) first += sizes[file++];
      double value = -1;
      array->RowToDoubles(*array->Row(i, &scratch), &value);
      EXPECT_EQ(value, i);
      EXPECT_EQ(array->Place(i), absl::StrCat("file ", file, ", row ", i - first));
    }
  }
}

TEST(ArrayTest, KnowsWhetherAllItsFilesAreOpen) {
  int opened = 0;
  const auto deferred = [&](const std::string& bytes) {
    const auto open = [&opened, bytes] {
      ++opened;
      return FileBytes::InMemory("file", bytes);
    };
    return Array(FileBytes::Deferred("file", bytes.size(), open),
                 static_cast<int64_t>(bytes.size()), {.type = ElementType::kUint8});
  };
  Array array = deferred("\1\2");
  ASSERT_TRUE(array.Append(deferred("\3")).ok());
  EXPECT_FALSE(array.is_open());
  EXPECT_TRUE(array.OpenFiles({1, 0}).ok());
  EXPECT_EQ(opened, 1);
  EXPECT_FALSE(array.is_open());
  const Array copy = array;
  const Array second = array.Select(RowSelection::Range(2, 3));
  EXPECT_FALSE(second.is_open()) << "its only file is not the first one of the array";
  EXPECT_TRUE(array.OpenFiles({2}).ok());
  EXPECT_TRUE(array.is_open());
  EXPECT_TRUE(copy.is_open());
  EXPECT_TRUE(second.is_open());
  ASSERT_TRUE(array.Append(deferred("\4")).ok());
  EXPECT_FALSE(array.is_open());
  EXPECT_EQ(opened, 2);
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
