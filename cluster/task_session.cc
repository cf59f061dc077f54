#include "cluster/task_session.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "cluster/grpc_status.h"
#include "cluster/message_checksum.h"
#include "cluster/rpc_channel.h"
#include "common/clock.h"
#include "common/failpoint.h"
#include "common/logging.h"
#include "common/message_text.h"
#include "common/mutex.h"
#include "common/process_info.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "proto/coordinator.grpc.pb.h"

namespace cairn::cluster {
namespace {

// Within this time a coordinator that is told to end together with its tasks has said so.
constexpr absl::Duration kEndingNotice = absl::Milliseconds(500);

// An event for the handler's thread: a command of a stream, or the end of the stream.
struct Event {
  uint64_t stream = 0;
  std::variant<proto::Command, absl::Status> content;
};

// Of an event whose handler is watched, else empty. A Welcome may wait for a disk.
std::string NameOf(const Event& event) {
  const auto* const command = std::get_if<proto::Command>(&event.content);
  if (command == nullptr) return "the end of the stream";
  if (command->has_welcome()) return "";
  const google::protobuf::FieldDescriptor* const field =
      command->GetReflection()->GetOneofFieldDescriptor(
          *command, proto::Command::descriptor()->oneof_decl(0));
  return absl::StrCat("the command ", field == nullptr ? "without contents" : field->name());
}

absl::Status StreamError(const absl::Status& status) {
  return status.ok() ? absl::UnavailableError("the coordinator ended the stream") : status;
}

}  // namespace

// Uses two threads, so that a slow handler does not delay heartbeats: one runs the stream, the
// other calls the handler. gRPC's callbacks only set flags and wake the stream's thread.
class TaskSession::Impl {
 public:
  Impl(SessionOptions options, SessionHandler* handler);
  ~Impl() { Stop(); }

  bool Send(proto::TaskMessage message);
  bool IsNeeded(absl::Duration waited);
  void Stop();
  uint64_t instance_id() const { return instance_id_; }

 private:
  class Stream;
  // The next action of RunStream, chosen under the lock and carried out without it.
  struct Step {
    absl::Status end;  // Not OK if the stream must be ended.
    bool read = false;
    bool heartbeat = false;
    std::optional<proto::TaskMessage> message;
    std::string stuck;  // Why the handler is.
  };

  // Called by gRPC's threads.
  void ReadDone(bool ok);
  void WriteDone(bool ok);
  void StreamDone(absl::Status status);

