#ifndef CAIRN_WORKER_OBJECTIVE_STEPS_H_
#define CAIRN_WORKER_OBJECTIVE_STEPS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "job/model_program.h"
#include "nn/device.h"
#include "nn/executor.h"

namespace cairn::worker {

// Fills `noise` with the numbers that noise(size, stream) has in a batch: example after example,
// standard normal. A pure function of its arguments; `random_key` is the batch's
// (nn::Executor::Batch). Element i of the batch is RandomNormal(DeriveKey(DeriveKey(random_key,
// "noise"), stream), 2 i), rounded to float.
void FillNoise(uint64_t random_key, int64_t stream, std::vector<float>* noise);

// Computes the steps of a job of several models (job::ModelProgram): one executor for each loss,
// all of which use the values of one executor that has the variables. Belongs to one thread.
class ObjectiveSteps {
 public:
  struct Results {
    // The sum of the losses of all objectives that ran, and the state of the loss of each.
    nn::Executor::BatchResults losses;
    // The variables of the objectives that ran; their gradients are in the executor of the
    // variables.
    std::vector<int> variables;
  };

  // `variables` was created with Options::variables_only for the union of the models. Batch size,
  // threads and precision are those of `options`. All pointers must outlive the object. Errors as
  // Executor::Create.
  static absl::StatusOr<std::unique_ptr<ObjectiveSteps>> Create(
      const job::ModelProgram* program, nn::Executor* variables,
      const nn::Executor::Options& options, nn::Device* device);

  // Runs the objectives of this update on a batch. A loss that is not finite ends the step: then
  // the gradients are undefined. Errors as Executor::Forward and Backward.
  absl::StatusOr<Results> Compute(const nn::Executor::Batch& batch, int64_t update);

 private:
  // The executor of one loss, and the label of every element if it is a number.
  struct Runner {
    const job::ModelProgram::Pass* pass = nullptr;
    std::unique_ptr<nn::Executor> executor;
    std::vector<float> numbers;
    std::vector<int32_t> classes;
  };

  ObjectiveSteps(const job::ModelProgram* program, nn::Executor* variables)
      : program_(*program), variables_(variables) {}

  absl::Status AddRunner(const job::ModelProgram::Pass& pass, const nn::Executor::Options& options,
                         nn::Device* device, std::vector<Runner>* runners);
  const void* LabelsOf(const Runner& runner, const nn::Executor::Batch& batch) const;
  absl::Status RunPass(const nn::Executor::Batch& batch, Runner* runner, double* loss);
  void AddGradient(const Runner& runner, int variable);

  const job::ModelProgram& program_;
  nn::Executor* const variables_;
  std::vector<std::vector<Runner>> runners_;  // By objective.
  // The noise of the batch by size and stream.
  std::map<std::pair<int64_t, int64_t>, std::vector<float>> noise_;
  std::vector<bool> has_gradient_;  // By variable of the union, in this step.
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_OBJECTIVE_STEPS_H_
