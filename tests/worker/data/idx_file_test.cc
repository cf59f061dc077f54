#include "worker/data/idx_file.h"

#include <sys/stat.h>

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/files/load_file.h"

namespace cairn::worker {
namespace {

using cairn::testing::Gzip;
using cairn::testing::IdxBytes;
using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;

std::vector<float> FloatsOf(const Array& array) {
  std::vector<float> out(array.rows() * array.elements());
  EXPECT_TRUE(array
                  .ForEachRow([&](int64_t row, const char* bytes) {
                    array.RowToFloats(bytes, 1, out.data() + row * array.elements());
                    return absl::OkStatus();
                  })
                  .ok());
  return out;
}

absl::StatusOr<Array> Read(const std::string& path) {
  DataStorage storage({});
  auto file = LoadFile(path, &storage);
  if (!file.ok()) return file.status();
  return ReadIdxFile(*std::move(file));
}

TEST(IdxFileTest, ReadsBytesAsTheyStand) {
  const auto array = Read(WriteDataFile("a", IdxBytes(8, {2, 3}, "\1\2\3\4\5\xff")));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->ToString(), "uint8 (2, 3)");
  EXPECT_EQ(FloatsOf(*array), (std::vector<float>{1, 2, 3, 4, 5, 255}));
}

TEST(IdxFileTest, ReadsGzipLikePlain) {
  const auto array = Read(WriteDataFile("a.gz", Gzip(IdxBytes(8, {3}, "\7\10\11"))));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(FloatsOf(*array), (std::vector<float>{7, 8, 9}));
}

TEST(IdxFileTest, ReadsBigEndianElementsOfEveryType) {
  const struct {
    uint8_t code;
    std::string data;
    float value;
  } cases[] = {
      {0x09, std::string("\xfe", 1), -2},
      {0x0b, std::string("\x01\x02", 2), 258},
      {0x0c, std::string("\xff\xff\xff\xfd", 4), -3},
      {0x0d, std::string("\x3f\xc0\x00\x00", 4), 1.5},
      {0x0e, std::string("\xc0\x04\x00\x00\x00\x00\x00\x00", 8), -2.5},
  };
  for (const auto& one : cases) {
    const auto array = Read(WriteDataFile("t", IdxBytes(one.code, {1}, one.data)));
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(FloatsOf(*array), std::vector<float>{one.value});
  }
}

TEST(IdxFileTest, EveryDefectIsNamedWithTheFile) {
  const std::string good = IdxBytes(8, {4}, "abcd");
  const std::string packed = Gzip(good);
  const struct {
    const char* name;
    std::string bytes;
    const char* reason;
  } cases[] = {
      {"empty", "", "it is empty"},
      {"short", std::string("\0\0", 2), "4 bytes of idx signature expected, 2 found"},
      {"png", "\x89PNG....", "not an idx file: it begins with bytes 89504e47"},
      {"type", IdxBytes(0x0a, {4}, "abcd"), "not an idx file"},
      {"axes", IdxBytes(8, {}, "abcd"), "not an idx file"},
      {"sizes", good.substr(0, 6), "4 bytes of axis sizes expected, 2 found"},
      {"cut", good.substr(0, 10), "4 bytes of uint8 (4,) expected, 2 found"},
      {"long", good + "e", "it goes on after the 4 bytes of uint8"},
      {"huge", IdxBytes(8, {1u << 31, 1u << 31, 1u << 31}, "abcd"), "too large"},
      {"rowless", IdxBytes(8, {0, 1u << 31, 1u << 31, 1u << 31}, ""), "too large"},
      {"hollow", IdxBytes(8, {1u << 31, 0, 5}, ""), "hold no numbers: uint8 (2147483648, 0, 5)"},
      {"lies", IdxBytes(8, {1u << 31, 1u << 10}, "abcd"), "expected, 4 found"},
      {"cut.gz", packed.substr(0, packed.size() - 12), "cut off"},
      {"crc.gz", packed.substr(0, packed.size() - 8) + "12345678", "damaged"},
  };
  for (const auto& one : cases) {
    const auto array = Read(WriteDataFile(one.name, one.bytes));
    ASSERT_FALSE(array.ok()) << one.name;
    EXPECT_THAT(array.status().message(), HasSubstr(one.reason)) << one.name;
    EXPECT_THAT(array.status().message(), HasSubstr(std::string("/") + one.name));
  }
}

TEST(IdxFileTest, MissingFilesAndFoldersAreReported) {
  const auto missing = Read("/nowhere/data");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.status().message(), HasSubstr("/nowhere/data"));
  const auto folder = Read(::testing::TempDir());
  EXPECT_THAT(folder.status().message(), HasSubstr("it is a folder"));
  const std::string pipe = ::testing::TempDir() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(Read(pipe).status().message(), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace cairn::worker
