// Training steps of one executor without a cluster, on random data. Prints milliseconds per step
// (the median): once with the values left in place, once with all values changed by the host before
// each step, as a worker's are.
//
// Usage: step MODEL.json BATCH_SIZE STEPS [PRECISION=float32 [DEVICE=cuda]]
//
// 0 steps: one step without times, for profilers.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "common/random.h"
#include "nn/create_device.h"
#include "nn/executor.h"
#include "nn/initializer.h"
#include "tests/benchmarks/or_exit.h"
#include "worker/job_model.h"

namespace cairn::worker {
namespace {

class Steps {
 public:
  Steps(const char* model_file, int64_t batch_size, const char* precision, const char* device)
      : device_(OrExit(nn::CreateDevice(device))) {
    proto::Job job;
    job.mutable_loss()->set_name("sparse_categorical_crossentropy");
    job.mutable_optimizer()->set_name("sgd");
    job.set_precision(precision);
    model_ = std::make_unique<JobModel>(OrExit(JobModel::Create(job, ReadSpec(model_file))));
    const nn::Model& model = *model_->model;
    executor_ = OrExit(nn::Executor::Create(
        &model, &model_->objective, {.batch_size = batch_size, .precision = model_->precision},
        device_.get()));
    for (size_t v = 0; v < model.variables().size(); ++v) {
      const nn::VariableSpec& variable = model.variables()[v];
      nn::FillInitialValues(variable, /*seed=*/1, 0, variable.element_count(),
                            executor_->values(v).data());
    }
    const int64_t count = batch_size * nn::ElementCount(model.inputs()[0].spec.shape);
    for (int64_t i = 0; i < count; ++i) input_.push_back(RandomUniform(2, i));
    const int64_t classes = model.output_shape().back();
    for (int64_t i = 0; i < batch_size; ++i) labels_.push_back(RandomBelow(3, i, classes));
    batch_ = {.size = batch_size, .inputs = {input_.data()}, .labels = {labels_.data()}};
  }

  double MillisecondsPerStep(int steps, bool with_new_values) {
    std::vector<double> times;
    for (int step = 0; step < steps; ++step) {
      const auto start = std::chrono::steady_clock::now();
      if (with_new_values) {
        for (size_t v = 0; v < model_->model->variables().size(); ++v) executor_->values(v);
      }
      batch_.random_key = step;
      const auto on_results = [this](const nn::Executor::BatchResults& results) {
        loss_ = results.loss_sum / static_cast<double>(results.examples);
        return true;
      };
      OrExit(executor_->Step(batch_, on_results, [](int) {}));
      const std::chrono::duration<double, std::milli> time =
          std::chrono::steady_clock::now() - start;
      times.push_back(time.count());
    }
    std::nth_element(times.begin(), times.begin() + steps / 2, times.end());
    return times[steps / 2];
  }

  double loss() const { return loss_; }

 private:
  const std::unique_ptr<nn::Device> device_;
  std::unique_ptr<JobModel> model_;
  std::unique_ptr<nn::Executor> executor_;
  std::vector<float> input_;
  std::vector<int32_t> labels_;
  nn::Executor::Batch batch_;
  double loss_ = 0;
};

}  // namespace
}  // namespace cairn::worker

int main(int argc, char** argv) {
  const int64_t batch_size = argc >= 4 ? std::atoll(argv[2]) : 0;
  const int steps = argc >= 4 ? std::atoi(argv[3]) : 0;
  if (argc > 6 || batch_size < 1 || steps < 0) {
    std::fprintf(stderr, "usage: step MODEL.json BATCH_SIZE STEPS [PRECISION [DEVICE]]\n");
    return 2;
  }
  cairn::worker::Steps run(argv[1], batch_size, argc > 4 ? argv[4] : "float32",
                           argc > 5 ? argv[5] : "cuda");
  if (steps == 0) {
    run.MillisecondsPerStep(1, /*with_new_values=*/true);
    return 0;
  }
  run.MillisecondsPerStep(3, /*with_new_values=*/true);
  const double in_place = run.MillisecondsPerStep(steps, /*with_new_values=*/false);
  std::printf("%.3f %.3f loss %.6f\n", in_place, run.MillisecondsPerStep(steps, true), run.loss());
  return 0;
}
