#include "worker/objective_steps.h"

#include <algorithm>
#include <cmath>

#include "common/random.h"
#include "common/random_normal.h"
#include "common/status_macros.h"
#include "nn/tensor.h"

namespace cairn::worker {

using job::ModelProgram;

void FillNoise(uint64_t random_key, int64_t stream, std::vector<float>* noise) {
  const uint64_t key = DeriveKey(DeriveKey(random_key, "noise"), static_cast<uint64_t>(stream));
  for (size_t i = 0; i < noise->size(); ++i) {
    (*noise)[i] = static_cast<float>(RandomNormal(key, 2 * i));
  }
}

absl::StatusOr<std::unique_ptr<ObjectiveSteps>> ObjectiveSteps::Create(
    const ModelProgram* program, nn::Executor* variables, const nn::Executor::Options& options,
    nn::Device* device) {
  std::unique_ptr<ObjectiveSteps> steps(new ObjectiveSteps(program, variables));
  steps->has_gradient_.resize(program->objective_of.size());
  for (const ModelProgram::Objective& objective : program->objectives) {
    std::vector<Runner>& runners = steps->runners_.emplace_back();
    for (const ModelProgram::Pass& pass : objective.passes) {
      CAIRN_RETURN_IF_ERROR(steps->AddRunner(pass, options, device, &runners));
    }
  }
  return steps;
}

absl::Status ObjectiveSteps::AddRunner(const ModelProgram::Pass& pass,
                                       const nn::Executor::Options& common, nn::Device* device,
                                       std::vector<Runner>* runners) {
  Runner runner;
  runner.pass = &pass;
  nn::Executor::Options options;
  options.batch_size = common.batch_size;
  options.threads = common.threads;
  options.precision = common.precision;
  options.trained = pass.trained;
  options.values_of = variables_;
  options.shared_variables = pass.variables;
  CAIRN_ASSIGN_OR_RETURN(runner.executor,
                         nn::Executor::Create(pass.model.get(), &pass.objective, options, device));
  if (pass.target == ModelProgram::Target::kNumber) {
    const nn::Loss& loss = *pass.objective.losses()[0].loss;
    const int64_t count = options.batch_size * loss.LabelCount(pass.model->output_shape());
    if (loss.label_type() == proto::INT32) {
      runner.classes.assign(count, static_cast<int32_t>(pass.number));
    } else {
      runner.numbers.assign(count, static_cast<float>(pass.number));
    }
  }
  for (const ModelProgram::Input& input : pass.inputs) {
    if (input.noise_size == 0) continue;
    noise_[{input.noise_size, input.noise_stream}].reserve(options.batch_size * input.noise_size);
  }
  runners->push_back(std::move(runner));
  return absl::OkStatus();
}

absl::StatusOr<ObjectiveSteps::Results> ObjectiveSteps::Compute(const nn::Executor::Batch& batch,
                                                                int64_t update) {
  for (auto& [what, noise] : noise_) {
    noise.resize(batch.size * what.first);
    FillNoise(batch.random_key, what.second, &noise);
  }
  std::fill(has_gradient_.begin(), has_gradient_.end(), false);
  Results results;
  results.losses.examples = batch.size;
  results.losses.metrics.assign(program_.objectives.size(), {0, 0});
  for (size_t i = 0; i < program_.objectives.size(); ++i) {
    const ModelProgram::Objective& objective = program_.objectives[i];
    if (!objective.RunsIn(update)) continue;
    double loss = 0;
    for (Runner& runner : runners_[i]) {
      CAIRN_RETURN_IF_ERROR(RunPass(batch, &runner, &loss));
    }
    const auto examples = static_cast<double>(batch.size);
    results.losses.metrics[i] = {loss * examples, examples};
    results.losses.loss_sum += loss * examples;
    results.variables.insert(results.variables.end(), objective.variables.begin(),
                             objective.variables.end());
    if (!std::isfinite(loss)) break;
  }
  return results;
}

const void* ObjectiveSteps::LabelsOf(const Runner& runner, const nn::Executor::Batch& batch) const {
  switch (runner.pass->target) {
    case ModelProgram::Target::kLabels:
      return batch.labels[0];
    case ModelProgram::Target::kData:
      return batch.inputs[0];
    case ModelProgram::Target::kNumber:
      break;
  }
  return runner.classes.empty() ? static_cast<const void*>(runner.numbers.data())
                                : runner.classes.data();
}

absl::Status ObjectiveSteps::RunPass(const nn::Executor::Batch& batch, Runner* runner,
                                     double* loss) {
  nn::Executor::Batch own;
  own.size = batch.size;
  own.random_key = batch.random_key;
  for (const ModelProgram::Input& input : runner->pass->inputs) {
    own.inputs.push_back(input.noise_size == 0
                             ? batch.inputs[0]
                             : noise_.at({input.noise_size, input.noise_stream}).data());
  }
  own.labels.push_back(LabelsOf(*runner, batch));
  const auto on_results = [&](const nn::Executor::BatchResults& results) {
    *loss += results.loss_sum / static_cast<double>(batch.size) + results.penalty;
    return std::isfinite(*loss);
  };
  return runner->executor->Step(own, on_results,
                                [&](int variable) { AddGradient(*runner, variable); });
}

// The first contribution of a step is copied, so that the sum of one is its bits.
void ObjectiveSteps::AddGradient(const Runner& runner, int variable) {
  const ModelProgram::Pass& pass = *runner.pass;
  const int place = pass.variables[variable];
  const absl::Span<const float> gradient = runner.executor->gradient(variable);
  const absl::Span<float> sum = variables_->mutable_gradient(place);
  const bool is_first = !has_gradient_[place];
  const bool is_statistic =
      pass.model->variables()[variable].update == nn::VariableSpec::Update::kMovingAverage;
  const auto weight = is_statistic ? static_cast<float>(pass.statistic_weights[variable]) : 1.0f;
  has_gradient_[place] = true;
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i] = is_first ? weight * gradient[i] : sum[i] + weight * gradient[i];
  }
}

}  // namespace cairn::worker
