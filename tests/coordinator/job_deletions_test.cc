#include "coordinator/job_deletions.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "storage/job_records.h"

namespace cairn::coordinator {
namespace {

constexpr uint64_t kJob = 3;

MembershipOptions TwoPs() {
  MembershipOptions options;
  options.version = "1";
  options.ps_addresses = {"a:1", "b:2"};
  return options;
}

class JobDeletionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = absl::StrCat(::testing::TempDir(), "/deletions_",
                              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory_);
    journal_ = *storage::Journal::Open(directory_);
    Restart();
  }

  // Restarts the coordinator.
  void Restart() {
    deletions_ = std::make_unique<JobDeletions>(&members_, *storage::ReadDeletedJobs(*journal_));
  }

  void WriteJob(uint64_t job_id, int64_t batches) {
    Outbox outbox;
    proto::JobRecord record;
    record.set_job_id(job_id);
    outbox.Put(storage::JobKey(job_id), record);
    outbox.Put(storage::RunKey(job_id), proto::RunRecord());
    for (int64_t batch = 0; batch < batches; ++batch) {
      outbox.Put(storage::BatchKey(job_id, batch), proto::BatchRecord());
    }
    CarryOut(&outbox);
  }

  void Join(uint32_t ps) {
    proto::Join join;
    join.set_version("1");
    join.set_role(proto::PS);
    join.set_index(ps);
    join.set_instance_id(++instance_);
    members_.StreamEnded(sessions_[ps]);
    sessions_[ps] = ++session_;
    ASSERT_FALSE(members_.Join(session_, join, absl::Seconds(1)).refused.has_value());
  }

  void CarryOut(Outbox* outbox) {
    ASSERT_TRUE(journal_->Write(outbox->changes, outbox->sync).ok());
    for (const Outbox::Sending& sending : outbox->commands) {
      if (sending.command.has_list_snapshots()) {
        asked_.emplace_back(sending.task.index, sending.command.list_snapshots().job_id());
        continue;
      }
      EXPECT_TRUE(sending.command.stop_job().delete_data());
      told_.emplace_back(sending.task.index, sending.command.stop_job().job_id());
    }
  }

  void Begin(const std::vector<proto::Manifest>& manifests = {}, uint32_t ps_count = 2) {
    Outbox outbox;
    deletions_->Begin(kJob, manifests, ps_count, &outbox);
    EXPECT_TRUE(outbox.sync) << "what was deleted does not come back";
    CarryOut(&outbox);
  }

  void PsJoined(uint32_t ps) {
    Join(ps);
    Outbox outbox;
    deletions_->PsJoined(ps, &outbox);
    CarryOut(&outbox);
  }

  // All ps that were asked delete.
  void Answer() {
    EXPECT_EQ(asked_, told_) << "told first, and then asked";
    Outbox outbox;
    for (const auto& [ps, job_id] : std::exchange(asked_, {})) {
      proto::SnapshotList list;
      list.set_job_id(job_id);
      deletions_->OnSnapshots(ps, list, &outbox);
    }
    told_.clear();
    CarryOut(&outbox);
  }

  // Runs more than enough ticks.
  void AdvanceToTheEnd() {
    for (int tick = 0; tick < 10; ++tick) {
      Outbox outbox;
      deletions_->Advance(now_, &outbox);
      CarryOut(&outbox);
    }
  }

  // The ps that the journal lists as still pending.
  std::vector<uint32_t> Pending() {
    const auto deleted = *storage::ReadDeletedJobs(*journal_);
    EXPECT_EQ(deleted.size(), 1u);
    return {deleted.at(0).pending_ps().begin(), deleted.at(0).pending_ps().end()};
  }

  // A ps reports its snapshots of the job.
  void List(uint32_t ps, bool own_disk, bool incomplete = false) {
    proto::SnapshotList list;
    list.set_job_id(kJob);
    list.add_snapshots()->set_own_disk(own_disk);
    list.set_incomplete(incomplete);
    Outbox outbox;
    deletions_->OnSnapshots(ps, list, &outbox);
    CarryOut(&outbox);
  }

  int Records() {
    int records = 0;
    EXPECT_TRUE(
        journal_->ReadPrefix("", [&](std::string_view, std::string_view) { return ++records > 0; })
            .ok());
    return records;
  }

