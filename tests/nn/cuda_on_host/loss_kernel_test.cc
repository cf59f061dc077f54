// The GPU's kernels of losses and metrics against nn/losses and nn/metrics, which compute on the
// host.

#include "nn/cuda/loss_kernel.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"
#include "nn/cpu/cpu_device.h"
#include "nn/cuda/cuda_device.h"
#include "nn/metric.h"
#include "proto/objective.pb.h"
#include "tests/nn/cuda_on_host/cuda_on_host.h"

namespace cairn::nn::testing {
namespace {

// Each loss without arguments is tested, too.
const char* const kLossesWithArguments[] = {
    "name: 'sparse_categorical_crossentropy' from_logits: true",
    "name: 'sparse_categorical_crossentropy' ignore_class: 1",
    "name: 'sparse_categorical_crossentropy' ignore_class: 0 from_logits: true",
    "name: 'categorical_crossentropy' from_logits: true",
    "name: 'categorical_crossentropy' label_smoothing: 0.1",
    "name: 'categorical_crossentropy' label_smoothing: 0.1 reduction: 'sum'",
    "name: 'binary_crossentropy' from_logits: true",
    "name: 'binary_crossentropy' label_smoothing: 0.2",
    "name: 'huber' delta: 0.3",
    "name: 'mean_squared_error' reduction: 'sum'",
    "name: 'squared_hinge' reduction: 'sum'",
    "name: 'categorical_focal_crossentropy' alpha: 0.5 gamma: 1.5 label_smoothing: 0.1",
    "name: 'categorical_focal_crossentropy' from_logits: true",
    "name: 'binary_focal_crossentropy' apply_class_balancing: true alpha: 0.3 gamma: 0.5",
    "name: 'binary_focal_crossentropy' from_logits: true label_smoothing: 0.1",
    "name: 'categorical_generalized_cross_entropy' q: 0.7",
    "name: 'cosine_similarity' reduction: 'sum'",
};

// Those that do not fit a loss are left out. So is each loss's name.
const char* const kMetrics[] = {
    "name: 'loss'",
    "name: 'accuracy'",
    "name: 'binary_accuracy' threshold: 0.3",
    "name: 'sparse_top_k_categorical_accuracy' k: 2",
    "name: 'top_k_categorical_accuracy' k: 2",
    "name: 'precision'",
    "name: 'precision' top_k: 2",
    "name: 'recall' thresholds: 0.2 class_id: 1",
    "name: 'recall' top_k: 1 class_id: 2",
    "name: 'true_positives' thresholds: 0.7",
    "name: 'false_positives'",
    "name: 'true_negatives'",
    "name: 'false_negatives'",
    "name: 'auc'",
    "name: 'auc' num_thresholds: 2",
    "name: 'auc' num_thresholds: 300 from_logits: true",
    "name: 'precision_at_recall' recall: 0.5 class_id: 2 num_thresholds: 9",
    "name: 'mean_iou'",
    "name: 'one_hot_iou' target_class_ids: 1",
    "name: 'binary_iou' threshold: 0.4",
    "name: 'f1_score' average: 'macro'",
    "name: 'fbeta_score' average: 'macro' beta: 2 threshold: 0.4",
    "name: 'r2_score'",
    "name: 'pearson_correlation'",
    "name: 'concordance_correlation'",
    "name: 'root_mean_squared_error'",
};

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

std::vector<proto::Loss> AllLosses() {
  std::vector<proto::Loss> losses;
  for (const std::string& name : LossNames()) losses.emplace_back().set_name(name);
  for (const char* text : kLossesWithArguments) losses.push_back(Parse<proto::Loss>(text));
  return losses;
}

std::vector<std::unique_ptr<Metric>> MetricsOf(const Loss& loss, const Shape& shape) {
  std::vector<proto::Metric> configs;
  for (const char* text : kMetrics) configs.push_back(Parse<proto::Metric>(text));
  for (const std::string& name : LossNames()) configs.emplace_back().set_name(name);
  std::vector<std::unique_ptr<Metric>> metrics;
  for (const proto::Metric& config : configs) {
    for (const bool weighted : {false, true}) {
      auto metric = CreateMetric(config, loss, shape, weighted);
      if (metric.ok()) metrics.push_back(*std::move(metric));
    }
  }
  return metrics;
}

// The arrays of a batch, in a device's memory.
class Arrays {
 public:
  explicit Arrays(Device* device) : device_(*device) {}
  ~Arrays() {
    for (void* memory : memory_) device_.Free(memory);
  }

