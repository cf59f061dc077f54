#include "worker/data/batch_loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "common/failpoint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/data/data_files.h"
#include "worker/job_data.h"
#include "worker/job_model.h"

namespace {

// While this is set, allocations of at least this many bytes fail.
std::atomic<size_t> g_too_large = SIZE_MAX;

}  // namespace

void* operator new(size_t bytes) {
  void* const memory = bytes < g_too_large ? std::malloc(bytes) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return bytes < g_too_large ? std::malloc(bytes) : nullptr;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace cairn::worker {
namespace {

using cairn::testing::NpyBytes;
using cairn::testing::Raw;
using cairn::testing::WriteDataFile;

// Ten examples whose feature and label are their index.
std::shared_ptr<const Dataset> Indices(const DataStorage::Options& storage = {}) {
  std::vector<float> numbers;
  for (int i = 0; i < 10; ++i) numbers.push_back(static_cast<float>(i));
  proto::JobPlan plan = CountingPlan({.rows = 1});
  proto::NpySource& npy = *plan.mutable_job()->mutable_train()->mutable_npy();
  npy.set_features(0, WriteDataFile("i.npy", NpyBytes("<f4", "(10, 1)", Raw(numbers))));
  npy.set_labels(0, npy.features(0));
  const auto model = JobModel::Create(plan.job(), plan.model());
  return LoadJobData(plan, *model, storage, true, false)->train;
}

std::vector<float> FeaturesOf(const LoadedBatch& batch) {
  std::vector<float> values(batch.examples);
  EXPECT_EQ(batch.inputs[0].size(), values.size() * sizeof(float));
  std::memcpy(values.data(), batch.inputs[0].data(), batch.inputs[0].size());
  return values;
}

TEST(BatchLoaderTest, ABatchIsTheSameWhetherItWasLoadedAheadOrNot) {
  const auto data = Indices();
  const BatchSampler order(10, 4, true, 3);
  BatchLoader ahead(data, order);
  BatchLoader plain(data, order);
  for (int64_t batch = 0; batch < 30; ++batch) {
    const LoadedBatch& one = **ahead.Get(batch, {batch + 1});
    EXPECT_EQ(one.batch, batch);
    EXPECT_EQ(one.examples, batch % 3 == 2 ? 2 : 4);
    EXPECT_EQ(FeaturesOf(one), FeaturesOf(**plain.Get(batch, {})));
    EXPECT_EQ(one.labels, one.inputs);
  }
}

TEST(BatchLoaderTest, AWrongGuessChangesNothing) {
  BatchLoader loader(Indices(), BatchSampler(10, 4, false, 0));
  EXPECT_EQ(FeaturesOf(**loader.Get(0, {2})), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(FeaturesOf(**loader.Get(1, {2})), (std::vector<float>{4, 5, 6, 7}));
  EXPECT_EQ(FeaturesOf(**loader.Get(2, {0})), (std::vector<float>{8, 9}));
  EXPECT_EQ(FeaturesOf(**loader.Get(2, {})), (std::vector<float>{8, 9}));
}

TEST(BatchLoaderTest, KnowsWhichBatchesAreNotFinite) {
  const std::vector<float> good(10, 1.0f);
  for (const float bad : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> numbers = good;
    numbers[5] = bad;
    for (const bool in_labels : {false, true}) {
      proto::JobPlan plan = CountingPlan({.rows = 1});
      proto::DataSource& train = *plan.mutable_job()->mutable_train();
      const auto write = [](const std::string& name, const std::vector<float>& values) {
        return WriteDataFile(name, NpyBytes("<f4", "(10, 1)", Raw(values)));
      };
      train.mutable_npy()->set_features(0, write("x.npy", in_labels ? good : numbers));
      train.mutable_npy()->set_labels(0, write("y.npy", in_labels ? numbers : good));
      train.set_allow_nan(true);
      const auto model = JobModel::Create(plan.job(), plan.model());
      BatchLoader loader(LoadJobData(plan, *model, {}, true, false)->train,
                         BatchSampler(10, 4, false, 0));
      EXPECT_TRUE(loader.IsFinite(**loader.Get(0, {})));
      EXPECT_FALSE(loader.IsFinite(**loader.Get(1, {2})));
      EXPECT_TRUE(loader.IsFinite(**loader.Get(2, {})));
    }
  }
}

TEST(BatchLoaderTest, EndsWhileABatchIsBeingLoaded) {
  const auto data = Indices();
  for (int i = 0; i < 200; ++i) {
    BatchLoader loader(data, BatchSampler(10, 4, false, 0));
    ASSERT_TRUE(loader.Get(0, {1}).ok());
  }
}

TEST(BatchLoaderTest, DataOnDiskMakeTheSameBatchesAsDataInMemory) {
  BatchLoader memory(Indices(), BatchSampler(10, 4, true, 3));
  const auto on_disk = Indices({.memory_bytes = 0});
  EXPECT_FALSE(on_disk->in_memory());
  BatchLoader disk(on_disk, BatchSampler(10, 4, true, 3));
  for (int64_t batch = 0; batch < 30; ++batch) {
    EXPECT_EQ(FeaturesOf(**disk.Get(batch, {batch + 1})),
              FeaturesOf(**memory.Get(batch, {batch + 1})));
  }
}

TEST(BatchLoaderTest, AFileThatChangesWhileItIsReadIsAnErrorThatNamesIt) {
  BatchLoader loader(Indices({.memory_bytes = 0}), BatchSampler(10, 4, false, 0));
  ASSERT_TRUE(loader.Get(0, {}).ok());
  WriteDataFile("i.npy", "short");
  const auto batch = loader.Get(1, {});
  EXPECT_EQ(batch.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(batch.status().message()), ::testing::HasSubstr("/i.npy"));
}

// The `count` batches from `first` on.
std::vector<int64_t> From(int64_t first, int count = BatchLoader::kMostAhead) {
  std::vector<int64_t> batches(count);
  std::iota(batches.begin(), batches.end(), first);
  return batches;
}

// Whether the loader's thread makes so many batches ready, and no more.
bool BecomesReady(const BatchLoader& loader, int count) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (loader.ready() < count && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  return loader.ready() == count;
}

constexpr int kIndexBytes = 8;  // Of a batch of one example: a feature and a label.

TEST(BatchLoaderTest, AWaitAfterTheLoaderWasAheadMakesItGoFurtherAhead) {
  const auto storage = std::make_shared<DataStorage>(DataStorage::Options{.memory_bytes = 1000});
  BatchLoader loader(Indices({.memory_bytes = 0}), BatchSampler(10, 1, false, 0), storage);
  ASSERT_TRUE(loader.Get(0, From(1)).ok());
  EXPECT_TRUE(BecomesReady(loader, 1));
  // Batch 1 is ready, and its step waits for nothing.
  ASSERT_TRUE(loader.Get(1, From(2)).ok());
  EXPECT_TRUE(BecomesReady(loader, 1));
  int64_t batch = 1;
  for (int depth = 1; depth <= 32; depth *= 2) {
    EXPECT_TRUE(BecomesReady(loader, std::min(depth, BatchLoader::kMostAhead))) << depth;
    // The first of the known batches that is not ready; at last, when all are, the last one.
    batch += std::min(depth + 1, BatchLoader::kMostAhead);
    const auto got = loader.Get(batch, From(batch + 1));
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(FeaturesOf(**got), std::vector<float>({static_cast<float>(batch % 10)}));
  }
  EXPECT_TRUE(BecomesReady(loader, BatchLoader::kMostAhead));
  for (int i = 0; i < 20; ++i) {
    ++batch;
    const auto got = loader.Get(batch, From(batch + 1));
    EXPECT_EQ(FeaturesOf(**got), std::vector<float>({static_cast<float>(batch % 10)}));
  }
}

TEST(BatchLoaderTest, BatchesAheadThatAreNoLongerWantedMakeRoomForOthers) {
  const auto storage = std::make_shared<DataStorage>(DataStorage::Options{.memory_bytes = 1000});
  BatchLoader loader(Indices({.memory_bytes = 0}), BatchSampler(10, 1, false, 0), storage);
  ASSERT_TRUE(loader.Get(0, From(1)).ok());
  ASSERT_TRUE(BecomesReady(loader, 1));
  ASSERT_TRUE(loader.Get(2, From(3)).ok());
  ASSERT_TRUE(BecomesReady(loader, 2));
  // Batches 3 and 4 are of another worker now.
  ASSERT_TRUE(loader.Get(5, From(7, 1)).ok());
  EXPECT_TRUE(BecomesReady(loader, 1));
  EXPECT_EQ(FeaturesOf(**loader.Get(7, From(3))), std::vector<float>({7}));
  EXPECT_TRUE(BecomesReady(loader, 4));
  EXPECT_EQ(FeaturesOf(**loader.Get(3, {})), std::vector<float>({3}));
  EXPECT_EQ(loader.ready(), 0);
}

TEST(BatchLoaderTest, BatchesAheadTakeTheMemoryThatDataLeave) {
  const auto storage =
      std::make_shared<DataStorage>(DataStorage::Options{.memory_bytes = 4 * kIndexBytes});
  ASSERT_TRUE(storage->TakeMemory(kIndexBytes));
  {
    BatchLoader loader(Indices({.memory_bytes = 0}), BatchSampler(10, 1, false, 0), storage);
    int64_t batch = 0;
    for (const int depth : {1, 2, 4, 4, 4}) {
      ASSERT_TRUE(loader.Get(batch, From(batch + 1)).ok());
      EXPECT_TRUE(BecomesReady(loader, depth));
      batch += depth + 1;
    }
    EXPECT_FALSE(storage->TakeMemory(1));
  }
  EXPECT_TRUE(storage->TakeMemory(3 * kIndexBytes)) << "the loader returns its memory";
}

TEST(BatchLoaderTest, BatchesThatBecomeKnownDuringAStepAreAssembledInIt) {
  BatchLoader loader(Indices(), BatchSampler(10, 1, false, 0));
  ASSERT_TRUE(loader.Get(3, {}).ok());
  loader.Expect({2, 3});
  loader.Expect({4, 5});
  EXPECT_TRUE(BecomesReady(loader, 1));
  loader.Expect({4, 5, 6});
  ASSERT_TRUE(ArmFailpoint("worker.read_batch=error").ok());
  const auto got = loader.Get(4, {});
  DisarmFailpoints();
  ASSERT_TRUE(got.ok()) << "batch 4 was not assembled ahead";
  EXPECT_EQ(FeaturesOf(**got), std::vector<float>({4}));
  EXPECT_EQ(loader.ready(), 0);
  EXPECT_EQ(FeaturesOf(**loader.Get(5, {})), std::vector<float>({5}));
}

TEST(BatchLoaderTest, DataInMemoryAreAssembledOneBatchAhead) {
  const auto storage = std::make_shared<DataStorage>(DataStorage::Options{.memory_bytes = 1000});
  BatchLoader loader(Indices(), BatchSampler(10, 1, false, 0), storage);
  for (int64_t batch = 0; batch < 20; batch += 2) {
    ASSERT_TRUE(loader.Get(batch, From(batch + 1)).ok());
    EXPECT_TRUE(BecomesReady(loader, 1));
  }
  EXPECT_TRUE(storage->TakeMemory(1000));
}

// An exception on a reader's thread would end the process.
TEST(BatchLoaderTest, ALackOfMemoryWhileFilesAreReadIsAnErrorAndPasses) {
  constexpr int kFeatures = 1 << 18;
  proto::JobPlan plan = CountingPlan({.rows = kFeatures});
  proto::NpySource& npy = *plan.mutable_job()->mutable_train()->mutable_npy();
  const std::vector<float> numbers(2 * kFeatures);
  npy.set_features(0, WriteDataFile("x.npy", NpyBytes("<f4", "(2, 262144)", Raw(numbers))));
  npy.set_labels(0, WriteDataFile("y.npy", NpyBytes("<f4", "(2, 1)", Raw<float>({0, 1}))));
  const auto model = JobModel::Create(plan.job(), plan.model());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto data = LoadJobData(plan, *model, {.memory_bytes = 0}, true, false);
  ASSERT_TRUE(data.ok()) << data.status();
  BatchLoader loader(data->train, BatchSampler(2, 1, false, 0));
  ASSERT_TRUE(loader.Get(0, {}).ok());
  g_too_large = kFeatures * sizeof(float);  // The size of a row.
  const absl::Status status = loader.Get(1, {}).status();
  g_too_large = SIZE_MAX;
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_TRUE(loader.Get(1, {}).ok());
}

}  // namespace
}  // namespace cairn::worker
