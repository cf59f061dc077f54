#include "parameters/blocks/block.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/failpoint.h"
#include "common/status_macros.h"

namespace cairn::parameters {

namespace {

using Update = nn::VariableSpec::Update;

GradientAccumulator::Absent MeaningOfAbsent(const BlockSpec& spec) {
  return spec.update == Update::kMovingAverage ? GradientAccumulator::Absent::kNothing
                                               : GradientAccumulator::Absent::kZero;
}

void MarkApplied(int64_t batch, PushLedger* ledger) {
  const absl::StatusOr<bool> was_new = ledger->TestAndSet(batch);
  CAIRN_CHECK(was_new.ok() && *was_new);
}

void MarkApplied(const job::BatchNumbers::Range& batches, PushLedger* ledger) {
  for (int64_t i = 0; i < batches.count; ++i) MarkApplied(batches.first + i, ledger);
}

BlockReply ErrorReply(absl::Status status) {
  BlockReply reply;
  reply.status = std::move(status);
  return reply;
}

}  // namespace

Block::Block(const JobLayout* layout, int position, const UpdateRule* rule, BlockState initial,
             const Options& options)
    : layout_(*layout),
      consistency_(layout->consistency()),
      spec_(layout->blocks()[position]),
      position_(position),
      rule_(*rule),
      options_(options),
      state_(std::move(initial)),
      accumulator_(MeaningOfAbsent(spec_), options.gradient_budget) {}

Block::~Block() {
  CAIRN_CHECK(parked_pulls_.empty() && parked_pushes_.empty() && parked_applies_.empty());
}

void Block::Pull(ParkedPulls::Pull pull) {
  if (!closed_.ok()) return pull.done(ErrorReply(closed_));
  if (!WantsNext(pull)) return Answer(MayPull(pull), std::move(pull));
  BlockReply reply;
  reply.values = next_->values;
  reply.version = next_->version;
  pull.done(std::move(reply));
}

Consistency::Answer Block::MayPull(const ParkedPulls::Pull& pull) const {
  if (!spec_.pushed()) return Consistency::Answer::kCurrent;
  return consistency_.MayPull(pull.batch, state_.ledger, static_cast<bool>(previous_values_));
}

bool Block::WantsNext(const ParkedPulls::Pull& pull) const {
  return pull.early && next_.has_value() && MayPull(pull) == Consistency::Answer::kLater &&
         consistency_.MayPull(pull.batch, next_->ledger, false) == Consistency::Answer::kCurrent;
}

void Block::Answer(Consistency::Answer answer, ParkedPulls::Pull pull) {
  BlockReply reply;
  switch (answer) {
    case Consistency::Answer::kCurrent:
      reply.values = state_.values;
      reply.version = state_.version;
      break;
    case Consistency::Answer::kPrevious:
      reply.values = previous_values_;
      reply.version = previous_version_;
      break;
    case Consistency::Answer::kApplied:
      reply.version = state_.version;
      reply.applied_before = true;
      break;
    case Consistency::Answer::kLater:
      return Park(std::move(pull));
  }
  pull.done(std::move(reply));
}

void Block::Park(ParkedPulls::Pull pull) {
  const bool may_wait = pull.may_wait == nullptr || pull.may_wait();
  if (!may_wait || parked_pulls_.crowded()) DropAbandonedPulls();
  if (may_wait) return parked_pulls_.Park(std::move(pull));
  pull.done(ErrorReply(absl::ResourceExhaustedError(
      absl::StrCat("batch ", pull.batch, " would have to wait for ", spec_.name,
                   ", and as many pulls as may wait do already; try again"))));
}

void Block::DropAbandonedPulls() {
  for (ParkedPulls::Pull& left : parked_pulls_.TakeAbandoned()) {
    left.done(ErrorReply(absl::CancelledError("nobody waits for this pull any more")));
  }
}

void Block::AnswerReadyPulls() {
  if (parked_pulls_.empty()) return;
  std::vector<ParkedPulls::Pull> ready = parked_pulls_.Take([&](const ParkedPulls::Pull& pull) {
    return MayPull(pull) != Consistency::Answer::kLater || WantsNext(pull);
  });
  for (ParkedPulls::Pull& pull : ready) Pull(std::move(pull));
}

BlockReply Block::PushReply(int64_t batch, bool want_values, bool duplicate) const {
  BlockReply reply;
  if (reduced_.update >= 0 && consistency_.UpdateOf(batch) == reduced_.update) {
    reply.square_sum = reduced_.square_sum;
  }
  if (want_values) reply.values = state_.values;
  reply.version = state_.version;
  reply.applied_before = duplicate;
  return reply;
}

absl::Status Block::CheckPush() const {
  if (!closed_.ok()) return closed_;
  if (spec_.pushed()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(spec_.name, " is frozen: nothing may be pushed to it"));
}

absl::Status Block::CheckGradient(const BlockBuffer& gradient) const {
  if (!gradient || gradient.count() == spec_.count) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the gradient for ", spec_.name, " has ",
                                                 gradient.count(), " values, expected ",
                                                 spec_.count));
}

