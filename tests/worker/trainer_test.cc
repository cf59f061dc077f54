#include "worker/trainer.h"

#include <cmath>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "nn/create_device.h"
#include "nn/optimizer.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/data/data_files.h"
#include "tests/worker/strategy/local_strategy.h"
#include "worker/job_data.h"
#include "worker/job_model.h"

namespace cairn::worker {
namespace {

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (!value.ok()) ADD_FAILURE() << value.status();
  return *std::move(value);
}

// Trains a job within this process.
class LocalJob {
 public:
  explicit LocalJob(const proto::JobPlan& plan, Trainer::OnRejected on_rejected = nullptr)
      : plan_(plan),
        device_(OrDie(nn::CreateDevice("cpu"))),
        model_(OrDie(JobModel::Create(plan.job(), plan.model()))),
        loader_(OrDie(LoadJobData(plan, model_, {}, true, false)).train,
                BatchSampler::ForTraining(plan)) {
    nn::Executor::Options options;
    options.batch_size = plan.batch_size();
    executor_ =
        OrDie(nn::Executor::Create(model_.model.get(), &model_.objective, options, device_.get()));
    strategy_ = OrDie(LocalStrategy::Create(
        model_.model.get(), executor_.get(), OrDie(nn::CreateOptimizer(plan.job().optimizer())),
        plan.seed(), [this](const proto::BatchRecord& record) { records_.push_back(record); }));
    trainer_ = std::make_unique<Trainer>(
        executor_.get(), &loader_, strategy_.get(), &activity_, plan.seed(),
        model_.class_weights.has_value() ? &*model_.class_weights : nullptr,
        std::move(on_rejected));
  }

  void Train(int64_t begin, int64_t end) {
    for (int64_t batch = begin; batch < end; ++batch) {
      const auto status =
          trainer_->Step({.batch = batch, .next = {batch + 1}}, [] { return false; });
      ASSERT_TRUE(status.ok()) << status.status();
      ASSERT_EQ(*status, Strategy::StepStatus::kOk);
    }
  }

  absl::Span<float> values(int variable) { return executor_->values(variable); }
  const std::vector<proto::BatchRecord>& records() const { return records_; }

 private:
  const proto::JobPlan plan_;
  std::unique_ptr<nn::Device> device_;
  JobModel model_;
  BatchLoader loader_;
  std::unique_ptr<nn::Executor> executor_;
  std::unique_ptr<LocalStrategy> strategy_;
  RealClock clock_;
  Activity activity_{&clock_};
  std::unique_ptr<Trainer> trainer_;
  std::vector<proto::BatchRecord> records_;
};

TEST(TrainerTest, EveryBatchCountsExactlyOnce) {
  LocalJob job(CountingPlan({.rows = 10}));
  job.Train(0, 100);
  for (float value : job.values(0)) EXPECT_EQ(value, -100);
  ASSERT_EQ(job.records().size(), 100u);
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(job.records()[i].batch(), i);
    EXPECT_EQ(job.records()[i].examples(), 4);
  }
}

// y = 2 a - b, so the weights are known.
proto::JobPlan RegressionPlan() {
  using cairn::testing::NpyBytes;
  using cairn::testing::Raw;
  using cairn::testing::WriteDataFile;
  std::vector<float> x, y;
  for (int i = 0; i < 30; ++i) {
    const float a = static_cast<float>(i % 5) - 2, b = static_cast<float>(i % 3) - 1;
    x.insert(x.end(), {a, b});
    y.push_back(2 * a - b);
  }
  proto::JobPlan plan = CountingPlan({.rows = 2, .batches_per_epoch = 4, .batch_size = 8});
  proto::NpySource& npy = *plan.mutable_job()->mutable_train()->mutable_npy();
  npy.set_features(0, WriteDataFile("line_x.npy", NpyBytes("<f4", "(30, 2)", Raw(x))));
  npy.set_labels(0, WriteDataFile("line_y.npy", NpyBytes("<f4", "(30,)", Raw(y))));
  plan.mutable_job()->mutable_loss()->set_name("mean_squared_error");
  plan.mutable_job()->mutable_optimizer()->set_learning_rate(0.1);
  plan.mutable_job()->add_metrics("mean_absolute_error");
  plan.set_examples(30);
  plan.set_shuffle(true);
  return plan;
}

