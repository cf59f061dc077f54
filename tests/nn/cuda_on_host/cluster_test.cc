// Clusters whose workers compute with the GPU backend: on the stand-in, and with CAIRN_ON_A_GPU on
// the first GPU.

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#ifdef CAIRN_ON_A_GPU
#include "nn/create_device.h"
#endif
#include "tests/end_to_end/adam_job.h"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

struct Trained {
  std::map<std::string, Array> weights;
  double loss = 0;
};

#ifdef CAIRN_ON_A_GPU
constexpr char kWorkerWithCuda[] = "worker/worker";
#else
constexpr char kWorkerWithCuda[] = "tests/nn/cuda_on_host/worker";
#endif

class CudaCluster : public ::testing::Test {
#ifdef CAIRN_ON_A_GPU
  void SetUp() override {
    const auto device = nn::CreateDevice("cuda");
    if (!device.ok()) GTEST_SKIP() << device.status();
  }
#endif
};

Trained Train(TestCluster* cluster, const AdamJob& job) {
  const CommandResult submitted =
      cluster->Cairn({"submit", WriteAdamJob(cluster->folder("."), job)});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.errors << cluster->Logs();
  const json status = cluster->WaitForEnd(job.name, seconds(240));
  EXPECT_EQ(status.value("state", ""), "finished") << status << cluster->Logs();
  const std::string folder = cluster->folder("export");
  const CommandResult exported = cluster->Cairn({"export", job.name, "--output", folder});
  EXPECT_EQ(exported.exit_code, 0) << exported.errors;
  const json epoch = cluster->Cairn({"history", job.name, "--json"}).lines().back();
  return {ReadTfjsWeights(folder), epoch.at("loss")};
}

Trained TrainOnGpus(int workers, const char* seed, const AdamJob& job) {
  setenv("CAIRN_CUDA_SEED", seed, 1);
  TestCluster cluster(/*ps_count=*/1, workers);
  cluster.UseProgram("worker", kWorkerWithCuda);
  cluster.AddFlags("worker", {"--device", "cuda"});
  cluster.StartAll();
  return Train(&cluster, job);
}

#ifndef CAIRN_ON_A_GPU
// One worker with both GPUs of the stand-in, mirrored.
Trained TrainMirrored(AdamJob job) {
  job.strategy = {{"mirrored", json::object()}};
  TestCluster cluster(/*ps_count=*/0, /*worker_count=*/1);
  cluster.UseProgram("worker", kWorkerWithCuda);
  cluster.AddFlags("worker", {"--device", "cuda:0,cuda:1"});
  cluster.StartAll();
  return Train(&cluster, job);
}
#endif

// A convolutional network with batch normalization, dropout and Adam. The weights of CPUs are not
// compared: the gradient of a bias before a batch normalization is a rounding error, which Adam
// scales to the size of the others.
TEST_F(CudaCluster, TheLossIsThatOfCpusAndTheBitsDoNotDependOnOrderOrWorkers) {
  const AdamJob job = {.epochs = 2};
  TestCluster cpus(/*ps_count=*/1, /*worker_count=*/1);
  cpus.StartAll();
  const Trained expected = Train(&cpus, job);
  const Trained trained = TrainOnGpus(1, "1", job);
  EXPECT_NEAR(trained.loss, expected.loss, 1e-4 * expected.loss);
  ExpectSameBits(trained.weights, TrainOnGpus(2, "2", job).weights);
}

// The weight of the loss makes gradients infinite in float16, so batches are computed again.
TEST_F(CudaCluster, AScaledLossIsThatOfCpusAndItsBitsDoNotDependOnWorkers) {
  const AdamJob job = {.epochs = 1, .precision = "mixed_float16", .loss_weight = 4096};
  TestCluster cpus(/*ps_count=*/1, /*worker_count=*/1);
  cpus.StartAll();
  const Trained expected = Train(&cpus, job);
  const Trained trained = TrainOnGpus(1, "1", job);
  EXPECT_NEAR(trained.loss, expected.loss, 1e-2 * expected.loss);
  ExpectSameBits(trained.weights, TrainOnGpus(2, "2", job).weights);
}

#ifndef CAIRN_ON_A_GPU
TEST_F(CudaCluster, TwoGpusOfOneWorkerGiveTheBitsOfOneGpu) {
  const AdamJob job = {.batches_per_update = 2, .epochs = 1};
  ExpectSameBits(TrainOnGpus(1, "1", job).weights, TrainMirrored(job).weights);
}
#endif

