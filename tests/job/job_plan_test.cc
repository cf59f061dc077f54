#include "job/job_plan.h"

#include <gtest/gtest.h>

#include <optional>

#include "job/job_numbers.h"

namespace cairn::job {
namespace {

proto::JobRecord Record() {
  proto::JobRecord record;
  record.set_job_id(3);
  record.set_batches_per_update(1);
  record.mutable_job()->set_batch_size(32);
  record.mutable_job()->set_epochs(3);
  return record;
}

proto::InspectReply Inspected(int64_t examples, int64_t validation = 0) {
  proto::InspectReply reply;
  reply.set_examples(examples);
  reply.set_validation_examples(validation);
  return reply;
}

TEST(JobPlanTest, TheLastBatchOfAnEpochMayBeSmaller) {
  const auto plan = MakeJobPlan(Record(), Inspected(100));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->batches_per_epoch(), 4);
  EXPECT_EQ(plan->total_batches(), 12);
  EXPECT_EQ(plan->window(), -1);
  EXPECT_FALSE(plan->synchronous());
  EXPECT_TRUE(plan->shuffle());
  EXPECT_EQ(plan->seed(), 0u);
}

TEST(JobPlanTest, StepsCountBatches) {
  proto::JobRecord record = Record();
  record.mutable_job()->clear_epochs();
  record.mutable_job()->set_steps(7);
  EXPECT_EQ(MakeJobPlan(record, Inspected(100))->total_batches(), 7);
}

TEST(JobPlanTest, SynchronousJobsTakeTheNumberThatWasFixedAtSubmit) {
  proto::JobRecord record = Record();
  record.mutable_job()->mutable_strategy()->mutable_parameter_server()->set_mode("sync");
  record.set_batches_per_update(5);
  const auto plan = MakeJobPlan(record, Inspected(100));
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->synchronous());
  EXPECT_EQ(plan->batches_per_update(), 5);
  EXPECT_EQ(plan->window(), 0);
  EXPECT_EQ(ResolveNumbers(record.job()).updates.batches_per_update, 0);  // Not set by the job.
}

TEST(JobPlanTest, ValidationCountsOnlyIfTheJobHasIt) {
  proto::JobRecord record = Record();
  EXPECT_EQ(MakeJobPlan(record, Inspected(100, 50))->validation_examples(), 0);
  record.mutable_job()->mutable_validation();
  EXPECT_EQ(MakeJobPlan(record, Inspected(100, 50))->validation_examples(), 50);
  EXPECT_FALSE(MakeJobPlan(record, Inspected(100, 0)).ok());
}

TEST(JobPlanTest, NoExamplesAndTooManyBatchesAreRefused) {
  EXPECT_FALSE(MakeJobPlan(Record(), Inspected(0)).ok());
  proto::JobRecord record = Record();
  record.mutable_job()->set_epochs(kTotalBatchesMax);
  const absl::Status status = MakeJobPlan(record, Inspected(100)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message().find("epochs: "), 0u);
}

TEST(JobPlanTest, AbsurdNumbersOfExamplesAreRefused) {
  proto::JobRecord record = Record();
  record.mutable_job()->mutable_validation();
  EXPECT_TRUE(absl::IsInvalidArgument(MakeJobPlan(record, Inspected(100, INT64_MAX)).status()));
  record.mutable_job()->clear_epochs();
  record.mutable_job()->set_steps(7);
  EXPECT_TRUE(absl::IsInvalidArgument(MakeJobPlan(record, Inspected(INT64_MAX, 100)).status()));
}

TEST(JobPlanTest, APlanMadeHereIsValidInAJournal) {
  proto::JobRecord record = Record();
  EXPECT_TRUE(absl::IsDataLoss(CheckJournaledRecords(record, std::nullopt))) << "no ps";
  record.mutable_partition()->set_ps_count(2);
  EXPECT_TRUE(CheckJournaledRecords(record, std::nullopt).ok());
  const auto plan = MakeJobPlan(record, Inspected(100));
  EXPECT_TRUE(CheckJournaledRecords(record, *plan).ok());
}

TEST(JobPlanTest, APlanThatContradictsItsRecordIsRefusedWithTheNumber) {
  proto::JobRecord record = Record();
  record.mutable_partition()->set_ps_count(2);
  proto::JobPlan plan = *MakeJobPlan(record, Inspected(100));
  plan.mutable_partition()->set_ps_count(3);
  EXPECT_TRUE(CheckJournaledRecords(record, plan).ok()) << "its blocks may have moved";
  plan.mutable_partition()->add_blocks();
  const absl::Status contradiction = CheckJournaledRecords(record, plan);
  EXPECT_TRUE(absl::IsDataLoss(contradiction));
  EXPECT_NE(contradiction.message().find("plan.partition.blocks is 1"), absl::string_view::npos)
      << contradiction;
  plan = *MakeJobPlan(record, Inspected(100));
  plan.set_batches_per_epoch(0);
  EXPECT_TRUE(absl::IsDataLoss(CheckJournaledRecords(record, plan)));
}

TEST(JobPlanTest, UpdatesOfSeveralBatchesAreClippedByAllTogether) {
  proto::JobPlan plan;
  plan.set_synchronous(true);
  plan.set_batches_per_update(2);
  EXPECT_FALSE(ClipsUpdateNorms(plan));
  plan.mutable_job()->mutable_optimizer()->set_clipvalue(1);
  EXPECT_FALSE(ClipsUpdateNorms(plan));
  plan.mutable_job()->mutable_optimizer()->set_global_clipnorm(1);
  EXPECT_TRUE(ClipsUpdateNorms(plan));
  plan.set_batches_per_update(1);
  EXPECT_FALSE(ClipsUpdateNorms(plan));
  plan.set_batches_per_update(2);
  plan.set_synchronous(false);
  EXPECT_FALSE(ClipsUpdateNorms(plan));
}

}  // namespace
}  // namespace cairn::job
