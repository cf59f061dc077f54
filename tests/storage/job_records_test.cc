#include "storage/job_records.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace cairn::storage {
namespace {

class JobRecordsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto journal = Journal::Open(testing::TempDir() + "/" +
                                 testing::UnitTest::GetInstance()->current_test_info()->name());
    ASSERT_TRUE(journal.ok()) << journal.status();
    journal_ = *std::move(journal);
  }

  void Put(const std::string& key, const google::protobuf::MessageLite& message) {
    const std::vector<Journal::Change> changes = {{key, message.SerializeAsString()}};
    ASSERT_TRUE(journal_->Write(changes, /*sync=*/false).ok());
  }

  void PutJob(uint64_t id, const std::string& name) {
    proto::JobRecord record;
    record.set_job_id(id);
    record.mutable_job()->set_name(name);
    record.mutable_job()->add_metrics("accuracy");
    record.set_state(proto::RUNNING);
    Put(JobKey(id), record);
  }

  std::unique_ptr<Journal> journal_;
};

TEST_F(JobRecordsTest, ANewJournalIsEmpty) {
  EXPECT_EQ(ReadCluster(*journal_)->term(), 0u);
  EXPECT_TRUE(ReadJobs(*journal_)->empty());
  EXPECT_EQ(ReadJob(*journal_, 1).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(JobRecordsTest, JobsAreListedOldestFirst) {
  for (uint64_t id : {300, 2, 17}) PutJob(id, "job");
  const auto jobs = ReadJobs(*journal_);
  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs->size(), 3u);
  EXPECT_EQ((*jobs)[0].job_id(), 2u);
  EXPECT_EQ((*jobs)[2].job_id(), 300u);
}

TEST_F(JobRecordsTest, ReadJobReturnsAllRecordsOfTheJobAndNoOthers) {
  PutJob(1, "a");
  PutJob(2, "b");
  proto::Manifest manifest;
  for (uint64_t checkpoint : {12, 3}) {
    manifest.set_checkpoint(checkpoint);
    Put(ManifestKey(2, checkpoint), manifest);
  }
  manifest.set_checkpoint(99);
  Put(ManifestKey(1, 99), manifest);
  proto::EvaluationRecord evaluation;
  evaluation.set_epoch(4);
  Put(EvaluationKey(2, 4), evaluation);
  proto::JobPlan plan;
  plan.set_total_batches(7);
  Put(PlanKey(2), plan);

  const auto job = ReadJob(*journal_, 2);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->record.job().name(), "b");
  ASSERT_EQ(job->manifests.size(), 2u);
  EXPECT_EQ(job->manifests[0].checkpoint(), 3u);
  EXPECT_EQ(job->manifests[1].checkpoint(), 12u);
  EXPECT_EQ(job->evaluations.at(0).epoch(), 4);
  EXPECT_EQ(job->plan->total_batches(), 7);
}

TEST_F(JobRecordsTest, ReadBatchesVisitsBatchesInOrder) {
  proto::BatchRecord record;
  for (int64_t batch : {1000, 5, 255, 256}) {
    record.set_batch(batch);
    Put(BatchKey(1, batch), record);
  }
  std::vector<int64_t> seen;
  ASSERT_TRUE(ReadBatches(*journal_, 1, 6, [&](const proto::BatchRecord& batch) {
                seen.push_back(batch.batch());
                return true;
              }).ok());
  EXPECT_EQ(seen, (std::vector<int64_t>{255, 256, 1000}));
}

TEST_F(JobRecordsTest, AnUnparsableRecordIsDataLossWithItsKey) {
  const std::vector<Journal::Change> changes = {{JobKey(1), "\xff\xff\xff"}};
  ASSERT_TRUE(journal_->Write(changes, /*sync=*/false).ok());
  const absl::Status status = ReadJob(*journal_, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(status.ToString().find(JobKey(1)), std::string::npos) << status;
}

TEST_F(JobRecordsTest, ANameResolvesToItsNewestJobAndANumberToAnId) {
  PutJob(1, "mnist");
  PutJob(2, "mnist");
  PutJob(3, "1");
  const auto jobs = ReadJobNames(*journal_);
  EXPECT_EQ(*ResolveJob(*jobs, "mnist"), 2u);
  EXPECT_EQ(*ResolveJob(*jobs, "1"), 1u);
  const absl::Status status = ResolveJob(*jobs, "cifar").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.ToString().find("cifar"), std::string::npos);
  EXPECT_NE(status.ToString().find("2 (mnist)"), std::string::npos);
}

TEST_F(JobRecordsTest, AJobThatWasRefusedDoesNotKeepItsName) {
  const auto put = [this](uint64_t id, const std::string& name, proto::JobState state,
                          uint64_t generation) {
    proto::JobRecord record;
    record.set_job_id(id);
    record.mutable_job()->set_name(name);
    record.set_state(state);
    Put(JobKey(id), record);
    proto::RunRecord run;
    run.set_generation(generation);
    Put(RunKey(id), run);
  };
  put(1, "mnist", proto::FINISHED, 1);
  put(2, "mnist", proto::FAILED, 1);
  put(3, "mnist", proto::FAILED, 0);
  put(4, "cifar", proto::FAILED, 0);
  put(5, "cifar", proto::FAILED, 0);
  const auto jobs = ReadJobNames(*journal_);
  EXPECT_EQ(*ResolveJob(*jobs, "mnist"), 2u) << "it had begun";
  EXPECT_EQ(*ResolveJob(*jobs, "3"), 3u);
  EXPECT_EQ(*ResolveJob(*jobs, "cifar"), 5u) << "no other has the name";
  EXPECT_TRUE(WasRefused(StatusFromRecords(*ReadJob(*journal_, 3))));
  EXPECT_FALSE(WasRefused(StatusFromRecords(*ReadJob(*journal_, 2))));
}

