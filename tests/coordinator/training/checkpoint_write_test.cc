#include "coordinator/training/checkpoint_write.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::coordinator {
namespace {

class CheckpointWriteTest : public ::testing::Test {
 protected:
  CheckpointWriteTest() {
    plan_.set_job_id(6);
    plan_.mutable_partition()->set_ps_count(2);
  }
  // In generation 7.
  CheckpointWrite Write(uint64_t id) {
    proto::KeptCut cut;
    cut.set_cut(id);
    cut.set_applied_batches(40);
    cut.set_reason("steps");
    cut.mutable_ledger()->set_low_water(40);
    return CheckpointWrite(&plan_, 7, cut);
  }
  static proto::PersistReply Reply(uint64_t cut, uint64_t generation,
                                   const std::string& error = "") {
    proto::PersistReply reply;
    reply.set_cut(cut);
    reply.set_generation(generation);
    reply.set_error(error);
    reply.mutable_part()->set_bytes(100);
    return reply;
  }

  proto::JobPlan plan_;
};

TEST_F(CheckpointWriteTest, AManifestNeedsTheAnswersOfAllPs) {
  CheckpointWrite write = Write(3);
  Outbox outbox;
  write.Begin(&outbox);
  ASSERT_EQ(outbox.commands.size(), 2u);
  EXPECT_EQ(outbox.commands[1].task, PsTask(1));
  EXPECT_EQ(outbox.commands[1].command.persist().cut(), 3u);
  EXPECT_EQ(outbox.commands[1].command.persist().generation(), 7u);
  write.Reply(0, Reply(3, 7));
  EXPECT_FALSE(write.complete());
  write.Reply(1, Reply(3, 6));  // An older generation: ignored.
  write.Reply(1, Reply(2, 7));
  write.Reply(2, Reply(3, 7));  // There is no such ps.
  EXPECT_FALSE(write.complete());
  write.Reply(1, Reply(3, 7));
  ASSERT_TRUE(write.complete());
  const auto result = write.Result(9);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->checkpoint(), 3u);
  EXPECT_EQ(result->applied_batches(), 40);
  EXPECT_EQ(result->ledger().low_water(), 40);
  EXPECT_EQ(result->parts_size(), 2);
  EXPECT_EQ(result->parts(1).ps(), 1u);
  EXPECT_EQ(result->job_id(), 6u);
  EXPECT_EQ(result->unix_seconds(), 9);
  EXPECT_EQ(result->partition().ps_count(), 2u);
}

TEST_F(CheckpointWriteTest, AReturningPsIsAskedAgainUnlessItHasReplied) {
  CheckpointWrite write = Write(3);
  write.Reply(0, Reply(3, 7));
  Outbox outbox;
  write.PsReconnected(0, &outbox);
  EXPECT_TRUE(outbox.commands.empty());
  write.PsReconnected(1, &outbox);
  ASSERT_EQ(outbox.commands.size(), 1u);
  EXPECT_EQ(outbox.commands[0].command.persist().cut(), 3u);
}

TEST_F(CheckpointWriteTest, OneFailedPartFailsTheCheckpoint) {
  CheckpointWrite write = Write(2);
  write.Reply(0, Reply(2, 7));
  write.Reply(1, Reply(2, 7, "no space left"));
  ASSERT_TRUE(write.complete());
  const auto result = write.Result(9);
  EXPECT_NE(result.status().message().find("ps 1"), std::string::npos);
  EXPECT_NE(result.status().message().find("no space left"), std::string::npos);
}

}  // namespace
}  // namespace cairn::coordinator
