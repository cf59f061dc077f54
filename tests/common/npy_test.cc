#include "common/npy.h"

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The bytes that numpy.save writes (format version 1.0), with any dictionary.
std::string FileOf(const std::string& dictionary, const std::string& data) {
  std::string header = dictionary;
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header + data;
}

std::string Refusal(const std::string& file) {
  const auto header = ParseNpyHeader(file, file.size());
  return header.ok() ? "accepted" : std::string(header.status().message());
}

TEST(NpyTest, ReadsWhatNumpyWrites) {
  const std::string file =
      FileOf("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", std::string(24, '\0'));
  const auto header = ParseNpyHeader(file, file.size());
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->type_name(), "float32");
  EXPECT_THAT(header->shape, ElementsAre(2, 3));
  EXPECT_EQ(header->data_offset, file.size() - 24);
  EXPECT_EQ(header->element_count(), 6);
}

TEST(NpyTest, HeaderAloneIsEnoughWhenTheFilesSizeIsKnown) {
  const std::string file =
      FileOf("{'descr': '|u1', 'fortran_order': False, 'shape': (1000,), }", "");
  const auto header = ParseNpyHeader(file, file.size() + 1000);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->type_name(), "uint8");
}

TEST(NpyTest, WrittenHeaderIsNumpysOwn) {
  NpyHeader header;
  header.shape = {2, 3};
  EXPECT_EQ(FormatNpyHeader(header),
            FileOf("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", ""));
  header.shape = {7};
  EXPECT_EQ(FormatNpyHeader(header),
            FileOf("{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }", ""));
}

TEST(NpyTest, BigEndianElementsAreConvertedLikeLittleEndianOnes) {
  const std::string data("\x3f\xc0\x00\x00\xc0\x00\x00\x00", 8);
  const std::string file =
      FileOf("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", data);
  const auto header = ParseNpyHeader(file, file.size());
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_TRUE(header->big_endian);
  float values[2];
  ASSERT_TRUE(DecodeNpyAsFloat(*header, data, absl::MakeSpan(values)).ok());
  EXPECT_THAT(values, ElementsAre(1.5f, -2.0f));
}

TEST(NpyTest, ScalarAndEmptyArraysAreRead) {
  std::string file =
      FileOf("{'descr': '<i8', 'fortran_order': False, 'shape': (), }", std::string(8, '\0'));
  auto header = ParseNpyHeader(file, file.size());
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->element_count(), 1);
  file = FileOf("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 5), }", "");
  header = ParseNpyHeader(file, file.size());
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->element_count(), 0);
}

TEST(NpyTest, DamagedFilesAreRefusedWithTheReason) {
  const std::string data(8, '\0');
  EXPECT_THAT(Refusal(""), HasSubstr("it is empty"));
  EXPECT_THAT(Refusal("PK\x03\x04 a zip file"), HasSubstr("it is a zip file"));
  EXPECT_THAT(Refusal(std::string("\x93NUMPY\x09\x00\x00\x00", 10)), HasSubstr("version 9"));
  EXPECT_THAT(Refusal(std::string("\x93NUMPY\x01\x00\xff\xff", 10)), HasSubstr("ends within"));
  EXPECT_THAT(Refusal(FileOf("[]", data)), HasSubstr("dictionary"));
  EXPECT_THAT(Refusal(FileOf("{'shape': (2,)}", data)), HasSubstr("lacks"));
  EXPECT_THAT(Refusal(FileOf("{'shape': (2,), 'shape': (2,)}", data)), HasSubstr("repeated"));
  EXPECT_THAT(Refusal(FileOf("{'descr': [('a', '<f4')]}", data)), HasSubstr("structured"));
  EXPECT_THAT(Refusal(FileOf("{'descr': '<c8'}", data)), HasSubstr("'<c8'"));
  EXPECT_THAT(Refusal(FileOf("{'fortran_order': 1}", data)), HasSubstr("neither True nor False"));
  EXPECT_THAT(Refusal(FileOf("{'shape': (-2,)}", data)), HasSubstr("not a whole number"));
  EXPECT_THAT(Refusal(FileOf("{'shape': (2", data)), HasSubstr("does not end"));
  EXPECT_THAT(Refusal(FileOf("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", data)),
              HasSubstr("needs 12 bytes of data, the file has 8"));
  EXPECT_THAT(Refusal(FileOf("{'descr': '<f4', 'fortran_order': False, "
                             "'shape': (4611686018427387904, 4)}",
                             data)),
              HasSubstr("too large"));
}

TEST(NpyTest, ElementsAreConverted) {
  NpyHeader header{'i', 2, {3}};
  const int16_t items[] = {-1, 0, 300};
  std::string bytes(sizeof(items), '\0');
  std::memcpy(bytes.data(), items, sizeof(items));
  std::vector<float> floats(3);
  ASSERT_TRUE(DecodeNpyAsFloat(header, bytes, absl::MakeSpan(floats)).ok());
  EXPECT_THAT(floats, ElementsAre(-1.0f, 0.0f, 300.0f));
  std::vector<int32_t> integers(3);
  ASSERT_TRUE(DecodeNpyAsInt32(header, bytes, absl::MakeSpan(integers)).ok());
  EXPECT_THAT(integers, ElementsAre(-1, 0, 300));
}

TEST(NpyTest, HalvesAndFortranOrderAreRead) {
  const std::string file =
      FileOf("{'descr': '>f2', 'fortran_order': True, 'shape': (2,), }", "\x3e\x01\xc0\x01");
  const auto header = ParseNpyHeader(file, file.size());
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_TRUE(header->fortran_order);
  EXPECT_EQ(header->type_name(), "float16");
  float values[2];
  ASSERT_TRUE(DecodeNpyAsFloat(*header, "\x3e\x01\xc0\x01", absl::MakeSpan(values)).ok());
  EXPECT_THAT(values, ElementsAre(1.5009765625f, -2.001953125f));
}

TEST(NpyTest, NumbersThatAreNotWholeDoNotBecomeIntegers) {
  NpyHeader header{'f', 8, {2}};
  const double items[] = {1.0, 2.5};
  std::string bytes(sizeof(items), '\0');
  std::memcpy(bytes.data(), items, sizeof(items));
  std::vector<int32_t> integers(2);
  EXPECT_THAT(std::string(DecodeNpyAsInt32(header, bytes, absl::MakeSpan(integers)).message()),
              HasSubstr("element 1"));
}

TEST(NpyTest, TooFewBytesAreRefused) {
  NpyHeader header{'f', 4, {2}};
  std::vector<float> floats(2);
  EXPECT_FALSE(DecodeNpyAsFloat(header, "1234567", absl::MakeSpan(floats)).ok());
}

}  // namespace
}  // namespace cairn
