#include "worker/job_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/status_macros.h"
#include "job/job_plan.h"

namespace cairn::worker {

absl::StatusOr<std::unique_ptr<JobRunner>> JobRunner::Create(const proto::StartJob& job,
                                                             const Options& options,
                                                             nn::Device* device) {
  std::unique_ptr<JobRunner> runner(new JobRunner(job, options, device));
  const proto::JobPlan& plan = job.plan();
  CAIRN_ASSIGN_OR_RETURN(runner->model_, JobModel::Create(plan.job(), plan.model()));
  CAIRN_ASSIGN_OR_RETURN(runner->data_,
                         LoadJobData(plan, runner->model_, options.storage, options.trains, true));
  // A plan without fingerprints compares no files. The number of examples must agree in any case:
  // it determines which examples a batch has.
  const auto check = [](const char* what, const Dataset* data, int64_t wanted) {
    if (data == nullptr || data->examples() == wanted) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(what, ": the files hold ", data->examples(),
                                                      " examples on this host, ", wanted,
                                                      " when the job was planned"));
  };
  CAIRN_RETURN_IF_ERROR(check("train", runner->data_.train.get(), plan.examples()));
  CAIRN_RETURN_IF_ERROR(
      check("validation", runner->data_.validation.get(), plan.validation_examples()));
  return runner;
}

JobRunner::~JobRunner() { EndGeneration(); }

absl::Status JobRunner::MakeExecutor() {
  nn::Executor::Options options;
  options.batch_size = job_.plan().batch_size();
  options.threads = options_.threads;
  options.precision = model_.precision;
  options.variables_only = model_.program != nullptr;
  CAIRN_ASSIGN_OR_RETURN(
      executor_, nn::Executor::Create(model_.model.get(), &model_.objective, options, device_));
  if (model_.program != nullptr) {
    CAIRN_ASSIGN_OR_RETURN(
        objective_steps_,
        ObjectiveSteps::Create(model_.program.get(), executor_.get(), options, device_));
  }
  auto loader = std::make_unique<BatchLoader>(data_.train, BatchSampler::ForTraining(job_.plan()),
                                              data_.storage);
  MutexLock lock(&mutex_);
  loader_ = std::move(loader);
  return absl::OkStatus();
}

absl::Status JobRunner::StartGeneration(const proto::StartJob& job, const ClusterInfo& cluster,
                                        Strategy::OnApplied on_applied) {
  // The old strategy goes first: the executor takes the values of one strategy at a time. Model,
  // data and the training executor do not depend on the generation and stay.
  EndGeneration();
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("worker.start_generation"));
  job_ = job;
  if (options_.trains && executor_ == nullptr) CAIRN_RETURN_IF_ERROR(MakeExecutor());
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<Strategy> strategy,
                         CreateStrategy(job, *model_.model, cluster,
                                        {.executor = executor_.get(),
                                         .gradient_memory = options_.gradient_memory,
                                         .on_applied = on_applied}));
  if (options_.trains) {
    // With the other policies the coordinator decides, so the batch is reported as if it were
    // applied, and marked.
    const bool rejects = job::NonFinitePolicyOf(job.plan().job()) == job::NonFinitePolicy::kReject;
    trainer_ = std::make_unique<Trainer>(
        executor_.get(), loader_.get(), strategy.get(), options_.activity, job.plan().seed(),
        model_.class_weights.has_value() ? &*model_.class_weights : nullptr,
        rejects ? nullptr : std::move(on_applied));
    trainer_->set_objective_steps(objective_steps_.get(),
                                  std::max<int64_t>(1, job.plan().batches_per_update()));
    SetRecorder();
  }
  MutexLock lock(&mutex_);
  strategy_ = std::move(strategy);
  return absl::OkStatus();
}

void JobRunner::StartProfile(const proto::Profile& command) {
  profiler_ = std::make_unique<StepProfiler>(command, model_.model.get());
  SetRecorder();
}

std::optional<proto::ProfileReport> JobRunner::TakeProfile(bool now) {
  if (profiler_ == nullptr || !(now || profiler_->complete())) return std::nullopt;
  const proto::ProfileReport report = profiler_->Report();
  profiler_.reset();
  SetRecorder();
  return report;
}

void JobRunner::SetRecorder() {
  SpanRecorder* const recorder = profiler_ != nullptr ? profiler_->recorder() : nullptr;
  if (trainer_ != nullptr) trainer_->set_recorder(recorder);
  if (executor_ != nullptr) executor_->set_recorder(recorder, StepProfiler::kFirstLayerName);
}

void JobRunner::EndGeneration() {
  trainer_.reset();
  evaluator_.reset();
  // Destroyed without the lock: destruction waits for callbacks, and Wake must not block.
  std::unique_ptr<Strategy> strategy;
  MutexLock lock(&mutex_);
  strategy.swap(strategy_);
}

absl::StatusOr<Strategy::StepStatus> JobRunner::Train(const Trainer::Assignment& assignment,
                                                      absl::FunctionRef<bool()> should_abandon) {
  if (trainer_ == nullptr) return absl::FailedPreconditionError("this task does not train");
  const absl::StatusOr<Strategy::StepStatus> status = trainer_->Step(assignment, should_abandon);
  if (profiler_ != nullptr && status.ok() && *status == Strategy::StepStatus::kOk) {
    profiler_->StepDone();
    if (trainer_->load_times()) profiler_->AddLoad(*trainer_->load_times());
  }
  return status;
}

absl::Status JobRunner::MakeEvaluator() {
  if (data_.validation == nullptr) {
    return absl::FailedPreconditionError("the job has no validation data");
  }
  CAIRN_ASSIGN_OR_RETURN(evaluator_,
                         Evaluator::Create(job_.plan(), model_, data_, options_.threads, device_,
                                           strategy_.get(), options_.activity));
  return absl::OkStatus();
}

absl::StatusOr<proto::EvaluatedBatch> JobRunner::Evaluate(
    uint64_t cut, int64_t batch, absl::Span<const int64_t> next,
    absl::FunctionRef<bool()> should_abandon) {
  if (evaluator_ == nullptr) CAIRN_RETURN_IF_ERROR(MakeEvaluator());
  return evaluator_->Evaluate(cut, batch, next, should_abandon);
}

void JobRunner::Wake() {
  MutexLock lock(&mutex_);
  if (strategy_ != nullptr) strategy_->Wake();
}

void JobRunner::ExpectBatches(absl::Span<const int64_t> next) {
  MutexLock lock(&mutex_);
  if (loader_ != nullptr) loader_->Expect(next);
}

std::optional<cluster::PsClient::Silence> JobRunner::LongestSilence() const {
  MutexLock lock(&mutex_);
  return strategy_ != nullptr ? strategy_->LongestSilence() : std::nullopt;
}

}  // namespace cairn::worker
