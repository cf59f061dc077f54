#include "common/printable.h"

#include "gtest/gtest.h"

namespace cairn {
namespace {

TEST(PrintableTest, TextIsUnchanged) {
  for (const char* const text : {"", "plain", "two\nlines", "caf\xc3\xa9", "\xf0\x9f\xaa\xa8"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(PrintableTest, NewlinesOfALineAreEscaped) {
  EXPECT_EQ(PrintableLine("two\nlines\x1b"), "two\\nlines\\x1b");
}

TEST(PrintableTest, ControlCharactersAndInvalidBytesAreEscaped) {
  EXPECT_EQ(Printable("\x1b[2J\r\x7f"), "\\x1b[2J\\x0d\\x7f");
  EXPECT_EQ(Printable("\x89PNG \xc3"), "\\x89PNG \\xc3");
  EXPECT_EQ(Printable("\xc3("), "\\xc3(");
  // An overlong encoding of a control character.
  EXPECT_EQ(Printable("\xc0\x9b[2J"), "\\xc0\\x9b[2J");
}

}  // namespace
}  // namespace cairn
