#include "job/job_numbers.h"

#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::job {
namespace {

using proto::Job;

Job GoodJob() {
  Job job;
  job.set_batch_size(32);
  job.set_epochs(2);
  return job;
}

proto::ParameterServerStrategy* Strategy(Job* job) {
  return job->mutable_strategy()->mutable_parameter_server();
}

using Changes = std::vector<std::pair<std::function<void(Job*)>, std::string>>;

std::string Refusal(const std::function<void(Job*)>& change) {
  Job job = GoodJob();
  change(&job);
  const absl::Status status = ValidateJobLimits(job);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

// No two errors have the same message.
void ExpectRefusals(const Changes& changes) {
  std::set<std::string> all;
  for (const auto& [change, expected] : changes) {
    EXPECT_EQ(Refusal(change), expected);
    EXPECT_TRUE(all.insert(expected).second) << "twice: " << expected;
  }
}

TEST(JobNumbersTest, TheEndsOfEveryRangeAreTaken) {
  for (const std::function<void(Job*)>& change : std::vector<std::function<void(Job*)>>{
           [](Job*) {},
           [](Job* job) { job->set_batch_size(1); },
           [](Job* job) { job->set_batch_size(kBatchSizeMax); },
           [](Job* job) { job->set_epochs(kTotalBatchesMax); },
           [](Job* job) {
             job->clear_epochs();
             job->set_steps(kTotalBatchesMax);
           },
           [](Job* job) {
             Strategy(job)->set_mode("stale");
             Strategy(job)->set_window(0);
           },
           [](Job* job) {
             Strategy(job)->set_mode("sync");
             Strategy(job)->set_batches_per_update(4096);
           },
           [](Job* job) { Strategy(job)->set_mode("sync"); },
           [](Job* job) {
             job->mutable_checkpoint()->set_keep(1000);
             job->mutable_checkpoint()->set_copies(2);
           },
           [](Job* job) { job->set_on_lost_checkpoint("fail"); },
           [](Job* job) { job->set_initial_epoch(1); },
           [](Job* job) { job->set_steps_per_epoch(kTotalBatchesMax); },
           [](Job* job) {
             job->mutable_validation();
             job->set_validation_steps(1);
             job->set_validation_freq(1);
           },
           [](Job* job) {
             job->set_validation_fraction(0.5);
             job->add_validation_freq_epochs(kTotalBatchesMax);
           },
           [](Job* job) { job->set_on_non_finite("rollback"); },
       }) {
    EXPECT_EQ(Refusal(change), "");
  }
}

TEST(JobNumbersTest, RejectsInvalidLengths) {
  ExpectRefusals({
      {[](Job* job) { job->clear_batch_size(); },
       "batch_size: is missing; for example \"batch_size\": 128"},
      {[](Job* job) { job->set_batch_size(0); }, "batch_size: 0 is not from 1 to 1048576"},
      {[](Job* job) { job->set_batch_size(16000000); },
       "batch_size: 16000000 is not from 1 to 1048576"},
      {[](Job* job) { job->clear_epochs(); },
       "epochs: is missing, and \"steps\" too; set one of them"},
      {[](Job* job) { job->set_steps(10); }, "epochs: conflicts with \"steps\"; keep one of them"},
      {[](Job* job) { job->set_epochs(-3); }, "epochs: -3 is not from 1 to 1099511627776"},
      {[](Job* job) {
         job->clear_epochs();
         job->set_steps(0);
       },
       "steps: 0 is not from 1 to 1099511627776"},
  });
}

TEST(JobNumbersTest, RejectsInvalidEpochsAndValidations) {
  ExpectRefusals({
      {[](Job* job) { job->set_steps_per_epoch(0); },
       "steps_per_epoch: 0 is not from 1 to 1099511627776"},
      {[](Job* job) { job->set_initial_epoch(2); },
       "initial_epoch: 2 is not from 0 to 1: epochs are numbered from 0, and the last is "
       "\"epochs\" - 1"},
      {[](Job* job) { job->set_initial_epoch(-1); },
       "initial_epoch: -1 is not from 0 to 1: epochs are numbered from 0, and the last is "
       "\"epochs\" - 1"},
      {[](Job* job) {
         job->clear_epochs();
         job->set_steps(7);
         job->set_initial_epoch(0);
       },
       "initial_epoch: is for jobs with \"epochs\", and this one has \"steps\""},
      {[](Job* job) { job->set_validation_steps(1); },
       "validation_steps: has no meaning without \"validation\" or \"validation_fraction\""},
      {[](Job* job) { job->add_validation_freq_epochs(1); },
       "validation_freq: has no meaning without \"validation\" or \"validation_fraction\""},
      {[](Job* job) {
         job->mutable_validation();
         job->set_validation_steps(0);
       },
       "validation_steps: 0 is not from 1 to 1099511627776"},
      {[](Job* job) {
         job->mutable_validation();
         job->set_validation_freq(0);
       },
       "validation_freq: 0 is not from 1 to 1099511627776"},
      {[](Job* job) {
         job->mutable_validation();
         job->add_validation_freq_epochs(1);
         job->add_validation_freq_epochs(0);
       },
       "validation_freq[1]: 0 is not from 1 to 1099511627776"},
  });
}

TEST(JobNumbersTest, RejectsInvalidStrategies) {
  const std::string path = "strategy.parameter_server.";
  ExpectRefusals({
      {[](Job* job) { Strategy(job)->set_mode("fast"); },
       path + "mode: \"fast\" is not one of async, sync, stale"},
      {[](Job* job) { Strategy(job)->set_mode("asinc"); },
       path + "mode: \"asinc\" is not one of async, sync, stale (did you mean async?)"},
      {[](Job* job) { Strategy(job)->set_batches_per_update(2); },
       path + "batches_per_update: is of mode sync only, the mode is async"},
      {[](Job* job) {
         Strategy(job)->set_mode("sync");
         Strategy(job)->set_batches_per_update(0);
       },
       path + "batches_per_update: 0 is not from 1 to 4096"},
      {[](Job* job) { Strategy(job)->set_window(2); },
       path + "window: is of mode stale only, the mode is async"},
      {[](Job* job) { Strategy(job)->set_mode("stale"); },
       path + "window: is missing; mode stale needs it, for example \"window\": 8"},
      {[](Job* job) {
         Strategy(job)->set_mode("stale");
         Strategy(job)->set_window(-1);
       },
       path + "window: -1 is not from 0 to 32768"},
  });
}

TEST(JobNumbersTest, RejectsInvalidCheckpointsAndSlices) {
  ExpectRefusals({
      {[](Job* job) { job->set_keep_history(0); },
       "keep_history: 0 is not from 1 to 1099511627776"},
      {[](Job* job) { job->mutable_checkpoint()->set_every_epochs(0); },
       "checkpoint.every_epochs: 0 is not from 1 to 1099511627776"},
      {[](Job* job) { job->mutable_checkpoint()->set_every_seconds(0.1); },
       "checkpoint.every_seconds: 0.1 is not from 1 to 10000000"},
      {[](Job* job) { job->mutable_checkpoint()->set_every_seconds(NAN); },
       "checkpoint.every_seconds: nan is not from 1 to 10000000"},
      {[](Job* job) { job->mutable_checkpoint()->set_every_steps(0); },
       "checkpoint.every_steps: 0 is not from 1 to 1099511627776"},
      {[](Job* job) { job->mutable_checkpoint()->set_keep(1001); },
       "checkpoint.keep: 1001 is not from 1 to 1000"},
      {[](Job* job) { job->mutable_checkpoint()->set_copies(3); },
       "checkpoint.copies: 3 is not from 1 to 2"},
      {[](Job* job) { job->mutable_partitioner()->set_min_slice_bytes(-4); },
       "partitioner.min_slice_bytes: -4 is not from 1 to 1125899906842624"},
      {[](Job* job) { job->set_on_lost_checkpoint("restrat"); },
       "on_lost_checkpoint: \"restrat\" is not one of restart, fail (did you mean restart?)"},
  });
}

TEST(JobNumbersTest, WhatIsWrongWithThePolicyForNonFiniteNumbersIsSaid) {
  ExpectRefusals({
      {[](Job* job) { job->set_precision("mixed_float8"); },
       "precision: \"mixed_float8\" is not one of float32, tensorfloat32, mixed_bfloat16, "
       "mixed_float16 (did you mean mixed_float16?)"},
      {[](Job* job) { job->set_on_non_finite("rejects"); },
       "on_non_finite: \"rejects\" is not one of reject, fail, rollback (did you mean reject?)"},
      {[](Job* job) {
         job->set_on_non_finite("rollback");
         job->mutable_optimizer()->mutable_learning_rate_schedule()->set_name("cosine_decay");
       },
       "on_non_finite: rollback halves a constant learning rate, the optimizer has the schedule "
       "cosine_decay; use one of the two"},
  });
}

}  // namespace
}  // namespace cairn::job
