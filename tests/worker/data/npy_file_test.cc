#include "worker/data/npy_file.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::NpyBytes;
using cairn::testing::Raw;
using ::testing::HasSubstr;

absl::StatusOr<Array> Read(const std::string& name, const std::string& bytes) {
  DataStorage storage({});
  return ReadNpyFile(FileBytes::InMemory("/" + name, bytes), &storage);
}

TEST(NpyFileTest, ReadsAllVersions) {
  for (int major = 1; major <= 3; ++major) {
    const std::string data = Raw<float>({1, 2, 3, 4, 5, 6});
    const auto array = Read("v.npy", NpyBytes("<f4", "(3, 2)", data, major));
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(array->ToString(), "float32 (3, 2)");
    std::string scratch;
    float out[2];
    array->RowToFloats(*array->Row(2, &scratch), 1, out);
    EXPECT_EQ(out[0], 5);
    EXPECT_EQ(out[1], 6);
  }
}

TEST(NpyFileTest, KeepsTheTypeOfTheFile) {
  const struct {
    const char* descr;
    std::string data;
    ElementType type;
  } cases[] = {
      {"|b1", Raw<uint8_t>({1}), ElementType::kBool},
      {"|u1", Raw<uint8_t>({1}), ElementType::kUint8},
      {"|i1", Raw<int8_t>({1}), ElementType::kInt8},
      {"<i2", Raw<int16_t>({1}), ElementType::kInt16},
      {"<u2", Raw<uint16_t>({1}), ElementType::kUint16},
      {"<i4", Raw<int32_t>({1}), ElementType::kInt32},
      {"<u4", Raw<uint32_t>({1}), ElementType::kUint32},
      {"<i8", Raw<int64_t>({1}), ElementType::kInt64},
      {"<u8", Raw<uint64_t>({1}), ElementType::kUint64},
      {"<f2", std::string("\x00\x3c", 2), ElementType::kFloat16},
      {">f2", std::string("\x3c\x00", 2), ElementType::kFloat16},
      {"<f4", Raw<float>({1}), ElementType::kFloat32},
      {"<f8", Raw<double>({1}), ElementType::kFloat64},
  };
  for (const auto& one : cases) {
    const auto array = Read("t.npy", NpyBytes(one.descr, "(1,)", one.data));
    ASSERT_TRUE(array.ok()) << one.descr << array.status();
    EXPECT_EQ(array->type(), one.type) << one.descr;
    std::string scratch;
    float out = 0;
    array->RowToFloats(*array->Row(0, &scratch), 1, &out);
    EXPECT_EQ(out, 1) << one.descr;
  }
}

TEST(NpyFileTest, ReadsBigEndianLikeLittleEndian) {
  const std::string bytes("\x00\x00\x01\x02\xff\xff\xff\xfe", 8);
  const auto array = Read("b.npy", NpyBytes(">i4", "(2,)", bytes));
  ASSERT_TRUE(array.ok()) << array.status();
  std::string scratch;
  int32_t out[2];
  array->RowToInts(*array->Row(0, &scratch), out);
  array->RowToInts(*array->Row(1, &scratch), out + 1);
  EXPECT_EQ(out[0], 258);
  EXPECT_EQ(out[1], -2);
}

TEST(NpyFileTest, RowsOfFortranOrderAreInCOrder) {
  // numpy.asfortranarray(numpy.arange(12).reshape(2, 3, 2)).
  const std::string data = Raw<int16_t>({0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11});
  for (const uint64_t memory : {uint64_t{1} << 20, uint64_t{0}}) {  // In memory, and spooled.
    DataStorage storage({.memory_bytes = memory, .spool_folder = ::testing::TempDir()});
    const auto array = ReadNpyFile(
        FileBytes::InMemory("f", NpyBytes("<i2", "(2, 3, 2)", data, 1, "True")), &storage);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(array->ToString(), "int16 (2, 3, 2)");
    EXPECT_EQ(array->in_memory(), memory > 0);
    for (int row = 0; row < 2; ++row) {
      std::string scratch;
      int32_t out[6];
      array->RowToInts(*array->Row(row, &scratch), out);
      for (int i = 0; i < 6; ++i) EXPECT_EQ(out[i], 6 * row + i);
    }
  }
}

TEST(NpyFileTest, EveryDefectIsNamedWithTheFile) {
  const std::string data = Raw<float>({1, 2});
  const std::string good = NpyBytes("<f4", "(2,)", data);
  const struct {
    const char* name;
    std::string bytes;
    const char* reason;
  } cases[] = {
      {"text.npy", "hello, this is no array", "NumPy's signature"},
      {"cut.npy", good.substr(0, good.size() - 3), "needs 8 bytes of data, the file has 5"},
      {"long.npy", good + "x", "needs 8 bytes of data, the file has 9"},
      {"header.npy", good.substr(0, 40), "ends within its header"},
      {"order.npy", NpyBytes("<f4", "(2,)", data, 1, "1"), "neither True nor False"},
      {"object.npy", NpyBytes("|O8", "(1,)", data), "type '|O8'"},
      {"scalar.npy", NpyBytes("<f8", "()", data), "a single number"},
      {"hollow.npy", NpyBytes("<f4", "(1099511627776, 0)", ""), "hold no numbers: float32"},
      {"negative.npy", NpyBytes("<f4", "(-2,)", data), "not a whole number"},
  };
  for (const auto& one : cases) {
    const auto array = Read(one.name, one.bytes);
    ASSERT_FALSE(array.ok()) << one.name;
    EXPECT_THAT(array.status().message(), HasSubstr(one.reason)) << one.name;
    EXPECT_THAT(array.status().message(), HasSubstr(std::string("/") + one.name));
  }
}

}  // namespace
}  // namespace cairn::worker
