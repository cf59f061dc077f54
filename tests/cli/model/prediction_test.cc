#include "cli/model/prediction.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/example_job.h"
#include "tests/cli/worker_script.h"

namespace cairn::cli {
namespace {

using ::testing::ElementsAre;

using Files = std::vector<std::string>;

// The validation data of the example job have scale 2.
TEST(PredictionTest, NumpyFilesAreReadAsSuchWhateverTheJobHas) {
  proto::JobPlan plan = ExamplePlan();
  plan.mutable_job()->mutable_validation()->mutable_idx()->add_labels("y.idx");
  plan.mutable_job()->mutable_validation()->add_sample_weight("w.npy");
  const auto source = PredictionSource(plan, {.files = {"x.npy"}});
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(source->npy().features(), ElementsAre("x.npy"));
  EXPECT_TRUE(source->npy().labels().empty());
  EXPECT_TRUE(source->sample_weight().empty());
  EXPECT_EQ(source->scale(), 2);
  EXPECT_EQ(PredictionSource(plan, {.files = {"x.npy"}, .scale = 0.5})->scale(), 0.5);
  EXPECT_THAT(PredictionSource(plan, {.files = {"x.npy"}, .rows = std::pair(3, 7)})->rows(),
              ::testing::ElementsAre(3, 7));
}

TEST(PredictionTest, OtherFilesHaveTheFormatAndTheColumnsOfTheJobsData) {
  proto::JobPlan plan = ExamplePlan();
  proto::Job& job = *plan.mutable_job();
  job.mutable_train()->mutable_csv()->add_files("train.csv");
  job.mutable_train()->mutable_csv()->add_labels()->set_name("y");
  job.mutable_train()->set_scale(3);
  job.clear_validation();
  const auto source = PredictionSource(plan, {.files = {"a.csv", "b.csv"}});
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(source->csv().files(), ElementsAre("a.csv", "b.csv"));
  EXPECT_EQ(source->csv().labels(0).name(), "y");
  EXPECT_EQ(source->scale(), 3);
  job.mutable_train()->mutable_idx()->add_features("x.idx");
  EXPECT_THAT(PredictionSource(plan, {.files = {"new.gz"}})->idx().features(),
              ElementsAre("new.gz"));
  job.mutable_train()->mutable_cifar10();
  EXPECT_THAT(PredictionSource(plan, {.files = {"a", "b"}})->cifar10().files(),
              ElementsAre("a", "b"));
}

TEST(PredictionTest, FilesThatAreNotTheModelsInputsAreRefused) {
  EXPECT_EQ(PredictionSource(ExamplePlan(), {.files = {"x.npy", "x.npy"}}).status().message(),
            "the model has 1 input, and --input is given 2 times; give it once for each input, in "
            "this order");
  EXPECT_EQ(PredictionSource(ExamplePlan(), {.files = {"x.npy", "x.csv"}}).status().message(),
            "--input: some files are .npy and some are not");
}

TEST(PredictionTest, EveryOutputComesFromTheWorker) {
  OfflineOptions options;
  options.worker_program = testing::TempDir() + "/prediction_worker";
  // EvaluationResult.outputs on the wire, twice field 3, 7 bytes: field 1, the name; field 2,
  // packed, the shape. The values are 1; 2 and -2.
  WriteWorkerScript(options.worker_program,
                    "printf '\\032\\007\\012\\001a\\022\\002\\001\\001"
                    "\\032\\007\\012\\001b\\022\\002\\001\\002' > $result\n"
                    "printf '\\000\\000\\200\\077' > $output\n"
                    "printf '\\000\\000\\000\\100\\000\\000\\000\\300' > $output2");
  proto::JobPlan plan = ExamplePlan();
  plan.mutable_model()->add_outputs(plan.model().inputs(0));
  const auto predictions = Predict({plan, ExampleManifest(), ExampleValues()}, {.files = {"x.npy"}},
                                   {.machine = options});
  ASSERT_TRUE(predictions.ok()) << predictions.status();
  ASSERT_EQ(predictions->size(), 2u);
  EXPECT_EQ((*predictions)[0].output, "a");
  EXPECT_THAT((*predictions)[0].shape, ElementsAre(1, 1));
  EXPECT_THAT((*predictions)[0].values, ElementsAre(1));
  EXPECT_EQ((*predictions)[1].output, "b");
  EXPECT_THAT((*predictions)[1].shape, ElementsAre(1, 2));
  EXPECT_THAT((*predictions)[1].values, ElementsAre(2, -2));
}

}  // namespace
}  // namespace cairn::cli