  // Called by the stream's thread.
  void MaintainStream();
  absl::Status RunStream();
  void BeginStream();
  absl::Status EndStream(Stream* stream, const absl::Status& why);
  Step NextStep(Stream* stream);
  bool HasWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ReceiveCommand(proto::Command command) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ReceiveWelcome(const proto::Welcome& welcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Duration NextTimeout() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool LeaseHasExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HeartbeatIsDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LookAtHandler() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HandlerIsStuck() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns false if the session must end.
  bool WaitBeforeNextStream();
  proto::TaskMessage MakeJoin() const;
  proto::TaskMessage MakeHeartbeat() const;

  // Called by the handler's thread.
  void HandleEvents();
  void Handle(const Event& event);

  const SessionOptions options_;
  SessionHandler* const handler_;
  const uint64_t instance_id_;
  std::unique_ptr<proto::Coordinator::Stub> stub_;  // Only the stream's thread uses it.
  const RealClock clock_;

  // Used only by the stream's thread.
  Backoff backoff_;
  uint64_t term_seen_ = 0;
  bool disconnect_was_logged_ = false;

  Mutex mutex_;
  ConditionVariable changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t stream_number_ ABSL_GUARDED_BY(mutex_) = 0;  // Incremented for each stream.
  // The stream of the last event that was given to the handler.
  uint64_t handled_stream_ ABSL_GUARDED_BY(mutex_) = 0;
  bool joined_ ABSL_GUARDED_BY(mutex_) = false;  // A Welcome has been received.
  std::optional<proto::Refused> refused_ ABSL_GUARDED_BY(mutex_);
  // State of the stream, set by gRPC's threads.
  bool arrived_ ABSL_GUARDED_BY(mutex_) = false;  // A command has been read and not yet taken.
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status done_status_ ABSL_GUARDED_BY(mutex_);
  // The coordinator ends by then.
  std::optional<absl::Duration> ending_until_ ABSL_GUARDED_BY(mutex_);
  absl::Duration lease_ ABSL_GUARDED_BY(mutex_);
  absl::Duration last_received_ ABSL_GUARDED_BY(mutex_);
  absl::Duration next_heartbeat_ ABSL_GUARDED_BY(mutex_);
  std::deque<proto::TaskMessage> outbox_ ABSL_GUARDED_BY(mutex_);
  std::deque<Event> inbox_ ABSL_GUARDED_BY(mutex_);
  // The event that the handler has, by number, and what it is; 0: none that is watched.
  uint64_t events_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t handled_event_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string handled_name_ ABSL_GUARDED_BY(mutex_);
  // When the stream's thread looked last, what it saw, and for how long it has seen that.
  absl::Duration looked_at_ ABSL_GUARDED_BY(mutex_);
  uint64_t seen_event_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration seen_for_ ABSL_GUARDED_BY(mutex_);
  absl::Duration progress_timeout_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  bool was_stuck_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread stream_thread_;
  std::thread handler_thread_;
};

// gRPC's side of a stream. The stream's thread starts all operations without holding the lock,
// because gRPC may call back immediately on the same thread.
class TaskSession::Impl::Stream final
    : public grpc::ClientBidiReactor<proto::TaskMessage, proto::Command> {
 public:
  explicit Stream(Impl* session) : session_(session) {
    session->stub_->async()->Session(&context_, this);
    AddHold();  // Required because reads and writes are started outside of gRPC's callbacks.
    StartRead(&in_);
    StartCall();
  }

  void Write(proto::TaskMessage message) {
    out_ = std::move(message);
    EscapeForeignText(&out_);
    AddChecksum(&out_);
    StartWrite(&out_);
  }
  proto::Command ReceiveCommand() { return std::move(in_); }
  void Read() { StartRead(&in_); }
  // OnDone is the last callback.
  void End() {
    context_.TryCancel();
    RemoveHold();
  }

  void OnReadDone(bool ok) override { session_->ReadDone(ok); }
  void OnWriteDone(bool ok) override { session_->WriteDone(ok); }
  void OnDone(const grpc::Status& status) override { session_->StreamDone(FromGrpc(status)); }

 private:
  Impl* const session_;
  grpc::ClientContext context_;
  proto::Command in_;
  proto::TaskMessage out_;
};

TaskSession::Impl::Impl(SessionOptions options, SessionHandler* handler)
    : options_(std::move(options)),
      handler_(handler),
      instance_id_(RandomSeed()),
      stub_(proto::Coordinator::NewStub(CreateChannel(options_.address))),
      backoff_(options_.first_delay, options_.max_delay, instance_id_) {
  stream_thread_ = std::thread([this] { MaintainStream(); });
  handler_thread_ = std::thread([this] { HandleEvents(); });
}

bool TaskSession::Impl::Send(proto::TaskMessage message) {
  MutexLock lock(&mutex_);
  // A handler that has not yet been told of the end of an earlier stream must not send to the new
  // one.
  if (stopping_ || !joined_ || handled_stream_ != stream_number_) return false;
  if (outbox_.size() >= options_.outbox_max) return false;
  outbox_.push_back(std::move(message));
  changed_.NotifyAll();
  return true;
}

bool TaskSession::Impl::IsNeeded(absl::Duration waited) {
  MutexLock lock(&mutex_);
  if (!joined_) return false;
  return ending_until_.has_value() ? clock_.Now() < *ending_until_ : waited < kEndingNotice;
}

void TaskSession::Impl::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (stream_thread_.joinable()) stream_thread_.join();
  if (handler_thread_.joinable()) handler_thread_.join();
}

void TaskSession::Impl::ReadDone(bool ok) {
  MutexLock lock(&mutex_);
  arrived_ = ok;
  broken_ |= !ok;
  if (ok) last_received_ = clock_.Now();
  changed_.NotifyAll();
}

void TaskSession::Impl::WriteDone(bool ok) {
  MutexLock lock(&mutex_);
  writing_ = false;
  broken_ |= !ok;
  changed_.NotifyAll();
}

void TaskSession::Impl::StreamDone(absl::Status status) {
  MutexLock lock(&mutex_);
  done_ = true;
  done_status_ = std::move(status);
  changed_.NotifyAll();
}

void TaskSession::Impl::MaintainStream() {
  do {
    const absl::Status why = RunStream();
    // The connection may be spoiled and live on (see PsClient): the next stream gets a new one.
    stub_ = proto::Coordinator::NewStub(CreateChannel(options_.address));
    MutexLock lock(&mutex_);
    if (stopping_) return;
    if (!std::exchange(disconnect_was_logged_, true)) {
      CAIRN_LOG_WARNING("no stream to the coordinator; retrying", "address", options_.address,
                        "why", why);
    }
    // Through the inbox, so that the handler has seen all commands of the stream before its end.
    if (joined_) inbox_.push_back({stream_number_, why});
    if (refused_.has_value() && (!joined_ || refused_->permanent())) {
      proto::Command command;
      *command.mutable_refused() = *refused_;
      inbox_.push_back({stream_number_, std::move(command)});
    }
    // Messages end with their stream: the coordinator takes the next Join as the state of this
    // task.
    joined_ = false;
    outbox_.clear();
    changed_.NotifyAll();
  } while (WaitBeforeNextStream());
}

bool TaskSession::Impl::WaitBeforeNextStream() {
  const absl::Duration until = clock_.Now() + backoff_.Next();
  MutexLock lock(&mutex_);
  const bool for_good = refused_.has_value() && refused_->permanent();
  while (!stopping_ && !for_good) {
    const absl::Duration left = until - clock_.Now();
    if (left <= absl::ZeroDuration()) return true;
    changed_.WaitFor(&mutex_, absl::ToChronoNanoseconds(left));
  }
  return false;
}

void TaskSession::Impl::BeginStream() {
  MutexLock lock(&mutex_);
  ++stream_number_;
  refused_.reset();
  ending_until_.reset();
  arrived_ = broken_ = done_ = false;
  writing_ = true;  // The Join is being written.
  lease_ = options_.lease;
  last_received_ = clock_.Now();
}

absl::Status TaskSession::Impl::RunStream() {
  // The state is reset first: gRPC's callbacks change it from the first operation on.
  BeginStream();
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("session.join"));
  proto::TaskMessage join = MakeJoin();
  Stream stream(this);
  stream.Write(std::move(join));
  while (true) {
    Step step = NextStep(&stream);
    if (!step.end.ok()) return EndStream(&stream, step.end);
    if (!step.stuck.empty()) options_.on_stuck(step.stuck);
    if (step.read) stream.Read();
    if (step.heartbeat) step.message = MakeHeartbeat();
    if (step.message.has_value()) {
      if (absl::Status hit = CAIRN_FAILPOINT("session.send"); !hit.ok()) {
        return EndStream(&stream, hit);
      }
    }
    if (step.message.has_value()) stream.Write(*std::move(step.message));
  }
}

