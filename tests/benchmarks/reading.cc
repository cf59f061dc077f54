// The training data of a job, read batch by batch as a worker reads them, and nothing computed. For
// reading.py.
//
// Usage: reading JOB.json MEMORY EPOCHS
//
// MEMORY: as the worker's --data_memory, in bytes. Prints the seconds of the inspection, then those
// of each epoch, and last the sum of the values of all inputs of one more, by which two readers of
// the same data are compared.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "cli/job_file.h"
#include "tests/benchmarks/or_exit.h"
#include "worker/data/batch_loader.h"
#include "worker/job_data.h"
#include "worker/job_model.h"
#include "worker/offline_evaluation.h"

namespace cairn::worker {
namespace {

// As a worker, whose leases go so far ahead.
constexpr int64_t kStepsAhead = 64;

double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

proto::JobPlan Inspect(const proto::Job& job) {
  proto::EvaluationTask task;
  *task.mutable_plan()->mutable_job() = job;
  *task.mutable_plan()->mutable_model() = ReadSpec(job.model().c_str());
  return OrExit(InspectOffline(task));
}

// The values of the inputs, which are floats.
double SumOf(const LoadedBatch& batch) {
  double sum = 0;
  for (const std::vector<std::byte>& input : batch.inputs) {
    for (size_t at = 0; at < input.size(); at += sizeof(float)) {
      float value;
      std::memcpy(&value, input.data() + at, sizeof value);
      sum += value;
    }
  }
  return sum;
}

void Run(const std::string& file, uint64_t memory, int64_t epochs) {
  const proto::Job job = OrExit(cli::ReadJobFile(file));
  proto::JobPlan plan;
  std::printf("%.4f\n", SecondsOf([&] { plan = Inspect(job); }));
  const JobModel model = OrExit(JobModel::Create(plan.job(), plan.model()));
  DataStorage::Options storage;
  storage.memory_bytes = memory;
  const JobData data = OrExit(LoadJobData(plan, model, storage, true, false));
  BatchLoader loader(data.train, BatchSampler::ForTraining(plan), data.storage);
  int64_t batch = 0;
  std::vector<int64_t> next(BatchLoader::kMostAhead);
  const auto read_epoch = [&](const std::function<void(const LoadedBatch&)>& visit) {
    for (const int64_t end = batch + plan.batches_per_epoch(); batch < end; ++batch) {
      std::iota(next.begin(), next.end(), batch + 1);
      visit(*OrExit(loader.Get(batch, next, batch + kStepsAhead)));
    }
  };
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    std::printf("%.4f\n", SecondsOf([&] { read_epoch([](const LoadedBatch&) {}); }));
  }
  double sum = 0;
  read_epoch([&sum](const LoadedBatch& read) { sum += SumOf(read); });
  std::printf("%.9g\n", sum);
}

}  // namespace
}  // namespace cairn::worker

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: reading JOB.json MEMORY EPOCHS\n");
    return 2;
  }
  cairn::worker::Run(argv[1], std::strtoull(argv[2], nullptr, 10), std::atoll(argv[3]));
  return 0;
}
