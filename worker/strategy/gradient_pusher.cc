#include "worker/strategy/gradient_pusher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cairn::worker {
namespace {

constexpr std::chrono::milliseconds kAskInterval(50);

absl::Status CheckReply(const absl::StatusOr<proto::PushReplyHeader>& reply, size_t blocks) {
  if (!reply.ok()) return reply.status();
  if (static_cast<size_t>(reply->versions_size()) == blocks) return absl::OkStatus();
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
      pending_bytes_(table->ps_count()),
      added_(table->variable_count()) {}

GradientPusher::~GradientPusher() {
  client_->Cancel(options_.group);
  MutexLock lock(&mutex_);
  while (calls_ > 0) changed_.Wait(&mutex_);
}

std::shared_ptr<GradientPusher::Buffer> GradientPusher::TakeBuffer() {
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
  if (options_.want_values) buffer->values.resize(table_->pushed_elements());
  buffer->uses = 1;
  return buffer;
}

void GradientPusher::Release(const std::shared_ptr<Buffer>& buffer) {
  if (--buffer->uses == 0) free_.push_back(buffer);
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
    CopyScaled(scale, gradient.subspan(block.offset, block.elements),
               step_->buffer->gradients.data() + block.pushed_offset);
    pending_[block.ps].add_blocks(id);
    pending_bytes_[block.ps] += block.elements * static_cast<int64_t>(sizeof(float));
    if (pending_bytes_[block.ps] >= BlockTable::kRequestBytes) Flush(block.ps);
  }
}

void GradientPusher::End(const proto::BatchRecord& record) {
  for (int variable = 0; variable < table_->variable_count(); ++variable) {
    if (added_[variable]) continue;
    for (uint32_t id : table_->blocks_of(variable)) {
      const BlockTable::Block& block = table_->block(id);
      if (block.pushed) pending_[block.ps].add_settled_blocks(id);
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
  proto::PushHeader header;
  header.Swap(&pending_[ps]);
  pending_bytes_[ps] = 0;
  if (header.blocks_size() == 0 && header.settled_blocks_size() == 0) return;
  header.set_job_id(options_.job_id);
  header.set_generation(options_.generation);
  header.set_batch(batch_);
  header.set_examples(examples_);
  header.set_want_values(options_.want_values);
  const std::vector<uint32_t> blocks(header.blocks().begin(), header.blocks().end());
  const std::shared_ptr<Buffer>& buffer = step_->buffer;
  std::vector<cluster::FramePiece> pieces;
  std::vector<absl::Span<float>> destinations;
  for (uint32_t id : blocks) {
    const BlockTable::Block& block = table_->block(id);
    const absl::Span<const float> gradient(buffer->gradients.data() + block.pushed_offset,
                                           block.elements);
    pieces.push_back(cluster::FramePiece::OfFloats(gradient, buffer));
    if (!options_.want_values) continue;
    destinations.emplace_back(buffer->values.data() + block.pushed_offset, block.elements);
  }
  {
    MutexLock lock(&mutex_);
    ++calls_;
    ++step_->open;
    ++buffer->uses;
  }
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

void GradientPusher::OnReply(const std::shared_ptr<StepState>& step,
                             const std::vector<uint32_t>& blocks,
                             absl::StatusOr<proto::PushReplyHeader> reply) {
  const absl::Status failure = CheckReply(reply, blocks.size());
  bool settled = false;
  {
    MutexLock lock(&mutex_);
    if (status_.ok()) status_ = failure;
    if (failure.ok() && options_.want_values) {
      arrivals_.push_back(
          {step->buffer, blocks, {reply->versions().begin(), reply->versions().end()}});
      ++step->buffer->uses;
    }
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

void GradientPusher::TakeFreshValues(Install install) {
  std::vector<Arrival> arrivals;
  {
    MutexLock lock(&mutex_);
    arrivals.swap(arrivals_);
  }
  for (const Arrival& arrival : arrivals) {
    for (size_t i = 0; i < arrival.blocks.size(); ++i) {
      const BlockTable::Block& block = table_->block(arrival.blocks[i]);
      install(
          arrival.blocks[i], arrival.versions[i],
          absl::MakeConstSpan(arrival.buffer->values.data() + block.pushed_offset, block.elements));
    }
  }
  MutexLock lock(&mutex_);
  for (const Arrival& arrival : arrivals) Release(arrival.buffer);
}

absl::Status GradientPusher::status() {
  MutexLock lock(&mutex_);
  return status_;
}

}  // namespace cairn::worker
