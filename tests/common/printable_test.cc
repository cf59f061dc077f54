#include "common/printable.h"

#include "gtest/gtest.h"

namespace cairn {
namespace {

TEST(PrintableTest, TextStaysAsItIs) {
  for (const char* const text : {"", "plain", "two\nlines", "caf\xc3\xa9", "\xf0\x9f\xaa\xa8"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(PrintableTest, ALineStaysOne) {
  EXPECT_EQ(PrintableLine("two\nlines\x1b"), "two\\nlines\\x1b");
}

TEST(PrintableTest, WhatCouldDriveATerminalIsEscaped) {
  EXPECT_EQ(Printable("\x1b[2J\r\x7f"), "\\x1b[2J\\x0d\\x7f");
  EXPECT_EQ(Printable("\x89PNG \xc3"), "\\x89PNG \\xc3");
  EXPECT_EQ(Printable("\xc3("), "\\xc3(");
  EXPECT_EQ(Printable("\xc0\x9b[2J"), "\\xc0\\x9b[2J");  // An escape character in two bytes.
}

}  // namespace
}  // namespace cairn