absl::Status TaskSession::Impl::EndStream(Stream* stream, const absl::Status& why) {
  stream->End();
  MutexLock lock(&mutex_);
  while (!done_) changed_.Wait(&mutex_);
  // gRPC's status is the better explanation of a broken stream, unless it only reports our own
  // cancellation.
  return broken_ && !absl::IsCancelled(done_status_) ? StreamError(done_status_) : why;
}

TaskSession::Impl::Step TaskSession::Impl::NextStep(Stream* stream) {
  MutexLock lock(&mutex_);
  LookAtHandler();
  while (!HasWork()) {
    changed_.WaitFor(&mutex_, absl::ToChronoNanoseconds(NextTimeout()));
    LookAtHandler();
  }
  Step step;
  if (stopping_) {
    step.end = absl::CancelledError("the session is stopping");
  } else if (HandlerIsStuck()) {
    was_stuck_ = true;
    step.stuck = absl::StrCat(handled_name_, " has not been executed for ",
                              absl::FormatDuration(progress_timeout_));
  } else if (arrived_ && inbox_.size() < options_.inbox_max) {
    // A received command comes before broken_, because the last command may be the reason why the
    // coordinator has ended the stream.
    arrived_ = false;
    // The command may have waited for a slow handler, and later ones behind it in the socket, so
    // the lease starts again.
    last_received_ = clock_.Now();
    step.end = ReceiveCommand(stream->ReceiveCommand());
    step.read = step.end.ok();
  } else if (broken_) {
    step.end = StreamError(absl::OkStatus());
  } else if (LeaseHasExpired()) {
    step.end = absl::DeadlineExceededError(
        absl::StrCat("no message from the coordinator for ", absl::FormatDuration(lease_)));
  } else if (HeartbeatIsDue()) {
    // Before other messages, so that a long outbox does not delay it.
    next_heartbeat_ = clock_.Now() + options_.heartbeat;
    step.heartbeat = writing_ = true;
  } else if (!writing_ && !outbox_.empty()) {
    step.message = std::move(outbox_.front());
    outbox_.pop_front();
    writing_ = true;
  }
  return step;
}