  std::string directory_;
  absl::Duration now_ = absl::Seconds(1000);
  Membership members_{TwoPs()};
  std::unique_ptr<storage::Journal> journal_;
  std::unique_ptr<JobDeletions> deletions_;
  uint64_t instance_ = 0;
  uint64_t session_ = 0;
  uint64_t sessions_[2] = {0, 0};
  using Told = std::vector<std::pair<uint32_t, uint64_t>>;  // (ps, job).
  Told told_;                                               // Commands to delete it.
  Told asked_;                                              // Queries for its snapshots.
};

TEST_F(JobDeletionsTest, OfTheJobNothingIsLeftAndOfOthersAll) {
  WriteJob(kJob - 1, 3);
  WriteJob(kJob + 1, 3);
  const int others = Records();
  WriteJob(kJob, 100);
  Join(0);
  Join(1);
  Begin();
  EXPECT_EQ(storage::ReadJobs(*journal_)->size(), 2u) << "gone at once";
  EXPECT_EQ(told_, (Told{{0, kJob}, {1, kJob}}));
  Answer();
  AdvanceToTheEnd();
  EXPECT_EQ(Records(), others);
}

TEST_F(JobDeletionsTest, AHistoryIsErasedAtOnceHoweverLong) {
  WriteJob(kJob, 12000);
  Outbox outbox;
  deletions_->Begin(kJob, {}, 2, &outbox);
  EXPECT_LE(outbox.changes.size(), 3u);
  CarryOut(&outbox);
  EXPECT_EQ(Records(), 1) << "what is still to be done";
}

TEST_F(JobDeletionsTest, APsIsToldUntilItHasAnswered) {
  WriteJob(kJob, 1);
  Join(1);
  Begin();
  EXPECT_EQ(told_, (Told{{1, kJob}}));
  AdvanceToTheEnd();
  EXPECT_EQ(Records(), 1) << "what is still to be done";
  told_.clear();
  asked_.clear();
  // The ps died before it answered, and so did the coordinator.
  Restart();
  PsJoined(1);
  EXPECT_EQ(told_, (Told{{1, kJob}}));
  Answer();
  PsJoined(1);
  EXPECT_TRUE(told_.empty());
  PsJoined(0);
  EXPECT_EQ(told_, (Told{{0, kJob}}));
  Answer();
  AdvanceToTheEnd();
  EXPECT_EQ(Records(), 0);
}

TEST_F(JobDeletionsTest, EveryPsThatEverHadAPartIsWaitedFor) {
  WriteJob(kJob, 1);
  Join(0);
  Join(1);
  proto::Manifest manifest;
  manifest.add_parts()->set_ps(4);
  manifest.mutable_parts(0)->add_copies(6);
  Begin({manifest}, /*ps_count=*/3);
  EXPECT_EQ(Pending(), (std::vector<uint32_t>{0, 1, 2, 4, 6}));
  EXPECT_EQ(told_, (Told{{0, kJob}, {1, kJob}})) << "the others are not there";
  Answer();
  AdvanceToTheEnd();
  EXPECT_EQ(Pending(), (std::vector<uint32_t>{2, 4, 6}));
}

TEST_F(JobDeletionsTest, APsThatStillHasSnapshotsIsToldAgainNowAndThen) {
  WriteJob(kJob, 1);
  Join(0);
  Join(1);
  Begin();
  told_.clear();
  asked_.clear();
  List(0, /*own_disk=*/true);
  List(0, /*own_disk=*/false, /*incomplete=*/true);
  List(1, /*own_disk=*/false);  // Readable, but on another ps's disk.
  EXPECT_EQ(Pending(), std::vector<uint32_t>{0});
  AdvanceToTheEnd();
  EXPECT_TRUE(told_.empty()) << "not on every tick";
  now_ += absl::Minutes(1);
  AdvanceToTheEnd();
  EXPECT_EQ(told_, (Told{{0, kJob}})) << "and once, not on each tick after that";
  Answer();
  AdvanceToTheEnd();
  EXPECT_EQ(Records(), 0);
}

}  // namespace
}  // namespace cairn::coordinator
