#include "cluster/message_checksum.h"

#include <string>

#include "gtest/gtest.h"
#include "proto/coordinator.pb.h"

namespace cairn::cluster {
namespace {

proto::TaskMessage Report() {
  proto::TaskMessage message;
  proto::WorkReport* const work = message.mutable_work();
  work->set_job_id(3);
  work->set_wanted(7);
  for (int i = 0; i < 3; ++i) {
    proto::BatchRecord* const batch = work->add_batches();
    batch->set_batch(100 + i);
    batch->set_loss(0.5 * i);
  }
  return message;
}

TEST(MessageChecksumTest, AnIntactMessageIsWhatWasSent) {
  proto::TaskMessage sent = Report();
  AddChecksum(&sent);
  proto::TaskMessage received;
  ASSERT_TRUE(received.ParseFromString(sent.SerializeAsString()));
  EXPECT_TRUE(TakeChecksum(&received));
  EXPECT_EQ(received.SerializeAsString(), Report().SerializeAsString());
}

TEST(MessageChecksumTest, AMessageWithoutAChecksumIsAccepted) {
  proto::TaskMessage message = Report();
  EXPECT_TRUE(TakeChecksum(&message));
}

// Some inverted bits leave a message that is encoded differently and means the same.
TEST(MessageChecksumTest, EachInvertedBitIsFoundOrChangesNothing) {
  proto::TaskMessage sent = Report();
  AddChecksum(&sent);
  const std::string bytes = sent.SerializeAsString();
  int parsed = 0;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    proto::TaskMessage received;
    if (!received.ParseFromString(damaged)) continue;  // gRPC ends the stream.
    ++parsed;
    if (!TakeChecksum(&received)) continue;
    EXPECT_EQ(received.SerializeAsString(), Report().SerializeAsString()) << "bit " << bit;
  }
  EXPECT_GT(parsed, 100) << "most damaged messages can be parsed";
}

proto::Command StartWithPlan() {
  proto::Command command;
  command.mutable_start_job()->set_generation(2);
  proto::JobPlan& plan = *command.mutable_start_job()->mutable_plan();
  plan.set_job_id(7);
  plan.set_total_batches(1000);
  (*plan.mutable_job()->mutable_class_weight())[3] = 0.5;
  (*plan.mutable_job()->mutable_class_weight())[1] = 2;
  command.mutable_start_job()->set_plan_fingerprint(PlanFingerprint(PlanBytes(plan)));
  return command;
}

// The coordinator adds the plan's bytes after the checksum.
TEST(MessageChecksumTest, APlanIsCoveredByItsFingerprint) {
  proto::Command sent = StartWithPlan();
  const proto::JobPlan plan = sent.start_job().plan();
  sent.mutable_start_job()->clear_plan();
  AddChecksum(&sent);
  *sent.mutable_start_job()->mutable_plan() = plan;
  proto::Command received = sent;
  EXPECT_TRUE(TakeCommandChecksum(&received));
  EXPECT_EQ(received.start_job().plan().total_batches(), 1000);

  proto::Command damaged = sent;
  damaged.mutable_start_job()->mutable_plan()->set_total_batches(1001);
  EXPECT_FALSE(TakeCommandChecksum(&damaged));
  damaged = sent;
  damaged.mutable_start_job()->set_generation(3);
  EXPECT_FALSE(TakeCommandChecksum(&damaged));
}

}  // namespace
}  // namespace cairn::cluster
