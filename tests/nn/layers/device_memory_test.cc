// Trains models on a device whose memory the host must not touch, and compares the bits with the
// CPU's.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/random.h"
#include "nn/cpu/cpu_device.h"
#include "nn/executor.h"
#include "proto/objective.pb.h"
#include "tests/nn/layers/conformance_cases.h"
#include "tests/nn/layers/test_batch.h"

namespace cairn::nn::testing {
namespace {

// The CPU with memory of its own: a host's access outside of the device's calls is a segmentation
// fault, and so the end of the test program. Calls check that arrays are in that memory.
class GuardedDevice final : public CpuDevice {
 public:
  GuardedDevice() {
    void* memory =
        mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CAIRN_CHECK(memory != MAP_FAILED);
    memory_ = static_cast<char*>(memory);
  }
  ~GuardedDevice() override { munmap(memory_, kBytes); }

  std::string name() const override { return "guarded"; }
  bool memory_is_host() const override { return false; }

  absl::StatusOr<void*> Allocate(size_t bytes) override {
    void* const memory = memory_ + used_;
    used_ += (bytes + kPage - 1) / kPage * kPage;
    CAIRN_CHECK(used_ <= kBytes);
    return memory;
  }
  // The memory is not used again.
  void Free(void*) override {}

  absl::Status CopyToDevice(void* device, const void* host, size_t bytes) override {
    CheckOwned(device);
    CAIRN_CHECK(!Owns(host));
    const Access access(this);
    return CpuDevice::CopyToDevice(device, host, bytes);
  }
  absl::Status CopyFromDevice(void* host, const void* device, size_t bytes) override {
    CheckOwned(device);
    CAIRN_CHECK(!Owns(host));
    const Access access(this);
    return CpuDevice::CopyFromDevice(host, device, bytes);
  }
  absl::Status Zero(void* memory, size_t bytes) override {
    CheckOwned(memory);
    const Access access(this);
    return CpuDevice::Zero(memory, bytes);
  }
  absl::Status Copy(void* to, const void* from, size_t bytes) override {
    CheckOwned(to);
    CheckOwned(from);
    const Access access(this);
    return CpuDevice::Copy(to, from, bytes);
  }
  absl::Status Add(int64_t count, const float* addend, float* sum) override {
    CheckOwned(addend);
    CheckOwned(sum);
    const Access access(this);
    return CpuDevice::Add(count, addend, sum);
  }
  absl::Status Rescale(int64_t count, float multiplier, float divisor, float* values) override {
    CheckOwned(values);
    const Access access(this);
    return CpuDevice::Rescale(count, multiplier, divisor, values);
  }
  absl::Status Penalty(const Regularizer& regularizer, int64_t count, const float* values,
                       double* penalty) override {
    CheckOwned(values);
    CheckOwned(penalty);
    const Access access(this);
    return CpuDevice::Penalty(regularizer, count, values, penalty);
  }
  absl::Status AddPenaltyGradient(const Regularizer& regularizer, int64_t count,
                                  const float* values, float* gradient) override {
    CheckOwned(values);
    CheckOwned(gradient);
    const Access access(this);
    return CpuDevice::AddPenaltyGradient(regularizer, count, values, gradient);
  }
  absl::StatusOr<std::unique_ptr<Kernel>> CreateKernel(const Layer& layer,
                                                       const KernelOptions& options) override {
    auto kernel = CpuDevice::CreateKernel(layer, options);
    if (!kernel.ok()) return kernel.status();
    return std::make_unique<GuardedKernel>(this, *std::move(kernel));
  }
  absl::StatusOr<std::unique_ptr<LossKernel>> CreateLossKernel(
      const Loss& loss, std::vector<const Metric*> metrics) override {
    auto kernel = CpuDevice::CreateLossKernel(loss, std::move(metrics));
    if (!kernel.ok()) return kernel.status();
    return std::make_unique<GuardedLossKernel>(this, *std::move(kernel));
  }

 private:
  static constexpr size_t kBytes = size_t{1} << 30;
  static constexpr size_t kPage = 4096;

  // Makes the memory accessible for one call.
  class Access {
   public:
    explicit Access(GuardedDevice* device) : device_(device) { Set(PROT_READ | PROT_WRITE); }
    ~Access() { Set(PROT_NONE); }