  template <typename T>
  T* New(int64_t count) {
    auto memory = device_.Allocate(static_cast<size_t>(count) * sizeof(T));
    EXPECT_TRUE(memory.ok()) << memory.status();
    memory_.push_back(*memory);
    return static_cast<T*>(*memory);
  }
  float* Copy(const std::vector<float>& values) {
    float* const memory = New<float>(static_cast<int64_t>(values.size()));
    EXPECT_TRUE(device_.CopyToDevice(memory, values.data(), values.size() * sizeof(float)).ok());
    return memory;
  }
  template <typename T>
  void Append(const T* memory, int64_t count, std::vector<double>* all) {
    std::vector<T> values(count);
    EXPECT_TRUE(device_.CopyFromDevice(values.data(), memory, values.size() * sizeof(T)).ok());
    all->insert(all->end(), values.begin(), values.end());
  }

 private:
  Device& device_;
  std::vector<void*> memory_;
};

// A batch on the host.
struct TestBatch {
  Loss::Batch batch;
  std::vector<float> output;
  std::vector<float> logits;
  std::vector<float> labels;
  std::vector<float> weights;

  // Outputs are probabilities, some of which are 0 or 1, or equal to another one. Logits are
  // numbers of their own.
  TestBatch(const Loss& loss, const Shape& shape, int64_t examples, bool with_logits,
            bool is_softmax, bool one_hot) {
    batch = {.examples = examples,
             .shape = &shape,
             .is_softmax = is_softmax,
             .gradient_divisor = 4,
             .gradient_scale = 0.75f};
    const int64_t outputs = examples * ElementCount(shape);
    for (int64_t i = 0; i < outputs; ++i) {
      const float value = 0.01f + 0.98f * RandomUniform(1, i);
      const uint64_t kind = RandomBits(2, i) % 16;
      output.push_back(kind == 0 ? 0.0f : kind == 1 ? 1.0f : kind == 2 ? 0.5f : value);
      if (with_logits) logits.push_back(200 * value - 100);
    }
    const int64_t count = examples * loss.LabelCount(shape);
    for (int64_t i = 0; i < count; ++i) {
      const auto class_label = static_cast<int32_t>(RandomBits(3, i) % shape.back());
      const float number = one_hot ? static_cast<float>(RandomBits(3, i) % 2) : RandomUniform(3, i);
      labels.push_back(loss.label_type() == proto::INT32 ? std::bit_cast<float>(class_label)
                                                         : number);
    }
    for (int64_t i = 0; i < examples; ++i) {
      weights.push_back(static_cast<float>(RandomBits(4, i) % 4) / 2);
    }
  }
};

// The results of the kernel, then the gradient.
std::vector<double> Compute(const Loss& loss, const std::vector<std::unique_ptr<Metric>>& metrics,
                            const TestBatch& test, bool weighted, bool with_gradient,
                            Device* device) {
  std::vector<const Metric*> pointers;
  int64_t count = 1;
  for (const auto& metric : metrics) {
    pointers.push_back(metric.get());
    count += metric->state_size();
  }
  auto kernel = device->CreateLossKernel(loss, pointers);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  Arrays arrays(device);
  Loss::Batch batch = test.batch;
  batch.output = arrays.Copy(test.output);
  batch.labels = arrays.Copy(test.labels);
  if (!test.logits.empty()) batch.logits = arrays.Copy(test.logits);
  if (weighted) batch.weights = arrays.Copy(test.weights);
  const auto outputs = static_cast<int64_t>(test.output.size());
  float* const gradient = with_gradient ? arrays.New<float>(outputs) : nullptr;
  auto* const results = arrays.New<double>(count);
  auto* const invalid = arrays.New<double>(1);
  EXPECT_TRUE(device->Zero(invalid, sizeof(double)).ok());
  const absl::Status status = (*kernel)->Compute(batch, gradient, results, invalid);
  EXPECT_TRUE(status.ok()) << status;
  std::vector<double> all;
  arrays.Append(results, count, &all);
  arrays.Append(invalid, 1, &all);
  if (with_gradient) arrays.Append(gradient, outputs, &all);
  return all;
}

class LossKernelTest : public ::testing::Test {
 protected:
  LossKernelTest() : device_(*CudaDevice::Create(0)) {}

