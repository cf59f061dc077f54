#include "worker/strategy/gradient_pusher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace cairn::worker {
namespace {

constexpr std::chrono::milliseconds kAskInterval(50);
// The number of steps whose pushes may stay unanswered until their update is complete. Each of
// their requests is a parked call at a ps.
constexpr int64_t kParkedStepsMax = 16;
// One step is computed while the other is sent.
constexpr int64_t kCopiesMin = 2;

int64_t CopiesMax(const GradientPusher::Options& options, const BlockTable& table) {
  const int64_t bytes = std::max<int64_t>(1, table.pushed_elements()) * sizeof(float);
  return std::max(kCopiesMin, options.gradient_memory / bytes);
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
      copies_max_(CopiesMax(options_, *table)),
      pending_(table->ps_count()),
      added_(table->variable_count()) {}

GradientPusher::~GradientPusher() {
  {
    MutexLock lock(&mutex_);
    closing_ = true;
  }
  client_->Cancel(options_.group);
  // Callbacks use this object until they have returned.
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

// Drops one use of the step's buffer, and frees it after the last one.
void GradientPusher::Release(StepState* step) {
  if (step->buffer == nullptr || --step->buffer->uses > 0) return;
  free_.push_back(std::move(step->buffer));
  step->buffer = nullptr;
  keeping_.erase(keeping_.find(step->batch));
  changed_.NotifyAll();
}

bool GradientPusher::KeepsFewGradients() {
  const auto keeping = static_cast<int64_t>(keeping_.size());
  return keeping < std::min(kParkedStepsMax, copies_max_ / 2);
}

void GradientPusher::Begin(int64_t batch, int64_t examples) {
  step_ = std::make_shared<StepState>();
  if (options_.norms != nullptr) step_->sums = options_.norms->None();
  step_->buffer = TakeBuffer();
  step_->batch = batch;
  step_->examples = examples;
  std::fill(added_.begin(), added_.end(), false);
  MutexLock lock(&mutex_);
  ++steps_;
  if (step_->buffer == nullptr) return;
  // Decided once for a step, so that all of its requests are answered alike.
  step_->answer_when_buffered = !KeepsFewGradients();
  keeping_.insert(batch);
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
    // A full request is sent at once, while the backward pass continues.
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
      if (block.pushed) pending_[block.ps].header.add_applied_blocks(id);
    }
  }
  for (int ps = 0; ps < table_->ps_count(); ++ps) Flush(ps);
  // The record is set before the step's own share of `open` is given up: the callback that finishes
  // the step reads it.
  step_->record = record;
  {
    MutexLock lock(&mutex_);
    Release(step_.get());
  }
  FinishRequest(step_);
  step_.reset();
}

void GradientPusher::Flush(int ps) {
  auto [header, pieces, bytes] = std::exchange(pending_[ps], Pending());
  if (header.blocks_size() == 0 && header.applied_blocks_size() == 0) return;
  header.set_examples(step_->examples);
  header.set_answer_when_buffered(step_->answer_when_buffered);
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
  asked.ps = ps;
  asked.versions = header.blocks_size();
  asked.blocks.assign(header.blocks().begin(), header.blocks().end());
  asked.blocks.insert(asked.blocks.end(), header.applied_blocks().begin(),
                      header.applied_blocks().end());
  {
    MutexLock lock(&mutex_);
    ++calls_;
    ++step->open;
    if (step->stage == Stage::kGradients && step->buffer != nullptr) ++step->buffer->uses;
  }
  client_->Push(
      ps, std::move(header), std::move(pieces), std::move(destinations),
      [this, step, asked = std::move(asked)](absl::StatusOr<proto::PushReplyHeader> reply) {
        OnReply(step, asked, reply);
      },
      options_.group);
}

GradientPusher::Stage GradientPusher::NextStage(const StepState& step) const {
  // After an error no further request is sent; the step ends without being reported.
  if (!status_.ok()) return Stage::kDone;
  if (step.stage == Stage::kGradients && !step.buffered.empty()) return Stage::kUpdate;
  // No reply is outstanding and none was "buffered": the update is reduced on every ps. The update
  // may be applied already, with the scales of another worker.
  const bool has_scales = step.stage == Stage::kGradients || step.stage == Stage::kUpdate;
  if (has_scales && options_.norms != nullptr && !step.sums.applied) return Stage::kScales;
  return Stage::kDone;
}

void GradientPusher::FinishRequest(const std::shared_ptr<StepState>& step) {
  Stage stage;
  bool failed;
  {
    MutexLock lock(&mutex_);
    if (--step->open > 0) return;
    stage = step->stage = NextStage(*step);
    failed = !status_.ok();
    // Counts this call as a request of the next stage, which cannot end before all are sent.
    if (stage != Stage::kDone) step->open = 1;
  }
  // No request is in flight, so no other thread uses the step now.
  if (stage == Stage::kUpdate) SendUpdateRequests(step);
  if (stage == Stage::kScales) SendScales(step);
  if (stage == Stage::kDone) {
    {
      MutexLock lock(&mutex_);
      --steps_;
      changed_.NotifyAll();
    }
    // Without the lock: the callback takes the worker's.
    if (!failed) options_.on_applied(step->record);
    return;
  }
  bool closing;
  {
    MutexLock lock(&mutex_);
    closing = closing_;
  }
  FinishRequest(step);
  // The destructor may have cancelled the group before these requests were sent.
  if (closing) client_->Cancel(options_.group);
}

void GradientPusher::SendUpdateRequests(const std::shared_ptr<StepState>& step) {
  for (const Asked& asked : std::exchange(step->buffered, {})) {
    proto::PushHeader header;
    header.set_examples(step->examples);
    header.set_already_buffered(true);
    const auto applied = asked.blocks.begin() + asked.versions;
    header.mutable_blocks()->Add(asked.blocks.begin(), applied);
    header.mutable_applied_blocks()->Add(applied, asked.blocks.end());
    Send(asked.ps, step, std::move(header), {});
  }
}

void GradientPusher::SendScales(const std::shared_ptr<StepState>& step) {
  std::vector<proto::UpdateScales> scales = options_.norms->Scales(step->sums);
  for (size_t ps = 0; ps < scales.size(); ++ps) {
    if (scales[ps].blocks_size() == 0) continue;
    proto::PushHeader header;
    *header.mutable_apply() = std::move(scales[ps]);
    Send(static_cast<int>(ps), step, std::move(header), {});
  }
}

absl::Status GradientPusher::TakeReply(const Asked& asked,
                                       const absl::StatusOr<proto::PushReplyHeader>& reply,
                                       StepState* step) {
  if (!reply.ok()) return reply.status();
  if (reply->versions_size() != asked.versions) {
    return absl::InternalError(absl::StrCat("a ps answered a push of ", asked.versions,
                                            " blocks with ", reply->versions_size(), " versions"));
  }
  if (reply->buffered()) {
    step->buffered.push_back(asked);
    return absl::OkStatus();
  }
  if (options_.norms == nullptr || step->stage == Stage::kScales) return absl::OkStatus();
  return options_.norms->Add(asked.blocks, *reply, &step->sums);
}

void GradientPusher::OnReply(const std::shared_ptr<StepState>& step, const Asked& asked,
                             const absl::StatusOr<proto::PushReplyHeader>& reply) {
  {
    MutexLock lock(&mutex_);
    const absl::Status failure = TakeReply(asked, reply, step.get());
    if (status_.ok()) status_ = failure;
    // Only requests of the first stage carry gradients.
    if (step->stage == Stage::kGradients) Release(step.get());
  }
  FinishRequest(step);
  // Last: once calls_ is 0 the destructor may return.
  MutexLock lock(&mutex_);
  --calls_;
  changed_.NotifyAll();
}

absl::StatusOr<bool> GradientPusher::WaitUntil(absl::FunctionRef<bool()> may_go_on,
                                               absl::FunctionRef<bool()> should_abandon) {
  while (true) {
    {
      MutexLock lock(&mutex_);
      if (status_.ok() && !may_go_on() && !woken_) changed_.WaitFor(&mutex_, kAskInterval);
      woken_ = false;
      if (!status_.ok()) return status_;
      if (may_go_on()) return true;
    }
    if (should_abandon()) return false;
  }
}

absl::StatusOr<bool> GradientPusher::WaitForSteps(absl::FunctionRef<bool()> should_abandon) {
  return WaitUntil([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return steps_ == 0; }, should_abandon);
}

absl::StatusOr<bool> GradientPusher::WaitForMemory(int64_t batch,
                                                   absl::FunctionRef<bool()> should_abandon) {
  const auto has_room = [this, batch]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return static_cast<int64_t>(keeping_.size()) < copies_max_ || batch < *keeping_.begin();
  };
  return WaitUntil(has_room, should_abandon);
}

void GradientPusher::Wake() {
  MutexLock lock(&mutex_);
  woken_ = true;
  changed_.NotifyAll();
}

int64_t GradientPusher::gradient_copies() {
  MutexLock lock(&mutex_);
  return static_cast<int64_t>(keeping_.size());
}

absl::Status GradientPusher::status() {
  MutexLock lock(&mutex_);
  return status_;
}

}  // namespace cairn::worker
