#include "worker/data/batch_loader.h"

#include <cstring>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/data/data_files.h"
#include "worker/job_data.h"
#include "worker/job_model.h"

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
  const BatchOrder order(10, 4, true, 3);
  BatchLoader ahead(data, order);
  BatchLoader plain(data, order);
  for (int64_t batch = 0; batch < 30; ++batch) {
    const LoadedBatch& one = **ahead.Get(batch, batch + 1);
    EXPECT_EQ(one.batch, batch);
    EXPECT_EQ(one.examples, batch % 3 == 2 ? 2 : 4);
    EXPECT_EQ(FeaturesOf(one), FeaturesOf(**plain.Get(batch, std::nullopt)));
    EXPECT_EQ(one.labels, one.inputs);
  }
}

TEST(BatchLoaderTest, AWrongGuessChangesNothing) {
  BatchLoader loader(Indices(), BatchOrder(10, 4, false, 0));
  EXPECT_EQ(FeaturesOf(**loader.Get(0, 2)), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(FeaturesOf(**loader.Get(1, 2)), (std::vector<float>{4, 5, 6, 7}));
  EXPECT_EQ(FeaturesOf(**loader.Get(2, 0)), (std::vector<float>{8, 9}));
  EXPECT_EQ(FeaturesOf(**loader.Get(2, std::nullopt)), (std::vector<float>{8, 9}));
}

TEST(BatchLoaderTest, EndsWhileABatchIsBeingLoaded) {
  const auto data = Indices();
  for (int i = 0; i < 200; ++i) {
    BatchLoader loader(data, BatchOrder(10, 4, false, 0));
    ASSERT_TRUE(loader.Get(0, 1).ok());
  }
}

TEST(BatchLoaderTest, DataOnDiskMakeTheSameBatchesAsDataInMemory) {
  BatchLoader memory(Indices(), BatchOrder(10, 4, true, 3));
  const auto on_disk = Indices({.memory_bytes = 0});
  EXPECT_FALSE(on_disk->in_memory());
  BatchLoader disk(on_disk, BatchOrder(10, 4, true, 3));
  for (int64_t batch = 0; batch < 30; ++batch) {
    EXPECT_EQ(FeaturesOf(**disk.Get(batch, batch + 1)), FeaturesOf(**memory.Get(batch, batch + 1)));
  }
}

TEST(BatchLoaderTest, AFileThatChangesWhileItIsReadIsAnErrorThatNamesIt) {
  BatchLoader loader(Indices({.memory_bytes = 0}), BatchOrder(10, 4, false, 0));
  ASSERT_TRUE(loader.Get(0, std::nullopt).ok());
  WriteDataFile("i.npy", "short");
  const auto batch = loader.Get(1, std::nullopt);
  EXPECT_EQ(batch.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(batch.status().message()), ::testing::HasSubstr("/i.npy"));
}

}  // namespace
}  // namespace cairn::worker
