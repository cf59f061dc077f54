#include "worker/strategy/gradient_pusher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/failpoint.h"

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

// The push of one step, from its first gradient to the report that its batch is applied:
//
//   Add, Add, ..., End   the first round: gradients
//   EndRound             begins the next round that the step needs: the update, then the scales
//   Finish               reports the batch
//
// No thread waits for a round: its last reply begins the next one. The step belongs to the pusher's
// thread until End, and then to its requests in flight, which keep it alive.
class GradientPusher::StepPush : public std::enable_shared_from_this<StepPush> {
 public:
  StepPush(GradientPusher* pusher, int64_t batch, int64_t examples, int64_t held_by);

  // As the pusher's.
  void Add(int variable, absl::Span<const float> gradient, float scale);
  void End(const proto::BatchRecord& record);

  int64_t held_by() const { return held_by_; }
  // With the pusher's mutex.
  void Hold() ABSL_NO_THREAD_SAFETY_ANALYSIS { held_ = true; }
  // Sends its requests from now on, and those that waited. On the thread of the client.
  void SendHeld();

 private:
  enum class Round { kGradients, kUpdate, kScales };
  struct Request {
    int ps = 0;
    proto::PushHeader header;
    std::vector<cluster::FramePiece> pieces;
    int64_t bytes = 0;  // Of the pieces.
  };
  // What is kept of a request until its reply.
  struct Sent {
    int ps = 0;
    std::vector<uint32_t> blocks;  // First those with a gradient, then those without.
    int versions = 0;  // The number of blocks with a gradient, and of versions in the reply.
  };

