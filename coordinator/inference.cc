#include "coordinator/inference.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/logging.h"
#include "common/plural.h"

namespace cairn::coordinator {
namespace {

constexpr int64_t kBytesAhead = int64_t{64} << 20;
constexpr int64_t kBatchesAhead = 4096;
constexpr int64_t kChunkBytes = int64_t{4} << 20;

// A worker that is killed for its memory dies each time that it is started again.
constexpr int kLossesMax = 3;
// The client is told only of loading that takes longer.
constexpr absl::Duration kSilentLoading = absl::Seconds(5);
constexpr size_t kNamedMax = 3;

std::string DataText(const proto::InferenceReady& data) {
  return absl::StrCat(Plural(data.examples(), "example"), " in batches of ", data.batch_size());
}

// Removes what workers do not read, because each of them gets a copy.
proto::InferenceRequest ForWorkers(proto::InferenceRequest request) {
  proto::JobPlan* const plan = request.mutable_plan();
  plan->clear_partition();  // That of the checkpoint counts.
  if (request.outputs() || !plan->job().has_validation_fraction()) {
    plan->mutable_data()->clear_train_files();
    plan->mutable_data()->clear_train_index();
    plan->mutable_data()->clear_train_mix();
  }
  return request;
}

}  // namespace

Inference::Inference(uint64_t id, proto::InferenceRequest request,
                     std::shared_ptr<InferenceSink> sink)
    : id_(id),
      request_(ForWorkers(std::move(request))),
      sink_(std::move(sink)),
      next_(std::max<int64_t>(0, request_.first_batch())) {}

void Inference::AddWorker(TaskId worker, Outbox* outbox) {
  workers_[worker] = Worker();
  if (const auto lost = losses_.find(worker); lost != losses_.end() && lost->second >= kLossesMax) {
    return Fail(worker, absl::StrCat(worker.Name(), " was lost ", kLossesMax,
                                     " times before its first result; the model may need more "
                                     "memory than it has"));
  }
  proto::Command command;
  command.mutable_start_inference()->set_inference(id_);
  *command.mutable_start_inference()->mutable_request() = request_;
  outbox->Send(worker, std::move(command));
}

void Inference::RemoveWorker(TaskId worker) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  if (found->second.error.empty() && !found->second.has_result) ++losses_[worker];
  workers_.erase(found);
  if (leases_.has_value()) leases_->Drop(worker);
}

void Inference::OnReport(TaskId id, const proto::InferenceReport& report, absl::Duration now) {
  const auto found = workers_.find(id);
  if (report.inference() != id_ || found == workers_.end() || !found->second.error.empty()) return;
  switch (report.report_case()) {
    case proto::InferenceReport::kReady:
      return OnReady(id, report.ready());
    case proto::InferenceReport::kError:
      return Fail(id, report.error());
    case proto::InferenceReport::kBatch:
      return OnBatch(id, report.batch(), now);
    case proto::InferenceReport::REPORT_NOT_SET:
      return;
  }
}

void Inference::OnReady(TaskId id, const proto::InferenceReady& ready) {
  if (ready.examples() < 1 || ready.batch_size() < 1 || ready.batch_bytes() < 0) {
    return Fail(id, absl::StrCat(id.Name(), " has ", ready.examples(), " examples in batches of ",
                                 ready.batch_size()));
  }
  if (!data_.has_value()) {
    const int64_t batches = (ready.examples() - 1) / ready.batch_size() + 1;
    if (next_ > batches) {
      return Fail(id, absl::StrCat("the data have ", batches, " batches now and had ", next_,
                                   " or more; they must not change"));
    }
    data_ = ready;
    data_from_ = id.Name();
    batches_ = batches;
    window_ = std::clamp<int64_t>(kBytesAhead / std::max<int64_t>(1, ready.batch_bytes()), 1,
                                  kBatchesAhead);
    leases_.emplace(next_, batches_);
  } else if (ready.examples() != data_->examples() || ready.batch_size() != data_->batch_size() ||
             ready.batch_bytes() != data_->batch_bytes()) {
    // Nobody knows which of them has the right files.
    conflict_ = absl::StrCat(data_from_, " found ", DataText(*data_), ", ", id.Name(), " found ",
                             DataText(ready), "; all workers need the same files");
    return;
  }
  workers_[id].ready = true;
}

absl::Status Inference::CheckBatch(const proto::InferredBatch& batch) const {
  if (!data_.has_value() || batch.batch() < 0 || batch.batch() >= batches_) {
    return absl::InvalidArgumentError(absl::StrCat("there is no batch ", batch.batch()));
  }
  const int64_t examples =
      std::min(data_->batch_size(), data_->examples() - batch.batch() * data_->batch_size());
  uint64_t bytes = 0;
  for (const std::string& output : batch.outputs()) bytes += output.size();
  const auto expected =
      static_cast<uint64_t>(data_->batch_bytes() / data_->batch_size() * examples);
  if (batch.examples() == examples && bytes == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("batch ", batch.batch(), " has ", batch.examples(),
                                                 " examples and ", bytes, " bytes, expected ",
                                                 examples, " and ", expected));
}

