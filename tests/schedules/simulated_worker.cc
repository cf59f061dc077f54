#include "tests/schedules/simulated_worker.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/schedules/invariants.h"

namespace cairn::schedules {
namespace {

constexpr absl::Duration kSend = absl::Milliseconds(20);
constexpr absl::Duration kRepeat = absl::Milliseconds(300);
constexpr size_t kPullsInFlight = 4;  // At one ps, as in worker/strategy/value_puller.cc.

}  // namespace

void SimulatedWorker::OnStart() {
  state_ = std::make_unique<worker::WorkState>();
  key_ = {};
  busy_ = false;
  open_pushes_.clear();
  On(kSend, [this] { SendMessages(); });
}

void SimulatedWorker::FillHeartbeat(proto::Heartbeat* heartbeat) {
  if (hangs_for() == absl::ZeroDuration()) return;
  heartbeat->mutable_activity()->set_phase(proto::Activity::READING);
  heartbeat->mutable_activity()->set_milliseconds_without_progress(
      absl::ToInt64Milliseconds(world()->now() - hangs_since()));
}

void SimulatedWorker::Handle(const proto::Command& command) {
  if (command.has_welcome()) {
    state_->OnWelcome(command.welcome().keep_leases(), world()->now());
  } else {
    state_->OnCommand(command);
  }
  NextItem();
}

void SimulatedWorker::SendMessages() {
  On(kSend, [this] { SendMessages(); });
  if (!is_connected()) return;
  for (proto::TaskMessage& message : state_->TakeMessages(world()->now())) {
    Send(std::move(message));
  }
}

// The trainer's thread: one item after the other.
void SimulatedWorker::NextItem() {
  if (busy_) return;
  if (hangs_for() > absl::ZeroDuration()) return On(hangs_for(), [this] { NextItem(); });
  const std::optional<worker::WorkItem> item = state_->NextItem();
  if (!item.has_value()) return;
  busy_ = true;
  Step(*item);
}

void SimulatedWorker::EndStep() {
  busy_ = false;
  NextItem();
}

void SimulatedWorker::Step(const worker::WorkItem& item) {
  switch (item.kind) {
    case worker::WorkItem::Kind::kInspect:
      return On(world()->Delay(), [this, inspect = item.inspect] {
        proto::InspectReply reply;
        reply.set_job_id(inspect->job_id());
        reply.set_inspection(inspect->inspection());
        reply.set_examples(world()->job.per_epoch);
        state_->Inspected(reply);
        EndStep();
      });
    case worker::WorkItem::Kind::kStartJob:
      DropRequests();
      failed_ = false;
      key_ = {item.job->plan().job_id(), item.job->generation()};
      return On(world()->Delay(), [this] {
        state_->Ready(key_);
        EndStep();
      });
    case worker::WorkItem::Kind::kTrain:
      // Reading takes its time, and may hang.
      return On(hangs_for() + world()->ReadingTime(),
                [this, batch = item.batch] { BeginStep(batch); });
    default:
      DropRequests();
      return EndStep();
  }
}

// Not synchronous: the previous step must be applied, so that its values are here.
void SimulatedWorker::BeginStep(int64_t batch) {
  if (world()->job.mode == "sync" || open_pushes_.empty()) return Pull(batch);
  if (!state_->ShouldKeepWaiting(key_, batch)) return ReturnBatch(batch);
  On(absl::Milliseconds(5), [this, batch] { BeginStep(batch); });
}

void SimulatedWorker::ReturnBatch(int64_t batch) {
  state_->StepEnded();
  state_->ReturnBatch(key_, batch);
  EndStep();
}

void SimulatedWorker::Pull(int64_t batch) {
  auto pulling = std::make_shared<Pulling>();
  pulling->batch = batch;
  pulling->generation = key_.generation;
  pulling->early = MayPullEarly(batch);
  pulling->shares.resize(ps_.size());
  for (uint32_t block = 0; block < world()->job.blocks; ++block) {
    pulling->shares[block % ps_.size()].unsent.push_back(block);
  }
  // Of a large share one request waits until its values exist.
  for (Pulling::Share& share : pulling->shares) {
    share.in_flight_max = share.unsent.size() > kPullsInFlight ? 1 : kPullsInFlight;
  }
  SendPulls(pulling);
  On(absl::Milliseconds(5), [this, pulling] { WaitOrAbandon(pulling); });
}

void SimulatedWorker::SendPulls(const std::shared_ptr<Pulling>& pulling) {
  for (Pulling::Share& share : pulling->shares) {
    for (; !share.unsent.empty() && share.in_flight < share.in_flight_max; ++share.in_flight) {
      const uint32_t block = share.unsent.front();
      share.unsent.pop_front();
      pulling->requests.push_back(
          Ask({.batch = pulling->batch, .block = block, .early = pulling->early},
              [this, pulling, block](const parameters::BlockReply& reply) {
                OnPulled(pulling, block, reply);
              }));
    }
  }
}

void SimulatedWorker::OnPulled(const std::shared_ptr<Pulling>& pulling, uint32_t block,
                               const parameters::BlockReply& reply) {
  if (pulling->ended) return;
  const int64_t batch = pulling->batch;
  pulling->applied |= reply.applied_before;
  if (!reply.applied_before) {
    world()->Violate(CheckPulledValues(world()->job, batch, block, reply.values));
  }
  Pulling::Share& share = pulling->shares[block % ps_.size()];
  --share.in_flight;
  share.in_flight_max = kPullsInFlight;
  if (++pulling->replies < world()->job.blocks) return SendPulls(pulling);
  pulling->ended = true;
  pulling->requests.clear();  // They refer to it.
  if (pulling->applied) {
    state_->StepEnded();
    state_->AppliedByOthers(key_, batch);
    return EndStep();
  }
  On(world()->ComputingTime(), [this, batch, early = pulling->early] { Compute(batch, early); });
}

void SimulatedWorker::WaitOrAbandon(const std::shared_ptr<Pulling>& pulling) {
  if (pulling->ended) return;
  // Another request may have ended this generation, and the step with it.
  const bool over = pulling->generation != key_.generation;
  if (!over && state_->ShouldKeepWaiting(key_, pulling->batch)) {
    return On(absl::Milliseconds(10), [this, pulling] { WaitOrAbandon(pulling); });
  }
  pulling->ended = true;
  for (const RequestPtr& pull : pulling->requests) {
    pull->over = true;
    requests_.erase(pull);
  }
  pulling->requests.clear();
  ReturnBatch(pulling->batch);
}

bool SimulatedWorker::MayPullEarly(int64_t batch) const {
  const int64_t begin = world()->job.UpdateBegin(batch);
  return world()->job.replicated && begin > 0 &&
         last_pushed_ == world()->job.UpdateBegin(begin - 1);
}

// If this generation is over, its requests are answered so, and nobody waits for the record.
void SimulatedWorker::Compute(int64_t batch, bool early) {
  last_pushed_ = world()->job.UpdateBegin(batch);
  if (early && !failed_) {
    held_.insert(batch);
    PushHeld();
  } else if (!early) {
    Push(batch);
  }
  state_->StepEnded();
  EndStep();
}

void SimulatedWorker::PushHeld() {
  while (!held_.empty()) {
    const int64_t batch = *held_.begin();
    if (!open_pushes_.empty() && *open_pushes_.begin() < world()->job.UpdateBegin(batch)) return;
    held_.erase(held_.begin());
    Push(batch);
  }
}

void SimulatedWorker::Push(int64_t batch) {
  open_pushes_.insert(batch);
  auto left = std::make_shared<uint32_t>(world()->job.blocks);
  for (uint32_t block = 0; block < world()->job.blocks; ++block) {
    const auto done = [this, batch, left](const parameters::BlockReply& reply) {
      if (reply.applied_before) ++world()->outcome.duplicates;
      if (--*left > 0) return;
      open_pushes_.erase(open_pushes_.find(batch));
      PushHeld();
      world()->applied_at[world()->job.UpdateBegin(batch)] = world()->now();
      proto::BatchRecord record;
      record.set_batch(batch);
      record.set_examples(1);
      record.set_loss(1);
      state_->Applied(key_, record);
      NextItem();
    };
    Ask({.batch = batch, .block = block, .is_push = true}, done);
  }
}

SimulatedWorker::RequestPtr SimulatedWorker::Ask(BlockRequest what,
                                                 std::function<void(parameters::BlockReply)> done) {
  auto request = std::make_shared<Request>();
  static_cast<BlockRequest&>(*request) = what;
  request->instance = instance();
  request->generation = key_.generation;
  request->done = std::move(done);
  requests_.insert(request);
  Transmit(request);
  return request;
}

void SimulatedWorker::Transmit(const RequestPtr& request) {
  if (request->over || instance() != request->instance) return;
  const Disturbances& disturbances = world()->disturbances;
  const int copies = world()->Chance(disturbances.loss)       ? 0
                     : world()->Chance(disturbances.doubling) ? 2
                                                              : 1;
  for (int i = 0; i < copies; ++i) {
    // A double may arrive very late.
    const absl::Duration late =
        i > 0 ? absl::Microseconds(world()->Below(world()->Chance(0.3) ? 3'000'000 : 20'000))
              : absl::ZeroDuration();
    const auto serve = [this, request, buffered = request->buffered] {
      PsOf(*request)->Serve(
          request, buffered, incoming(),
          [this, request](parameters::BlockReply reply) { OnAnswer(request, std::move(reply)); });
    };
    const bool has_values = request->is_push && !request->buffered;
    world()->After(late, [this, request, has_values, serve] {
      world()->Transfer(outgoing(), PsOf(*request)->incoming(), has_values, serve);
    });
  }
  // Requests are not lost where times are known, and wait longer.
  if (world()->timing.has_value()) return;
  On(kRepeat, [this, request] { Transmit(request); });
}

void SimulatedWorker::OnAnswer(const RequestPtr& request, parameters::BlockReply reply) {
  if (request->over || instance() != request->instance) return;
  if (stopped_for() > absl::ZeroDuration()) {
    auto kept = std::make_shared<parameters::BlockReply>(std::move(reply));
    return On(stopped_for(), [this, request, kept] { OnAnswer(request, std::move(*kept)); });
  }
  if (absl::IsUnavailable(reply.status) || absl::IsResourceExhausted(reply.status)) {
    return;  // Sent again in a while.
  }
  if (absl::IsFailedPrecondition(reply.status) || absl::IsAborted(reply.status) ||
      absl::IsCancelled(reply.status)) {
    return GenerationIsOver(request->generation);
  }
  if (!reply.status.ok()) {
    return world()->Violate(absl::StrCat("a ps refused a request: ", reply.status.ToString()));
  }
  if (reply.buffered) {
    if (std::exchange(request->buffered, true)) return;
    return Transmit(request);
  }
  request->over = true;
  requests_.erase(request);
  // It may refer to the request.
  std::exchange(request->done, nullptr)(std::move(reply));
}

void SimulatedWorker::GenerationIsOver(uint64_t generation) {
  if (key_.generation != generation) return;
  state_->GenerationIsOver(key_);
  failed_ = true;
  DropRequests();
}

void SimulatedWorker::DropRequests() {
  for (const RequestPtr& request : requests_) {
    request->over = true;
    request->done = nullptr;  // It may refer to the request.
  }
  requests_.clear();
  open_pushes_.clear();
  held_.clear();
  last_pushed_ = -1;
}

}  // namespace cairn::schedules
