#include "coordinator/training/checkpoint_retention.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "storage/job_records.h"

namespace cairn::coordinator {
namespace {

struct Options {
  int64_t every_steps = 0;
  int64_t keep = 3;
  uint64_t generation = 0;
  uint64_t base_checkpoint = 0;
};

constexpr absl::Duration kNow = absl::Seconds(50);

class CheckpointRetentionTest : public ::testing::Test {
 protected:
  CheckpointRetentionTest() {
    plan_.set_job_id(6);
    plan_.mutable_partition()->set_ps_count(2);
  }
  CheckpointRetention Make(const Options& options, std::vector<proto::Manifest> manifests,
                           int64_t done_batches) {
    plan_.mutable_job()->mutable_checkpoint()->set_every_steps(options.every_steps);
    plan_.mutable_job()->mutable_checkpoint()->set_keep(options.keep);
    proto::RunRecord run;
    run.set_generation(options.generation);
    run.set_base_checkpoint(options.base_checkpoint);
    return CheckpointRetention(&plan_, run, std::move(manifests), done_batches);
  }
  // The checkpoints that are deleted: from the journal, and on every ps.
  static std::vector<uint64_t> Expire(CheckpointRetention* retention,
                                      const std::set<uint64_t>& pinned) {
    Outbox outbox;
    retention->DeleteExpired(pinned, &outbox);
    std::vector<uint64_t> deleted;
    for (const Outbox::Sending& sending : outbox.commands) {
      if (sending.task != PsTask(0)) continue;
      deleted.push_back(sending.command.delete_checkpoint().checkpoint());
    }
    EXPECT_EQ(outbox.commands.size(), deleted.size() * 2);
    EXPECT_EQ(outbox.changes.size(), deleted.size() * 2);
    for (size_t i = 0; i < deleted.size(); ++i) {
      EXPECT_EQ(outbox.changes[2 * i].key, storage::ManifestKey(6, deleted[i]));
      EXPECT_FALSE(outbox.changes[2 * i].value.has_value());
      EXPECT_EQ(outbox.changes[2 * i + 1].key, storage::CheckpointSumsKey(6, deleted[i]));
      EXPECT_FALSE(outbox.changes[2 * i + 1].value.has_value());
    }
    return deleted;
  }

