#include "coordinator/training/checkpoint_requests.h"

#include <gtest/gtest.h>

namespace cairn::coordinator {
namespace {

class CheckpointRequestsTest : public ::testing::Test {
 protected:
  // The callback appends "NAME 5" or "NAME error" to `answers_`.
  void Add(const std::string& name, const std::string& reason) {
    requests_.Add(reason, [this, name](absl::StatusOr<proto::Manifest> manifest) {
      answers_.push_back(name + " " +
                         (manifest.ok() ? std::to_string(manifest->checkpoint())
                                        : std::string(manifest.status().message())));
    });
  }
  static proto::Manifest Manifest(uint64_t checkpoint, const std::string& reason) {
    proto::Manifest manifest;
    manifest.set_checkpoint(checkpoint);
    manifest.set_reason(reason);
    return manifest;
  }
  void Make(const proto::Manifest& manifest) {
    requests_.Kept(manifest.reason());
    requests_.Made(manifest);
  }
  std::vector<std::string> TakeAnswers() {
    for (auto& reply : outbox_.replies) reply();
    outbox_.replies.clear();
    return std::exchange(answers_, {});
  }
  using Answers = std::vector<std::string>;

  CheckpointRequests requests_;
  Outbox outbox_;
  std::vector<std::string> answers_;
};

TEST_F(CheckpointRequestsTest, TheOldestWishIsNextAndOnlyItsReasonIsServed) {
  EXPECT_FALSE(requests_.NextReason().has_value());
  Add("first", "asked");
  Add("second", "stop");
  EXPECT_EQ(requests_.NextReason(), "asked");
  Make(Manifest(5, "asked"));
  EXPECT_EQ(requests_.NextReason(), "stop");
  requests_.Complete(Manifest(5, "asked"), &outbox_);
  EXPECT_EQ(TakeAnswers(), Answers{"first 5"});
  requests_.Complete(Manifest(6, "stop"), &outbox_);
  EXPECT_EQ(TakeAnswers(), Answers()) << "nobody said that it exists";
}

TEST_F(CheckpointRequestsTest, ACheckpointForAnotherReasonAnswersNoRequest) {
  Add("first", "asked");
  Make(Manifest(5, "epoch"));
  requests_.Complete(Manifest(5, "epoch"), &outbox_);
  EXPECT_EQ(TakeAnswers(), Answers());
  EXPECT_EQ(requests_.NextReason(), "asked");
}

// Its checkpoint would lack what was trained between the cut and the request.
TEST_F(CheckpointRequestsTest, ARequestThatComesAfterTheCutWaitsForTheNext) {
  Add("first", "asked");
  requests_.Kept("asked");
  Add("second", "asked");
  requests_.Made(Manifest(5, "asked"));
  requests_.Complete(Manifest(5, "asked"), &outbox_);
  EXPECT_EQ(TakeAnswers(), Answers{"first 5"});
  EXPECT_EQ(requests_.NextReason(), "asked");
  Make(Manifest(6, "asked"));
  requests_.Complete(Manifest(6, "asked"), &outbox_);
  EXPECT_EQ(TakeAnswers(), Answers{"second 6"});
}

TEST_F(CheckpointRequestsTest, AFailureAnswersOpenRequestsOnly) {
  Add("first", "asked");
  Make(Manifest(5, "asked"));
  Add("second", "asked");
  requests_.Failed(absl::InternalError("full"), &outbox_);
  EXPECT_EQ(TakeAnswers(), Answers{"second full"});
  requests_.Complete(Manifest(5, "asked"), &outbox_);
  EXPECT_EQ(TakeAnswers(), Answers{"first 5"});
}

TEST_F(CheckpointRequestsTest, AbandonAnswersMadeRequestsWithTheirCheckpoint) {
  Add("first", "asked");
  Make(Manifest(5, "asked"));
  Add("second", "stop");
  requests_.Abandon(absl::UnavailableError("rolls back"), &outbox_);
  EXPECT_EQ(TakeAnswers(), (Answers{"first 5", "second rolls back"}));
  EXPECT_FALSE(requests_.NextReason().has_value());
}

TEST_F(CheckpointRequestsTest, WithdrawnRequestsAreNeitherMadeNorAnswered) {
  Add("made", "stop");
  Make(Manifest(5, "stop"));
  Add("late", "stop");
  Add("other", "asked");
  EXPECT_TRUE(requests_.Awaited("stop"));
  requests_.Withdraw("stop");
  EXPECT_FALSE(requests_.Awaited("stop"));
  EXPECT_TRUE(requests_.Awaited("asked"));
  EXPECT_EQ(requests_.NextReason(), "asked");
  Make(Manifest(6, "stop"));
  requests_.Complete(Manifest(5, "stop"), &outbox_);
  requests_.Complete(Manifest(6, "stop"), &outbox_);
  EXPECT_EQ(TakeAnswers(), (Answers{"made 5"}));
}

}  // namespace
}  // namespace cairn::coordinator