bool TaskSession::Impl::HasWork() {
  return stopping_ || (arrived_ ? inbox_.size() < options_.inbox_max : broken_) ||
         LeaseHasExpired() || HeartbeatIsDue() || HandlerIsStuck() ||
         (!writing_ && !outbox_.empty());
}

// A process that was stopped, or had no processor, has not looked meanwhile: that is not counted.
void TaskSession::Impl::LookAtHandler() {
  const absl::Duration now = clock_.Now();
  if (handled_event_ == 0 || handled_event_ != seen_event_) {
    seen_event_ = handled_event_;
    seen_for_ = absl::ZeroDuration();
  } else {
    seen_for_ += std::min(now - looked_at_, options_.heartbeat);
  }
  looked_at_ = now;
}

bool TaskSession::Impl::HandlerIsStuck() {
  return options_.on_stuck != nullptr && !was_stuck_ && seen_for_ > progress_timeout_;
}

// A command that waits for the handler proves that the coordinator is alive.
bool TaskSession::Impl::LeaseHasExpired() {
  return !arrived_ && clock_.Now() >= last_received_ + lease_;
}

bool TaskSession::Impl::HeartbeatIsDue() {
  return joined_ && !writing_ && clock_.Now() >= next_heartbeat_;
}

absl::Duration TaskSession::Impl::NextTimeout() {
  const absl::Duration now = clock_.Now();
  absl::Duration next = arrived_ ? now + lease_ : last_received_ + lease_;
  if (joined_ && !writing_) next = std::min(next, next_heartbeat_);
  return std::max(next - now, absl::ZeroDuration());
}

absl::Status TaskSession::Impl::ReceiveCommand(proto::Command command) {
  if (!TakeCommandChecksum(&command))
    return absl::DataLossError("a command of the coordinator is damaged");
  if (command.has_heartbeat()) return absl::OkStatus();
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("session.receive"));
  if (command.has_refused()) {
    refused_ = command.refused();
    return absl::FailedPreconditionError(
        absl::StrCat("the coordinator refused: ", command.refused().reason()));
  }
  if (command.has_ending() && joined_) {
    ending_until_ = clock_.Now() + absl::Milliseconds(command.ending().milliseconds());
    return absl::OkStatus();
  }
  if (command.has_welcome() == joined_) {
    return absl::InternalError(joined_ ? "the coordinator sent a second Welcome"
                                       : "the coordinator's first command is not a Welcome");
  }
  if (command.has_welcome()) {
    if (absl::Status status = ReceiveWelcome(command.welcome()); !status.ok()) return status;
  }
  inbox_.push_back({stream_number_, std::move(command)});
  changed_.NotifyAll();
  return absl::OkStatus();
}

