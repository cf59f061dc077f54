#include "common/utf8.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace cairn {
namespace {

// Encodes a character as Unicode defines it: six bits in each byte but the first.
std::string Encoded(uint32_t character, int length) {
  std::string bytes(length, '\0');
  for (int i = length - 1; i > 0; --i, character >>= 6) {
    bytes[i] = static_cast<char>(0x80 | (character & 0x3f));
  }
  const uint32_t marks[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
  bytes[0] = static_cast<char>(marks[length] | character);
  return bytes;
}

int ShortestLength(uint32_t character) {
  return character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
}

TEST(Utf8Test, OnlyTheShortestFormOfACharacterIsValid) {
  for (uint32_t character = 0; character < 0x200000; ++character) {
    const bool exists = character <= 0x10ffff && (character < 0xd800 || character > 0xdfff);
    const int shortest = ShortestLength(character);
    for (int length = shortest; length <= 4; ++length) {
      const std::string bytes = Encoded(character, length);
      const size_t expected = exists && length == shortest ? length : 0;
      ASSERT_EQ(Utf8Length(bytes), expected) << character << " in " << length << " bytes";
      ASSERT_EQ(Utf8Length(bytes + "x"), expected) << character << " in " << length << " bytes";
    }
  }
}

TEST(Utf8Test, ATruncatedCharacterIsInvalid) {
  EXPECT_EQ(Utf8Length(""), 0u);
  for (const uint32_t character : {0xe9u, 0x20acu, 0x1faa8u}) {
    const std::string bytes = Encoded(character, ShortestLength(character));
    for (size_t length = 1; length < bytes.size(); ++length) {
      EXPECT_EQ(Utf8Length(bytes.substr(0, length)), 0u) << character;
      EXPECT_EQ(Utf8Length(bytes.substr(0, length) + "xyz"), 0u) << character;
    }
  }
}

TEST(Utf8Test, BytesThatBeginNoCharacterAreInvalid) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(
      IsUtf8("Gr\xc3\xb6\xc3\x9f"
             "e \xf0\x9f\xaa\xa8"));
  EXPECT_FALSE(
      IsUtf8("Gr\xf6\xdf"
             "e"));
  EXPECT_FALSE(IsUtf8("\x80"));
  for (int first = 0xf5; first <= 0xff; ++first) {
    EXPECT_FALSE(IsUtf8(std::string(1, static_cast<char>(first)) + "\x80\x80\x80")) << first;
  }
}

}  // namespace
}  // namespace cairn
