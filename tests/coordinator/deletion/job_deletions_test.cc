#include "coordinator/deletion/job_deletions.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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
    const std::string directory =
        absl::StrCat(::testing::TempDir(), "/deletions_",
                     ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory);
    journal_ = *storage::Journal::Open(directory);
    Restart();
  }

  // What a coordinator that comes back does.
  void Restart() {
    deletions_ = std::make_unique<JobDeletions>(journal_.get(), &members_,
                                                *storage::ReadDeletedJobs(*journal_));
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

  void Begin() {
    Outbox outbox;
    deletions_->Begin(kJob, &outbox);
    EXPECT_TRUE(outbox.sync) << "what was deleted does not come back";
    CarryOut(&outbox);
  }

  void PsJoined(uint32_t ps) {
    Join(ps);
    Outbox outbox;
    deletions_->PsJoined(ps, &outbox);
    CarryOut(&outbox);
  }

  // All that were asked do.
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

  // More than enough ticks. In how many of them something was done.
  int AdvanceToTheEnd() {
    int busy = 0;
    for (int tick = 0; tick < 10; ++tick) {
      Outbox outbox;
      deletions_->Advance(&outbox);
      busy += outbox.changes.empty() ? 0 : 1;
      CarryOut(&outbox);
    }
    return busy;
  }

  int Records() {
    int records = 0;
    EXPECT_TRUE(
        journal_->ReadPrefix("", [&](std::string_view, std::string_view) { return ++records > 0; })
            .ok());
    return records;
  }

  Membership members_{TwoPs()};
  std::unique_ptr<storage::Journal> journal_;
  std::unique_ptr<JobDeletions> deletions_;
  uint64_t instance_ = 0;
  uint64_t session_ = 0;
  uint64_t sessions_[2] = {0, 0};
  using Told = std::vector<std::pair<uint32_t, uint64_t>>;  // Which ps, of which job.
  Told told_;                                               // To delete it.
  Told asked_;                                              // What they have of it.
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

TEST_F(JobDeletionsTest, ALongHistoryIsErasedInPieces) {
  WriteJob(kJob, 12000);
  Join(0);
  Join(1);
  Begin();
  Answer();
  EXPECT_GT(AdvanceToTheEnd(), 3);
  EXPECT_EQ(Records(), 0);
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
  // It died before it answered, and so did the coordinator.
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

TEST_F(JobDeletionsTest, TheNextCoordinatorErasesWhatIsLeft) {
  WriteJob(kJob, 12000);
  Join(0);
  Join(1);
  Begin();
  Outbox outbox;
  deletions_->Advance(&outbox);
  CarryOut(&outbox);
  EXPECT_GT(Records(), 1);
  Restart();
  PsJoined(0);
  PsJoined(1);
  Answer();
  AdvanceToTheEnd();
  EXPECT_EQ(Records(), 0);
}

}  // namespace
}  // namespace cairn::coordinator