TEST_F(CudaCluster, ARecurrentNetworkHasTheLossOfCpus) {
  const AdamJob job = {.epochs = 1, .is_recurrent = true};
  TestCluster cpus(/*ps_count=*/1, /*worker_count=*/1);
  cpus.StartAll();
  const Trained expected = Train(&cpus, job);
  EXPECT_NEAR(TrainOnGpus(2, "3", job).loss, expected.loss, 1e-4 * expected.loss);
}

TEST_F(CudaCluster, BatchesOfAGpuAndACpuAreCountedExactlyThroughKills) {
  TestCluster cluster(/*ps_count=*/2, /*worker_count=*/2);
  cluster.UseProgram("worker", kWorkerWithCuda);
  const std::vector<std::string> gpu = {"--device", "cuda"};
  for (const char* type : {"chief", "ps"}) {
    for (int i = 0; i < (std::string(type) == "ps" ? 2 : 1); ++i) cluster.Start(type, i);
  }
  cluster.Start("worker", 0, gpu);
  cluster.Start("worker", 1, {"--device", "cpu"});
  const CountingJob job = EndlessCountingJob();
  const CommandResult submitted =
      cluster.Cairn({"submit", WriteCountingJob(job, cluster.folder("."))});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.errors << cluster.Logs();
  // The first worker to join may have started the job alone.
  EXPECT_TRUE(WaitUntil(seconds(60), [&] {
    const std::string tasks = cluster.Cairn({"cluster", "--json"}).output;
    return tasks.find("cuda:0 (") != std::string::npos;
  })) << cluster.Logs();
  const auto both_train = [&](int64_t batches) {
    return WaitUntil(seconds(60), [&] {
      const json status = cluster.Status(job.name);
      return status.value("batches_done", int64_t{0}) >= batches &&
             status.value("workers_live", 0) == 2;
    });
  };
  int64_t batches = 0;
  for (int kills = 0; kills < 3; ++kills) {
    ASSERT_TRUE(both_train(batches + 600)) << cluster.Logs();
    batches = cluster.Status(job.name).value("batches_done", int64_t{0});
    cluster.task("worker", 0).Kill();
    cluster.Start("worker", 0, gpu);
  }
  ASSERT_TRUE(both_train(batches + 600)) << cluster.Logs();
  const auto cairn = [&](const std::vector<std::string>& arguments) {
    return cluster.Cairn(arguments);
  };
  EXPECT_EQ(CountAtCheckpoint(cairn, cluster.folder("export"), job.rows), "");
}

#ifndef CAIRN_ON_A_GPU
TEST_F(CudaCluster, AWorkerWhoseGpuIsLostEndsAndIsWorthARestart) {
  TestCluster cluster(/*ps_count=*/1, /*worker_count=*/2);
  cluster.UseProgram("worker", kWorkerWithCuda);
  cluster.AddFlags("worker", {"--device", "cuda"});
  cluster.Start("chief", 0);
  cluster.Start("ps", 0);
  cluster.Start("worker", 1);
  setenv("CAIRN_CUDA_LOSE_AFTER", "2000", 1);
  cluster.Start("worker", 0);
  unsetenv("CAIRN_CUDA_LOSE_AFTER");
  const CountingJob job = EndlessCountingJob();
  const CommandResult submitted =
      cluster.Cairn({"submit", WriteCountingJob(job, cluster.folder("."))});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.errors << cluster.Logs();
  EXPECT_EQ(cluster.task("worker", 0).Wait(seconds(60)), 129) << cluster.Logs();
  EXPECT_NE(cluster.LogOf("worker", 0).find("the device is lost: "), std::string::npos)
      << cluster.LogOf("worker", 0);
  cluster.Start("worker", 0);
  const int64_t batches = cluster.Status(job.name).value("batches_done", int64_t{0});
  EXPECT_TRUE(WaitUntil(seconds(60), [&] {
    const json status = cluster.Status(job.name);
    return status.value("workers_live", 0) == 2 &&
           status.value("batches_done", int64_t{0}) > batches + 600;
  })) << cluster.Logs();
  const auto cairn = [&](const std::vector<std::string>& arguments) {
    return cluster.Cairn(arguments);
  };
  EXPECT_EQ(CountAtCheckpoint(cairn, cluster.folder("export"), job.rows), "");
}
#endif

}  // namespace
}  // namespace cairn::testing
