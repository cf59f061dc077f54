#include "worker/strategy/gradient_pusher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace cairn::worker {
namespace {

constexpr std::chrono::milliseconds kAskInterval(50);

void CopyScaled(float scale, absl::Span<const float> from, float* to) {
  if (scale == 1) {
    std::copy(from.begin(), from.end(), to);
  } else {
    std::transform(from.begin(), from.end(), to, [scale](float value) { return scale * value; });
  }
}

}  // namespace

GradientPusher::GradientPusher(cluster::PsClient* client, const BlockTable* table, Options options)
    : client_(client),
      table_(table),
      options_(std::move(options)),
      pending_(table->ps_count()),
      added_(table->variable_count()) {}

GradientPusher::~GradientPusher() {
  {
    MutexLock lock(&mutex_);
    closing_ = true;
  }
  client_->Cancel(options_.group);
  MutexLock lock(&mutex_);
  while (calls_ > 0) changed_.Wait(&mutex_);
}

std::shared_ptr<GradientPusher::Buffer> GradientPusher::TakeBuffer() {
  if (!options_.copy_gradients) return nullptr;
  {
    MutexLock lock(&mutex_);
    if (!free_.empty()) {
      std::shared_ptr<Buffer> buffer = std::move(free_.back());
      free_.pop_back();
      buffer->uses = 1;
      return buffer;
    }
  }
  auto buffer = std::make_shared<Buffer>();
  buffer->gradients.resize(table_->pushed_elements());
  buffer->uses = 1;
  return buffer;
}

void GradientPusher::Release(const std::shared_ptr<Buffer>& buffer) {
  if (buffer != nullptr && --buffer->uses == 0) free_.push_back(buffer);
}

void GradientPusher::Begin(int64_t batch, int64_t examples) {
  step_ = std::make_shared<StepState>();
  if (options_.norms != nullptr) step_->sums = options_.norms->None();
  step_->buffer = TakeBuffer();
  step_->batch = batch;
  examples_ = examples;
  std::fill(added_.begin(), added_.end(), false);
  MutexLock lock(&mutex_);
  ++steps_;
}

void GradientPusher::Add(int variable, absl::Span<const float> gradient, float scale) {
  added_[variable] = true;
  for (uint32_t id : table_->blocks_of(variable)) {
    const BlockTable::Block& block = table_->block(id);
    if (!block.pushed) return;
    Pending& pending = pending_[block.ps];
    pending.header.add_blocks(id);
    pending.pieces.push_back(PieceOf(block, gradient.subspan(block.offset, block.elements), scale));
    pending.bytes += block.elements * static_cast<int64_t>(sizeof(float));
    if (pending.bytes >= BlockTable::kRequestBytes) Flush(block.ps);
  }
}

cluster::FramePiece GradientPusher::PieceOf(const BlockTable::Block& block,
                                            absl::Span<const float> gradient, float scale) {
  const std::shared_ptr<Buffer>& buffer = step_->buffer;
  CAIRN_CHECK(buffer != nullptr || scale == 1);
  if (buffer == nullptr) return cluster::FramePiece::Borrowed(gradient);
  const auto copy = absl::MakeSpan(buffer->gradients).subspan(block.pushed_offset, block.elements);
  CopyScaled(scale, gradient, copy.data());
  return cluster::FramePiece::OfFloats(copy, buffer);
}

void GradientPusher::End(const proto::BatchRecord& record) {
  for (int variable = 0; variable < table_->variable_count(); ++variable) {
    if (added_[variable]) continue;
    for (uint32_t id : table_->blocks_of(variable)) {
      const BlockTable::Block& block = table_->block(id);
      if (block.pushed) pending_[block.ps].header.add_settled_blocks(id);
    }
  }
  for (int ps = 0; ps < table_->ps_count(); ++ps) Flush(ps);
  step_->record = record;
  Finished finished;
  {
    MutexLock lock(&mutex_);
    Release(step_->buffer);
    finished = FinishPart(step_.get());
  }
  GoOn(finished, step_);
  step_.reset();
}

void GradientPusher::Flush(int ps) {
  auto [header, pieces, bytes] = std::exchange(pending_[ps], Pending());
  if (header.blocks_size() == 0 && header.settled_blocks_size() == 0) return;
  header.set_examples(examples_);
  Send(ps, step_, std::move(header), std::move(pieces));
}