void Inference::OnBatch(TaskId id, const proto::InferredBatch& batch, absl::Duration now) {
  const absl::Status valid = CheckBatch(batch);
  if (!valid.ok()) return Fail(id, absl::StrCat(id.Name(), ": ", valid.message()));
  workers_[id].has_result = true;
  losses_.erase(id);
  if (leases_->Done(id, batch.batch(), now)) results_[batch.batch()] = batch;
}

void Inference::Fail(TaskId id, const std::string& error) {
  CAIRN_LOG_WARNING("a worker cannot compute an inference", "worker", id.Name(), "why", error);
  workers_[id].error = error.empty() ? "it gives no reason" : error;
  workers_[id].failure = ++failures_;
  if (leases_.has_value()) leases_->Drop(id);
}

absl::Status Inference::FirstError() const {
  const Worker* first = nullptr;
  for (const auto& [id, worker] : workers_) {
    if (worker.error.empty()) continue;
    if (first == nullptr || worker.failure < first->failure) first = &worker;
  }
  if (first != nullptr) return absl::InvalidArgumentError(first->error);
  return absl::DeadlineExceededError(workers_.begin()->second.stuck);
}

bool Inference::AllFailed() const {
  return !workers_.empty() && std::all_of(workers_.begin(), workers_.end(), [](const auto& entry) {
    const Worker& worker = entry.second;
    return !worker.error.empty() || (!worker.ready && !worker.stuck.empty());
  });
}

void Inference::SetStuck(TaskId id, const std::string& why) {
  const auto found = workers_.find(id);
  if (found != workers_.end()) found->second.stuck = why;
}

void Inference::Advance(absl::Duration now, Outbox* outbox) {
  if (over_) return;
  if (!sink_->alive()) {
    over_ = true;
    return;
  }
  if (!conflict_.empty()) return End(absl::InvalidArgumentError(conflict_));
  SendResults(now);
  if (over_) return;
  // What the other workers compute is not lost: the client has it, or gets it first.
  if (AllFailed() && !results_.contains(next_)) {
    return End(FirstError());
  }
  Grant(now, outbox);
}

void Inference::Grant(absl::Duration now, Outbox* outbox) {
  if (!leases_.has_value()) return;
  const auto count = std::count_if(workers_.begin(), workers_.end(), [](const auto& worker) {
    return worker.second.ready && worker.second.error.empty();
  });
  for (const auto& [id, worker] : workers_) {
    if (!worker.ready || !worker.error.empty()) continue;
    std::vector<proto::Split> splits = leases_->Grant(id, count, next_ + window_, now);
    if (splits.empty()) continue;
    proto::Command command;
    command.mutable_grant_inference()->set_inference(id_);
    for (proto::Split& split : splits) {
      *command.mutable_grant_inference()->add_batches() = std::move(split);
    }
    outbox->Send(id, std::move(command));
  }
}

std::string Inference::WaitingFor(absl::Duration now) {
  if (workers_.empty()) return "for workers";
  std::vector<std::string> loading;
  for (const auto& [id, worker] : workers_) {
    if (!worker.error.empty()) continue;
    if (worker.ready) {
      loading_since_.reset();
      return "";
    }
    loading.push_back(id.Name());
  }
  if (loading.empty()) return "";
  if (!loading_since_.has_value()) loading_since_ = now;
  if (now - *loading_since_ < kSilentLoading) return "";
  if (loading.size() > kNamedMax) {
    const size_t others = loading.size() - kNamedMax;
    loading.resize(kNamedMax);
    loading.push_back(Plural(static_cast<int64_t>(others), "other"));
  }
  return absl::StrCat("for ", absl::StrJoin(loading, ", "), " to load the model and data");
}

void Inference::SendResults(absl::Duration now) {
  if (!sink_->ready()) return;
  const std::string waiting_for = WaitingFor(now);
  proto::InferenceChunk chunk;
  int64_t bytes = 0;
  for (auto result = results_.find(next_); result != results_.end() && bytes < kChunkBytes;
       result = results_.find(next_)) {
    bytes += static_cast<int64_t>(result->second.ByteSizeLong());
    *chunk.add_batches() = std::move(result->second);
    results_.erase(result);
    ++next_;
  }
  const bool is_news = waiting_for != waiting_for_;
  const bool is_done = data_.has_value() && next_ == batches_;
  if (chunk.batches().empty() && !is_news && !is_done) return;
  waiting_for_ = waiting_for;
  chunk.set_waiting_for(waiting_for);
  if (data_.has_value()) chunk.set_examples(data_->examples());
  sink_->Send(std::move(chunk));
  if (is_done) End(absl::OkStatus());
}

void Inference::End(const absl::Status& status) {
  sink_->End(status);
  over_ = true;
}

void Inference::TellWorkers(Outbox* outbox) const {
  proto::Command command;
  command.mutable_end_inference()->set_inference(id_);
  for (const auto& [id, worker] : workers_) outbox->Send(id, command);
}

}  // namespace cairn::coordinator