void Block::Push(BlockPush push, BlockCallback done) {
  absl::Status status = CheckPush();
  status.Update(CheckGradient(push.gradient));
  if (!status.ok()) return done(ErrorReply(status));
  const absl::StatusOr<bool> is_new = state_.ledger.Test(push.batch);
  if (!is_new.ok()) {
    return done(ErrorReply(absl::Status(
        is_new.status().code(),
        absl::StrCat("push to ", spec_.name, ": ", std::string(is_new.status().message())))));
  }
  CAIRN_FAILPOINT("block.ledger_tested").IgnoreError();
  if (consistency_.synchronous() && *is_new) return PushToUpdate(std::move(push), std::move(done));
  PushAtOnce(std::move(push), *is_new, std::move(done));
}

// The values change first, because they may fail to; then the batch enters the ledger. Both happen
// in one step of the owner thread, so no reader and no cut sees one without the other.
void Block::PushAtOnce(BlockPush push, bool is_new, BlockCallback done) {
  if (push.gradient && (is_new || options_.unsafe_disable_ledger)) {
    const absl::Status status = Apply(push.batch, push.gradient, 1, &state_);
    if (!status.ok()) {
      return done(ErrorReply(status));
    }
  }
  CAIRN_FAILPOINT("block.values_changed").IgnoreError();
  if (is_new) MarkApplied(push.batch, &state_.ledger);
  CAIRN_FAILPOINT("block.batch_marked").IgnoreError();
  done(PushReply(push.batch, push.want_values, !is_new && !push.already_buffered));
  if (is_new) AnswerReadyPulls();
}

// The phases of a synchronous push: reject what cannot belong to the current update, start the
// update with its first push, add the gradient, park the push. The last gradient to arrive finishes
// the update and answers all parked pushes.
void Block::PushToUpdate(BlockPush push, BlockCallback done) {
  const int64_t update = consistency_.UpdateOf(push.batch);
  const job::BatchNumbers::Range batches = consistency_.BatchesOf(update);
  if (!state_.ledger.AllBelowApplied(batches.first)) {
    return done(ErrorReply(absl::FailedPreconditionError(
        absl::StrCat("batch ", push.batch, " of update ", update, " was pushed to ", spec_.name,
                     ", which has applied only the batches below ", state_.ledger.low_water(),
                     ": nobody can have computed it on the right values"))));
  }
  if (reduced_.open) return AnswerReduced(std::move(push), std::move(done));
  // The sender has pulled the current values from every block, so no worker needs the previous ones
  // any more.
  previous_values_ = BlockBuffer();
  previous_slots_ = BlockBuffer();
  if (accumulating_ != update) {
    accumulator_.Start(batches.count);
    accumulating_ = update;
    parked_pushes_.resize(static_cast<size_t>(batches.count));
  }
  const int64_t place = push.batch - batches.first;
  const bool present = accumulator_.Has(place);
  if (!present && push.already_buffered) {
    return done(ErrorReply(
        absl::InternalError(absl::StrCat("the gradient of batch ", push.batch, " for ", spec_.name,
                                         " is said to be buffered here"
                                         ", and is not"))));
  }
  if (!present && !accumulator_.TryAdd(place, push.examples, std::move(push.gradient))) {
    return done(ErrorReply(absl::ResourceExhaustedError(
        absl::StrCat("the gradient of batch ", push.batch, " for ", spec_.name,
                     " cannot be added before that of"
                     " batch ",
                     batches.first + accumulator_.next(),
                     ", and the memory for gradients that wait "
                     "is full; try again"))));
  }
  const bool duplicate = present && !push.already_buffered;
  if (push.answer_when_buffered && !accumulator_.complete()) {
    BlockReply reply = PushReply(push.batch, false, duplicate);
    reply.buffered = true;
    return done(std::move(reply));
  }
  ParkPush({push.want_values, duplicate, std::move(done)}, place);
  if (accumulator_.complete()) FinishUpdate(update);
}

// All gradients of the update have arrived. If norms are clipped, the update waits for its scale
// (ApplyUpdate). Otherwise there was no memory to apply it, and each repeated push tries again.
void Block::AnswerReduced(BlockPush push, BlockCallback done) {
  if (options_.replicate != nullptr && !layout_.clips_update_norms()) {
    const bool duplicate = !push.already_buffered;
    const job::BatchNumbers::Range batches = consistency_.BatchesOf(reduced_.update);
    const int64_t place = push.batch - batches.first;
    parked_pushes_.resize(static_cast<size_t>(batches.count));
    ParkPush({push.want_values, duplicate, std::move(done)}, place);
    if (!replicating_) Replicate(1);
    return;
  }
  if (!layout_.clips_update_norms()) {
    const absl::Status status = ApplyReduced(1);
    if (!status.ok()) return done(ErrorReply(status));
  }
  done(PushReply(push.batch, push.want_values, !push.already_buffered));
  AnswerReadyPulls();
}