void GradientPusher::Send(int ps, const std::shared_ptr<StepState>& step, proto::PushHeader header,
                          std::vector<cluster::FramePiece> pieces) {
  header.set_job_id(options_.job_id);
  header.set_generation(options_.generation);
  header.set_batch(step->batch);
  std::vector<absl::Span<float>> destinations;
  if (options_.destination != nullptr) {
    header.set_want_values(true);
    for (uint32_t id : header.blocks()) destinations.push_back(options_.destination(id));
  }
  Asked asked;
  asked.versions = header.blocks_size();
  asked.blocks.assign(header.blocks().begin(), header.blocks().end());
  asked.blocks.insert(asked.blocks.end(), header.settled_blocks().begin(),
                      header.settled_blocks().end());
  {
    MutexLock lock(&mutex_);
    ++calls_;
    ++step->open;
    if (step->buffer != nullptr) ++step->buffer->uses;
  }
  client_->Push(
      ps, std::move(header), std::move(pieces), std::move(destinations),
      [this, step, asked = std::move(asked)](absl::StatusOr<proto::PushReplyHeader> reply) {
        OnReply(step, asked, reply);
      },
      options_.group);
}

GradientPusher::Finished GradientPusher::FinishPart(StepState* step) {
  if (--step->open > 0) return Finished::kNothing;
  if (status_.ok() && options_.norms != nullptr && !step->scaled && !step->sums.settled) {
    step->scaled = true;
    step->open = 1;
    step->buffer.reset();
    return Finished::kGradients;
  }
  --steps_;
  changed_.NotifyAll();
  return status_.ok() ? Finished::kStep : Finished::kNothing;
}

void GradientPusher::GoOn(Finished finished, const std::shared_ptr<StepState>& step) {
  if (finished == Finished::kStep) options_.on_settled(step->record);
  if (finished == Finished::kGradients) SendScales(step);
}

// Nobody else has to do with the step until its first request is out.
void GradientPusher::SendScales(const std::shared_ptr<StepState>& step) {
  std::vector<proto::UpdateScales> scales = options_.norms->Scales(step->sums);
  for (size_t ps = 0; ps < scales.size(); ++ps) {
    if (scales[ps].blocks_size() == 0) continue;
    proto::PushHeader header;
    *header.mutable_apply() = std::move(scales[ps]);
    Send(static_cast<int>(ps), step, std::move(header), {});
  }
  Finished finished;
  bool closing;
  {
    MutexLock lock(&mutex_);
    finished = FinishPart(step.get());
    closing = closing_;
  }
  GoOn(finished, step);
  // The destructor may have cancelled before these requests were there.
  if (closing) client_->Cancel(options_.group);
}

absl::Status GradientPusher::TakeReply(const Asked& asked,
                                       const absl::StatusOr<proto::PushReplyHeader>& reply,
                                       StepState* step) {
  if (!reply.ok()) return reply.status();
  if (reply->versions_size() != asked.versions) {
    return absl::InternalError(absl::StrCat("a ps answered a push of ", asked.versions,
                                            " blocks with ", reply->versions_size(), " versions"));
  }
  if (options_.norms == nullptr || step->scaled) return absl::OkStatus();
  return options_.norms->Add(asked.blocks, *reply, &step->sums);
}

void GradientPusher::OnReply(const std::shared_ptr<StepState>& step, const Asked& asked,
                             const absl::StatusOr<proto::PushReplyHeader>& reply) {
  Finished finished;
  {
    MutexLock lock(&mutex_);
    const absl::Status failure = TakeReply(asked, reply, step.get());
    if (status_.ok()) status_ = failure;
    Release(step->buffer);
    finished = FinishPart(step.get());
  }
  GoOn(finished, step);
  MutexLock lock(&mutex_);
  --calls_;
  changed_.NotifyAll();
}

absl::StatusOr<bool> GradientPusher::WaitForRoom(int limit,
                                                 absl::FunctionRef<bool()> should_abandon) {
  while (true) {
    {
      MutexLock lock(&mutex_);
      if (status_.ok() && steps_ >= limit && !woken_) changed_.WaitFor(&mutex_, kAskInterval);
      woken_ = false;
      if (!status_.ok()) return status_;
      if (steps_ < limit) return true;
    }
    if (should_abandon()) return false;
  }
}

void GradientPusher::Wake() {
  MutexLock lock(&mutex_);
  woken_ = true;
  changed_.NotifyAll();
}

absl::Status GradientPusher::status() {
  MutexLock lock(&mutex_);
  return status_;
}

}  // namespace cairn::worker
