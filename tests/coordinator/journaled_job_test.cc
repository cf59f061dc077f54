#include "coordinator/journaled_job.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/failpoint.h"

namespace cairn::coordinator {
namespace {

class JournaledJobTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string directory = ::testing::TempDir() + "/journaled_job";
    std::filesystem::remove_all(directory);
    journal_ = *storage::Journal::Open(directory);
    storage::JobRecords records;
    records.record.set_job_id(1);
    records.record.set_state(proto::QUEUED);
    for (uint64_t checkpoint : {4, 7}) {
      records.manifests.emplace_back().set_checkpoint(checkpoint);
      outbox_.Put(storage::ManifestKey(1, checkpoint), records.manifests.back());
    }
    job_ = std::make_unique<JournaledJob>(std::move(records));
  }

  // What a coordinator that starts now would read from the journal.
  storage::JobRecords Reread() {
    EXPECT_TRUE(outbox_.sync);
    EXPECT_TRUE(journal_->Write(outbox_.changes, /*sync=*/false).ok());
    outbox_.changes.clear();
    return *storage::ReadJob(*journal_, 1);
  }

  std::unique_ptr<storage::Journal> journal_;
  std::unique_ptr<JournaledJob> job_;
  Outbox outbox_;
};

TEST_F(JournaledJobTest, ItsPhaseIsJournalled) {
  job_->SetState(proto::RUNNING, &outbox_);
  EXPECT_TRUE(job_->ready());
  EXPECT_EQ(Reread().record.state(), proto::RUNNING);
  job_->End(proto::FAILED, "why", {absl::ZeroDuration(), 77}, &outbox_);
  EXPECT_TRUE(job_->over());
  EXPECT_FALSE(job_->ready());
  EXPECT_EQ(Reread().record.error(), "why");
  EXPECT_EQ(Reread().record.ended_unix_seconds(), 77);
}

TEST_F(JournaledJobTest, AResumedJobMayTryToWriteItsLastCheckpointAgain) {
  job_->run().set_last_checkpoint_failures(10);
  job_->SaveRun(&outbox_);
  job_->End(proto::FAILED, "the last checkpoint could not be written", {}, &outbox_);
  EXPECT_EQ(Reread().run.last_checkpoint_failures(), 10);
  job_->Reopen(&outbox_);
  const storage::JobRecords records = Reread();
  EXPECT_EQ(records.record.state(), proto::QUEUED);
  EXPECT_EQ(records.record.error(), "");
  EXPECT_EQ(records.run.last_checkpoint_failures(), 0);
}

TEST_F(JournaledJobTest, ANewGenerationIsJournaledAndDropsTheKeptCut) {
  job_->SetState(proto::RUNNING, &outbox_);
  job_->run().mutable_kept_cut()->set_cut(3);
  job_->run().set_restored(true);
  job_->BeginGeneration(7, &outbox_);
  const proto::RunRecord run = Reread().run;
  EXPECT_EQ(run.generation(), 1u);
  EXPECT_EQ(run.base_checkpoint(), 7u);
  EXPECT_FALSE(run.restored());
  EXPECT_FALSE(run.has_kept_cut());
}

TEST_F(JournaledJobTest, ACheckpointThatIsDamagedIsNotTheNewestAnyMoreButStays) {
  EXPECT_EQ(job_->NewestCheckpoint(), 7u);
  job_->SetState(proto::RUNNING, &outbox_);
  job_->MarkDamaged(7, "ps 0: rot", &outbox_);
  EXPECT_EQ(job_->NewestCheckpoint(), 4u);
  EXPECT_EQ(Reread().manifests.at(1).damaged(), "ps 0: rot");
  job_->MarkDamaged(4, "ps 1: rot", &outbox_);
  EXPECT_EQ(Reread().manifests.size(), 2u);
  EXPECT_EQ(job_->NewestCheckpoint(), 0u);
}

TEST_F(JournaledJobTest, AFailpointOfADecisionIsForTheWriterOfTheJournal) {
  ASSERT_TRUE(ArmFailpoint("coordinator.mark_damaged=error").ok());
  Outbox outbox;
  job_->MarkDamaged(7, "ps 0: rot", &outbox);
  EXPECT_EQ(FailpointFired("coordinator.mark_damaged"), 0);
  ASSERT_EQ(outbox.failpoints.size(), 1u);
  EXPECT_FALSE(outbox.failpoints[0]().ok());
  EXPECT_EQ(FailpointFired("coordinator.mark_damaged"), 1);
  DisarmFailpoints();
}

TEST_F(JournaledJobTest, TheNewestNotesAreKept) {
  for (int i = 0; i < 5000; ++i) job_->Note(absl::StrCat("note ", i), {absl::Seconds(1), 70 + i});
  const proto::JobStatus status = job_->Status();
  ASSERT_EQ(status.notes_size(), 1000);
  EXPECT_EQ(status.notes(0).text(), "note 4000");
  EXPECT_EQ(status.notes(0).unix_seconds(), 4070);
  EXPECT_EQ(status.notes(999).text(), "note 4999");
}

}  // namespace
}  // namespace cairn::coordinator
