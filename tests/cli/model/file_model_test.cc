#include "cli/model/file_model.h"

#include "cli/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/example_job.h"
#include "tests/cli/worker_script.h"

// tests/interop/formats/model_commands_test.py has the numbers, with the libraries that wrote the
// files as judges.

namespace cairn::cli {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FileModelTest : public testing::Test {
 protected:
  FileModelTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "/file_model_" + test->name();
    // EvaluationResult.plan with 7 examples, as in offline_task_test.cc.
    options_.machine.worker_program = folder_ + "/worker";
    WriteWorkerScript(options_.machine.worker_program,
                      "printf '\\042\\002\\060\\007' > ${values%0}");
    options_.machine.environment = {"PATH=/usr/bin:/bin", "TMPDIR=" + testing::TempDir()};
  }

  // A TF.js model of the example.
  std::string WriteModel() {
    std::vector<float> weights;
    for (const auto& values : ExampleValues()) {
      weights.insert(weights.end(), values.begin(), values.end());
    }
    const json model = {{"format", "layers-model"},
                        {"modelTopology", {{"model_config", json::parse(ExampleModelJson())}}},
                        {"weightsManifest",
                         {{{"paths", {"weights.bin"}},
                           {"weights",
                            {{{"name", "dense/kernel"}, {"shape", {4, 3}}, {"dtype", "float32"}},
                             {{"name", "dense/bias"}, {"shape", {3}}, {"dtype", "float32"}}}}}}}};
    EXPECT_TRUE(WriteFile(folder_ + "/weights.bin", {reinterpret_cast<const char*>(weights.data()),
                                                     weights.size() * sizeof(float)})
                    .ok());
    EXPECT_TRUE(WriteFile(folder_ + "/model.json", model.dump()).ok());
    return folder_ + "/model.json";
  }

  std::string ErrorOf(const std::string& file, const std::string& job_file = "") {
    options_.job_file = job_file;
    return std::string(ReadFileModel(file, options_).status().message());
  }

  std::string folder_;
  FileModelOptions options_;
};

TEST_F(FileModelTest, WithoutAJobFileItHasTheModelAndItsValues) {
  const auto model = ReadFileModel(WriteModel(), options_);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->variables, ExampleValues());
  EXPECT_EQ(model->Title(), folder_ + "/model.json");
  ASSERT_EQ(model->plan.partition().variables_size(), 2);
  EXPECT_EQ(model->plan.partition().variables(1).name(), "dense/bias");
  EXPECT_THAT(model->plan.partition().variables(0).shape(), ElementsAre(4, 3));
  EXPECT_FALSE(model->plan.job().has_train());
}

TEST_F(FileModelTest, AJobFileDescribesItsDataAndNotItsTraining) {
  options_.job_file = R"({"loss": "mse", "metrics": ["mae"], "batch_size": 5, "epochs": 30,
      "callbacks": ["terminate_on_nan"], "validation_steps": 2, "strategy": {"multi_worker_mirrored": {}},
      "validation": {"npy": {"features": "/x.npy", "labels": "/y.npy"}}})";
  options_.evaluates = true;
  const auto model = ReadFileModel(WriteModel(), options_);
  ASSERT_TRUE(model.ok()) << model.status();
  const proto::Job& job = model->plan.job();
  EXPECT_EQ(model->plan.examples(), 7) << "of the worker";
  EXPECT_EQ(job.loss().name(), "mse");
  EXPECT_EQ(job.validation().npy().features(0), "/x.npy");
  EXPECT_EQ(job.train().npy().features(0), "/x.npy");
  EXPECT_THAT(job.model(), EndsWith("/model.json"));
  EXPECT_EQ(job.validation_steps(), 2);
  EXPECT_EQ(job.callbacks_size(), 0);
  EXPECT_FALSE(job.has_strategy());
}

TEST_F(FileModelTest, ErrorsNameTheFileThatIsWrong) {
  const std::string model = WriteModel();
  const std::string data = R"("train": {"npy": {"features": "/x.npy", "labels": "/y.npy"}})";
  EXPECT_THAT(ErrorOf("/gone.keras"), HasSubstr("/gone.keras"));
  EXPECT_THAT(ErrorOf(model, "/gone.json"), HasSubstr("cannot read /gone.json"));
  EXPECT_THAT(ErrorOf(model, "{"), StartsWith("--job_file: not JSON: line 1"));
  EXPECT_THAT(ErrorOf(model, model), HasSubstr("this is a model; a job file names it"));
  EXPECT_THAT(ErrorOf(model, "{\"loss\": \"mse\"}"), StartsWith("--job_file: train: is missing"));
  EXPECT_THAT(ErrorOf(model, "{" + data + "}"), StartsWith("--job_file: loss: is missing"));
  EXPECT_THAT(ErrorOf(model, "{\"loss\": {\"b\": \"mse\"}, " + data + "}"),
              HasSubstr("no output 'b'"));
  const std::string models = R"json({"models": {"a": "a.json"}, "objectives": [{"trains": "a",
      "optimizer": "sgd", "losses": [{"of": "a(data)", "target": 1, "loss": "mse"}]}], )json";
  EXPECT_THAT(ErrorOf(model, models + data + "}"), HasSubstr("models: the job has several models"));
  ASSERT_TRUE(WriteFile(folder_ + "/keras.json", ExampleModelJson()).ok());
  EXPECT_THAT(ErrorOf(folder_ + "/keras.json"), HasSubstr("it has no weights"));
  options_.evaluates = true;
  EXPECT_THAT(ErrorOf(model), HasSubstr("neither losses nor data"));
}

TEST_F(FileModelTest, StandardizingNeedsTheTrainingData) {
  const std::string model = WriteModel();
  // EvaluationResult.plan.job.train.standardize is not in the script's reply: the job file counts.
  const std::string job = R"({"loss": "mse", "validation": {"standardize": true,
      "npy": {"features": "/x.npy", "labels": "/y.npy"}}})";
  EXPECT_THAT(ErrorOf(model, job),
              StartsWith("--job_file: train: is missing; the data are prepared"));
}

}  // namespace
}  // namespace cairn::cli
