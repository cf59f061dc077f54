#include "coordinator/inference_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/plural.h"

namespace cairn::coordinator {
namespace {

// Each keeps the plan of its job in memory.
constexpr size_t kWaitingMax = 16;

}  // namespace

absl::Status InferenceQueue::Add(proto::InferenceRequest request,
                                 std::shared_ptr<InferenceSink> sink) {
  if (queue_.size() >= kWaitingMax) {
    return absl::ResourceExhaustedError(absl::StrCat(
        Plural(kWaitingMax, "evaluation"), " and predictions wait already; try again later"));
  }
  // Unique across restarts: workers tell an old inference from a new one by it.
  const uint64_t id = term_ << 32 | ++count_;
  CAIRN_LOG_INFO("inference requested", "inference", id, "job", request.plan().job_id(),
                 "checkpoint", request.checkpoint().checkpoint());
  queue_.push_back({std::make_unique<Inference>(id, std::move(request), std::move(sink))});
  return absl::OkStatus();
}

void InferenceQueue::StartFirst(Outbox* outbox) {
  if (queue_.empty() || queue_.front().started) return;
  queue_.front().started = true;
  for (const proto::Role role : {proto::WORKER, proto::EVALUATOR}) {
    for (const TaskId worker : members_.Live(role)) {
      queue_.front().inference->AddWorker(worker, outbox);
    }
  }
}

void InferenceQueue::WorkerJoined(TaskId worker, Outbox* outbox) {
  if (queue_.empty() || !queue_.front().started) return;
  queue_.front().inference->RemoveWorker(worker);
  queue_.front().inference->AddWorker(worker, outbox);
}

void InferenceQueue::WorkerGone(TaskId worker) {
  if (!queue_.empty()) queue_.front().inference->RemoveWorker(worker);
}

void InferenceQueue::OnReport(TaskId worker, const proto::InferenceReport& report,
                              absl::Duration now) {
  if (!queue_.empty()) queue_.front().inference->OnReport(worker, report, now);
}

// A worker that reads from a dead file server sends heartbeats and never replies. A long batch is
// no reason to count it as stuck, whether it is one of the inference or of the job that trains.
void InferenceQueue::NoteActivities(Inference* inference) const {
  for (const proto::Role role : {proto::WORKER, proto::EVALUATOR}) {
    for (const TaskId worker : members_.Live(role)) {
      const proto::Activity::Phase phase = members_.Find(worker)->activity.phase();
      const bool stuck = phase != proto::Activity::COMPUTING && phase != proto::Activity::IDLE &&
                         members_.WithoutProgress(worker) > members_.options().progress_timeout;
      inference->SetActivity(
          worker, phase,
          stuck ? absl::StrCat(worker.Name(), " is ", members_.ActivityText(worker)) : "");
    }
  }
}

void InferenceQueue::Advance(absl::Duration now, Outbox* outbox) {
  std::erase_if(queue_, [](const Entry& entry) {
    return !entry.started && !entry.inference->sink()->alive();
  });
  while (!queue_.empty()) {
    StartFirst(outbox);
    Inference& first = *queue_.front().inference;
    NoteActivities(&first);
    first.Advance(now, outbox);
    if (!first.over()) break;
    first.TellWorkers(outbox);
    CAIRN_LOG_INFO("inference ended", "inference", first.id());
    queue_.pop_front();
  }
  for (size_t i = 1; i < queue_.size(); ++i) {
    const std::string place =
        absl::StrCat("behind ", Plural(static_cast<int64_t>(i), "other inference"));
    InferenceSink* const sink = queue_[i].inference->sink();
    if (queue_[i].place == place || !sink->ready()) continue;
    queue_[i].place = place;
    proto::InferenceChunk chunk;
    chunk.set_waiting_for(place);
    sink->Send(std::move(chunk));
  }
}

}  // namespace cairn::coordinator
