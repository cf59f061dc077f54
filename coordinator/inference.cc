#include "coordinator/inference.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/logging.h"
#include "common/plural.h"
#include "coordinator/eligible_workers.h"
#include "coordinator/membership.h"

namespace cairn::coordinator {
namespace {

constexpr int64_t kBytesAhead = int64_t{64} << 20;
constexpr int64_t kBatchesAhead = 4096;
constexpr int64_t kChunkBytes = int64_t{4} << 20;

// A worker that is killed for its memory dies each time that it is started again.
constexpr int kLossesMax = 3;
// The client is told only of waits that take longer.
constexpr absl::Duration kSilentWait = absl::Seconds(5);
constexpr size_t kNamedMax = 3;

std::string DataText(const proto::InferenceReady& data) {
  return absl::StrCat(Plural(data.examples(), "example"), " in batches of ", data.batch_size());
}

// What `other` has and `first` has not, which is of the worker `first_name`; empty: they are the
// same.
std::string Difference(const proto::InferenceReady& first, const std::string& first_name,
                       const proto::InferenceReady& other) {
  for (int i = 0; i < std::min(first.files_size(), other.files_size()); ++i) {
    const proto::DataFiles& mine = other.files(i);
    const proto::DataFiles& theirs = first.files(i);
    if (mine.first() != theirs.first() || mine.count() != theirs.count()) {
      return absl::StrCat("it reads data file ", mine.first(), " where ", first_name, " reads ",
                          theirs.first());
    }
    if (mine.fingerprint() == theirs.fingerprint()) continue;
    return mine.count() == 1
               ? absl::StrCat("its data file ", mine.first(), " differs from that of ", first_name)
               : absl::StrCat("one of its ", mine.count(), " data files from ", mine.first(),
                              " on differs from that of ", first_name);
  }
  if (first.examples() == other.examples() && first.batch_size() == other.batch_size() &&
      first.batch_bytes() == other.batch_bytes() && first.files_size() == other.files_size()) {
    return "";
  }
  return absl::StrCat("it found ", DataText(other), ", ", first_name, " found ", DataText(first));
}

uint64_t FingerprintOf(const proto::InferenceReady& ready) {
  const std::string bytes = ready.SerializeAsString();
  return XXH3_64bits(bytes.data(), bytes.size());
}

// "a, b, c, 2 others". `count` things, of which `names` are the first.
std::string NamesText(std::vector<std::string> names, size_t count) {
  if (count > names.size()) {
    names.push_back(Plural(static_cast<int64_t>(count - names.size()), "other"));
  }
  return absl::StrJoin(names, ", ");
}

// Removes what workers do not read, because each of them gets a copy.
proto::InferenceRequest ForWorkers(proto::InferenceRequest request) {
  proto::JobPlan* const plan = request.mutable_plan();
  plan->clear_partition();  // That of the checkpoint counts.
  if (request.outputs() || !plan->job().has_validation_fraction()) {
    plan->mutable_data()->clear_train_files();
    plan->mutable_data()->clear_train_index();
    plan->mutable_data()->clear_train_mix();
    // The rest describes other data of the zip, too.
    for (proto::DataPlan& zipped : *plan->mutable_data()->mutable_train_zip()) {
      zipped.clear_train_files();
      zipped.clear_train_index();
      zipped.clear_train_damaged();
    }
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
  Start(worker, outbox);
}

void Inference::Start(TaskId id, Outbox* outbox) const {
  proto::Command command;
  command.mutable_start_inference()->set_inference(id_);
  *command.mutable_start_inference()->mutable_request() = request_;
  outbox->Send(id, std::move(command));
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
      return OnReady(id, report.ready(), now);
    case proto::InferenceReport::kError:
      return report.transient() ? FailForNow(id, report.error(), now) : Fail(id, report.error());
    case proto::InferenceReport::kBatch:
      return OnBatch(id, report.batch(), now);
    case proto::InferenceReport::REPORT_NOT_SET:
      return;
  }
}

void Inference::OnReady(TaskId id, const proto::InferenceReady& ready, absl::Duration now) {
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
    const uint64_t fingerprint = FingerprintOf(ready);
    if (request_.data_fingerprint() != 0 && request_.data_fingerprint() != fingerprint) {
      return Fail(id, absl::StrCat("the data files of ", id.Name(),
                                   " are not those of the batches that are done; all workers need "
                                   "the same files, and these must not change"));
    }
    data_ = ready;
    data_from_ = id.Name();
    data_fingerprint_ = fingerprint;
    batches_ = batches;
    window_ = std::clamp<int64_t>(kBytesAhead / std::max<int64_t>(1, ready.batch_bytes()), 1,
                                  kBatchesAhead);
    leases_.emplace(next_, batches_);
  } else if (const std::string difference = Difference(*data_, data_from_, ready);
             !difference.empty()) {
    return Fail(id, absl::StrCat(difference, "; all workers need the same files"));
  }
  workers_[id].ready = true;
  waiting_since_ = now;
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
  const BatchLeases::Result result = leases_->Done(id, batch.batch(), now);
  // A late result of an earlier attempt says nothing about this one.
  if (result == BatchLeases::Result::kNotLeased) return;
  Worker& worker = workers_[id];
  worker.has_result = true;
  worker.tries = 0;
  losses_.erase(id);
  waiting_since_ = now;
  if (result == BatchLeases::Result::kFirst) results_[batch.batch()] = batch;
}

void Inference::SetError(TaskId id, const std::string& error) {
  CAIRN_LOG_WARNING("a worker cannot compute an inference", "worker", id.Name(), "why", error);
  Worker& worker = workers_[id];
  worker.ready = false;
  worker.error = error.empty() ? "it gives no reason" : error;
  worker.failure = ++failures_;
  if (leases_.has_value()) leases_->Drop(id);
}

void Inference::Fail(TaskId id, const std::string& error) {
  SetError(id, error);
  left_out_.push_back(absl::StrCat(id.Name(), " is left out: ", workers_[id].error));
}

void Inference::FailForNow(TaskId id, const std::string& error, absl::Duration now) {
  const absl::Duration pause = EligibleWorkers::PauseAfter(++workers_[id].tries);
  if (pause == absl::InfiniteDuration()) return Fail(id, error);
  SetError(id, error);
  workers_[id].retry_at = now + pause;
  notes_.push_back(absl::StrCat(id.Name(), " tries again in ", absl::ToInt64Seconds(pause),
                                " s: ", workers_[id].error));
}

void Inference::Retry(absl::Duration now, Outbox* outbox) {
  for (auto& [id, worker] : workers_) {
    if (worker.error.empty() || now < worker.retry_at) continue;
    worker.error.clear();
    worker.retry_at = absl::InfiniteDuration();
    Start(id, outbox);
  }
}

absl::Status Inference::FirstError() const {
  const Worker* first = nullptr;
  for (const auto& [id, worker] : workers_) {
    if (worker.error.empty()) continue;
    if (first == nullptr || worker.failure < first->failure) first = &worker;
  }
  if (first != nullptr) return absl::InvalidArgumentError(first->error);
  return absl::FailedPreconditionError(workers_.begin()->second.stuck);
}

bool Inference::AllFailed() const {
  return !workers_.empty() && std::all_of(workers_.begin(), workers_.end(), [](const auto& entry) {
    return entry.second.has_failed();
  });
}

void Inference::SetActivity(TaskId id, proto::Activity::Phase phase, const std::string& stuck) {
  const auto found = workers_.find(id);
  if (found == workers_.end()) return;
  Worker& worker = found->second;
  worker.phase = phase;
  if (worker.computes() && !stuck.empty()) {
    leases_->TakeBack(id);
    notes_.push_back(absl::StrCat(stuck, "; others get its batches"));
  }
  worker.stuck = stuck;
}

void Inference::Advance(absl::Duration now, Outbox* outbox) {
  if (over_) return;
  if (!sink_->alive()) {
    over_ = true;
    return;
  }
  // What the other workers compute is not lost: the client has it, or gets it first.
  if (AllFailed() && !results_.contains(next_) && !complete()) return End(FirstError());
  SendResults(now);
  if (over_) return;
  Retry(now, outbox);
  Grant(now, outbox);
}

void Inference::Grant(absl::Duration now, Outbox* outbox) {
  if (!leases_.has_value()) return;
  const auto count = std::count_if(workers_.begin(), workers_.end(),
                                   [](const auto& entry) { return entry.second.computes(); });
  for (const auto& [id, worker] : workers_) {
    if (!worker.computes()) continue;
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
  const auto has_batches = [&](const auto& entry) {
    return entry.second.computes() && leases_->leased(entry.first) > 0;
  };
  // Called at every event: no text is made before it is needed.
  const bool busy = std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    return entry.second.loads() || has_batches(entry);
  });
  if (!busy) {
    waiting_since_.reset();
    return "";
  }
  if (!waiting_since_.has_value()) waiting_since_ = now;
  if (now - *waiting_since_ < kSilentWait) return "";
  const bool computing = std::any_of(workers_.begin(), workers_.end(), has_batches);
  std::vector<std::string> names;
  size_t count = 0;
  for (const auto& entry : workers_) {
    const auto& [id, worker] = entry;
    if (!(computing ? has_batches(entry) : worker.loads()) || ++count > kNamedMax) continue;
    names.push_back(id.Name());
    // Its last heartbeat may be older than its batch.
    if (!computing || worker.phase == proto::Activity::IDLE) continue;
    absl::StrAppend(&names.back(), " (", std::string(PhaseText(worker.phase)), ")");
  }
  return absl::StrCat("for ", NamesText(std::move(names), count),
                      computing ? "" : " to load the model and data");
}

