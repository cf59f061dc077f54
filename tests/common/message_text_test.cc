#include "common/message_text.h"

#include <string>

#include "gtest/gtest.h"
#include "proto/coordinator.pb.h"

namespace cairn {
namespace {

// A surrogate, an overlong form, and a byte that begins no character.
constexpr char kForeign[] = "\xed\xa0\x80 \xc0\xaf \xff";
constexpr char kEscaped[] = "\\xed\\xa0\\x80 \\xc0\\xaf \\xff";

bool CanBeRead(const proto::TaskMessage& message) {
  proto::TaskMessage read;
  return read.ParseFromString(message.SerializeAsString());
}

TEST(MessageTextTest, NestedTextIsEscaped) {
  proto::TaskMessage message;
  message.mutable_profiled()->add_names()->set_name("plain");
  message.mutable_profiled()->add_names()->set_kind(kForeign);
  ASSERT_FALSE(CanBeRead(message));  // Otherwise the test proves nothing.
  EscapeForeignText(&message);
  EXPECT_TRUE(CanBeRead(message));
  EXPECT_EQ(message.profiled().names(0).name(), "plain");
  EXPECT_EQ(message.profiled().names(1).kind(), kEscaped);
}

TEST(MessageTextTest, RepeatedTextIsEscaped) {
  proto::TaskMessage message;
  message.mutable_join()->add_ps_addresses("one");
  message.mutable_join()->add_ps_addresses(kForeign);
  EscapeForeignText(&message);
  EXPECT_TRUE(CanBeRead(message));
  EXPECT_EQ(message.join().ps_addresses(0), "one");
  EXPECT_EQ(message.join().ps_addresses(1), kEscaped);
}

TEST(MessageTextTest, BytesAndValidTextAreUnchanged) {
  proto::TaskMessage message;
  message.mutable_inspected()->set_error(
      "Gr\xc3\xb6\xc3\x9f"
      "e\t");
  message.mutable_inspected()->mutable_data()->add_vocabularies()->add_names(kForeign);
  const std::string before = message.SerializeAsString();
  EscapeForeignText(&message);
  EXPECT_EQ(message.SerializeAsString(), before);
}

}  // namespace
}  // namespace cairn
