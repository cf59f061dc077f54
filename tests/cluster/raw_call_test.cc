#include "cluster/raw_call.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace cairn::cluster {
namespace {

using Answers = std::vector<absl::StatusOr<Frame>>;

std::unique_ptr<RawCall> CallInto(Answers* answers) {
  return std::make_unique<RawCall>(
      DataMethod::kPush, Frame::FromBytes("request"), "tester",
      [answers](absl::StatusOr<Frame> answer) { answers->push_back(std::move(answer)); });
}

TEST(RawCallTest, ReplyIsTheOnlyAnswer) {
  Answers answers;
  auto call = CallInto(&answers);
  EXPECT_EQ(call->method(), DataMethod::kPush);
  EXPECT_EQ(call->TakeRequest().ToBytes(), "request");
  call->Reply(Frame::FromBytes("reply"));
  call.reset();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0]->ToBytes(), "reply");
}

TEST(RawCallTest, FailureIsTheOnlyAnswer) {
  Answers answers;
  auto call = CallInto(&answers);
  call->Fail(absl::AbortedError("a new generation"));
  call.reset();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].status(), absl::AbortedError("a new generation"));
}

TEST(RawCallTest, DroppedCallIsUnavailable) {
  Answers answers;
  CallInto(&answers).reset();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(absl::IsUnavailable(answers[0].status()));
}

TEST(RawCallDeathTest, ASecondReplyFailsACheck) {
  Answers answers;
  auto call = CallInto(&answers);
  call->Reply(Frame::FromBytes("reply"));
  EXPECT_DEATH(call->Reply(Frame::FromBytes("again")), "check failed");
}

}  // namespace
}  // namespace cairn::cluster
