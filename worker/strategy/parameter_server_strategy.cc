#include "worker/strategy/parameter_server_strategy.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cluster/partition_map.h"
#include "common/failpoint.h"
#include "common/span_recorder.h"
#include "common/status_macros.h"
#include "job/job_plan.h"
#include "job/strategy.h"
#include "worker/step_phase.h"
#include "worker/strategy/clipped_update.h"

namespace cairn::worker {
namespace {

// Pulls and pushes are cancelled apart: abandoning a pull must not cancel pushes in flight.
constexpr cluster::PsClient::Group kPullGroup = 1;
constexpr cluster::PsClient::Group kPushGroup = 2;

// None unless the ps of this process has a replica of each block that it does not own.
std::vector<BlockTable::Request> EarlyRequests(const proto::JobPlan& plan, const BlockTable& table,
                                               const cluster::PsClient& client) {
  const int own = client.own_ps();
  const std::vector<uint32_t> members = cluster::MembersOf(plan.partition());
  if (!job::KeepsReplicas(plan.job().strategy()) || client.ps_count() < 2 ||
      std::find(members.begin(), members.end(), static_cast<uint32_t>(own)) == members.end()) {
    return {};
  }
  std::vector<BlockTable::Request> requests = table.pushed();
  for (BlockTable::Request& request : requests) request.ps = own;
  return requests;
}

}  // namespace

ParameterServerStrategy::ParameterServerStrategy(const proto::JobPlan& plan, uint64_t generation,
                                                 BlockTable table, const nn::GradientClip& clip,
                                                 const nn::Model& model, nn::Executor* executor,
                                                 std::shared_ptr<cluster::PsClient> client,
                                                 int64_t gradient_memory, OnApplied on_applied)
    : mode_(plan.synchronous()  ? Mode::kSynchronous
            : plan.window() < 0 ? Mode::kAsynchronous
                                : Mode::kStale),
      job_id_(plan.job_id()),
      generation_(generation),
      numbers_(plan),
      table_(std::move(table)),
      executor_(executor),
      clipper_(job::ClipsUpdateNorms(plan) ? nn::GradientClip() : clip, &model, executor),
      early_requests_(EarlyRequests(plan, table_, *client)),
      client_(std::move(client)),
      puller_(client_.get(), &table_, kPullGroup),
      pusher_(client_.get(), &table_,
              {.job_id = job_id_,
               .generation = generation_,
               .group = kPushGroup,
               .copy_gradients = mode_ == Mode::kSynchronous || clipper_.scales(),
               .gradient_memory = gradient_memory,
               .destination = DestinationOfReplies(),
               .clipped_update = job::ClipsUpdateNorms(plan)
                                     ? std::make_optional<ClippedUpdate>(clip, &model, &table_)
                                     : std::nullopt,
               .on_applied = std::move(on_applied)}) {}

GradientPusher::Destination ParameterServerStrategy::DestinationOfReplies() {
  // In the other modes the next step pulls anyway, once the ps allow it.
  if (mode_ != Mode::kAsynchronous) return nullptr;
  return [this](uint32_t block) { return ValuesIn(executor_, block); };
}

absl::StatusOr<std::unique_ptr<ParameterServerStrategy>> ParameterServerStrategy::Create(
    const proto::JobPlan& plan, uint64_t generation, const nn::Model& model, nn::Executor* executor,
    std::shared_ptr<cluster::PsClient> client, int64_t gradient_memory, OnApplied on_applied) {
  CAIRN_ASSIGN_OR_RETURN(BlockTable table, BlockTable::Create(plan.partition(), model));
  if (table.ps_count() > client->ps_count()) {
    return absl::InvalidArgumentError(absl::StrCat("the job lives on ", table.ps_count(),
                                                   " ps, the cluster has ", client->ps_count()));
  }
  if (plan.batches_per_epoch() < 1) {
    return absl::InvalidArgumentError("the plan has no batches in an epoch");
  }
  CAIRN_ASSIGN_OR_RETURN(const nn::GradientClip clip,
                         nn::GradientClip::Create(plan.job().optimizer()));
  return std::unique_ptr<ParameterServerStrategy>(
      new ParameterServerStrategy(plan, generation, std::move(table), clip, model, executor,
                                  std::move(client), gradient_memory, std::move(on_applied)));
}

absl::StatusOr<Strategy::StepStatus> ParameterServerStrategy::BeginStep(
    const Step& step, absl::FunctionRef<bool()> should_abandon) {
  CAIRN_RETURN_IF_ERROR(pusher_.status());
  // A synchronous step does not wait for the acknowledgement of the previous one: the update may
  // need this very step. It waits only for memory. In the other modes, starting before the previous
  // step is acknowledged would hide the latency but compute on values without that step. With Adam
  // the loss of accuracy was measured to outweigh the time gained.
  {
    const ScopedSpan span(step.recorder, kWaitPhase);
    CAIRN_ASSIGN_OR_RETURN(const bool ready, mode_ == Mode::kSynchronous
                                                 ? pusher_.WaitForMemory(step.batch, should_abandon)
                                                 : pusher_.WaitForSteps(should_abandon));
    if (!ready) return StepStatus::kAbandoned;
  }
  const ScopedSpan span(step.recorder, kPullPhase);
  CAIRN_ASSIGN_OR_RETURN(const StepStatus status, RefreshValues(step, should_abandon));
  if (status != StepStatus::kOk) return status;
  unpushed_.clear();
  step_ = step;
  pushes_ = false;
  return status;
}

// With the first gradient, because a step whose gradients are not finite may end without a push.
void ParameterServerStrategy::BeginPush() {
  if (std::exchange(pushes_, true)) return;
  pusher_.Begin(step_.batch, step_.examples, early_ ? numbers_.BatchesOf(update_).first : 0);
}

// The acknowledgement of the worker's own push will say that the last update is applied.
bool ParameterServerStrategy::MayPullEarly(int64_t update) const {
  return !early_requests_.empty() && has_frozen_ && update > 0 && last_pushed_ == update - 1;
}

absl::StatusOr<Strategy::StepStatus> ParameterServerStrategy::RefreshValues(
    const Step& step, absl::FunctionRef<bool()> should_abandon) {
  switch (mode_) {
    // The replies to the previous step's pushes brought its values, which are fresh enough unless
    // the worker paused.
    case Mode::kAsynchronous:
      if (has_values_ && !step.after_idle) return StepStatus::kOk;
      break;
    // All batches of an update are computed on the same values.
    case Mode::kSynchronous:
      if (has_values_ && numbers_.UpdateOf(step.batch) == update_) return StepStatus::kOk;
      break;
    // Pulling is how the ps enforce the window: they park the pull until it may start.
    case Mode::kStale:
      break;
  }
  return Pull(step.batch, should_abandon);
}

absl::StatusOr<Strategy::StepStatus> ParameterServerStrategy::Pull(
    int64_t batch, absl::FunctionRef<bool()> should_abandon) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("worker.pull"));
  proto::PullHeader header = NewPullHeader();
  header.set_batch(batch);
  early_ = MayPullEarly(numbers_.UpdateOf(batch));
  header.set_early(early_);
  const auto& requests = early_ ? early_requests_ : has_frozen_ ? table_.pushed() : table_.all();
  // A pull that ends early leaves values of different versions behind.
  has_values_ = false;
  CAIRN_ASSIGN_OR_RETURN(
      const PullResult result,
      puller_.Pull(
          header, requests, [this](uint32_t block) { return ValuesIn(executor_, block); },
          should_abandon));
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("worker.pulled"));
  if (result == PullResult::kAbandoned) return StepStatus::kAbandoned;
  if (result == PullResult::kApplied) return StepStatus::kApplied;
  has_frozen_ = true;
  has_values_ = true;
  update_ = numbers_.UpdateOf(batch);
  return StepStatus::kOk;
}