  proto::JobPlan plan_;
};

TEST_F(CheckpointRetentionTest, OneIsDueEverySoManyBatches) {
  CheckpointRetention retention = Make({.every_steps = 10}, {}, 5);
  EXPECT_FALSE(retention.Due(14, kNow));
  EXPECT_TRUE(retention.Due(15, kNow));
  retention.Passed(17, kNow);
  EXPECT_FALSE(retention.Due(26, kNow));
  EXPECT_TRUE(retention.Due(27, kNow));
  EXPECT_FALSE(Make({}, {}, 0).Due(1000000, kNow));
}

TEST_F(CheckpointRetentionTest, OneIsDueAfterSoManySecondsIfThereAreNewBatches) {
  plan_.mutable_job()->mutable_checkpoint()->set_every_seconds(30);
  CheckpointRetention retention = Make({}, {}, 5);
  EXPECT_FALSE(retention.Due(6, kNow)) << "counted from the first call";
  EXPECT_FALSE(retention.Due(7, kNow + absl::Seconds(29)));
  EXPECT_TRUE(retention.Due(7, kNow + absl::Seconds(30)));
  retention.Passed(7, kNow + absl::Seconds(31));
  EXPECT_FALSE(retention.Due(9, kNow + absl::Seconds(60)));
  EXPECT_FALSE(retention.Due(7, kNow + absl::Seconds(61))) << "nothing is new";
  EXPECT_TRUE(retention.Due(8, kNow + absl::Seconds(61)));
}

TEST_F(CheckpointRetentionTest, EpochsAreSkippedByPolicyUnlessACallbackKeepsTheBest) {
  const auto due = [this] {
    const CheckpointRetention retention = Make({}, {}, 0);
    std::string epochs;
    for (int64_t epoch = 0; epoch < 6; ++epoch) epochs += retention.DueAtEndOf(epoch) ? "x" : ".";
    return epochs;
  };
  EXPECT_EQ(due(), "xxxxxx");
  plan_.mutable_job()->mutable_checkpoint()->set_every_epochs(3);
  EXPECT_EQ(due(), "..x..x");
  proto::Callback* callback = plan_.mutable_job()->add_callbacks();
  callback->set_name("early_stopping");
  EXPECT_EQ(due(), "..x..x");
  callback->set_restore_best_weights(true);
  EXPECT_EQ(due(), "xxxxxx");
  callback->set_name("model_checkpoint");
  callback->clear_restore_best_weights();
  EXPECT_EQ(due(), "xxxxxx");
}

TEST_F(CheckpointRetentionTest, OnlyTheNewestAreKept) {
  std::vector<proto::Manifest> manifests(4);
  for (int i = 0; i < 4; ++i) manifests[i].set_checkpoint(i + 1);
  CheckpointRetention retention = Make({.keep = 2}, manifests, 0);
  const auto surplus = Expire(&retention, {});
  ASSERT_EQ(surplus.size(), 2u);
  EXPECT_EQ(surplus[1], 2u);
  EXPECT_EQ(retention.manifests()[0].checkpoint(), 3u);
  EXPECT_TRUE(Expire(&retention, {}).empty());
}

TEST_F(CheckpointRetentionTest, PinnedOnesStayBesideTheNewest) {
  std::vector<proto::Manifest> manifests(5);
  for (int i = 0; i < 5; ++i) manifests[i].set_checkpoint(i + 1);
  CheckpointRetention retention = Make({.keep = 2}, manifests, 0);
  const auto surplus = Expire(&retention, {2, 5});
  ASSERT_EQ(surplus.size(), 2u);
  EXPECT_EQ(surplus[0], 1u);
  EXPECT_EQ(surplus[1], 3u);
  ASSERT_EQ(retention.manifests().size(), 3u);
  EXPECT_EQ(retention.manifests()[0].checkpoint(), 2u);
}

TEST_F(CheckpointRetentionTest, PassedOverCheckpointsStayUntilANewOneIsMade) {
  std::vector<proto::Manifest> manifests(4);
  for (int i = 0; i < 4; ++i) manifests[i].set_checkpoint(i + 1);
  manifests[1].set_damaged("its disk has rotted");
  CheckpointRetention retention = Make({.generation = 2, .base_checkpoint = 3}, manifests, 0);
  ASSERT_EQ(retention.manifests().size(), 2u);
  EXPECT_EQ(retention.manifests()[1].checkpoint(), 3u);
  ASSERT_EQ(retention.all_manifests().size(), 4u);
  EXPECT_EQ(retention.all_manifests()[1].checkpoint(), 2u);
  EXPECT_TRUE(Expire(&retention, {}).empty());
  proto::Manifest made;
  made.set_checkpoint(5);
  Outbox outbox;
  retention.Add(made, &outbox);
  EXPECT_TRUE(outbox.sync);
  EXPECT_EQ(outbox.changes.at(0).key, storage::ManifestKey(6, 5));
  const auto surplus = Expire(&retention, {});
  ASSERT_EQ(surplus.size(), 2u);
  EXPECT_EQ(surplus[0], 2u);
  EXPECT_EQ(surplus[1], 4u);
  EXPECT_EQ(retention.all_manifests().size(), 3u);
}

TEST_F(CheckpointRetentionTest, AManifestThatIsGoneIsNotUpdated) {
  proto::Manifest old;
  old.set_checkpoint(1);
  CheckpointRetention retention = Make({}, {old}, 0);
  old.add_parts()->add_copies(1);
  Outbox outbox;
  retention.Update(old, &outbox);
  EXPECT_EQ(outbox.changes.size(), 1u);
  EXPECT_EQ(retention.manifests()[0].parts(0).copies(0), 1u);
  old.set_checkpoint(2);
  retention.Update(old, &outbox);
  EXPECT_EQ(outbox.changes.size(), 1u);
}

}  // namespace
}  // namespace cairn::coordinator