  // The memory that the gradient of a block is sent from.
  cluster::FramePiece PieceOf(const BlockTable::Block& block, absl::Span<const float> gradient,
                              float scale);
  void Flush(int ps);
  // Sends a request that open_ counts already, unless the step is held.
  void Send(Request request);
  void SendNow(Request request);
  void OnReply(const Sent& sent, const absl::StatusOr<proto::PushReplyHeader>& reply);
  absl::Status TakeReply(const Sent& sent, const absl::StatusOr<proto::PushReplyHeader>& reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(pusher_->mutex_);

  void EndRound();
  void ReleaseGradients();
  std::vector<Request> UpdateRequests();
  std::vector<Request> ScaleRequests() const;
  void SendRound(std::vector<Request> requests);
  void Finish(bool failed);

  GradientPusher* const pusher_;
  const BlockTable& table_;
  const int64_t batch_;
  const int64_t held_by_;
  int64_t examples_;
  bool answer_when_buffered_ = false;
  // The requests that are being filled, by ps, and the variables that were added to them.
  std::vector<Request> filling_;
  std::vector<bool> added_;
  proto::BatchRecord record_;

  bool held_ ABSL_GUARDED_BY(pusher_->mutex_) = false;
  std::vector<Request> waiting_ ABSL_GUARDED_BY(pusher_->mutex_);  // While it is held.

  // Null: gradients are not copied, or the copy is released.
  std::shared_ptr<Gradients> gradients_;
  // Changed between rounds, when no request is in flight.
  Round round_ = Round::kGradients;
  // Requests of this round that have no reply. Until End one more: the first round cannot end
  // between two gradients.
  int open_ ABSL_GUARDED_BY(pusher_->mutex_) = 1;
  // From the replies of this round: requests whose gradients the ps buffered, and sums of squares.
  std::vector<Sent> buffered_;
  std::optional<ClippedUpdate> clipped_;
};

GradientPusher::StepPush::StepPush(GradientPusher* pusher, int64_t batch, int64_t examples,
                                   int64_t held_by)
    : pusher_(pusher),
      table_(*pusher->table_),
      batch_(batch),
      held_by_(held_by),
      examples_(examples),
      filling_(table_.ps_count()),
      added_(table_.variable_count()),
      gradients_(pusher->TakeCopy()),
      clipped_(pusher->options_.clipped_update) {
  MutexLock lock(&pusher_->mutex_);
  pusher_->steps_.insert(batch);
  if (gradients_ == nullptr) return;
  // Decided once for a step, so that all of its requests are answered alike.
  answer_when_buffered_ = !pusher_->KeepsFewGradients();
  pusher_->keeping_.insert(batch);
}

void GradientPusher::StepPush::Add(int variable, absl::Span<const float> gradient, float scale) {
  added_[variable] = true;
  for (uint32_t id : table_.blocks_of(variable)) {
    const BlockTable::Block& block = table_.block(id);
    if (!block.pushed) return;
    Request& request = filling_[block.ps];
    request.header.add_blocks(id);
    request.pieces.push_back(PieceOf(block, gradient.subspan(block.offset, block.elements), scale));
    request.bytes += block.elements * static_cast<int64_t>(sizeof(float));
    // A full request is sent at once.
    if (request.bytes >= BlockTable::kRequestBytes) Flush(block.ps);
  }
}

cluster::FramePiece GradientPusher::StepPush::PieceOf(const BlockTable::Block& block,
                                                      absl::Span<const float> gradient,
                                                      float scale) {
  CAIRN_CHECK(gradients_ != nullptr || scale == 1);
  if (gradients_ == nullptr) return cluster::FramePiece::Borrowed(gradient);
  const auto copy = absl::MakeSpan(*gradients_).subspan(block.pushed_offset, block.elements);
  CopyScaled(scale, gradient, copy.data());
  return cluster::FramePiece::OfFloats(copy, gradients_);
}

void GradientPusher::StepPush::End(const proto::BatchRecord& record) {
  if (record.rejected()) examples_ = 0;
  for (int variable = 0; variable < table_.variable_count(); ++variable) {
    if (added_[variable]) continue;
    for (uint32_t id : table_.blocks_of(variable)) {
      const BlockTable::Block& block = table_.block(id);
      if (block.pushed) filling_[block.ps].header.add_applied_blocks(id);
    }
  }
  for (int ps = 0; ps < table_.ps_count(); ++ps) Flush(ps);
  // Before open_ goes down: the last reply may then finish the step, which reads the record.
  record_ = record;
  bool last;
  {
    MutexLock lock(&pusher_->mutex_);
    last = --open_ == 0;
  }
  if (last) EndRound();
}

void GradientPusher::StepPush::Flush(int ps) {
  Request request = std::exchange(filling_[ps], Request());
  if (request.header.blocks_size() == 0 && request.header.applied_blocks_size() == 0) return;
  request.ps = ps;
  request.header.set_examples(examples_);
  request.header.set_answer_when_buffered(answer_when_buffered_);
  {
    MutexLock lock(&pusher_->mutex_);
    ++open_;
  }
  Send(std::move(request));
}

void GradientPusher::StepPush::Send(Request request) {
  {
    MutexLock lock(&pusher_->mutex_);
    if (held_) return waiting_.push_back(std::move(request));
  }
  SendNow(std::move(request));
}

void GradientPusher::StepPush::SendHeld() {
  std::vector<Request> requests;
  {
    MutexLock lock(&pusher_->mutex_);
    held_ = false;
    requests = std::exchange(waiting_, {});
  }
  for (Request& request : requests) SendNow(std::move(request));
}

void GradientPusher::StepPush::SendNow(Request request) {
  CAIRN_FAILPOINT("worker.push").IgnoreError();
  const Options& options = pusher_->options_;
  proto::PushHeader& header = request.header;
  header.set_job_id(options.job_id);
  header.set_generation(options.generation);
  header.set_batch(batch_);
  std::vector<absl::Span<float>> destinations;
  if (options.destination != nullptr) {
    header.set_want_values(true);
    for (uint32_t id : header.blocks()) destinations.push_back(options.destination(id));
  }
  Sent sent;
  sent.ps = request.ps;
  sent.versions = header.blocks_size();
  sent.blocks.assign(header.blocks().begin(), header.blocks().end());
  sent.blocks.insert(sent.blocks.end(), header.applied_blocks().begin(),
                     header.applied_blocks().end());
  {
    MutexLock lock(&pusher_->mutex_);
    ++pusher_->calls_;
  }
  pusher_->client_->Push(
      request.ps, std::move(header), std::move(request.pieces), std::move(destinations),
      [self = shared_from_this(), sent = std::move(sent)](
          absl::StatusOr<proto::PushReplyHeader> reply) { self->OnReply(sent, reply); },
      options.group);
}

void GradientPusher::StepPush::OnReply(const Sent& sent,
                                       const absl::StatusOr<proto::PushReplyHeader>& reply) {
  bool last;
  {
    MutexLock lock(&pusher_->mutex_);
    const absl::Status failure = TakeReply(sent, reply);
    if (pusher_->status_.ok()) pusher_->status_ = failure;
    last = --open_ == 0;
  }
  if (last) EndRound();
  // At the very end: once calls_ is 0 the pusher's destructor may return.
  MutexLock lock(&pusher_->mutex_);
  --pusher_->calls_;
  pusher_->changed_.NotifyAll();
}

absl::Status GradientPusher::StepPush::TakeReply(
    const Sent& sent, const absl::StatusOr<proto::PushReplyHeader>& reply) {
  if (!reply.ok()) return reply.status();
  if (reply->versions_size() != sent.versions) {
    return absl::InternalError(absl::StrCat("a ps answered a push of ", sent.versions,
                                            " blocks with ", reply->versions_size(), " versions"));
  }
  if (reply->buffered()) {
    buffered_.push_back(sent);
    return absl::OkStatus();
  }
  // The replies to scales have no sums.
  if (!clipped_.has_value() || round_ == Round::kScales) return absl::OkStatus();
  return clipped_->Add(sent.blocks, *reply);
}

// All replies of the round are in, and no thread but this one uses the step.
void GradientPusher::StepPush::EndRound() {
  // Only requests of the first round carry gradients.
  ReleaseGradients();
  // After an error no further request is sent; the step ends without being reported.
  const bool failed = !pusher_->status().ok();
  std::vector<Request> next;
  if (!failed && round_ == Round::kGradients) {
    round_ = Round::kUpdate;
    next = UpdateRequests();
  }
  // Nothing is buffered any more, so the update is reduced on every ps, and its sums are complete.
  if (!failed && next.empty() && round_ == Round::kUpdate) {
    round_ = Round::kScales;
    next = ScaleRequests();
  }
  // No round is left, so the update is applied on every ps.
  next.empty() ? Finish(failed) : SendRound(std::move(next));
}

void GradientPusher::StepPush::ReleaseGradients() {
  if (gradients_ == nullptr) return;
  MutexLock lock(&pusher_->mutex_);
  pusher_->free_.push_back(std::move(gradients_));
  gradients_ = nullptr;
  pusher_->keeping_.erase(pusher_->keeping_.find(batch_));
  pusher_->changed_.NotifyAll();
}

// Requests the reply to the update for the gradients that the ps have buffered, without sending
// them again.
std::vector<GradientPusher::StepPush::Request> GradientPusher::StepPush::UpdateRequests() {
  std::vector<Request> requests;
  for (const Sent& sent : std::exchange(buffered_, {})) {
    Request& request = requests.emplace_back();
    request.ps = sent.ps;
    request.header.set_examples(examples_);
    request.header.set_already_buffered(true);
    const auto applied = sent.blocks.begin() + sent.versions;
    request.header.mutable_blocks()->Add(sent.blocks.begin(), applied);
    request.header.mutable_applied_blocks()->Add(applied, sent.blocks.end());
  }
  return requests;
}

// None if updates are not clipped, or if this one is applied already, with another worker's scales.
std::vector<GradientPusher::StepPush::Request> GradientPusher::StepPush::ScaleRequests() const {
  std::vector<Request> requests;
  if (!clipped_.has_value() || clipped_->applied()) return requests;
  std::vector<proto::UpdateScales> scales = clipped_->Scales();
  for (size_t ps = 0; ps < scales.size(); ++ps) {
    if (scales[ps].blocks_size() == 0) continue;
    Request& request = requests.emplace_back();
    request.ps = static_cast<int>(ps);
    *request.header.mutable_apply() = std::move(scales[ps]);
  }
  return requests;
}

void GradientPusher::StepPush::SendRound(std::vector<Request> requests) {
  {
    // All at once, so that the round cannot end before the last request is sent.
    MutexLock lock(&pusher_->mutex_);
    open_ = static_cast<int>(requests.size());
  }
  for (Request& request : requests) Send(std::move(request));
  pusher_->CancelIfClosing();
}

void GradientPusher::StepPush::Finish(bool failed) {
  {
    MutexLock lock(&pusher_->mutex_);
    pusher_->steps_.erase(pusher_->steps_.find(batch_));
    pusher_->changed_.NotifyAll();
  }
  CAIRN_FAILPOINT("worker.applied").IgnoreError();
  if (!failed) pusher_->SendHeld();
  // Without the lock: the callback takes the worker's.
  if (!failed) pusher_->options_.on_applied(record_);
}

GradientPusher::GradientPusher(cluster::PsClient* client, const BlockTable* table, Options options)
    : client_(client),
      table_(table),
      options_(std::move(options)),
      copies_max_(CopiesMax(options_, *table)) {}

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

std::shared_ptr<GradientPusher::Gradients> GradientPusher::TakeCopy() {
  if (!options_.copy_gradients) return nullptr;
  {
    MutexLock lock(&mutex_);
    if (!free_.empty()) {
      std::shared_ptr<Gradients> gradients = std::move(free_.back());
      free_.pop_back();
      return gradients;
    }
  }
  return std::make_shared<Gradients>(table_->pushed_elements());
}

bool GradientPusher::KeepsFewGradients() {
  const auto keeping = static_cast<int64_t>(keeping_.size());
  return keeping < std::min(kParkedStepsMax, copies_max_ / 2);
}

void GradientPusher::Begin(int64_t batch, int64_t examples, int64_t held_by) {
  step_ = std::make_shared<StepPush>(this, batch, examples, held_by);
  // Seen and noted at once: the acknowledgement that it waits for may come at any time.
  MutexLock lock(&mutex_);
  if (!IsHeld(held_by)) return;
  step_->Hold();
  held_.push_back(step_);
}

void GradientPusher::SendHeld() {
  std::vector<std::shared_ptr<StepPush>> free;
  {
    MutexLock lock(&mutex_);
    const auto begin = std::stable_partition(
        held_.begin(), held_.end(),
        [this](const std::shared_ptr<StepPush>& step)
            ABSL_NO_THREAD_SAFETY_ANALYSIS { return IsHeld(step->held_by()); });
    free.assign(begin, held_.end());
    held_.erase(begin, held_.end());
  }
  for (const std::shared_ptr<StepPush>& step : free) step->SendHeld();
  if (!free.empty()) CancelIfClosing();
}

// The destructor may have cancelled the group before the last requests were sent.
void GradientPusher::CancelIfClosing() {
  {
    MutexLock lock(&mutex_);
    if (!closing_) return;
  }
  client_->Cancel(options_.group);
}

void GradientPusher::Add(int variable, absl::Span<const float> gradient, float scale) {
  step_->Add(variable, gradient, scale);
}

void GradientPusher::End(const proto::BatchRecord& record) {
  std::exchange(step_, nullptr)->End(record);
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
  return WaitUntil([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return steps_.empty(); },
                   should_abandon);
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