void Block::ParkPush(ParkedPush push, int64_t place) {
  ParkedPush before = std::exchange(parked_pushes_[static_cast<size_t>(place)], std::move(push));
  if (before.done == nullptr) return;
  before.done(ErrorReply(absl::UnavailableError(absl::StrCat(
      "the same batch came to ", spec_.name, " again and waits in this one's place"))));
}

// First the mean is taken and, unless its scale is missing, applied; then pushes are answered, so
// that their replies have the new values; pulls that waited for the update come last.
void Block::FinishUpdate(int64_t update) {
  accumulating_ = -1;
  KeepReduced(update, accumulator_.TakeMean());
  if (options_.replicate != nullptr && !layout_.clips_update_norms()) return Replicate(1);
  absl::Status status;
  if (!layout_.clips_update_norms()) status = ApplyReduced(1);
  AnswerParked(status);
}

// Answers the pushes that are parked for the reduced update.
void Block::AnswerParked(const absl::Status& status) {
  std::vector<ParkedPush> parked = std::exchange(parked_pushes_, {});
  int64_t batch = consistency_.BatchesOf(reduced_.update).first;
  for (ParkedPush& push : parked) {
    // Null: the sender was answered when its gradient was buffered, and has not pushed again yet.
    if (push.done != nullptr) {
      push.done(status.ok() ? PushReply(batch, push.want_values, push.duplicate)
                            : ErrorReply(status));
    }
    ++batch;
  }
  AnswerReadyPulls();
}

void Block::KeepReduced(int64_t update, BlockBuffer mean) {
  reduced_ = {.update = update, .open = true, .mean = std::move(mean)};
  const bool has_norm = layout_.clips_update_norms() && spec_.update == Update::kOptimized;
  if (!has_norm || !reduced_.mean) return;
  reduced_.square_sum.Add({reduced_.mean.data(), static_cast<size_t>(reduced_.mean.count())});
}

// The update does not count as applied before Replicated: if this process ends, what workers were
// told must be available elsewhere.
void Block::Replicate(float scale) {
  replicating_ = true;
  reduced_.scale = scale;
  const int64_t batch = consistency_.BatchesOf(reduced_.update).first;
  options_.replicate({position_, batch, reduced_.mean, scale});
}

void Block::Replicated(int64_t batch, const absl::Status& result) {
  if (!closed_.ok() || !replicating_) return;
  if (batch != consistency_.BatchesOf(reduced_.update).first) return;
  replicating_ = false;
  absl::Status status = result;
  if (status.ok()) {
    status = ComputeNext();
    if (status.ok()) TakeNext();
  } else {
    status = absl::UnavailableError(
        absl::StrCat("an update of ", spec_.name,
                     " did not reach all replicas: ", std::string(result.message())));
  }
  for (ParkedApply& apply : std::exchange(parked_applies_, {})) {
    apply.done(status.ok() ? PushReply(apply.batch, false, false) : ErrorReply(status));
  }
  if (!layout_.clips_update_norms()) return AnswerParked(status);
  AnswerReadyPulls();
}

absl::Status Block::Receive(ReducedBlock update) {
  CAIRN_CHECK(options_.is_replica);
  CAIRN_RETURN_IF_ERROR(CheckPush());
  CAIRN_RETURN_IF_ERROR(CheckGradient(update.mean));
  const int64_t number = consistency_.UpdateOf(update.batch);
  const PushLedger& received = next_.has_value() ? next_->ledger : state_.ledger;
  if (received.IsApplied(update.batch)) return absl::OkStatus();
  if (received.low_water() != update.batch ||
      consistency_.BatchesOf(number).first != update.batch) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the replica of ", spec_.name, " has received updates below batch ", received.low_water(),
        "; an update of batch ", update.batch, " is not the next"));
  }
  // The owner has reduced gradients of this update, so all blocks have applied the last one.
  if (next_.has_value()) TakeNext();
  reduced_ = {.update = number, .mean = std::move(update.mean), .scale = update.scale};
  const absl::Status status = ComputeNext();
  reduced_.mean = BlockBuffer();
  return status;
}

void Block::ComputeAhead() {
  if (closed_.ok() && replicating_) ComputeNext().IgnoreError();
}

