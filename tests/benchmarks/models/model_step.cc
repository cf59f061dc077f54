// The training step of one worker without reading data and without a network: forward, loss,
// backward and optimizer on random images in memory. model_steps.py runs it alternately with
// PyTorch.
//
// Usage: model_step MODEL.json sgd|adam[:RATE] BATCH THREADS [FOLDER]
//
// FOLDER: trains on its x.npy and y.npy (4 bytes an element) instead, as race_data.py writes them.
//
// Prints one JSON object per line: first the minimal work of a step, then a reply to each line of
// standard input: "run SECONDS" measures, "profile STEPS" returns the time of each layer.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/check.h"
#include "common/random.h"
#include "common/span_recorder.h"
#include "nn/create_device.h"
#include "nn/executor.h"
#include "nn/optimizer.h"
#include "tests/benchmarks/models/step_work.h"
#include "tests/benchmarks/or_exit.h"
#include "tests/worker/strategy/local_strategy.h"
#include "worker/job_model.h"

namespace cairn::worker {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

// The number of random batches that are used in turn, so that none is in the cache.
constexpr int kBatches = 8;

// The elements of a .npy file: what follows its header.
std::string ReadNpy(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  CAIRN_CHECK(bytes.size() > 10);
  const size_t header = static_cast<uint8_t>(bytes[8]) + 256 * static_cast<uint8_t>(bytes[9]);
  return bytes.substr(10 + header);
}

// The bytes of an array.
template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

proto::Job MakeJob(const std::string& optimizer) {
  proto::Job job;
  job.mutable_loss()->set_name("sparse_categorical_crossentropy");
  const size_t colon = optimizer.find(':');
  job.mutable_optimizer()->set_name(optimizer.substr(0, colon));
  job.mutable_optimizer()->set_learning_rate(
      colon == std::string::npos ? 0.001 : std::atof(optimizer.c_str() + colon + 1));
  return job;
}

double PeakMebibytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// A model with its executor and optimizer.
class Bench {
 public:
  // `folder`: of the data; "": random.
  Bench(const char* model_file, const std::string& optimizer, int64_t batch_size, int threads,
        const std::string& folder)
      : job_(MakeJob(optimizer)),
        model_(OrExit(JobModel::Create(job_, ReadSpec(model_file)))),
        device_(OrExit(nn::CreateDevice("cpu"))),
        batch_size_(batch_size) {
    executor_ =
        OrExit(nn::Executor::Create(model_.model.get(), &model_.objective,
                                    {.batch_size = batch_size, .threads = threads}, device_.get()));
    strategy_ = OrExit(LocalStrategy::Create(model_.model.get(), executor_.get(),
                                             OrExit(nn::CreateOptimizer(job_.optimizer())),
                                             /*seed=*/1, [](const proto::BatchRecord&) {}));
    if (folder.empty()) {
      DrawData();
    } else {
      inputs_ = ReadNpy(folder + "/x.npy");
      labels_ = ReadNpy(folder + "/y.npy");
    }
    for (int i = 0; i < 3; ++i) Step();
  }

  void Step() {
    const int64_t batches = static_cast<int64_t>(labels_.size() / kElementBytes) / batch_size_;
    const int64_t first = steps_++ % batches * batch_size_ * kElementBytes;
    nn::Executor::Batch batch;
    batch.size = batch_size_;
    batch.inputs = {inputs_.data() +
                    first * nn::ElementCount(model_.model->inputs()[0].spec.shape)};
    batch.labels = {labels_.data() + first};
    batch.random_key = steps_;
    OrExit(strategy_->BeginStep({steps_, batch_size_, false, nullptr}, [] { return false; }));
    const nn::Executor::BatchResults results = OrExit(executor_->Forward(batch, /*training=*/true));
    loss_ = results.loss_sum / static_cast<double>(results.examples);
    if (steps_ == 1) first_loss_ = loss_;
    CAIRN_CHECK(executor_->Backward([&](int variable) { strategy_->OnGradient(variable); }).ok());
    OrExit(strategy_->EndStep({}));
  }

