#include "job/job_plan.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

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

TEST(JobPlanTest, ADroppedRemainderIsTheLastBatchOrTheLastUpdate) {
  proto::JobRecord record = Record();
  record.mutable_job()->mutable_train()->set_drop_remainder(true);
  auto plan = MakeJobPlan(record, Inspected(250));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->batches_per_epoch(), 7);
  EXPECT_EQ(plan->total_batches(), 21);
  EXPECT_EQ(MakeJobPlan(record, Inspected(256))->batches_per_epoch(), 8);
  EXPECT_EQ(MakeJobPlan(record, Inspected(31)).status().message(),
            "train.drop_remainder: 31 examples are fewer than one batch of 32, and nothing would "
            "be left; set a smaller batch_size");
  record.mutable_job()->mutable_strategy()->mutable_parameter_server()->set_mode("sync");
  record.set_batches_per_update(4);
  plan = MakeJobPlan(record, Inspected(250));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->batches_per_epoch(), 4);
  EXPECT_EQ(MakeJobPlan(record, Inspected(127)).status().message(),
            "train.drop_remainder: 127 examples are fewer than one update of 4 batches of 32, and "
            "nothing would be left; set a smaller batch_size");
}

TEST(JobPlanTest, AnEpochMayHaveAnyNumberOfSteps) {
  proto::JobRecord record = Record();
  record.mutable_job()->set_steps_per_epoch(10);
  const auto plan = MakeJobPlan(record, Inspected(100));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->batches_per_epoch(), 10);
  EXPECT_EQ(plan->batches_per_pass(), 4);
  EXPECT_EQ(plan->total_batches(), 30);
}

TEST(JobPlanTest, OnlyEpochsFromTheInitialOneAreTrained) {
  proto::JobRecord record = Record();
  record.mutable_job()->set_initial_epoch(2);
  EXPECT_EQ(MakeJobPlan(record, Inspected(100))->total_batches(), 4);
}

TEST(JobPlanTest, ValidationStepsLimitTheExamples) {
  proto::JobRecord record = Record();
  record.mutable_job()->mutable_validation();
  record.mutable_job()->set_validation_steps(2);
  EXPECT_EQ(MakeJobPlan(record, Inspected(100, 90))->validation_examples(), 64);
  EXPECT_EQ(MakeJobPlan(record, Inspected(100, 50))->validation_examples(), 50);
  record.mutable_job()->set_validation_steps(kTotalBatchesMax);
  EXPECT_EQ(MakeJobPlan(record, Inspected(100, 50))->validation_examples(), 50);
}

std::vector<int64_t> ValidatedEpochs(const proto::JobPlan& plan) {
  std::vector<int64_t> epochs;
  for (int64_t epoch = 0; epoch < 6; ++epoch) {
    if (ValidatesEpoch(plan, epoch)) epochs.push_back(epoch);
  }
  return epochs;
}

TEST(JobPlanTest, ValidationFreqIsAPeriodOrAListOfEpochs) {
  proto::JobPlan plan;
  EXPECT_EQ(ValidatedEpochs(plan), std::vector<int64_t>());
  plan.set_validation_examples(5);
  EXPECT_EQ(ValidatedEpochs(plan), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  plan.mutable_job()->set_validation_freq(3);
  EXPECT_EQ(ValidatedEpochs(plan), (std::vector<int64_t>{2, 5}));
  plan.mutable_job()->set_initial_epoch(2);
  EXPECT_EQ(ValidatedEpochs(plan), (std::vector<int64_t>{0, 3}));
  plan.mutable_job()->clear_validation_freq();
  plan.mutable_job()->add_validation_freq_epochs(1);
  plan.mutable_job()->add_validation_freq_epochs(4);
  EXPECT_EQ(ValidatedEpochs(plan), (std::vector<int64_t>{1}));
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
