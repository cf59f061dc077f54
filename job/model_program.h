#ifndef CAIRN_JOB_MODEL_PROGRAM_H_
#define CAIRN_JOB_MODEL_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/model.h"
#include "nn/objective.h"
#include "nn/optimizer.h"
#include "proto/job.pb.h"
#include "proto/model.pb.h"

namespace cairn::job {

// What a step of a job of several models computes. The job's model is the union of all models
// (nn/model_union.h). A step has one pass, forward and backward, for each loss:
//
//   for each objective that runs in this update
//     for each of its losses: the models of the expression, joined to one; its gradients are added
//
// All passes of a step use the same values. Rules, which are those of a training loop in Keras that
// calls its models with training=True:
//
// - The same text in expressions means the same tensor: noise, dropout masks and outputs are equal.
// - An objective changes only the models that it trains. Gradients pass through the others.
// - Moving statistics of a model take one value for each different call in the losses of the
//   objective that trains it, in the order of the losses.
// - Weight penalties of the trained models count once in an objective.
//
// Immutable and thread-safe.
struct ModelProgram {
  // An input of a pass's model.
  struct Input {
    int64_t noise_size = 0;  // 0: the batch's features.
    int64_t noise_stream = 0;
  };

  enum class Target { kNumber, kLabels, kData };

  // One loss.
  struct Pass {
    std::unique_ptr<nn::Model> model;
    nn::Objective objective;
    std::vector<Input> inputs;
    // By variable of `model`: its index in the union, whether the objective trains it, and the
    // factor of its moving statistic of this pass in the one of the step (0: another pass has it).
    std::vector<int> variables;
    std::vector<bool> trained;
    std::vector<double> statistic_weights;
    Target target = Target::kNumber;
    double number = 0;
  };

  struct Objective {
    std::string name;
    int64_t every = 1;
    std::vector<Pass> passes;
    // The variables of the union that it trains or whose statistics it moves.
    std::vector<int> variables;

    // True if it runs in this update; in an asynchronous job every batch is an update. It runs in
    // the n-th of each n, so that two steps of another objective precede it for n = 2.
    bool RunsIn(int64_t update) const { return (update + 1) % every == 0; }
  };

  std::vector<Objective> objectives;
  // By variable of the union: the objective that trains it, or -1, and the number of values that
  // its moving statistic takes in a step.
  std::vector<int> objective_of;
  std::vector<int> statistic_steps;
  // A model whose only input is `data` and, if labels are used, the loss that takes them.
  std::unique_ptr<nn::Model> data_model;
  nn::Objective data_objective;

  // `model` is the union of job.models, and `spec` describes it. InvalidArgument starts with the
  // field's path in the job file.
  static absl::StatusOr<ModelProgram> Create(const proto::Job& job, const proto::ModelSpec& spec,
                                             const nn::Model& model);
};

// The optimizers of a job and the variables that they update. Also for jobs of one model. An
// optimizer with exclude_from_weight_decay has a second one without decay behind all others.
struct VariableRules {
  std::vector<std::unique_ptr<nn::Optimizer>> optimizers;
  // By variable of the job's model: an index into `optimizers`.
  std::vector<int> optimizer_of;
  // By variable: the momentum of its moving statistic in one update.
  std::vector<double> momentums;

  // `spec` is needed for jobs of several models only. InvalidArgument as ModelProgram::Create and
  // nn::CreateOptimizer, and if a pattern of exclude_from_weight_decay matches no variable.
  static absl::StatusOr<VariableRules> Create(const proto::Job& job, const proto::ModelSpec& spec,
                                              const std::vector<nn::VariableSpec>& variables);
};

}  // namespace cairn::job

#endif  // CAIRN_JOB_MODEL_PROGRAM_H_
