#include "tests/benchmarks/light_session.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <unistd.h>

#include <map>
#include <string_view>
#include <utility>

#include "common/check.h"
#include "common/version.h"

namespace cairn::benchmarks {
namespace {

constexpr absl::Duration kHeartbeat = absl::Seconds(1);
constexpr absl::Duration kFirstDelay = absl::Milliseconds(100);
constexpr absl::Duration kMaxDelay = absl::Seconds(2);
constexpr size_t kLargeBytes = 256 << 10;

void Trim(proto::JobPlan* plan) {
  plan->clear_job();
  plan->clear_model();
  plan->clear_partition();
}

// A thousand real workers have a thousand machines to parse and keep their plans.
proto::Command ParseLarge(const grpc::ByteBuffer& in) {
  static Mutex mutex;
  static auto* const known = new std::map<size_t, proto::Command>();
  grpc::Slice bytes;
  CAIRN_CHECK(in.DumpToSingleSlice(&bytes).ok());
  const std::string_view text(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
  MutexLock lock(&mutex);
  const auto [it, is_new] = known->try_emplace(std::hash<std::string_view>()(text));
  proto::Command& command = it->second;
  if (!is_new) return command;
  CAIRN_CHECK(command.ParseFromArray(text.data(), static_cast<int>(text.size())));
  if (command.has_start_job()) Trim(command.mutable_start_job()->mutable_plan());
  if (command.has_restore()) Trim(command.mutable_restore()->mutable_plan());
  return command;
}

proto::Command Parse(const grpc::ByteBuffer& in) {
  if (in.Length() > kLargeBytes) return ParseLarge(in);
  proto::Command command;
  grpc::ByteBuffer buffer(in);
  grpc::ProtoBufferReader reader(&buffer);
  CAIRN_CHECK(command.ParseFromZeroCopyStream(&reader));
  return command;
}

grpc::ByteBuffer Serialize(const proto::TaskMessage& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

}  // namespace

class LightSession::Stream final
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit Stream(LightSession* session) : session_(session) {}

  void Start(const proto::TaskMessage& join) {
    session_->stub_.PrepareBidiStreamingCall(&context_, "/cairn.proto.Coordinator/Session", {},
                                             this);
    AddHold();  // Reads and writes are started outside gRPC's callbacks.
    StartRead(&in_);
    Write(join);
    StartCall();
  }
  void Write(const proto::TaskMessage& message) {
    out_ = Serialize(message);
    StartWrite(&out_);
  }
  void Release() {
    context_.TryCancel();
    RemoveHold();
  }

  void OnReadDone(bool ok) override {
    session_->OnRead(ok, in_);
    if (ok) StartRead(&in_);
  }
  void OnWriteDone(bool ok) override { session_->OnWritten(ok); }
  void OnDone(const grpc::Status&) override { session_->OnEnded(); }

  proto::TaskMessage next;  // Chosen under the session's lock, written without it.

 private:
  LightSession* const session_;
  grpc::ClientContext context_;
  grpc::ByteBuffer in_;
  grpc::ByteBuffer out_;
};

LightSession::LightSession(const std::string& coordinator, Behavior behavior)
    : behavior_(std::move(behavior)),
      stub_(cluster::CreateChannel(coordinator)),
      backoff_(kFirstDelay, kMaxDelay, instance_id_) {
  Connect();
}

LightSession::~LightSession() {
  bool release = false;
  {
    MutexLock lock(&mutex_);
    broken_ = true;
    release = !std::exchange(released_, true);
  }
  if (release) stream_->Release();
  MutexLock lock(&mutex_);
  while (!ended_) changed_.Wait(&mutex_);
}

void LightSession::Connect() {
  proto::TaskMessage message;
  {
    MutexLock lock(&mutex_);
    joined_ = broken_ = released_ = ended_ = false;
    writing_ = true;
    outbox_.clear();
    proto::Join* join = message.mutable_join();
    *join = behavior_.make_join();
    join->set_version(kVersion);
    join->set_instance_id(instance_id_);
    join->set_pid(getpid());
    join->set_term_seen(term_seen_);
  }
  // Callbacks use stream_ as soon as it is started.
  stream_ = std::make_unique<Stream>(this);
  stream_->Start(message);
}

void LightSession::Tick() {
  enum { kNothing, kWrite, kRelease, kConnect } next = kNothing;
  {
    MutexLock lock(&mutex_);
    const absl::Duration now = clock_.Now();
    if (ended_) {
      if (now >= connect_at_) next = kConnect;
    } else if (broken_ && !writing_ && !released_) {
      released_ = true;
      next = kRelease;
    } else if (joined_ && !broken_) {
      Messages messages;
      if (behavior_.tick != nullptr) behavior_.tick(now, &messages);
      for (proto::TaskMessage& message : messages) outbox_.push_back(std::move(message));
      if (now >= next_heartbeat_) {
        next_heartbeat_ = now + kHeartbeat;
        outbox_.emplace_back().mutable_heartbeat();
      }
      if (NextOut()) next = kWrite;
    }
  }
  if (next == kWrite) stream_->Write(stream_->next);
  if (next == kRelease) stream_->Release();
  if (next == kConnect) Connect();
}

bool LightSession::joined() {
  MutexLock lock(&mutex_);
  return joined_ && !broken_;
}

int LightSession::breaks() {
  MutexLock lock(&mutex_);
  return breaks_;
}

void LightSession::OnRead(bool ok, const grpc::ByteBuffer& in) {
  if (!ok) {
    MutexLock lock(&mutex_);
    broken_ = true;
    return;
  }
  const proto::Command command = Parse(in);
  if (command.has_heartbeat()) return;
  bool write = false;
  {
    MutexLock lock(&mutex_);
    const absl::Duration now = clock_.Now();
    if (command.has_welcome()) {
      joined_ = true;
      term_seen_ = command.welcome().term();
      next_heartbeat_ = now + kHeartbeat;
      backoff_.Reset();
    }
    Messages messages;
    behavior_.handle(command, now, &messages);
    for (proto::TaskMessage& message : messages) outbox_.push_back(std::move(message));
    write = NextOut();
  }
  if (write) stream_->Write(stream_->next);
}

void LightSession::OnWritten(bool ok) {
  bool write = false;
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    broken_ |= !ok;
    write = NextOut();
  }
  if (write) stream_->Write(stream_->next);
}

void LightSession::OnEnded() {
  MutexLock lock(&mutex_);
  if (joined_ && behavior_.disconnected != nullptr) behavior_.disconnected();
  joined_ = false;
  ended_ = true;
  ++breaks_;
  connect_at_ = clock_.Now() + backoff_.Next();
  changed_.NotifyAll();
}

bool LightSession::NextOut() {
  if (writing_ || broken_ || outbox_.empty()) return false;
  stream_->next = std::move(outbox_.front());
  outbox_.pop_front();
  writing_ = true;
  return true;
}

}  // namespace cairn::benchmarks
