// A data-parallel training loop of one's own: each rank has a part of the examples, all ranks have
// the same weights, and the gradients are averaged in each step.
//
//   bazel build //examples/collectives:data_parallel
//   cluster='{"worker": ["127.0.0.1:7001", "127.0.0.1:7002"]}'
//   for i in 0 1; do
//     export TF_CONFIG='{"cluster": '$cluster', "task": {"type": "worker", "index": '$i'}}'
//     bazel-bin/examples/collectives/data_parallel &
//   done; wait
//
// It fits y = 2 a - 3 b + 0.5 by gradient descent. If a rank is killed, the others go on without
// it.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collectives/group.h"

namespace {

using cairn::collectives::DataType;
using cairn::collectives::Group;
using cairn::collectives::GroupOptions;
using cairn::collectives::ReduceOp;
using cairn::collectives::Tensor;

constexpr int kSteps = 200;
constexpr int kExamples = 256;  // Of each rank.
constexpr float kRate = 0.3F;

struct Example {
  float a, b, y;
};

std::vector<Example> ExamplesOf(int rank) {
  std::mt19937 random(static_cast<unsigned>(rank) + 1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<Example> examples(kExamples);
  for (Example& each : examples) {
    each.a = uniform(random);
    each.b = uniform(random);
    each.y = 2 * each.a - 3 * each.b + 0.5F;
  }
  return examples;
}

// The gradient of the mean squared error over this rank's examples, and the error itself last.
std::vector<float> Gradient(const std::vector<Example>& examples,
                            const std::vector<float>& weights) {
  std::vector<float> sums(4);
  for (const Example& each : examples) {
    const float error = weights[0] * each.a + weights[1] * each.b + weights[2] - each.y;
    sums[0] += 2 * error * each.a;
    sums[1] += 2 * error * each.b;
    sums[2] += 2 * error;
    sums[3] += error * error;
  }
  for (float& sum : sums) sum /= kExamples;
  return sums;
}

absl::Status Train(const GroupOptions& options) {
  absl::StatusOr<std::unique_ptr<Group>> group = Group::Join(options);
  if (!group.ok()) return group.status();
  const std::vector<Example> examples = ExamplesOf((*group)->rank());
  std::vector<float> weights(3, static_cast<float>((*group)->rank()));
  // All start with the weights of rank 0.
  absl::Status status = (*group)->Broadcast({weights.data(), weights.size()}, /*root=*/0);
  if (!status.ok()) return status;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<float> gradient = Gradient(examples, weights);
    status = (*group)->AllReduce({Tensor{gradient.data(), gradient.size()}}, ReduceOp::kAverage);
    if (!status.ok()) {
      std::printf("step %d: %s\n", step, std::string(status.message()).c_str());
      absl::StatusOr<std::unique_ptr<Group>> next = (*group)->Reform();
      if (!next.ok()) return next.status();
      group = std::move(next);
      std::printf("%d ranks go on, this one as rank %d\n", (*group)->size(), (*group)->rank());
      // A rank may have applied the last step, another one not.
      status = (*group)->Broadcast({weights.data(), weights.size()}, /*root=*/0);
      if (!status.ok()) return status;
      continue;
    }
    for (size_t i = 0; i < weights.size(); ++i) weights[i] -= kRate * gradient[i];
    if (step % 50 == 0) std::printf("step %d: error %g\n", step, gradient[3]);
  }
  std::printf("rank %d of %d: y = %.3f a + %.3f b + %.3f\n", (*group)->rank(), (*group)->size(),
              weights[0], weights[1], weights[2]);
  return (*group)->Barrier();
}

}  // namespace

int main() {
  const char* const tf_config = std::getenv("TF_CONFIG");
  const auto options = GroupOptions::FromTfConfig(tf_config == nullptr ? "" : tf_config);
  const absl::Status status = options.ok() ? Train(*options) : options.status();
  if (status.ok()) return 0;
  std::fprintf(stderr, "data_parallel: %s\n", std::string(status.message()).c_str());
  return 1;
}
