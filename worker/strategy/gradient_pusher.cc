#include "worker/strategy/gradient_pusher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace cairn::worker {
namespace {

constexpr std::chrono::milliseconds kAskInterval(50);

absl::Status CheckReply(const absl::StatusOr<proto::PushReplyHeader>& reply, int blocks) {
  if (!reply.ok()) return reply.status();
  if (reply->versions_size() == blocks) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("a ps answered a push of ", blocks, " blocks with ",
                                          reply->versions_size(), " versions"));
}

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
  step_->buffer = TakeBuffer();
  batch_ = batch;
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
  bool settled = false;
  {
    MutexLock lock(&mutex_);
    settled = FinishPart(step_.get());
    Release(step_->buffer);
  }
  if (settled) options_.on_settled(record);
  step_.reset();
}

void GradientPusher::Flush(int ps) {
  auto [header, pieces, bytes] = std::exchange(pending_[ps], Pending());
  if (header.blocks_size() == 0 && header.settled_blocks_size() == 0) return;
  header.set_job_id(options_.job_id);
  header.set_generation(options_.generation);
  header.set_batch(batch_);
  header.set_examples(examples_);
  std::vector<absl::Span<float>> destinations;
  if (options_.destination != nullptr) {
    header.set_want_values(true);
    for (uint32_t id : header.blocks()) destinations.push_back(options_.destination(id));
  }
  {
    MutexLock lock(&mutex_);
    ++calls_;
    ++step_->open;
    if (step_->buffer != nullptr) ++step_->buffer->uses;
  }
  const int blocks = header.blocks_size();
  client_->Push(
      ps, std::move(header), std::move(pieces), std::move(destinations),
      [this, step = step_, blocks](absl::StatusOr<proto::PushReplyHeader> reply) {
        OnReply(step, blocks, std::move(reply));
      },
      options_.group);
}

bool GradientPusher::FinishPart(StepState* step) {
  if (--step->open > 0) return false;
  --steps_;
  changed_.NotifyAll();
  return status_.ok();
}

void GradientPusher::OnReply(const std::shared_ptr<StepState>& step, int blocks,
                             absl::StatusOr<proto::PushReplyHeader> reply) {
  const absl::Status failure = CheckReply(reply, blocks);
  bool settled = false;
  {
    MutexLock lock(&mutex_);
    if (status_.ok()) status_ = failure;
    Release(step->buffer);
    settled = FinishPart(step.get());
  }
  if (settled) options_.on_settled(step->record);
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