TEST_F(JobRecordsTest, TheStatusOfAStoppedJobHasItsProgressAndFaults) {
  PutJob(1, "mnist");
  proto::JobPlan plan;
  plan.set_total_batches(25);
  plan.set_batches_per_epoch(10);
  Put(PlanKey(1), plan);
  proto::RunRecord run;
  run.set_generation(2);
  run.set_batches_done(20);
  run.set_rollbacks(1);
  run.add_metrics(0.5);
  Put(RunKey(1), run);
  const proto::JobStatus status = StatusFromRecords(*ReadJob(*journal_, 1));
  EXPECT_EQ(status.state(), proto::RUNNING);
  EXPECT_EQ(status.epochs(), 3);
  EXPECT_EQ(status.epoch(), 1);
  EXPECT_EQ(status.batch_in_epoch(), 10);
  EXPECT_EQ(status.rollbacks(), 1);
  EXPECT_EQ(status.metrics(0).name(), "accuracy");
  EXPECT_FALSE(status.has_nonfinite_loss());
  EXPECT_FALSE(status.has_nonfinite_validation());
}

TEST_F(JobRecordsTest, TheStatusNumbersEpochsFromTheInitialOne) {
  proto::JobRecord record;
  record.set_job_id(1);
  record.set_state(proto::RUNNING);
  record.mutable_job()->set_initial_epoch(5);
  Put(JobKey(1), record);
  proto::JobPlan plan;
  plan.set_total_batches(25);
  plan.set_batches_per_epoch(10);
  Put(PlanKey(1), plan);
  proto::RunRecord run;
  run.set_batches_done(15);
  Put(RunKey(1), run);
  proto::EvaluationRecord evaluation;
  Put(EvaluationKey(1, 0), evaluation);
  const proto::JobStatus status = StatusFromRecords(*ReadJob(*journal_, 1));
  EXPECT_EQ(status.epochs(), 8);
  EXPECT_EQ(status.epoch(), 6);
  EXPECT_EQ(status.batch_in_epoch(), 5);
  EXPECT_EQ(status.evaluations(0).epoch(), 5);
}

TEST_F(JobRecordsTest, TheStatusHasTheFirstLossThatWasNotFinite) {
  PutJob(1, "mnist");
  proto::RunRecord run;
  run.mutable_nonfinite_loss()->set_batch(4);
  run.mutable_nonfinite_validation()->set_epoch(2);
  Put(RunKey(1), run);
  const proto::JobStatus status = StatusFromRecords(*ReadJob(*journal_, 1));
  EXPECT_EQ(status.nonfinite_loss().batch(), 4);
  EXPECT_EQ(status.nonfinite_validation().epoch(), 2);
}

// The numbers that older journals have.
TEST(JobStateTest, JournaledStatesKeepTheirNumbers) {
  const std::vector<proto::JobState> states = {proto::UPLOADING, proto::QUEUED, proto::RUNNING,
                                               proto::FINISHED,  proto::FAILED, proto::CANCELLED};
  for (int i = 0; i < static_cast<int>(states.size()); ++i) {
    proto::JobRecord record;
    ASSERT_TRUE(record.ParseFromString({0x9 << 3, static_cast<char>(i + 1)}));
    EXPECT_EQ(record.state(), states[i]);
  }
}

TEST(RatesOfTest, RollbacksHalveWhatCallbacksDecide) {
  proto::RunRecord run;
  EXPECT_TRUE(RatesOf(run).empty());
  for (const auto& [from, rate] : {std::pair<int64_t, double>{0, 0.8}, {20, 0.4}, {40, 0.2}}) {
    run.add_rates()->set_from_batch(from);
    run.mutable_rates()->rbegin()->set_learning_rate(rate);
  }
  run.add_rate_halved_at(7);
  run.add_rate_halved_at(20);
  std::vector<std::pair<int64_t, double>> rates;
  for (const proto::RateChange& change : RatesOf(run)) {
    rates.emplace_back(change.from_batch(), change.learning_rate());
  }
  const std::vector<std::pair<int64_t, double>> expected = {
      {0, 0.8}, {7, 0.4}, {20, 0.2}, {20, 0.1}, {40, 0.05}};
  EXPECT_EQ(rates, expected);
  EXPECT_EQ(RateOfBatch(run, 19), 0.4f);
  EXPECT_EQ(RateOfBatch(run, 20), 0.1f);
  EXPECT_EQ(RateOfBatch(proto::RunRecord(), 0), 0);
}

TEST(RatesOfTest, ARollbackInAWarmUpHalvesItsRest) {
  proto::RunRecord run;
  proto::RateChange* warmup = run.add_rates();
  warmup->set_learning_rate(0.25);
  warmup->set_increment(0.125);
  warmup->set_increment_batches(2);
  run.add_rates()->set_from_batch(10);
  run.mutable_rates(1)->set_learning_rate(1);
  run.add_rate_halved_at(4);
  const std::vector<double> expected = {0.25,   0.25,   0.375, 0.375, 0.25, 0.25,
                                        0.3125, 0.3125, 0.375, 0.375, 0.5,  0.5};
  for (size_t batch = 0; batch < expected.size(); ++batch) {
    EXPECT_EQ(RateOfBatch(run, static_cast<int64_t>(batch)), expected[batch]) << batch;
  }
}

}  // namespace
}  // namespace cairn::storage