ReplicatedState Block::Replicas() const {
  ReplicatedState replicas;
  replicas.state = state_;
  if (options_.is_replica) replicas.next = next_;
  if (!options_.is_replica && previous_values_) {
    const int64_t last = consistency_.UpdateOf(state_.ledger.low_water() - 1);
    replicas.previous = {previous_values_, previous_slots_, previous_version_,
                         PushLedger::AllBelow(consistency_.BatchesOf(last).first)};
  }
  return replicas;
}

void Block::ApplyUpdate(int64_t batch, float scale, BlockCallback done) {
  if (options_.replicate == nullptr) return done(ApplyUpdate(batch, scale));
  if (absl::Status status = CheckPush(); !status.ok()) return done(ErrorReply(status));
  if (state_.ledger.IsApplied(batch)) return done(PushReply(batch, false, true));
  const absl::Status status = CheckReduced(batch);
  if (!status.ok()) return done(ErrorReply(status));
  parked_applies_.push_back({batch, std::move(done)});
  if (!replicating_) Replicate(scale);
}

absl::Status Block::CheckReduced(int64_t batch) const {
  const int64_t update = consistency_.UpdateOf(batch);
  if (reduced_.open && update == reduced_.update) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("update ", update, " of ", spec_.name,
                   " is to be applied before all of its batches are in: nobody can know its "
                   "norm"));
}

BlockReply Block::ApplyUpdate(int64_t batch, float scale) {
  if (absl::Status status = CheckPush(); !status.ok()) return ErrorReply(status);
  if (state_.ledger.IsApplied(batch)) return PushReply(batch, false, true);
  absl::Status status = CheckReduced(batch);
  if (status.ok()) status = ApplyReduced(scale);
  if (!status.ok()) return ErrorReply(status);
  AnswerReadyPulls();
  return PushReply(batch, false, false);
}

// Applies the mean and then marks all batches of the update, in one step of the owner thread. The
// reference to the previous values makes Apply write to a new buffer, so slower workers can still
// pull them. If there is no memory, nothing changes and the update stays open.
absl::Status Block::ApplyReduced(float scale) {
  const job::BatchNumbers::Range batches = consistency_.BatchesOf(reduced_.update);
  previous_values_ = state_.values;
  previous_version_ = state_.version;
  if (reduced_.mean) {
    const absl::Status status = Apply(batches.first, reduced_.mean, scale, &state_);
    if (!status.ok()) {
      previous_values_ = BlockBuffer();
      return status;
    }
  }
  CloseReduced();
  MarkApplied(batches, &state_.ledger);
  return absl::OkStatus();
}

// In two steps what ApplyReduced does, for a block with replicas and for a replica. The references
// of state_ make Apply write to new buffers.
absl::Status Block::ComputeNext() {
  if (next_.has_value()) return absl::OkStatus();
  const job::BatchNumbers::Range batches = consistency_.BatchesOf(reduced_.update);
  BlockState next = state_;
  if (reduced_.mean) {
    CAIRN_RETURN_IF_ERROR(Apply(batches.first, reduced_.mean, reduced_.scale, &next));
  }
  MarkApplied(batches, &next.ledger);
  next_ = std::move(next);
  AnswerReadyPulls();
  return absl::OkStatus();
}

void Block::TakeNext() {
  CloseReduced();
  BlockState before = std::exchange(state_, *std::exchange(next_, std::nullopt));
  if (options_.is_replica) return;
  previous_values_ = std::move(before.values);
  previous_slots_ = std::move(before.slots);
  previous_version_ = before.version;
}

void Block::CloseReduced() {
  CAIRN_FAILPOINT("block.update_applied").IgnoreError();
  reduced_.open = false;
  reduced_.mean = BlockBuffer();
}

absl::Status Block::Apply(int64_t batch, const BlockBuffer& gradient, float scale,
                          BlockState* state) const {
  const ServiceProfile::Span span(options_.profile, ServiceProfile::kApply, batch);
  return rule_.Apply(spec_, gradient.data(), scale, RateOf(batch), state);
}

std::optional<float> Block::RateOf(int64_t batch) const {
  return rates_ == nullptr ? std::nullopt : rates_->At(batch);
}

void Block::Close(const absl::Status& why) {
  CAIRN_CHECK(!why.ok());
  closed_ = why;
  for (ParkedPulls::Pull& pull : parked_pulls_.TakeAll()) pull.done(ErrorReply(why));
  for (ParkedPush& push : std::exchange(parked_pushes_, {})) {
    if (push.done != nullptr) push.done(ErrorReply(why));
  }
  for (ParkedApply& apply : std::exchange(parked_applies_, {})) apply.done(ErrorReply(why));
  accumulator_.Start(0);
  reduced_ = {};
  previous_values_ = BlockBuffer();
  previous_slots_ = BlockBuffer();
  next_.reset();
}

}  // namespace cairn::parameters
