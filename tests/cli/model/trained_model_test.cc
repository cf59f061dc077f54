#include "cli/model/trained_model.h"

#include "cli/files.h"
#include "cli/state_source.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/formats/tfjs_layers.h"
#include "tests/cli/example_job.h"
#include "tests/cli/model/fake_source.h"

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

TEST(TrainedModelTest, AnExportedFileIsNoJob) {
  const std::string state = testing::TempDir() + "/trained_model_test_file";
  WriteExampleState(state);
  const auto found = FindTrainedModel(StateSource::Open(state)->get(), state, 0);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(found.status().message()),
              HasSubstr(state + " is a file: name the job that trained the model"));
}

TEST(TrainedModelTest, AJobWithoutACheckpointSaysWhetherOneCanCome) {
  FakeSource source;
  source.status.set_job_id(7);
  source.status.set_name("young");
  source.status.set_state(proto::QUEUED);
  EXPECT_EQ(ReadTrainedModel(&source, "young", 0).status().message(),
            "job 7 (young) has no checkpoint yet (queued); once it trains take one with cairn "
            "checkpoint 7");
  source.status.set_state(proto::FAILED);
  EXPECT_EQ(ReadTrainedModel(&source, "young", 0).status().message(),
            "job 7 (young) ended without a checkpoint (failed)");
}

// Three epochs of 10 batches, with a checkpoint after each epoch and one between two of them.
FakeSource ThreeEpochs() {
  FakeSource source;
  source.status.set_job_id(7);
  source.status.set_name("young");
  source.status.set_state(proto::FINISHED);
  source.status.set_batches_per_epoch(10);
  source.status.set_total_batches(30);
  const std::vector<double> losses = {0.5, 0.25, 0.75};
  for (int epoch = 0; epoch < 3; ++epoch) {
    proto::EvaluationRecord* evaluation = source.status.add_evaluations();
    evaluation->set_epoch(epoch);
    evaluation->set_loss(losses[epoch]);
  }
  for (const int64_t batches : {10, 20, 25, 30}) {
    proto::Manifest* manifest = source.checkpoints.add_manifests();
    manifest->set_checkpoint(source.checkpoints.manifests_size());
    manifest->set_applied_batches(batches);
    manifest->mutable_ledger()->set_low_water(batches);
  }
  return source;
}

uint64_t Chosen(FakeSource source, uint64_t checkpoint, bool best) {
  CheckpointChoice choice = checkpoint;
  choice.best = best;
  const auto model = ReadTrainedModel(&source, "1", choice);
  return model.ok() ? model->checkpoint.checkpoint() : 0;
}

absl::Status BestRefused(FakeSource source) {
  CheckpointChoice choice;
  choice.best = true;
  return ReadTrainedModel(&source, "1", choice).status();
}

TEST(TrainedModelTest, TheBestIsTheOneThatACallbackKeeps) {
  FakeSource source = ThreeEpochs();
  EXPECT_EQ(Chosen(source, 0, false), 4u);
  source.status.add_best()->set_checkpoint(1);
  EXPECT_EQ(Chosen(source, 0, true), 1u);
  EXPECT_EQ(Chosen(source, 0, false), 4u);
  EXPECT_EQ(Chosen(source, 3, false), 3u);
}

TEST(TrainedModelTest, RestoredBestWeightsAreTheResultOnceTheJobHasFinished) {
  FakeSource source = ThreeEpochs();
  source.status.add_best()->set_checkpoint(2);
  source.status.mutable_best(0)->set_is_result(true);
  EXPECT_EQ(Chosen(source, 0, false), 2u);
  source.status.set_state(proto::RUNNING);
  EXPECT_EQ(Chosen(source, 0, false), 4u);
}

// Retention may have deleted the checkpoint of the best epoch. The best of the others would be a
// wrong answer.
TEST(TrainedModelTest, WithoutACallbackThatKeepsItThereIsNoBest) {
  FakeSource source = ThreeEpochs();
  source.plan.mutable_job()->set_validation_fraction(0.5);
  const std::string no_best =
      "job 7 (young) has no best checkpoint: none of its callbacks keeps it, and older checkpoints "
      "are deleted; write in the job file \"callbacks\": [{\"name\": \"model_checkpoint\", "
      "\"monitor\": \"val_loss\", \"save_best_only\": true}], or take the newest, or another one "
      "by "
      "its number (cairn checkpoints 7)";
  EXPECT_EQ(BestRefused(source).message(), no_best);
  EXPECT_EQ(BestRefused(source).code(), absl::StatusCode::kFailedPrecondition);
  // These callbacks keep no checkpoint.
  source.plan.mutable_job()->add_callbacks()->set_name("early_stopping");
  source.plan.mutable_job()->add_callbacks()->set_name("ModelCheckpoint");
  EXPECT_EQ(BestRefused(source).message(), no_best);
  // Without validation there is no val_loss.
  source.plan.mutable_job()->clear_validation_fraction();
  EXPECT_THAT(std::string(BestRefused(source).message()), HasSubstr(R"("monitor": "loss",)"));
}

TEST(TrainedModelTest, ACallbackMayHaveKeptNothingYet) {
  FakeSource source = ThreeEpochs();
  source.plan.mutable_job()->add_callbacks()->set_save_best_only(true);
  const std::string none_yet =
      "job 7 (young) has no best checkpoint yet: no epoch has ended whose checkpoint a callback "
      "keeps; take the newest, or another one by its number (cairn checkpoints 7)";
  EXPECT_EQ(BestRefused(source).message(), none_yet);
  source.plan.mutable_job()->mutable_callbacks(0)->Clear();
  source.plan.mutable_job()->mutable_callbacks(0)->set_restore_best_weights(true);
  EXPECT_EQ(BestRefused(source).message(), none_yet);
}