std::vector<std::string> Inference::TakeNotes() {
  if (data_.has_value()) {
    const size_t count = left_out_.size();
    if (count > kNamedMax) {
      left_out_.resize(kNamedMax);
      left_out_.push_back(
          absl::StrCat(Plural(static_cast<int64_t>(count - kNamedMax), "other worker"),
                       count - kNamedMax == 1 ? " is" : " are", " left out, too"));
    }
    notes_.insert(notes_.end(), left_out_.begin(), left_out_.end());
    left_out_.clear();
  }
  return std::exchange(notes_, {});
}

void Inference::SendResults(absl::Duration now) {
  if (!sink_->ready()) return;
  const std::string waiting_for = WaitingFor(now);
  proto::InferenceChunk chunk;
  for (std::string& note : TakeNotes()) chunk.add_notes(std::move(note));
  int64_t bytes = 0;
  for (auto result = results_.find(next_); result != results_.end() && bytes < kChunkBytes;
       result = results_.find(next_)) {
    bytes += static_cast<int64_t>(result->second.ByteSizeLong());
    *chunk.add_batches() = std::move(result->second);
    results_.erase(result);
    ++next_;
  }
  const bool is_news = waiting_for != waiting_for_ || !chunk.notes().empty();
  if (chunk.batches().empty() && !is_news && !complete()) return;
  waiting_for_ = waiting_for;
  chunk.set_waiting_for(waiting_for);
  if (data_.has_value()) {
    chunk.set_examples(data_->examples());
    chunk.set_data_fingerprint(data_fingerprint_);
  }
  sink_->Send(std::move(chunk));
  if (complete()) End(absl::OkStatus());
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
