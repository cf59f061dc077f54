// Training steps of one worker without a network: batches loaded ahead, forward, backward,
// optimizer. Prints examples per second, for steps.py.
//
// Usage: local_step MODEL.json sgd|adam SECONDS

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "nn/create_device.h"
#include "nn/optimizer.h"
#include "tests/benchmarks/or_exit.h"
#include "tests/worker/strategy/local_strategy.h"
#include "worker/job_data.h"
#include "worker/job_model.h"
#include "worker/trainer.h"

namespace cairn::worker {
namespace {

constexpr char kData[] = "/usr/share/datasets/fashion-mnist/";
constexpr int64_t kBatchSize = 128;
constexpr int64_t kExamples = 60000;

proto::Job MakeJob(const std::string& optimizer) {
  proto::Job job;
  job.mutable_train()->mutable_idx()->add_features(std::string(kData) +
                                                   "train-images-idx3-ubyte.gz");
  job.mutable_train()->mutable_idx()->add_labels(std::string(kData) + "train-labels-idx1-ubyte.gz");
  job.mutable_train()->set_scale(1.0 / 255);
  job.mutable_loss()->set_name("sparse_categorical_crossentropy");
  job.mutable_optimizer()->set_name(optimizer);
  job.mutable_optimizer()->set_learning_rate(0.001);
  return job;
}

double ExamplesPerSecond(Trainer* trainer, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto step = [&](int64_t batch) {
    OrExit(trainer->Step({.batch = batch, .next = {batch + 1}}, [] { return false; }));
  };
  int64_t batch = 0;
  while (batch < 10) step(batch++);
  const auto start = Clock::now();
  const int64_t first = batch;
  std::chrono::duration<double> elapsed{};
  while (elapsed.count() < seconds) {
    step(batch++);
    elapsed = Clock::now() - start;
  }
  return static_cast<double>((batch - first) * kBatchSize) / elapsed.count();
}

proto::JobPlan PlanOf(const proto::Job& job) {
  proto::JobPlan plan;
  *plan.mutable_job() = job;
  return plan;
}

void Run(const char* model_file, const std::string& optimizer, double seconds) {
  const proto::Job job = MakeJob(optimizer);
  const JobModel model = OrExit(JobModel::Create(job, ReadSpec(model_file)));
  const std::unique_ptr<nn::Device> device = OrExit(nn::CreateDevice("cpu"));
  nn::Executor::Options options;
  options.batch_size = kBatchSize;
  auto executor =
      OrExit(nn::Executor::Create(model.model.get(), &model.objective, options, device.get()));
  auto strategy = OrExit(LocalStrategy::Create(model.model.get(), executor.get(),
                                               OrExit(nn::CreateOptimizer(job.optimizer())),
                                               /*seed=*/1, [](const proto::BatchRecord&) {}));
  BatchLoader loader(OrExit(LoadJobData(PlanOf(job), model, {}, true, false)).train,
                     BatchSampler(kExamples, kBatchSize, /*shuffle=*/true, /*seed=*/1));
  const RealClock clock;
  Activity activity(&clock);
  Trainer trainer(executor.get(), &loader, strategy.get(), &activity, /*seed=*/1);
  std::printf("%.1f\n", ExamplesPerSecond(&trainer, seconds));
}

}  // namespace
}  // namespace cairn::worker

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: local_step MODEL.json sgd|adam SECONDS\n");
    return 2;
  }
  cairn::worker::Run(argv[1], argv[2], std::atof(argv[3]));
  return 0;
}
