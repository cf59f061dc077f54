#include "worker/offline_evaluation.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
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

// y = 3 a + 5 b on seven examples; the last batch has three. The labels are off by 0, 1, ... 6.
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

TEST_F(OfflineEvaluationTest, ValuesOfAnotherModelAreRejected) {
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

TEST_F(OfflineEvaluationTest, ATaskThatInspectsCompletesThePlan) {
  proto::Job& job = *task_.mutable_plan()->mutable_job();
  *job.mutable_train() = job.validation();
  job.mutable_train()->set_standardize(true);
  job.set_batch_size(4);
  job.set_epochs(1);
  task_.set_inspects(true);
  const auto plan = InspectOffline(task_);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->examples(), 7);
  EXPECT_EQ(plan->validation_examples(), 7);
  EXPECT_EQ(plan->batch_size(), 4);
  ASSERT_EQ(plan->data().inputs_size(), 1);
  EXPECT_DOUBLE_EQ(plan->data().inputs(0).mean(0), 3);
  EXPECT_DOUBLE_EQ(plan->data().inputs(0).deviation(0), 2);
  job.mutable_train()->mutable_npy()->set_labels(0, "/gone.npy");
  EXPECT_THAT(std::string(InspectOffline(task_).status().message()), HasSubstr("/gone.npy"));
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

TEST_F(OfflineEvaluationTest, AnErrorThatQuotesForeignBytesCanBeRead) {
  WriteDataFile("offline_x.npy", NpyBytes("<\xe9\x34", "(7, 2)", Raw(std::vector<float>(14))));
  const std::string file = WriteDataFile("offline_task", task_.SerializeAsString());
  ASSERT_TRUE(RunEvaluationTask(file, 1, device_.get()).ok());
  proto::EvaluationResult result;
  std::ifstream stream(task_.result_file());
  ASSERT_TRUE(result.ParseFromIstream(&stream));
  EXPECT_THAT(result.error(), HasSubstr("type '<\\xe94' is not one of"));
}

TEST_F(OfflineEvaluationTest, WhatIsNoTaskIsRefused) {
  EXPECT_THAT(RunEvaluationTask("/no/task", 1, device_.get()).ToString(), HasSubstr("/no/task"));
}

// The outputs for task_'s inputs.
class OfflinePredictionTest : public OfflineEvaluationTest {
 protected:
  OfflinePredictionTest() {
    AddOutput();
    source().mutable_npy()->clear_labels();
  }

  proto::DataSource& source() { return *task_.mutable_plan()->mutable_job()->mutable_validation(); }

  void AddOutput() {
    task_.add_predictions_files(::testing::TempDir() + "/offline_predictions" +
                                std::to_string(task_.predictions_files_size()));
  }

  // Reads the file of an output and checks that it has as many values as its shape.
  std::vector<float> Written(const proto::EvaluationResult::Output& output, int index) {
    std::ifstream file(task_.predictions_files(index), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<float> values(bytes.size() / sizeof(float));
    // An empty vector has no memory to copy to.
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    int64_t expected = 1;
    for (const int64_t length : output.shape()) expected *= length;
    EXPECT_EQ(static_cast<int64_t>(values.size()), expected) << output.ShortDebugString();
    return values;
  }

  // The result of a model with one output.
  std::vector<float> Outputs() {
    const auto outputs = PredictOffline(task_, 1, device_.get());
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    if (!outputs.ok() || outputs->size() != 1) return {};
    EXPECT_THAT((*outputs)[0].shape(), ::testing::ElementsAre(::testing::_, 1));
    return Written((*outputs)[0], 0);
  }
};

TEST_F(OfflinePredictionTest, EveryExampleHasItsOutputInItsPlace) {
  EXPECT_EQ(Outputs(), (std::vector<float>{5, 8, 11, 14, 17, 20, 23}));
}

TEST_F(OfflinePredictionTest, EveryOutputHasAFileOfItsOwn) {
  // The model's input is also its second output.
  proto::ModelSpec& model = *task_.mutable_plan()->mutable_model();
  model.add_outputs(model.inputs(0));
  EXPECT_EQ(PredictOffline(task_, 1, device_.get()).status(),
            absl::InvalidArgumentError("the model has 2 outputs, the task has files for 1"));
  AddOutput();
  const auto outputs = PredictOffline(task_, 1, device_.get());
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), 2u);
  for (int i = 0; i < 2; ++i) EXPECT_EQ((*outputs)[i].name(), model.outputs(i));
  EXPECT_EQ(Written((*outputs)[0], 0), (std::vector<float>{5, 8, 11, 14, 17, 20, 23}));
  EXPECT_THAT((*outputs)[1].shape(), ::testing::ElementsAre(7, 2));
  EXPECT_EQ(Written((*outputs)[1], 1),
            (std::vector<float>{0, 1, 1, 1, 2, 1, 3, 1, 4, 1, 5, 1, 6, 1}));
}