absl::Status ParameterServerStrategy::LoadCut(uint64_t cut, nn::Executor* executor,
                                              absl::FunctionRef<bool()> should_abandon) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("worker.load_cut"));
  proto::PullHeader header = NewPullHeader();
  header.set_cut(cut);
  const auto destination = [this, executor](uint32_t block) { return ValuesIn(executor, block); };
  CAIRN_ASSIGN_OR_RETURN(const PullResult result,
                         puller_.Pull(header, table_.all(), destination, should_abandon));
  if (result != PullResult::kValues) {
    return absl::CancelledError("the pull was abandoned");
  }
  return absl::OkStatus();
}

proto::PullHeader ParameterServerStrategy::NewPullHeader() const {
  proto::PullHeader header;
  header.set_job_id(job_id_);
  header.set_generation(generation_);
  return header;
}

absl::Span<float> ParameterServerStrategy::ValuesIn(nn::Executor* executor, uint32_t id) const {
  const BlockTable::Block& block = table_.block(id);
  return executor->values(block.variable).subspan(block.offset, block.elements);
}

void ParameterServerStrategy::OnGradient(int variable) {
  CAIRN_FAILPOINT("worker.gradient").IgnoreError();
  if (clipper_.needs_all_gradients()) {
    unpushed_.push_back(variable);
  } else {
    BeginPush();
    pusher_.Add(variable, executor_->gradient(variable), clipper_.ScaleOf(variable));
  }
}

absl::Status ParameterServerStrategy::EndStep(const proto::BatchRecord& record) {
  BeginPush();
  // With clipping by the global norm, no gradient could be pushed before the last one was complete.
  const std::vector<float> scales = clipper_.ScalesOf(unpushed_);
  for (size_t i = 0; i < unpushed_.size(); ++i) {
    pusher_.Add(unpushed_[i], executor_->gradient(unpushed_[i]), scales[i]);
  }
  // The replies to a push without gradients bring no values, so others' updates would be missing.
  if (record.rejected() && mode_ == Mode::kAsynchronous) has_values_ = false;
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("worker.end_step"));
  if (mode_ == Mode::kSynchronous) last_pushed_ = numbers_.UpdateOf(step_.batch);
  pusher_.End(record);
  CAIRN_FAILPOINT("worker.pushed").IgnoreError();
  return absl::OkStatus();
}

void ParameterServerStrategy::Wake() {
  puller_.Wake();
  pusher_.Wake();
}

}  // namespace cairn::worker
