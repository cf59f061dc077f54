// Sample weights with real daemons, compared with sums computed by hand: the gradient of the
// counting job is the mean of the weights of its examples.

#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;

constexpr int kBatchSize = 8;
constexpr int kBatchesPerEpoch = 20;
constexpr int kEpochs = 3;
constexpr int kRows = 16;

// Multiples of 1/4, so that every sum is exact: 0, 0.25 ... 1.5, repeated.
std::vector<float> Weights() {
  std::vector<float> weights;
  for (int i = 0; i < kBatchSize * kBatchesPerEpoch; ++i) {
    weights.push_back(0.25f * static_cast<float>(i % 7));
  }
  return weights;
}

double SumOf(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

CountingJob WeightedJob() {
  CountingJob job;
  job.batches = kBatchesPerEpoch * kEpochs;
  job.batches_per_epoch = kBatchesPerEpoch;
  job.batch_size = kBatchSize;
  job.rows = kRows;
  const json files = {{"features", "x.npy"}, {"labels", "y.npy"}};
  const json source = {{"npy", files}, {"sample_weight", {"first.npy", "second.npy"}}};
  job.more = json{{"train", source}, {"validation", source}, {"metrics", {"mae"}}}.dump();
  return job;
}

// In two files, with a last axis of size 1.
void WriteWeights(const std::vector<float>& weights, const std::string& folder) {
  const int64_t first = 30;
  const auto rest = static_cast<int64_t>(weights.size()) - first;
  WriteFile(folder + "/first.npy",
            EncodeNpy({{first, 1}, {weights.begin(), weights.begin() + first}}));
  WriteFile(folder + "/second.npy",
            EncodeNpy({{rest, 1}, {weights.begin() + first, weights.end()}}));
}

TEST(SampleWeights, TheLossIsTheWeightedSumOverTheExamplesNumberAndMetricsDoNotSeeThem) {
  TestCluster cluster(/*ps_count=*/2, /*worker_count=*/2);
  cluster.StartAll();
  const CountingJob job = WeightedJob();
  const std::string file = WriteCountingJob(job, cluster.folder("job"));
  WriteWeights(Weights(), cluster.folder("job"));
  const CommandResult submitted = cluster.Cairn({"submit", file, "--follow"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.errors << cluster.Logs();

  ASSERT_EQ(cluster.Cairn({"export", job.name, "--output", cluster.folder("out")}).exit_code, 0);
  const double per_epoch = SumOf(Weights()) / kBatchSize;
  EXPECT_EQ(CountIsNot(per_epoch * kEpochs, cluster.folder("out"), kRows), "");

  // All examples are 1e30 away from their labels.
  const json status = cluster.Status(job.name);
  ASSERT_EQ(status["evaluations"].size(), static_cast<size_t>(kEpochs)) << status;
  const double mean = SumOf(Weights()) / (kBatchSize * kBatchesPerEpoch);
  for (const json& evaluation : status["evaluations"]) {
    EXPECT_NEAR(evaluation["loss"].get<double>() / 1e30, mean, 1e-6) << evaluation;
    EXPECT_NEAR(evaluation["mae"].get<double>() / 1e30, 1, 1e-6) << evaluation;
  }
}

}  // namespace
}  // namespace cairn::testing