TEST_F(OfflinePredictionTest, AFileWithoutExamplesIsRefused) {
  const std::string file = WriteDataFile("none_x.npy", NpyBytes("<f4", "(0, 2)", ""));
  source().mutable_npy()->set_features(0, file);
  EXPECT_EQ(PredictOffline(task_, 1, device_.get()).status(),
            absl::InvalidArgumentError("--input: data file " + file + ": it holds no examples"));
}

TEST_F(OfflinePredictionTest, AFileThatCannotBeWrittenIsNamed) {
  task_.set_predictions_files(0, "/no/such/folder/file");
  EXPECT_EQ(PredictOffline(task_, 1, device_.get()).status(),
            absl::UnavailableError("cannot write /no/such/folder/file"));
}

TEST_F(OfflinePredictionTest, ManyExamplesGoThroughTheModelInBatches) {
  std::vector<float> x, expected;
  for (int i = 0; i < 1000; ++i) {
    x.insert(x.end(), {static_cast<float>(i), 0});
    expected.push_back(3 * static_cast<float>(i));
  }
  source().mutable_npy()->set_features(
      0, WriteDataFile("many_x.npy", NpyBytes("<f4", "(1000, 2)", Raw(x))));
  EXPECT_EQ(Outputs(), expected);
}

TEST_F(OfflinePredictionTest, InputsAreScaledAndThenStandardizedAsTheJobsDataWere) {
  source().set_scale(2);
  task_.mutable_plan()->mutable_job()->mutable_train()->set_standardize(true);
  proto::DataPlan::Standardization& statistics =
      *task_.mutable_plan()->mutable_data()->add_inputs();
  for (const double mean : {4.0, 1.0}) {
    statistics.add_mean(mean);
    statistics.add_deviation(0.5);
  }
  // 3 (2 a - 4) / 0.5 + 5 (2 - 1) / 0.5
  EXPECT_EQ(Outputs(), (std::vector<float>{-14, -2, 10, 22, 34, 46, 58}));
}

TEST_F(OfflinePredictionTest, CsvHasTheJobsColumnsWithOrWithoutItsLabels) {
  proto::CsvColumn kind;
  kind.set_name("kind");
  kind.set_categorical(true);
  const auto read = [&](const std::string& text) {
    proto::CsvSource& csv = *source().mutable_csv();
    csv.clear_files();
    csv.add_files(WriteDataFile("offline.csv", text));
    return Outputs();
  };
  proto::CsvSource& csv = *source().mutable_csv();
  csv.add_features()->set_name("a");
  *csv.add_features() = kind;
  csv.add_labels()->set_name("y");
  auto& vocabulary = *task_.mutable_plan()->mutable_data()->add_vocabularies();
  vocabulary.set_column("kind");
  for (const char* const name : {"cat", "dog"}) vocabulary.add_names(name);
  EXPECT_EQ(read("kind,a\ndog,2\ncat,4\n"), (std::vector<float>{11, 12}));
  EXPECT_EQ(read("y,a,kind\nwhatever,2,dog\n"), (std::vector<float>{11}));
  csv.clear_features();
  EXPECT_EQ(read("y,a,b\nwhatever,2,1\n"), (std::vector<float>{11})) << "all but the labels";
  for (const char* const name : {"a", "b"})
    task_.mutable_plan()->mutable_data()->add_csv_features(name);
  EXPECT_EQ(read("b,a\n1,2\n"), (std::vector<float>{11})) << "in the order of training";
}

TEST_F(OfflinePredictionTest, InputsThatDoNotFitAreNamed) {
  source().mutable_npy()->set_features(
      0, WriteDataFile("wrong_x.npy", NpyBytes("<f4", "(1, 3)", std::string(12, '\0'))));
  EXPECT_THAT(std::string(PredictOffline(task_, 1, device_.get()).status().message()),
              ::testing::AllOf(HasSubstr("--input: data file"), HasSubstr("wrong_x.npy")));
}

}  // namespace
}  // namespace cairn::worker