TEST(TrainerTest, TheLossFallsAndTheWeightsAreFound) {
  LocalJob job(RegressionPlan());
  job.Train(0, 200);
  EXPECT_NEAR(job.values(0)[0], 2, 1e-4);
  EXPECT_NEAR(job.values(0)[1], -1, 1e-4);
  const auto& first = job.records().front();
  const auto& last = job.records().back();
  EXPECT_GT(first.loss(), 1);
  EXPECT_LT(last.loss(), 1e-6);
  ASSERT_EQ(last.metrics_size(), 1);
  EXPECT_LT(last.metrics(0), 1e-3);
  EXPECT_EQ(job.records()[3].examples(), 6);
}

// Labels 0, 1, 1, 1 and logits 0: the gradient of example i is w_i (1/2 - y_i) / 4.
proto::JobPlan ClassesPlan() {
  using cairn::testing::NpyBytes;
  using cairn::testing::Raw;
  using cairn::testing::WriteDataFile;
  proto::JobPlan plan = CountingPlan({.rows = 1, .batches_per_epoch = 1, .batch_size = 4});
  plan.mutable_job()->mutable_train()->mutable_npy()->set_labels(
      0, WriteDataFile("classes_y.npy",
                       NpyBytes("<f4", "(4, 1)", Raw(std::vector<float>{0, 1, 1, 1}))));
  plan.mutable_job()->mutable_loss()->set_name("binary_crossentropy");
  plan.mutable_job()->mutable_loss()->set_from_logits(true);
  plan.mutable_job()->add_metrics("mean_absolute_error");
  (*plan.mutable_job()->mutable_class_weight())[0] = 2;
  (*plan.mutable_job()->mutable_class_weight())[1] = 0.25;
  return plan;
}

TEST(TrainerTest, AnExampleCountsAsItsClassDoesInTheLossAndNotInMetrics) {
  LocalJob job(ClassesPlan());
  job.Train(0, 1);
  EXPECT_EQ(job.values(0)[0], -(2 * 0.5f - 3 * 0.25f * 0.5f) / 4);
  EXPECT_NEAR(job.records()[0].loss(), (2 + 3 * 0.25) / 4 * std::log(2.0), 1e-6);
  EXPECT_NEAR(job.records()[0].metrics(0), 0.75, 1e-6);
}

// As in Keras, the two weights are multiplied.
TEST(TrainerTest, WeightsOfExamplesAndOfClassesMultiply) {
  proto::JobPlan plan = ClassesPlan();
  plan.mutable_job()->mutable_train()->add_sample_weight(cairn::testing::WriteDataFile(
      "classes_w.npy", cairn::testing::NpyBytes(
                           "<f4", "(4,)", cairn::testing::Raw(std::vector<float>{3, 1, 0, 4}))));
  LocalJob job(plan);
  job.Train(0, 1);
  EXPECT_EQ(job.values(0)[0], -(3 * 2 * 0.5f - (1 + 0 + 4) * 0.25f * 0.5f) / 4);
  EXPECT_NEAR(job.records()[0].loss(), (3 * 2 + 5 * 0.25) / 4 * std::log(2.0), 1e-6);
  EXPECT_NEAR(job.records()[0].metrics(0), 0.75, 1e-6);
}

// The third of four batches has a NaN among its labels.
proto::JobPlan NanPlan() {
  using cairn::testing::NpyBytes;
  using cairn::testing::Raw;
  proto::JobPlan plan = RegressionPlan();
  plan.set_shuffle(false);
  std::vector<float> y(30, 1.0f);
  y[20] = std::nanf("");
  proto::DataSource& train = *plan.mutable_job()->mutable_train();
  train.mutable_npy()->set_labels(
      0, cairn::testing::WriteDataFile("nan_y.npy", NpyBytes("<f4", "(30,)", Raw(y))));
  train.set_allow_nan(true);
  return plan;
}