absl::Status TaskSession::Impl::ReceiveWelcome(const proto::Welcome& welcome) {
  if (welcome.term() < term_seen_) {
    return absl::FailedPreconditionError(
        absl::StrCat("the coordinator's term is ", welcome.term(), ", but an earlier one had term ",
                     term_seen_, ": it has lost its state, or is an old process"));
  }
  term_seen_ = welcome.term();
  joined_ = true;
  if (welcome.lease_milliseconds() > 0) lease_ = absl::Milliseconds(welcome.lease_milliseconds());
  next_heartbeat_ = clock_.Now() + options_.heartbeat;
  if (welcome.progress_timeout_milliseconds() > 0) {
    progress_timeout_ = absl::Milliseconds(welcome.progress_timeout_milliseconds());
  }
  backoff_.Reset();
  disconnect_was_logged_ = false;
  CAIRN_LOG_INFO("joined", "coordinator", options_.address, "term", welcome.term(), "index",
                 welcome.index(), "incarnation", welcome.incarnation());
  return absl::OkStatus();
}

proto::TaskMessage TaskSession::Impl::MakeJoin() const {
  proto::TaskMessage message;
  proto::Join* join = message.mutable_join();
  *join = options_.make_join();
  join->set_version(kVersion);
  join->set_instance_id(instance_id_);
  join->set_pid(getpid());
  join->set_host(HostName());
  join->set_memory_limit_bytes(MemoryLimitBytes());
  join->set_term_seen(term_seen_);
  return message;
}

proto::TaskMessage TaskSession::Impl::MakeHeartbeat() const {
  proto::TaskMessage message;
  proto::Heartbeat* heartbeat = message.mutable_heartbeat();
  heartbeat->set_memory_bytes(ResidentMemoryBytes());
  if (options_.fill_heartbeat != nullptr) options_.fill_heartbeat(heartbeat);
  return message;
}

void TaskSession::Impl::HandleEvents() {
  while (true) {
    Event event;
    {
      MutexLock lock(&mutex_);
      while (!stopping_ && inbox_.empty()) changed_.Wait(&mutex_);
      if (stopping_) return;
      event = std::move(inbox_.front());
      inbox_.pop_front();
      handled_stream_ = event.stream;
      handled_name_ = NameOf(event);
      handled_event_ = handled_name_.empty() ? 0 : ++events_;
      changed_.NotifyAll();
    }
    Handle(event);
    MutexLock lock(&mutex_);
    handled_event_ = 0;
  }
}

void TaskSession::Impl::Handle(const Event& event) {
  if (const auto* why = std::get_if<absl::Status>(&event.content)) {
    return handler_->OnDisconnected(*why);
  }
  const auto& command = std::get<proto::Command>(event.content);
  if (command.has_welcome()) return handler_->OnWelcome(command.welcome());
  if (command.has_refused()) return handler_->OnRefused(command.refused());
  handler_->OnCommand(command);
}

TaskSession::TaskSession(SessionOptions options, SessionHandler* handler)
    : impl_(std::make_unique<Impl>(std::move(options), handler)) {}
TaskSession::~TaskSession() = default;
bool TaskSession::Send(proto::TaskMessage message) { return impl_->Send(std::move(message)); }
bool TaskSession::IsNeeded(absl::Duration waited) { return impl_->IsNeeded(waited); }
void TaskSession::Stop() { impl_->Stop(); }
uint64_t TaskSession::instance_id() const { return impl_->instance_id(); }

}  // namespace cairn::cluster
