#include "worker/offline_evaluation.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/create_device.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::NpyBytes;
using cairn::testing::Raw;
using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;

// y = 3 a + 5 b, on seven examples of which the last batch has three; y is wrong by 0, 1, ... 6.
class OfflineEvaluationTest : public ::testing::Test {
 protected:
  OfflineEvaluationTest() {
    *task_.mutable_plan() = CountingPlan({.rows = 2, .batch_size = 4, .validation = true});
    task_.mutable_plan()->mutable_job()->add_metrics("mse");
    auto& npy = *task_.mutable_plan()->mutable_job()->mutable_validation()->mutable_npy();
    std::vector<float> x, y;
    for (int i = 0; i < 7; ++i) {
      x.insert(x.end(), {static_cast<float>(i), 1.0f});
      y.push_back(3.0f * static_cast<float>(i) + 5 + static_cast<float>(i));
    }
    npy.set_features(0, WriteDataFile("offline_x.npy", NpyBytes("<f4", "(7, 2)", Raw(x))));
    npy.set_labels(0, WriteDataFile("offline_y.npy", NpyBytes("<f4", "(7, 1)", Raw(y))));
    WriteValues({3, 5});
    task_.set_result_file(::testing::TempDir() + "/offline_result");
  }

  void WriteValues(const std::vector<float>& values) {
    task_.set_values_file(WriteDataFile("offline_values", Raw(values)));
  }

  proto::EvaluationTask task_;
  std::unique_ptr<nn::Device> device_ = *nn::CreateDevice("cpu");
};

TEST_F(OfflineEvaluationTest, MeansAreOverExamplesAndNotOverBatches) {
  const auto record = EvaluateOffline(task_, 1, device_.get());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->examples(), 7);
  EXPECT_DOUBLE_EQ(record->loss(), (0 + 1 + 2 + 3 + 4 + 5 + 6) / 7.0);
  ASSERT_EQ(record->metrics_size(), 1);
  EXPECT_DOUBLE_EQ(record->metrics(0), (0 + 1 + 4 + 9 + 16 + 25 + 36) / 7.0);
}

TEST_F(OfflineEvaluationTest, ValuesOfAnotherModelAreRefused) {
  for (const std::vector<float>& values : {std::vector<float>{3}, {3, 5, 7}}) {
    WriteValues(values);
    EXPECT_EQ(EvaluateOffline(task_, 1, device_.get()).status().code(),
              absl::StatusCode::kDataLoss);
  }
}

TEST_F(OfflineEvaluationTest, ATaskIsAFileAndSoIsItsResult) {
  const std::string file = WriteDataFile("offline_task", task_.SerializeAsString());
  ASSERT_TRUE(RunEvaluationTask(file, 1, device_.get()).ok());
  proto::EvaluationResult result;
  std::ifstream stream(task_.result_file());
  ASSERT_TRUE(result.ParseFromIstream(&stream));
  EXPECT_EQ(result.error(), "");
  EXPECT_EQ(result.record().examples(), 7);
}

TEST_F(OfflineEvaluationTest, DataThatCannotBeReadAreNamedInTheResult) {
  task_.mutable_plan()->mutable_job()->mutable_validation()->mutable_npy()->set_features(
      0, "/gone.npy");
  const std::string file = WriteDataFile("offline_task", task_.SerializeAsString());
  ASSERT_TRUE(RunEvaluationTask(file, 1, device_.get()).ok());
  proto::EvaluationResult result;
  std::ifstream stream(task_.result_file());
  ASSERT_TRUE(result.ParseFromIstream(&stream));
  EXPECT_THAT(result.error(), HasSubstr("/gone.npy"));
}

TEST_F(OfflineEvaluationTest, WhatIsNoTaskIsRefused) {
  EXPECT_THAT(RunEvaluationTask("/no/task", 1, device_.get()).ToString(), HasSubstr("/no/task"));
}

}  // namespace
}  // namespace cairn::worker