  void ExpectTheHosts(const Loss& loss, const Shape& shape, int64_t examples, bool with_metrics) {
    std::vector<std::unique_ptr<Metric>> metrics;
    if (with_metrics) metrics = MetricsOf(loss, shape);
    const bool takes_logits = loss.TakesLogitsOf(Activation::Kind::kSigmoid);
    for (int variant = 0; variant < (takes_logits ? 4 : 2); ++variant) {
      SCOPED_TRACE(variant);
      const bool weighted = variant != 1, with_gradient = !with_metrics || variant != 1;
      const TestBatch test(loss, shape, examples, /*with_logits=*/variant >= 2,
                           /*is_softmax=*/variant == 2, /*one_hot=*/variant == 1);
      const auto expected = Compute(loss, metrics, test, weighted, with_gradient, &cpu_);
      const auto computed = Compute(loss, metrics, test, weighted, with_gradient, device_.get());
      ASSERT_EQ(computed.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        // NaN, infinity
        if (!std::isfinite(expected[i])) {
          ASSERT_EQ(std::to_string(computed[i]), std::to_string(expected[i])) << i;
          continue;
        }
        ASSERT_NEAR(computed[i], expected[i], 1e-5 * std::max(1.0, std::fabs(expected[i]))) << i;
      }
    }
  }

  CpuDevice cpu_;
  std::unique_ptr<Device> device_;
};

// Rows of one thread, of a team of a few threads, and of a whole block; the last two sizes need
// several blocks.
TEST_F(LossKernelTest, EveryLossAndItsGradientAreThoseOfTheHost) {
  struct Size {
    Shape shape;
    int64_t examples;
  };
  for (const Size& size : {Size{{3}, 5}, Size{{5, 20}, 90}, Size{{700}, 13}}) {
    for (const proto::Loss& config : AllLosses()) {
      if (config.name() == "circle" && size.shape.size() != 1) continue;
      SCOPED_TRACE(config.ShortDebugString() + " " + ShapeText(size.shape));
      ExpectTheHosts(**CreateLoss(config), size.shape, size.examples, /*with_metrics=*/false);
    }
  }
}

// One loss for each kind of labels.
TEST_F(LossKernelTest, EveryMetricIsThatOfTheHost) {
  for (const char* text : {"name: 'sparse_categorical_crossentropy' ignore_class: 2",
                           "name: 'categorical_crossentropy'"}) {
    SCOPED_TRACE(text);
    const auto loss = *CreateLoss(Parse<proto::Loss>(text));
    ExpectTheHosts(*loss, {20}, /*examples=*/7, /*with_metrics=*/true);
    ExpectTheHosts(*loss, {3}, /*examples=*/1500, /*with_metrics=*/true);
    ExpectTheHosts(*loss, {300}, /*examples=*/2, /*with_metrics=*/true);
    ExpectTheHosts(*loss, {2, 3}, /*examples=*/3, /*with_metrics=*/true);
  }
}

}  // namespace
}  // namespace cairn::nn::testing
