#include "coordinator/job_validation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/nn/test_model.h"

namespace cairn::coordinator {
namespace {

proto::SubmitRequest GoodRequest() {
  proto::SubmitRequest request;
  proto::Job* job = request.mutable_job();
  job->set_name("job");
  job->mutable_train()->mutable_npy()->add_features("/x.npy");
  job->mutable_train()->mutable_npy()->add_labels("/y.npy");
  job->mutable_loss()->set_name("sparse_categorical_crossentropy");
  job->add_metrics("accuracy");
  job->mutable_optimizer()->set_name("adam");
  job->set_batch_size(32);
  job->set_epochs(2);
  *request.mutable_model() =
      nn::testing::SpecOf({{"input", "InputLayer", R"({"batch_shape": [null, 6]})"},
                           {"dense", "Dense", R"({"units": 4, "activation": "softmax"})"}});
  return request;
}

TEST(JobValidationTest, AGoodJobIsPlaced) {
  const auto job = ValidateJob(GoodRequest(), 3, {});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->parameters, 6 * 4 + 4);
  EXPECT_EQ(job->partition.ps_count(), 3u);
  ASSERT_EQ(job->partition.variables_size(), 2);
  EXPECT_EQ(job->partition.variables(0).name(), "dense/kernel");
  EXPECT_TRUE(job->partition.variables(0).pushed());
}

TEST(JobValidationTest, VariablesWhoseUpdatesNeedNormsAreWhole) {
  proto::SubmitRequest request = GoodRequest();
  request.mutable_job()->mutable_partitioner()->set_min_slice_bytes(4);
  EXPECT_EQ(ValidateJob(request, 2, {})->partition.blocks_size(), 4);
  request.mutable_job()->mutable_optimizer()->set_name("lamb");
  const auto lamb = ValidateJob(request, 2, {});
  ASSERT_TRUE(lamb.ok()) << lamb.status();
  EXPECT_EQ(lamb->partition.blocks_size(), 2);
  request = GoodRequest();
  request.mutable_job()->mutable_partitioner()->set_min_slice_bytes(4);
  *request.mutable_model() =
      nn::testing::SpecOf({{"input", "InputLayer", R"({"batch_shape": [null, 6]})"},
                           {"dense", "Dense",
                            R"({"units": 4, "activation": "softmax",
                                "kernel_constraint": "max_norm"})"}});
  const auto constrained = ValidateJob(request, 2, {});
  ASSERT_TRUE(constrained.ok()) << constrained.status();
  EXPECT_EQ(constrained->partition.blocks_size(), 3);
}

TEST(JobValidationTest, FrozenVariablesAreNotPushed) {
  proto::SubmitRequest request = GoodRequest();
  *request.mutable_model() =
      nn::testing::SpecOf({{"input", "InputLayer", R"({"batch_shape": [null, 6]})"},
                           {"frozen", "Dense", R"({"units": 4, "trainable": false})"},
                           {"dense", "Dense", R"({"units": 4, "activation": "softmax"})"}});
  const auto job = ValidateJob(request, 1, {});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_FALSE(job->partition.variables(0).pushed());
  EXPECT_TRUE(job->partition.variables(2).pushed());
}

TEST(JobValidationTest, WithoutPsTheDefaultStrategyIsMultiWorkerMirrored) {
  const auto with_ps = ValidateJob(GoodRequest(), 2, {.has_ps = true});
  ASSERT_TRUE(with_ps.ok()) << with_ps.status();
  EXPECT_FALSE(with_ps->request.job().has_strategy());
  const auto without = ValidateJob(GoodRequest(), 2, {.has_ps = false, .workers = 2});
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_TRUE(without->request.job().strategy().has_multi_worker_mirrored());
  EXPECT_EQ(without->partition.ps_count(), 2u);
}

TEST(JobValidationTest, TheStrategyMustFitTheCluster) {
  proto::SubmitRequest request = GoodRequest();
  request.mutable_job()->mutable_strategy()->mutable_one_device();
  EXPECT_TRUE(ValidateJob(request, 1, {.has_ps = false, .workers = 1}).ok());
  EXPECT_EQ(std::string(ValidateJob(request, 2, {}).status().message()).rfind("strategy.", 0), 0u);
}

struct BadCase {
  std::string path;  // The start of the message.
  std::function<void(proto::SubmitRequest*)> spoil;
  std::string hint;  // Another part of the message.
};

class BadJobTest : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadJobTest, IsRefusedWithItsPathAndAHint) {
  proto::SubmitRequest request = GoodRequest();
  GetParam().spoil(&request);
  const absl::Status status = ValidateJob(request, 2, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string message(status.message());
  EXPECT_EQ(message.rfind(GetParam().path + ": ", 0), 0u) << message;
  EXPECT_NE(message.find(GetParam().hint), std::string::npos) << message;
}

using Request = proto::SubmitRequest;

void AddOutput(Request* request) {
  *request->mutable_model()->add_layers() = request->model().layers(1);
  request->mutable_model()->mutable_layers(2)->set_name("other");
  request->mutable_model()->add_outputs("other");
}

TEST(JobValidationTest, OutputFieldsAreNormalized) {
  proto::SubmitRequest request = GoodRequest();
  AddOutput(&request);
  proto::Job* job = request.mutable_job();
  job->clear_metrics();
  proto::TrainedOutput* said = job->add_outputs();
  said->set_name("other");
  said->set_loss_weight(0.5);
  said->add_metrics("accuracy");
  job->mutable_train()->mutable_npy()->add_labels("/z.npy");
  job->mutable_train()->mutable_npy()->add_label_outputs("other");
  job->mutable_train()->mutable_npy()->add_label_outputs("dense");
  const auto validated = ValidateJob(request, 2, {});
  ASSERT_TRUE(validated.ok()) << validated.status();
  const proto::Job& result = validated->request.job();
  EXPECT_EQ(result.outputs_size(), 2);
  EXPECT_EQ(result.train().npy().labels(0), "/z.npy");
  ASSERT_EQ(result.metrics_size(), 3);
  EXPECT_EQ(result.metrics(0), "dense_loss");
  EXPECT_EQ(result.metrics(2), "other_accuracy");
}

INSTANTIATE_TEST_SUITE_P(
    All, BadJobTest,
    ::testing::Values(
        BadCase{"name", [](Request* r) { r->mutable_job()->clear_name(); }, "missing"},
        BadCase{"name", [](Request* r) { r->mutable_job()->set_name("a\nb"); }, "letters, digits"},
        BadCase{"train", [](Request* r) { r->mutable_job()->clear_train(); }, "missing"},
        BadCase{"train", [](Request* r) { r->mutable_job()->mutable_train()->clear_format(); },
                "idx, npy, csv"},
        BadCase{"train.csv.files",
                [](Request* r) { r->mutable_job()->mutable_train()->mutable_csv(); }, "missing"},
        BadCase{"train.csv.labels[0].unknown",
                [](Request* r) {
                  auto* csv = r->mutable_job()->mutable_train()->mutable_csv();
                  csv->add_files("/t.csv");
                  auto* label = csv->add_labels();
                  label->set_name("y");
                  label->add_vocabulary("No");
                  label->set_unknown(true);
                },
                "not one of the model's classes"},
        BadCase{"validation_fraction",
                [](Request* r) { r->mutable_job()->set_validation_fraction(1); }, "below 1"},
        BadCase{"train.npy.features[0]",
                [](Request* r) {
                  r->mutable_job()->mutable_train()->mutable_npy()->set_features(0, "x.npy");
                },
                "'x.npy' is not an absolute path"},
        BadCase{"train.npy.features[0]",
                [](Request* r) {
                  r->mutable_job()->mutable_train()->mutable_npy()->set_features(0,
                                                                                 "ftp://h/x.npy");
                },
                "not at ftp://"},
        BadCase{
            "train.npy.labels",
            [](Request* r) { r->mutable_job()->mutable_train()->mutable_npy()->clear_labels(); },
            "missing"},
        BadCase{"train.scale",
                [](Request* r) { r->mutable_job()->mutable_train()->set_scale(NAN); }, "finite"},
        BadCase{"validation", [](Request* r) { r->mutable_job()->mutable_validation(); },
                "idx, npy, csv"},
        BadCase{"batch_size", [](Request* r) { r->mutable_job()->set_batch_size(0); },
                "0 is not from 1 to 1048576"},
        BadCase{"loss", [](Request* r) { r->mutable_job()->mutable_loss()->set_name("foo"); },
                "mean_squared_error"},
        BadCase{"optimizer",
                [](Request* r) { r->mutable_job()->mutable_optimizer()->set_momentum(0.5); },
                "momentum"},
        BadCase{"optimizer",
                [](Request* r) { r->mutable_job()->mutable_optimizer()->set_name("adma"); },
                "did you mean 'adam'?"},
        BadCase{"optimizer",
                [](Request* r) {
                  auto* schedule =
                      r->mutable_job()->mutable_optimizer()->mutable_learning_rate_schedule();
                  schedule->set_name("cosine_decy");
                },
                "learning_rate: unknown schedule 'cosine_decy'; did you mean 'cosine_decay'?"},
        BadCase{"metrics[1]", [](Request* r) { r->mutable_job()->add_metrics("f2"); }, "accuracy"},
        BadCase{"callbacks[0].monitor",
                [](Request* r) { r->mutable_job()->add_callbacks()->set_name("early_stopping"); },
                "needs validation data"},
        BadCase{"class_weight",
                [](Request* r) { (*r->mutable_job()->mutable_class_weight())[0] = 2; },
                "has weights for 1 classes, the model knows 4"},
        BadCase{"resume_from",
                [](Request* r) { r->mutable_job()->mutable_resume_from()->set_name("other"); },
                "brought by cairn"},
        BadCase{"metrics[1]", [](Request* r) { r->mutable_job()->add_metrics("accuracy"); },
                "by \"as\""},
        BadCase{"metrics[0]",
                [](Request* r) {
                  auto* more = r->mutable_job()->add_metric_arguments();
                  more->mutable_metric()->set_name("accuracy");
                  more->mutable_metric()->set_k(3);
                },
                "unknown argument 'k'"},
        BadCase{"model",
                [](Request* r) { r->mutable_model()->mutable_layers(1)->set_class_name("Densee"); },
                "Densee"},
        BadCase{"model",
                [](Request* r) {
                  *r->mutable_model() = nn::testing::SpecOf(
                      {{"input", "InputLayer", R"({"batch_shape": [null, 6]})"},
                       {"dense", "Dense", R"({"units": 4, "trainable": false})"}});
                },
                "nothing to train"},
        BadCase{"metrics", [](Request* r) { AddOutput(r); }, "give a list of lists"},
        BadCase{"train.npy.labels",
                [](Request* r) {
                  AddOutput(r);
                  r->mutable_job()->clear_metrics();
                },
                "names 1 file, the model has 2 outputs"},
        BadCase{"class_weight",
                [](Request* r) {
                  AddOutput(r);
                  r->mutable_job()->clear_metrics();
                  r->mutable_job()->mutable_train()->mutable_npy()->add_labels("/z.npy");
                  (*r->mutable_job()->mutable_class_weight())[0] = 2;
                },
                "is for models of one output (as in Keras), this one has 2; give each example its "
                "weight by \"sample_weight\""},
        BadCase{"metrics[0]", [](Request* r) { r->mutable_job()->set_metrics(0, "loss"); },
                "reports call something else 'loss'"},
        BadCase{"metrics[0]",
                [](Request* r) {
                  auto* more = r->mutable_job()->add_metric_arguments();
                  more->mutable_metric()->set_name("accuracy");
                  r->mutable_job()->set_metrics(0, "state");
                },
                "reports call something else 'state'"}));

}  // namespace
}  // namespace cairn::coordinator