  Json Run(double seconds) {
    std::vector<double> milliseconds;
    const Clock::time_point start = Clock::now();
    std::chrono::duration<double> elapsed{};
    while (elapsed.count() < seconds || milliseconds.size() < 3) {
      const Clock::time_point begin = Clock::now();
      Step();
      milliseconds.push_back(
          std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
      elapsed = Clock::now() - start;
    }
    const auto steps = static_cast<double>(milliseconds.size());
    std::nth_element(milliseconds.begin(), milliseconds.begin() + milliseconds.size() / 2,
                     milliseconds.end());
    return {{"examples_per_second", steps * static_cast<double>(batch_size_) / elapsed.count()},
            {"milliseconds_median", milliseconds[milliseconds.size() / 2]},
            {"loss", loss_},
            {"peak_mebibytes", PeakMebibytes()}};
  }

  // Milliseconds per step of each layer, forward and backward, and of the whole step.
  Json Profile(int steps) {
    const auto nodes = static_cast<uint32_t>(model_.model->nodes().size());
    SpanRecorder recorder((2 * nodes + 1) * steps);
    executor_->set_recorder(&recorder, 0);
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < steps; ++i) Step();
    const std::chrono::duration<double, std::milli> elapsed = Clock::now() - start;
    executor_->set_recorder(nullptr, 0);
    std::vector<double> sums(2 * nodes + 1);
    for (const SpanRecorder::Span& span : recorder.spans()) {
      sums[span.name] += static_cast<double>(span.nanoseconds) / 1e6 / steps;
    }
    Json layers = Json::array();
    for (uint32_t i = 0; i < nodes; ++i) {
      const nn::Layer& layer = *model_.model->nodes()[i].layer;
      layers.push_back({{"layer", layer.name()},
                        {"class", layer.class_name()},
                        {"forward", sums[i]},
                        {"backward", sums[nodes + i]}});
    }
    return {
        {"milliseconds", elapsed.count() / steps}, {"loss", sums[2 * nodes]}, {"layers", layers}};
  }

  Json Work() const {
    const StepWork work =
        WorkOf(*model_.model, batch_size_, job_.optimizer().name() == "adam" ? 2 : 0);
    int64_t parameters = 0;
    for (const nn::VariableSpec& variable : model_.model->variables()) {
      parameters += nn::ElementCount(variable.shape);
    }
    return {{"operations", work.operations},
            {"bytes", work.bytes},
            {"parameters", parameters},
            {"first_loss", first_loss_}};
  }

 private:
  // Of an input, and of a label.
  static constexpr int64_t kElementBytes = 4;

  void DrawData() {
    const int64_t pixels = nn::ElementCount(model_.model->inputs()[0].spec.shape);
    const int64_t classes = nn::ElementCount(model_.model->output_shape());
    std::vector<float> inputs;
    std::vector<int32_t> labels;
    for (int64_t i = 0; i < kBatches * batch_size_ * pixels; ++i) {
      inputs.push_back(RandomUniform(1, i));
    }
    for (int64_t i = 0; i < kBatches * batch_size_; ++i) {
      labels.push_back(static_cast<int32_t>(RandomUniform(2, i) * static_cast<float>(classes)));
    }
    inputs_ = BytesOf(inputs);
    labels_ = BytesOf(labels);
  }

  const proto::Job job_;
  const JobModel model_;
  const std::unique_ptr<nn::Device> device_;
  const int64_t batch_size_;
  std::unique_ptr<nn::Executor> executor_;
  std::unique_ptr<LocalStrategy> strategy_;
  // Elements of kElementBytes, in the order of the examples.
  std::string inputs_;
  std::string labels_;
  int64_t steps_ = 0;
  double first_loss_ = 0;
  double loss_ = 0;
};

void Serve(Bench* bench) {
  std::cout << bench->Work() << std::endl;
  std::string command;
  double amount = 0;
  while (std::cin >> command >> amount) {
    std::cout << (command == "profile" ? bench->Profile(static_cast<int>(amount))
                                       : bench->Run(amount))
              << std::endl;
  }
}

}  // namespace
}  // namespace cairn::worker

int main(int argc, char** argv) {
  if (argc < 5 || argc > 6 || std::atoi(argv[3]) < 1 || std::atoi(argv[4]) < 1) {
    std::fprintf(stderr, "usage: model_step MODEL.json sgd|adam[:RATE] BATCH THREADS [FOLDER]\n");
    return 2;
  }
  cairn::worker::Bench bench(argv[1], argv[2], std::atoi(argv[3]), std::atoi(argv[4]),
                             argc > 5 ? argv[5] : "");
  cairn::worker::Serve(&bench);
  return 0;
}
