#include "parameters/blocks/block.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/failpoint.h"

namespace cairn::parameters {

namespace {

using Update = nn::VariableSpec::Update;

GradientAccumulator::Absent MeaningOfAbsent(const BlockSpec& spec) {
  return spec.update == Update::kMovingAverage ? GradientAccumulator::Absent::kNothing
                                               : GradientAccumulator::Absent::kZero;
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
      rule_(*rule),
      options_(options),
      state_(std::move(initial)),
      accumulator_(MeaningOfAbsent(spec_), options.gradient_budget) {}

Block::~Block() { CAIRN_CHECK(parked_pulls_.empty() && parked_pushes_.empty()); }

void Block::Pull(ParkedPulls::Pull pull) {
  if (!closed_.ok()) return pull.done(ErrorReply(closed_));
  const Consistency::Answer answer =
      spec_.pushed()
          ? consistency_.MayPull(pull.batch, state_.ledger, static_cast<bool>(previous_values_))
          : Consistency::Answer::kCurrent;
  Answer(answer, std::move(pull));
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
  std::vector<ParkedPulls::Pull> ready = parked_pulls_.Take([&](int64_t batch) {
    return consistency_.MayPull(batch, state_.ledger, static_cast<bool>(previous_values_)) !=
           Consistency::Answer::kLater;
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
    const absl::Status status = Apply(push.batch, push.gradient, 1);
    if (!status.ok()) {
      return done(ErrorReply(status));
    }
  }
  CAIRN_FAILPOINT("block.values_changed").IgnoreError();
  if (is_new) MarkApplied(push.batch);
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
  std::vector<ParkedPush> parked = std::exchange(parked_pushes_, {});
  KeepReduced(update, accumulator_.TakeMean());
  absl::Status status;
  if (!layout_.clips_update_norms()) status = ApplyReduced(1);
  int64_t batch = consistency_.BatchesOf(update).first;
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

BlockReply Block::ApplyUpdate(int64_t batch, float scale) {
  if (absl::Status status = CheckPush(); !status.ok()) return ErrorReply(status);
  if (state_.ledger.IsApplied(batch)) return PushReply(batch, false, true);
  const int64_t update = consistency_.UpdateOf(batch);
  if (!reduced_.open || update != reduced_.update) {
    return ErrorReply(absl::FailedPreconditionError(
        absl::StrCat("update ", update, " of ", spec_.name,
                     " is to be applied before all of its batches are in: nobody can know its "
                     "norm")));
  }
  const absl::Status status = ApplyReduced(scale);
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
    const absl::Status status = Apply(batches.first, reduced_.mean, scale);
    if (!status.ok()) {
      previous_values_ = BlockBuffer();
      return status;
    }
  }
  CAIRN_FAILPOINT("block.update_applied").IgnoreError();
  for (int64_t i = 0; i < batches.count; ++i) MarkApplied(batches.first + i);
  reduced_.open = false;
  reduced_.mean = BlockBuffer();
  return absl::OkStatus();
}

absl::Status Block::Apply(int64_t batch, const BlockBuffer& gradient, float scale) {
  const ServiceProfile::Span span(options_.profile, ServiceProfile::kApply, batch);
  return rule_.Apply(spec_, gradient.data(), scale, RateOf(batch), &state_);
}

std::optional<float> Block::RateOf(int64_t batch) const {
  return rates_ == nullptr ? std::nullopt : rates_->At(batch);
}

void Block::MarkApplied(int64_t batch) {
  const absl::StatusOr<bool> was_new = state_.ledger.TestAndSet(batch);
  CAIRN_CHECK(was_new.ok() && *was_new);
}

void Block::Close(const absl::Status& why) {
  CAIRN_CHECK(!why.ok());
  closed_ = why;
  for (ParkedPulls::Pull& pull : parked_pulls_.TakeAll()) pull.done(ErrorReply(why));
  for (ParkedPush& push : std::exchange(parked_pushes_, {})) {
    if (push.done != nullptr) push.done(ErrorReply(why));
  }
  accumulator_.Start(0);
  reduced_ = {};
  previous_values_ = BlockBuffer();
}

}  // namespace cairn::parameters
