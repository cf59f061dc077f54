#include "parameters/parameter_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/status_macros.h"
#include "parameters/blocks/ledger_summary.h"

namespace cairn::parameters {

ParameterStore::~ParameterStore() { Drop(absl::UnavailableError("the parameter server stops")); }

absl::Status ParameterStore::Check(uint64_t job_id, uint64_t generation) const {
  if (job_ == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("ps ", ps_, " is not restored yet: it has no job, but was asked for job ",
                     job_id, " in generation ", generation));
  }
  if (job_->layout()->job_id() == job_id && job_->generation() == generation) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "ps ", ps_, " has job ", job_->layout()->job_id(), " in generation ", job_->generation(),
      ", but was asked for job ", job_id, " in generation ", generation));
}

absl::StatusOr<std::shared_ptr<JobBlocks>> ParameterStore::Find(uint64_t job_id,
                                                                uint64_t generation) const {
  MutexLock lock(&mutex_);
  CAIRN_RETURN_IF_ERROR(Check(job_id, generation));
  return job_;
}

absl::StatusOr<std::shared_ptr<JobBlocks>> ParameterStore::FindReplicas(uint64_t job_id,
                                                                        uint64_t generation) const {
  MutexLock lock(&mutex_);
  CAIRN_RETURN_IF_ERROR(Check(job_id, generation));
  if (replicas_ != nullptr) return replicas_;
  return absl::FailedPreconditionError(
      absl::StrCat("ps ", ps_, " has no replicas of job ", job_id, ", which is not replicated"));
}

std::shared_ptr<JobBlocks> ParameterStore::current() const {
  MutexLock lock(&mutex_);
  return job_;
}

proto::LedgerReply ParameterStore::Ledgers() const {
  const std::shared_ptr<JobBlocks> job = current();
  if (job == nullptr) return proto::LedgerReply();
  return SummarizeLedgers(*job->layout(), job->generation(), job->Capture());
}

void ParameterStore::Install(std::shared_ptr<JobBlocks> job, std::shared_ptr<JobBlocks> replicas) {
  Drop(absl::AbortedError(
      absl::StrCat("job ", job->layout()->job_id(), " begins its generation ", job->generation())));
  MutexLock lock(&mutex_);
  if (counted_job_id_ != job->layout()->job_id()) {
    counted_job_id_ = job->layout()->job_id();
    counters_.pulls = 0;
    counters_.pushes = 0;
    counters_.duplicates_refused = 0;
  }
  job_ = std::move(job);
  replicas_ = std::move(replicas);
}

void ParameterStore::Drop(const absl::Status& why) {
  std::shared_ptr<JobBlocks> job;
  std::shared_ptr<JobBlocks> replicas;
  std::shared_ptr<const Cut> cut;
  std::shared_ptr<const ReplicaSet> kept;
  {
    MutexLock lock(&mutex_);
    job = std::exchange(job_, nullptr);
    replicas = std::exchange(replicas_, nullptr);
    cut = std::exchange(cut_, nullptr);
    kept = std::exchange(kept_, nullptr);
  }
  // Requests can no longer find the job. Those that its owner threads have queued are answered with
  // `why`.
  if (job != nullptr) job->Close(why);
  if (replicas != nullptr) replicas->Close(why);
}

void ParameterStore::EndGeneration(const absl::Status& why) {
  std::shared_ptr<JobBlocks> job;
  std::shared_ptr<JobBlocks> replicas;
  std::shared_ptr<const Cut> cut;
  {
    MutexLock lock(&mutex_);
    if (job_ == nullptr || replicas_ == nullptr) return;
    job = std::exchange(job_, nullptr);
    replicas = std::exchange(replicas_, nullptr);
    cut = std::exchange(cut_, nullptr);
  }
  // Own blocks first, so that none of them is applied any more when the replicas are closed.
  std::vector<ReplicatedState> own = job->ReplicasAndClose(why);
  std::vector<ReplicatedState> others = replicas->ReplicasAndClose(why);
  auto kept = std::make_shared<const ReplicaSet>(job->generation(), job->layout(), std::move(own),
                                                 replicas->layout(), std::move(others));
  MutexLock lock(&mutex_);
  kept_ = std::move(kept);
}

std::shared_ptr<const ReplicaSet> ParameterStore::replicas() const {
  std::shared_ptr<JobBlocks> job;
  std::shared_ptr<JobBlocks> replicas;
  {
    MutexLock lock(&mutex_);
    if (job_ == nullptr) return kept_;
    job = job_;
    replicas = replicas_;
  }
  if (replicas == nullptr) return nullptr;
  return std::make_shared<const ReplicaSet>(job->generation(), job->layout(), job->Replicas(),
                                            replicas->layout(), replicas->Replicas());
}

absl::StatusOr<std::shared_ptr<const Cut>> ParameterStore::FindCutOrDropOlder(uint64_t job_id,
                                                                              uint64_t cut) {
  std::shared_ptr<const Cut> older;  // Destroyed after the lock is released.
  MutexLock lock(&mutex_);
  if (cut_ == nullptr || cut_->id == cut) return cut_;
  if (cut_->id > cut) {
    return absl::FailedPreconditionError(absl::StrCat("cut ", cut, " of job ", job_id, ": ps ", ps_,
                                                      " keeps the later cut ", cut_->id));
  }
  older = std::exchange(cut_, nullptr);
  return nullptr;
}

absl::StatusOr<std::shared_ptr<const Cut>> ParameterStore::MakeCut(uint64_t job_id,
                                                                   uint64_t generation,
                                                                   uint64_t cut) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("ps.make_cut"));
  CAIRN_ASSIGN_OR_RETURN(const std::shared_ptr<JobBlocks> job, Find(job_id, generation));
  if (absl::StatusOr<std::shared_ptr<const Cut>> known = FindCutOrDropOlder(job_id, cut);
      !known.ok() || *known != nullptr) {
    return known;
  }
  auto made = std::make_shared<Cut>();
  made->id = cut;
  made->generation = generation;
  made->layout = job->layout();
  made->states = job->Capture();
  made->ledger = SummarizeLedgers(*made->layout, generation, made->states);
  MutexLock lock(&mutex_);
  cut_ = made;
  return made;
}

absl::StatusOr<std::shared_ptr<const Cut>> ParameterStore::FindCut(uint64_t job_id,
                                                                   uint64_t generation,
                                                                   uint64_t cut) const {
  MutexLock lock(&mutex_);
  CAIRN_RETURN_IF_ERROR(Check(job_id, generation));
  if (cut_ != nullptr && cut_->id == cut) return cut_;
  return absl::NotFoundError(
      absl::StrCat("cut ", cut, " of job ", job_id, " is not (or no longer) on ps ", ps_));
}

void ParameterStore::DropCut(uint64_t job_id, uint64_t cut) {
  CAIRN_FAILPOINT("ps.drop_cut").IgnoreError();
  std::shared_ptr<const Cut> dropped;
  MutexLock lock(&mutex_);
  if (job_ == nullptr || job_->layout()->job_id() != job_id) return;
  if (cut_ != nullptr && cut_->id == cut) dropped = std::exchange(cut_, nullptr);
}

}  // namespace cairn::parameters