TEST(TrainerTest, ABatchWhoseLossIsNotFiniteIsRejectedAndSaysWhetherItsDataAreTheCause) {
  LocalJob job(NanPlan());
  job.Train(0, 2);
  const std::vector<float> before(job.values(0).begin(), job.values(0).end());
  job.Train(2, 3);
  EXPECT_EQ(std::vector<float>(job.values(0).begin(), job.values(0).end()), before);
  job.Train(3, 4);
  ASSERT_EQ(job.records().size(), 4u);
  for (int batch = 0; batch < 4; ++batch) {
    EXPECT_EQ(std::isnan(job.records()[batch].loss()), batch == 2) << batch;
    EXPECT_EQ(job.records()[batch].data_not_finite(), batch == 2) << batch;
    EXPECT_EQ(job.records()[batch].rejected(), batch == 2) << batch;
  }
}

TEST(TrainerTest, ABatchWithFeaturesThatAreNotFiniteIsRejected) {
  using cairn::testing::NpyBytes;
  using cairn::testing::Raw;
  for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    proto::JobPlan plan = NanPlan();
    std::vector<float> x(60, 1.0f);
    x[2 * 20] = bad;
    proto::DataSource& train = *plan.mutable_job()->mutable_train();
    train.mutable_npy()->set_features(
        0, cairn::testing::WriteDataFile("bad_x.npy", NpyBytes("<f4", "(30, 2)", Raw(x))));
    LocalJob job(plan);
    job.Train(0, 4);
    EXPECT_TRUE(job.records()[2].rejected());
    EXPECT_TRUE(job.records()[2].data_not_finite());
    EXPECT_FALSE(job.records()[3].rejected());
    for (float value : job.values(0)) EXPECT_TRUE(std::isfinite(value));
  }
}

// The weights are 0, so the loss is about y^2 and finite. The gradient is about x y.
TEST(TrainerTest, ABatchWithAFiniteLossAndAGradientThatIsNotIsRejected) {
  using cairn::testing::NpyBytes;
  using cairn::testing::Raw;
  proto::JobPlan plan = RegressionPlan();
  plan.set_shuffle(false);
  std::vector<float> x(60, 1.0f), y(30, 1.0f);
  x[1] = 3e38f;
  y[0] = 1e5f;
  proto::NpySource& npy = *plan.mutable_job()->mutable_train()->mutable_npy();
  npy.set_features(0,
                   cairn::testing::WriteDataFile("big_x.npy", NpyBytes("<f4", "(30, 2)", Raw(x))));
  npy.set_labels(0, cairn::testing::WriteDataFile("big_y.npy", NpyBytes("<f4", "(30,)", Raw(y))));
  LocalJob job(plan);
  job.Train(0, 2);
  EXPECT_TRUE(std::isfinite(job.records()[0].loss()));
  EXPECT_TRUE(job.records()[0].rejected());
  EXPECT_FALSE(job.records()[0].data_not_finite());
  EXPECT_FALSE(job.records()[1].rejected());
  for (float value : job.values(0)) EXPECT_TRUE(std::isfinite(value) && value != 0);
}

// With the other policies the batch is reported, and the strategy never hears of it.
TEST(TrainerTest, ABatchThatIsNotFiniteIsOnlyReportedIfTheJobDoesNotRejectIt) {
  std::vector<proto::BatchRecord> rejected;
  LocalJob job(NanPlan(), [&](const proto::BatchRecord& record) { rejected.push_back(record); });
  job.Train(0, 4);
  ASSERT_EQ(job.records().size(), 3u);
  EXPECT_EQ(job.records()[2].batch(), 3);
  ASSERT_EQ(rejected.size(), 1u);
  EXPECT_EQ(rejected[0].batch(), 2);
  EXPECT_TRUE(rejected[0].rejected());
  EXPECT_TRUE(rejected[0].data_not_finite());
}

TEST(TrainerTest, TheFirstLossIsTheClosedForm) {
  proto::JobPlan plan = RegressionPlan();
  plan.set_shuffle(false);
  LocalJob job(plan);
  job.Train(0, 1);
  double sum = 0;
  for (int i = 0; i < 8; ++i) {
    const double y = 2 * (i % 5 - 2) - (i % 3 - 1);
    sum += y * y;
  }
  EXPECT_NEAR(job.records()[0].loss(), sum / 8, 1e-5);
}

}  // namespace
}  // namespace cairn::worker