TEST(TrainedModelTest, TheBestAndANumberAreNotBothTaken) {
  FakeSource source = ThreeEpochs();
  CheckpointChoice choice = 2;
  choice.best = true;
  EXPECT_EQ(ReadTrainedModel(&source, "1", choice).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TrainedModelTest, TheExtensionIsTheFormat) {
  EXPECT_EQ(ChooseExportFormat("--output", "trained/out.h5").status().message(),
            absl::StrCat("--output: trained/out.h5: there is no export format .h5, but ",
                         nn::ExportFormatNames(), "; for example --output trained/out.keras"));
  EXPECT_THAT(std::string(ChooseExportFormat("--export", "model.tar.gz").status().message()),
              HasSubstr("; for example --export model.keras"));
  for (const char* name : {"m.pb", "m.json", "m.bin", "m.zip", "m.tflite"}) {
    EXPECT_FALSE(ChooseExportFormat("--output", name).ok()) << name;
  }
  for (const char* name : {"m.keras", "m.KERAS", "m.safetensors", "m.ckpt"}) {
    const auto format = ChooseExportFormat("--output", name);
    ASSERT_TRUE(format.ok()) << name;
    EXPECT_FALSE((*format)->is_folder()) << name;
  }
  for (const char* name : {"out", "/tmp/out", "v1.2", "out.h5/", "out.h5/1", ".json", ".", ".."}) {
    EXPECT_TRUE(ChooseExportFormat("--output", name).ok()) << name;
  }
}

TEST(TrainedModelTest, ASavedModelIsAFolderWithItsExtension) {
  for (const char* name : {"m.savedmodel", "m.savedmodel/", "a/m.SavedModel"}) {
    const auto format = ChooseExportFormat("--output", name);
    ASSERT_TRUE(format.ok()) << name;
    EXPECT_TRUE((*format)->is_folder()) << name;
    EXPECT_STREQ((*format)->extension, ".savedmodel") << name;
  }
  EXPECT_STREQ((*ChooseExportFormat("--output", "m.ckpt/"))->extension, "");
}

// Users name it by its prefix, which is no file.
TEST(TrainedModelTest, ACheckpointIsTwoFiles) {
  const TrainedModel trained{ExamplePlan(), ExampleManifest(), ExampleValues()};
  const std::string prefix = testing::TempDir() + "/trained_model_test.ckpt";
  const nn::ExportFormat* format = *ChooseExportFormat("--output", prefix);
  EXPECT_EQ(ExportModel(trained, *format, prefix).value(), prefix + ".index");
  EXPECT_TRUE(ReadFile(prefix + ".data-00000-of-00001").ok());
}

TEST(TrainedModelTest, ExportIsReadBackWithTheImportedNames) {
  TrainedModel trained{ExamplePlan(), ExampleManifest(), ExampleValues()};
  trained.plan.mutable_model()->add_weight_names("theirs/dense/kernel");
  trained.plan.mutable_model()->add_weight_names("theirs/dense/bias");
  const std::string folder = testing::TempDir() + "/trained_model_test_export";
  const nn::ExportFormat* format = *ChooseExportFormat("--output", folder);
  EXPECT_EQ(ExportModel(trained, *format, folder).value(), folder + "/model.json");
  const auto read = nn::ReadTfjsLayersModel(*ReadFile(folder + "/model.json"),
                                            {*ReadFile(folder + "/weights.bin")});
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->weights.size(), 2);
  EXPECT_EQ(read->weights[0].name, "theirs/dense/kernel");
  EXPECT_EQ(read->weights[0].values, ExampleValues()[0]);
  EXPECT_EQ(read->weights[1].name, "theirs/dense/bias");
  EXPECT_EQ(read->weights[1].values, ExampleValues()[1]);
}

TEST(TrainedModelTest, TheStateOfTheOptimizerIsExportedUnderTheNamesOfTheWeights) {
  FakeSource source = ThreeEpochs();
  source.plan.mutable_job()->set_name("young");
  for (const char* name : {"dense/kernel", "dense/bias"}) {
    proto::PartitionMap::Variable* variable = source.plan.mutable_partition()->add_variables();
    variable->set_name(name);
    variable->add_shape(2);
    source.plan.mutable_model()->add_weight_names(std::string("there/") + name);
  }
  source.states = {
      {.values = {1, 2}, .version = 30, .slots = {"momentum"}, .slot_values = {{3, 4}}},
      {.values = {5, 6}}};  // Frozen.
  const auto model = ReadModelWithOptimizer(&source, "young", 0);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->optimizer.size(), 2u);
  EXPECT_EQ(model->optimizer[0].name, "optimizer/momentum/there/dense/kernel");
  EXPECT_EQ(model->optimizer[0].values, std::vector<float>({3, 4}));
  EXPECT_EQ(model->optimizer[1].name, "optimizer/updates");
  EXPECT_EQ(model->optimizer[1].values, std::vector<float>({30}));
  const std::string file = testing::TempDir() + "/trained_model_test.safetensors";
  const auto* const format = ChooseExportFormat("--output", file).value();
  ASSERT_EQ(ExportModel(*model, *format, file).value(), file);
  const std::string text = ReadFile(file).value();
  for (const char* name : {"\"there/dense/bias\"", "\"optimizer/momentum/there/dense/kernel\"",
                           "\"optimizer/updates\""}) {
    EXPECT_THAT(text, HasSubstr(name));
  }
}

}  // namespace
}  // namespace cairn::cli