   private:
    void Set(int protection) {
      CAIRN_CHECK(mprotect(device_->memory_, std::max(device_->used_, kPage), protection) == 0);
    }
    GuardedDevice* const device_;
  };

  class GuardedKernel final : public Kernel {
   public:
    GuardedKernel(GuardedDevice* device, std::unique_ptr<Kernel> kernel)
        : device_(device), kernel_(std::move(kernel)) {}
    absl::Status Forward(const ForwardArguments& arguments) override {
      device_->CheckAll(arguments.inputs, arguments.variables, arguments.masks);
      device_->CheckOwned(arguments.output);
      device_->CheckOwned(arguments.invalid);
      const Access access(device_);
      return kernel_->Forward(arguments);
    }
    void Backward(const BackwardArguments& arguments) override {
      device_->CheckAll(arguments.inputs, arguments.variables, arguments.masks,
                        arguments.input_gradients, arguments.variable_gradients);
      device_->CheckOwned(arguments.output);
      device_->CheckOwned(arguments.output_gradient);
      const Access access(device_);
      kernel_->Backward(arguments);
    }

   private:
    GuardedDevice* const device_;
    const std::unique_ptr<Kernel> kernel_;
  };

  class GuardedLossKernel final : public LossKernel {
   public:
    GuardedLossKernel(GuardedDevice* device, std::unique_ptr<LossKernel> kernel)
        : device_(device), kernel_(std::move(kernel)) {}
    absl::Status Compute(const Loss::Batch& batch, float* gradient, double* results,
                         double* invalid) override {
      for (const void* array :
           {static_cast<const void*>(batch.output), batch.labels,
            static_cast<const void*>(batch.weights), static_cast<const void*>(gradient),
            static_cast<const void*>(results), static_cast<const void*>(invalid)}) {
        device_->CheckOwned(array);
      }
      const Access access(device_);
      return kernel_->Compute(batch, gradient, results, invalid);
    }

   private:
    GuardedDevice* const device_;
    const std::unique_ptr<LossKernel> kernel_;
  };

  bool Owns(const void* array) const { return array >= memory_ && array < memory_ + kBytes; }
  // Null: the array is not needed.
  void CheckOwned(const void* array) const { CAIRN_CHECK(array == nullptr || Owns(array)); }
  template <typename... Arrays>
  void CheckAll(const Arrays&... arrays) const {
    const auto check = [this](const auto& list) {
      for (const void* array : list) CheckOwned(array);
    };
    (check(arrays), ...);
  }

