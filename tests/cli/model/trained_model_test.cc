#include "cli/model/trained_model.h"

#include "cli/files.h"
#include "cli/state_source.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/formats/tfjs_layers.h"
#include "tests/cli/example_job.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

TEST(TrainedModelTest, NewestCheckpointIsReadUnlessOneIsNamed) {
  const std::string state = testing::TempDir() + "/trained_model_test_state";
  WriteExampleState(state);
  auto source = StateSource::Open(state);
  ASSERT_TRUE(source.ok()) << source.status();
  for (const uint64_t checkpoint : {0, 2}) {
    const auto model = ReadTrainedModel(source->get(), "example", checkpoint);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->checkpoint.checkpoint(), 2u);
    EXPECT_EQ(model->variables, ExampleValues());
  }
  const auto unknown = ReadTrainedModel(source->get(), "example", 5);
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("no checkpoint 5; there are 2"));
}

TEST(TrainedModelTest, ExportIsReadBackWithTheImportedNames) {
  TrainedModel trained{ExamplePlan(), ExampleManifest(), ExampleValues()};
  trained.plan.mutable_model()->add_weight_names("theirs/dense/kernel");
  trained.plan.mutable_model()->add_weight_names("theirs/dense/bias");
  const std::string folder = testing::TempDir() + "/trained_model_test_export";
  ASSERT_TRUE(ExportModel(trained, folder).ok());
  const auto read = nn::ReadTfjsLayersModel(*ReadFile(folder + "/model.json"),
                                            {*ReadFile(folder + "/weights.bin")});
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->weights.size(), 2);
  EXPECT_EQ(read->weights[0].name, "theirs/dense/kernel");
  EXPECT_EQ(read->weights[0].values, ExampleValues()[0]);
  EXPECT_EQ(read->weights[1].name, "theirs/dense/bias");
  EXPECT_EQ(read->weights[1].values, ExampleValues()[1]);
}

}  // namespace
}  // namespace cairn::cli
