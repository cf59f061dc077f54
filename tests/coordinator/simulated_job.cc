#include "tests/coordinator/simulated_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"

namespace cairn::coordinator {

proto::Job SimulatedJob(const std::string& mode, int64_t epochs) {
  proto::Job job;
  job.set_name("simulated");
  job.set_batch_size(10);
  job.set_epochs(epochs);
  job.add_metrics("accuracy");
  job.mutable_validation();
  if (mode == "mirrored") {
    job.mutable_strategy()->mutable_multi_worker_mirrored()->set_batches_per_update(3);
    return job;
  }
  auto* strategy = job.mutable_strategy()->mutable_parameter_server();
  strategy->set_mode(mode);
  if (mode == "sync") strategy->set_batches_per_update(3);
  if (mode == "stale") strategy->set_window(4);
  return job;
}

Simulation::Options SimulatedCluster(const proto::Job& job, uint64_t seed) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = absl::StrCat(test->test_suite_name(), "_", test->name(), "_", seed);
  std::replace(name.begin(), name.end(), '/', '_');
  Simulation::Options options;
  options.seed = seed;
  options.job = job;
  options.journal_directory = absl::StrCat(::testing::TempDir(), "/", name);
  std::filesystem::remove_all(options.journal_directory);
  return options;
}

}  // namespace cairn::coordinator