  char* memory_ = nullptr;
  size_t used_ = 0;
};

constexpr int64_t kBatchSize = 3;

// Everything that training and evaluating on `device` computes.
std::vector<double> Train(const Model& model, const Objective& objective, Device* device) {
  const TestBatch data(model, objective, kBatchSize);
  auto executor = Executor::Create(&model, &objective, {.batch_size = kBatchSize}, device);
  CAIRN_CHECK(executor.ok());
  const int variables = static_cast<int>(model.variables().size());
  for (int v = 0; v < variables; ++v) {
    const absl::Span<float> values = (*executor)->values(v);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 0.1f + RandomUniform(50 + v, i);
  }
  std::vector<double> all;
  const auto add = [&all](const auto& numbers) {
    all.insert(all.end(), numbers.begin(), numbers.end());
  };
  // Two sizes are two plans. The last batch is only evaluated.
  for (const int64_t size : {kBatchSize, int64_t{1}, kBatchSize}) {
    const bool training = all.empty() || size == 1;
    Executor::Batch batch = data.batch;
    batch.size = size;
    batch.random_key = static_cast<uint64_t>(size);
    const auto results = (*executor)->Forward(batch, training);
    CAIRN_CHECK(results.ok());
    add(std::vector<double>{results->loss_sum, results->penalty});
    for (const std::vector<double>& state : results->metrics) add(state);
    for (size_t i = 0; i < model.outputs().size(); ++i) {
      add(*(*executor)->output(static_cast<int>(i)));
    }
    if (!training) continue;
    const absl::Status status = (*executor)->Backward([&](int variable) {
      const absl::Span<const float> gradient = (*executor)->gradient(variable);
      add(gradient);
      const absl::Span<float> values = (*executor)->values(variable);
      for (size_t i = 0; i < values.size(); ++i) values[i] -= 0.01f * gradient[i];
    });
    CAIRN_CHECK(status.ok());
  }
  for (int v = 0; v < variables; ++v) add((*executor)->values(v));
  return all;
}

void ExpectSameBits(const Model& model, const Objective& objective) {
  CpuDevice cpu;
  GuardedDevice guarded;
  const std::vector<double> expected = Train(model, objective, &cpu);
  const std::vector<double> trained = Train(model, objective, &guarded);
  ASSERT_EQ(trained.size(), expected.size());
  // Compared as bytes, because some models compute NaN.
  EXPECT_EQ(std::memcmp(trained.data(), expected.data(), expected.size() * sizeof(double)), 0);
}

std::unique_ptr<const Loss> LossNamed(const std::string& name) {
  proto::Loss config;
  config.set_name(name);
  return *CreateLoss(config);
}

TEST(DeviceMemoryTest, EveryLayerTrains) {
  for (const ConformanceCase& c : AllConformanceCases()) {
    SCOPED_TRACE(c.name);
    ExpectSameBits(*ModelOf(c.layers), Objective(LossNamed("mean_squared_error")));
  }
}

// A shared layer, outputs with several consumers (one of them a view), penalties, two outputs.
std::unique_ptr<Model> BranchedModel() {
  constexpr char kDense[] =
      R"({"units": 4, "kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.1, "l2": 0.2}}})";
  return ModelOf({{"input", "InputLayer", R"({"batch_shape": [null, 4]})"},
                  {"dense", "Dense", kDense},
                  {"again", "Dense", kDense, {"dense"}, "dense"},
                  {"view", "Reshape", R"({"target_shape": [4]})", {"again"}},
                  {"sum", "Add", "{}", {"again", "view"}},
                  {"kind", "Dense", R"({"units": 3, "activation": "softmax"})", {"sum"}},
                  {"size", "Dense", R"({"units": 3, "activation": "sigmoid"})", {"sum"}}},
                 {"kind", "size"});
}

TEST(DeviceMemoryTest, EveryLossAndMetricIsComputed) {
  const auto model = BranchedModel();
  const Shape shape = model->outputs()[0].shape;
  for (const std::string& name : LossNames()) {
    SCOPED_TRACE(name);
    std::vector<Objective::OutputLoss> losses;
    std::vector<Objective::OutputMetric> metrics;
    for (int output = 0; output < 2; ++output) {
      losses.push_back({.loss = LossNamed(name), .weight = 0.5 + output});
      for (const char* metric : {"loss", "accuracy", "auc", "recall", "mean_squared_error"}) {
        proto::Metric config;
        config.set_name(metric);
        auto created = CreateMetric(config, *losses.back().loss, shape);
        if (created.ok()) metrics.push_back({*std::move(created), output});
      }
    }
    EXPECT_GE(metrics.size(), 4);
    // Not in the order of the outputs.
    std::reverse(metrics.begin(), metrics.end());
    ExpectSameBits(*model, Objective(std::move(losses), std::move(metrics)));
  }
}

TEST(DeviceMemoryTest, AWrongLabelIsRefusedAndTheNextBatchComputed) {
  const auto model = BranchedModel();
  std::vector<Objective::OutputLoss> losses;
  for (int output = 0; output < 2; ++output) {
    losses.push_back({.loss = LossNamed("sparse_categorical_crossentropy")});
  }
  const Objective objective(std::move(losses), {});
  GuardedDevice device;
  auto executor = *Executor::Create(model.get(), &objective, {.batch_size = kBatchSize}, &device);
  TestBatch data(*model, objective, kBatchSize);
  data.batch.size = kBatchSize;
  const std::vector<int32_t> wrong(kBatchSize, 3);
  Executor::Batch batch = data.batch;
  batch.labels[1] = wrong.data();
  EXPECT_EQ(executor->Forward(batch, true).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(executor->Forward(data.batch, true).ok());
}

}  // namespace
}  // namespace cairn::nn::testing
