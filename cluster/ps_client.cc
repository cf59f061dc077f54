#include "cluster/ps_client.h"

#include <grpcpp/alarm.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cluster/grpc_status.h"
#include "cluster/grpc_tag.h"
#include "cluster/rpc_channel.h"
#include "cluster/shared_memory/shared_memory_link.h"
#include "common/check.h"
#include "common/failpoint.h"
#include "common/logging.h"
#include "common/mutex.h"
#include "common/version.h"

namespace cairn::cluster {
namespace {

using Destinations = std::vector<absl::Span<float>>;

// Warns about a ps that does not answer after this many attempts, and whenever the number doubles.
constexpr int kAttemptsBeforeWarning = 8;
// Of pings.
constexpr PsClient::Group kPingGroup = std::numeric_limits<PsClient::Group>::max();
// Smaller tensors travel faster in the message than through shared memory.
constexpr size_t kSharedBytesMin = 2048;

std::chrono::system_clock::time_point TimeIn(absl::Duration delay) {
  return std::chrono::system_clock::now() + absl::ToChronoMicroseconds(delay);
}

size_t TotalBytes(const Destinations& destinations) {
  size_t bytes = 0;
  for (const auto& destination : destinations) bytes += destination.size() * sizeof(float);
  return bytes;
}

// The checksum is right, but the reply does not fit the request: repeating the call does not help.
absl::Status Mismatch(size_t versions, size_t payload_bytes, const Destinations& destinations) {
  return absl::InternalError(absl::StrCat(
      "the reply has ", versions, " blocks with ", payload_bytes, " bytes where ",
      destinations.size(), " blocks with ", TotalBytes(destinations), " bytes were asked for"));
}

absl::Status ReadBlocks(FrameReader* reader, size_t versions, const Destinations& destinations) {
  if (versions != destinations.size() || reader->bytes_left() != TotalBytes(destinations)) {
    return Mismatch(versions, reader->bytes_left(), destinations);
  }
  for (const absl::Span<float>& destination : destinations) {
    if (absl::Status status = reader->Read(destination); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// One of these for each kind of reply: parses the frame and fills the destinations.
absl::Status ReadReply(Frame frame, const Destinations& destinations,
                       proto::PullReplyHeader* header) {
  absl::StatusOr<FrameReader> reader = FrameReader::Open(std::move(frame), header);
  if (!reader.ok()) return reader.status();
  if (header->batch_applied()) return reader->ExpectEnd();
  return ReadBlocks(&*reader, header->versions_size(), destinations);
}

absl::Status ReadReply(Frame frame, const Destinations& destinations,
                       proto::PushReplyHeader* header) {
  absl::StatusOr<FrameReader> reader = FrameReader::Open(std::move(frame), header);
  if (!reader.ok()) return reader.status();
  if (destinations.empty()) return reader->ExpectEnd();
  return ReadBlocks(&*reader, header->versions_size(), destinations);
}

absl::Status ReadReply(Frame frame, const Destinations&, proto::UploadReplyHeader* header) {
  absl::StatusOr<FrameReader> reader = FrameReader::Open(std::move(frame), header);
  return reader.ok() ? reader->ExpectEnd() : reader.status();
}

absl::Status ReadReply(Frame frame, const Destinations&, std::vector<FetchedRecord>* records) {
  proto::FetchReplyHeader header;
  absl::StatusOr<FrameReader> reader = FrameReader::Open(std::move(frame), &header);
  if (!reader.ok()) return reader.status();
  records->clear();  // Of an attempt that was cut short.
  for (const proto::FetchedBlock& block : header.blocks()) {
    const uint64_t left = reader->bytes_left();  // Looked at before the record is allocated.
    if (block.header_bytes() > left || block.payload_bytes() > left - block.header_bytes()) break;
    FetchedRecord& record = records->emplace_back();
    record.block = block.block();
    record.header_bytes = block.header_bytes();
    record.bytes.resize(record.header_bytes + block.payload_bytes());
    if (auto read = reader->ReadBytes(absl::MakeSpan(record.bytes)); !read.ok()) return read;
  }
  return reader->ExpectEnd();
}

// The records must be those of the first blocks of the request, in order.
absl::Status CheckFetched(const google::protobuf::RepeatedField<uint32_t>& asked,
                          const std::vector<FetchedRecord>& records) {
  const bool right =
      !records.empty() && records.size() <= static_cast<size_t>(asked.size()) &&
      std::equal(records.begin(), records.end(), asked.begin(),
                 [](const FetchedRecord& record, uint32_t block) { return record.block == block; });
  if (right) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the reply has ", records.size(),
                                          " other blocks than the ", asked.size(),
                                          " that were asked for"));
}

absl::Status CheckCount(const char* what, size_t count, size_t blocks) {
  if (count == blocks) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a call with ", blocks, " blocks and ", count, " ", what));
}

// In proto::ParameterServer.
const char* NameOf(DataMethod method) {
  constexpr const char* kNames[] = {"Pull", "Push", "Upload", "Fetch", "Ping"};
  return kNames[static_cast<int>(method)];
}

// A request, and the functions that handle its reply.
struct Request {
  DataMethod method;
  int ps = 0;
  uint64_t group = 0;
  absl::Duration attempt_timeout;
  size_t sent_bytes = 0;      // Of tensors,
  size_t received_bytes = 0;  // there and back.
  absl::AnyInvocable<absl::StatusOr<Frame>(const FrameRoom&)> encode;
  absl::AnyInvocable<absl::Status(Frame)> read;
  absl::AnyInvocable<void(const absl::Status&)> finish;
};

template <typename Reply>
void ReadInto(Destinations destinations, absl::AnyInvocable<void(absl::StatusOr<Reply>)> callback,
              Request* request) {
  request->received_bytes = TotalBytes(destinations);
  auto reply = std::make_shared<Reply>();
  request->read = [reply, destinations = std::move(destinations)](Frame frame) {
    return ReadReply(std::move(frame), destinations, reply.get());
  };
  request->finish = [reply, callback = std::move(callback)](const absl::Status& status) mutable {
    if (status.ok()) {
      callback(std::move(*reply));
    } else {
      callback(status);
    }
  };
}

}  // namespace

class PsClient::Impl {
 public:
  class Call;
  struct Link;

  explicit Impl(const PsClientOptions& options);
  ~Impl();

  int ps_count() const { return static_cast<int>(options_.addresses.size()); }
  int own_ps() const { return options_.own.ps; }

  // The request's frame, to be made when it is known where it goes, unless the arguments are wrong.
  template <typename Header>
  void SetFrame(const absl::Status& arguments, Header header, std::vector<FramePiece> pieces,
                Request* request) const;
  void Start(Request request);

  // Memory shared with the ps, or null.
  std::shared_ptr<SharedArena> Arena(int ps) {
    return links_.empty() || IsOwn(ps) ? nullptr : links_[ps]->arena();
  }
  bool IsOwn(int ps) const { return ps == options_.own.ps; }

  template <typename Selected>
  void CancelIf(Selected selected);

  std::vector<Silence> Silences() const;
  void Ping(int ps);
  const PsClientOptions& options() const { return options_; }

 private:
  friend class Call;

  void Serve();
  void Ended(Call* call);
  std::shared_ptr<grpc::GenericStub> Stub(int ps);
  void AttemptEnded(int ps, absl::Time begun, const grpc::Status& status);
  void PingSilentPs();

  // To a ps.
  struct Connection {
    std::shared_ptr<grpc::GenericStub> stub;
    absl::Time made;
    absl::Time answered;  // The last time.
    // When the first of the requests began that have had no answer since; infinite if there is
    // none. Pings are sent meanwhile.
    absl::Time silent_since = absl::InfiniteFuture();
    bool pinged = false;  // A ping has no answer yet.
  };

  const PsClientOptions options_;
  mutable Mutex connections_mutex_;
  std::vector<Connection> connections_ ABSL_GUARDED_BY(connections_mutex_);
  std::vector<int> unpinged_ ABSL_GUARDED_BY(connections_mutex_);  // Ps whose silence has begun.
  std::vector<std::unique_ptr<SharedMemoryLink>> links_;           // Empty: memory is not shared.
  grpc::CompletionQueue queue_;
  std::atomic<uint64_t> seed_ = RandomSeed();  // Of the next call's delays.

  Mutex mutex_;
  ConditionVariable no_calls_;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_set<Call*> calls_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // Last: uses all of the above.
};

// The answer of this process's own ps, which may come at any time and on any thread. The pending
// event is that of the attempt's alarm, which rings at once with an answer, or at the deadline.
struct PsClient::Impl::Link {
  explicit Link(grpc::Alarm* alarm) : alarm(alarm) {}

  void Answer(absl::StatusOr<Frame> given) {
    MutexLock lock(&mutex);
    if (alarm == nullptr || answer.has_value()) return;
    answer = std::move(given);
    alarm->Cancel();
  }

  // The result of the attempt, which ends.
  absl::StatusOr<Frame> Close() {
    cancelled = true;
    MutexLock lock(&mutex);
    alarm = nullptr;
    if (!answer.has_value()) return absl::DeadlineExceededError("no answer yet");
    return *std::move(answer);
  }

  std::atomic<bool> cancelled = false;
  Mutex mutex;
  grpc::Alarm* alarm ABSL_GUARDED_BY(mutex);  // Null when the attempt has ended.
  std::optional<absl::StatusOr<Frame>> answer ABSL_GUARDED_BY(mutex);
};

// A call with all of its attempts:
//
//   Start       encodes the frame and starts the first attempt
//   OnEvent     an attempt has ended, or the delay after one: NextStep starts the other, or has the
//               result, which goes to the callback
//
// Exactly one event is pending in the queue at any time, so a call never handles two at once. It
// deletes itself when it has ended.
class PsClient::Impl::Call final : public GrpcTag {
 public:
  Call(Impl* client, Request request, uint64_t seed)
      : client_(client),
        request_(std::move(request)),
        backoff_(client->options_.first_delay, client->options_.max_delay, seed) {}

  uint64_t group() const { return request_.group; }

  // Starts the first attempt. `cancelled`: the client is closing, so there is none.
  void Start(bool cancelled) {
    MutexLock lock(&mutex_);
    cancelled_ |= cancelled;
    if (!cancelled_) EncodeLocked(client_->Arena(request_.ps));
    // Errors go through the queue too, because callbacks run on its thread only.
    if (cancelled_ || !frame_.ok()) return WaitLocked(absl::ZeroDuration());
    AttemptLocked();
  }

  // Any thread, while the client knows the call.
  void Cancel() {
    MutexLock lock(&mutex_);
    cancelled_ = true;
    if (context_ != nullptr) context_->TryCancel();
    if (link_ != nullptr) link_->cancelled = true;
    if (waiting_ || link_ != nullptr) alarm_.Cancel();
  }

  void OnEvent(bool) override {
    absl::Status result;
    if (!NextStep(&result)) return;
    // The callback may reuse the memory of the pieces, or start a call that needs shared memory.
    Release();
    request_.finish(result);
    // After the callback: the client's destructor waits for calls that are not Ended.
    client_->Ended(this);
  }

 private:
  // Starts the next attempt or delay and returns false, or returns true and the result.
  bool NextStep(absl::Status* result) {
    MutexLock lock(&mutex_);
    // What has ended: an attempt, a call that could not be encoded, or the delay before an attempt.
    if (!std::exchange(waiting_, false)) {
      *result = AttemptResultLocked();
    } else if (!frame_.ok()) {
      *result = frame_.status();
    } else if (!cancelled_) {
      AttemptLocked();
      return false;
    }
    // Checked after the attempt's result, which may only be that of the cancellation.
    if (cancelled_) {
      *result = absl::CancelledError(absl::StrCat(Name(), " was cancelled"));
      return true;
    }
    if (!frame_.ok() || result->ok() || !CanRepeat(*result)) return true;
    WarnLocked(*result);
    // The ledgers make it safe to repeat a request that may have had its effect.
    if (arena_ != nullptr) {
      DropArenaLocked();
      EncodeLocked(nullptr);
    }
    WaitLocked(backoff_.Next());
    return false;
  }

  // No ps sends CANCELLED or UNIMPLEMENTED. They are gRPC's, after bytes of the connection were
  // damaged.
  static bool CanRepeat(const absl::Status& status) {
    return IsTransient(status) || absl::IsCancelled(status) || absl::IsUnimplemented(status);
  }

  static SharedArena::Allocation Allocate(SharedArena* arena, size_t bytes) {
    return bytes < kSharedBytesMin ? nullptr : arena->Allocate(bytes);
  }

  // Encodes the frame, with its tensors and the reply's in the arena if there is one with enough
  // room.
  void EncodeLocked(std::shared_ptr<SharedArena> arena) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    FrameRoom room;
    room.in_process = client_->IsOwn(request_.ps);
    if (arena != nullptr) {
      sent_ = Allocate(arena.get(), request_.sent_bytes);
      received_ = Allocate(arena.get(), request_.received_bytes);
      if (sent_ != nullptr) room.payload = *sent_;
      if (received_ != nullptr) room.reply = *received_;
      if (sent_ != nullptr || received_ != nullptr) arena_ = std::move(arena);
    }
    frame_ = request_.encode(room);
  }

  // After a failed attempt: the ps may have restarted and not know the memory, or may still write
  // into it. The next attempts use TCP.
  void DropArenaLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    client_->links_[request_.ps]->Drop(arena_);
    arena_.reset();
    sent_.reset();
    received_.reset();
  }

  // Frees the memory of a call that has ended: the frame, the pieces and the shared memory.
  void Release() {
    MutexLock lock(&mutex_);
    frame_ = Frame();
    request_.encode = nullptr;
    if (arena_ != nullptr && !succeeded_) DropArenaLocked();
    sent_.reset();
    received_.reset();
  }

  void AttemptLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    CAIRN_FAILPOINT("ps_client.send").IgnoreError();
    ++attempts_;
    begun_ = absl::Now();
    if (client_->IsOwn(request_.ps)) return AttemptInProcessLocked();
    context_ = std::make_unique<grpc::ClientContext>();
    context_->set_deadline(TimeIn(request_.attempt_timeout));
    reply_.Clear();
    reader_ = client_->Stub(request_.ps)
                  ->PrepareUnaryCall(
                      context_.get(),
                      absl::StrCat("/cairn.proto.ParameterServer/", NameOf(request_.method)),
                      *frame_->buffer(), &client_->queue_);
    reader_->StartCall();
    reader_->Finish(&reply_, &status_, Released());
  }

  // The ps may answer before its function returns; Link never locks mutex_.
  void AttemptInProcessLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    link_ = std::make_shared<Link>(&alarm_);
    alarm_.Set(&client_->queue_, TimeIn(request_.attempt_timeout), Released());
    client_->options_.own.server->HandleInProcess(std::make_unique<RawCall>(
        request_.method, *frame_, absl::StrCat(client_->options_.sender, " of this process"),
        [link = link_](absl::StatusOr<Frame> answer) { link->Answer(std::move(answer)); },
        [link = link_] { return link->cancelled.load(); }));
  }

  // What the attempt has brought.
  absl::StatusOr<Frame> ReplyLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (link_ != nullptr) return std::exchange(link_, nullptr)->Close();
    if (!cancelled_) client_->AttemptEnded(request_.ps, begun_, status_);
    if (!status_.ok()) return FromGrpc(status_);
    auto buffer = std::make_shared<grpc::ByteBuffer>();
    buffer->Swap(&reply_);
    return Frame(std::move(buffer), FindMemoryLocked());
  }

  absl::Status AttemptResultLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    absl::StatusOr<Frame> reply = ReplyLocked();
    absl::Status result = reply.status();
    if (result.ok()) result = CAIRN_FAILPOINT("ps_client.receive");
    if (result.ok() && !cancelled_) {
      result = request_.read(*std::move(reply));
      succeeded_ = result.ok();
    }
    reader_.reset();  // Lives in the memory of the context's call.
    context_.reset();
    if (result.ok()) return result;
    return absl::Status(result.code(), absl::StrCat(Name(), ": ", result.message()));
  }

  FindMemory FindMemoryLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (arena_ == nullptr) return nullptr;
    return [memory = arena_->memory()](uint64_t token) {
      return token == memory->token() ? memory : nullptr;
    };
  }

  void WaitLocked(absl::Duration delay) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    waiting_ = true;
    alarm_.Set(&client_->queue_, TimeIn(delay), Released());
  }

  void WarnLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (attempts_ < kAttemptsBeforeWarning || !std::has_single_bit(attempts_)) return;
    // The request that had no answer has a warning of its own.
    if (group() == kPingGroup) return;
    CAIRN_LOG_WARNING("no answer yet, trying on", "call", Name(), "attempts", attempts_, "why",
                      status);
  }

  std::string Name() const {
    return absl::StrCat(NameOf(request_.method), " of ps ", request_.ps, " (",
                        client_->options_.addresses[request_.ps], ")");
  }

  Impl* const client_;
  Request request_;  // Its functions: the queue's thread only.

  Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;  // For the alarm, not for an attempt.
  bool succeeded_ ABSL_GUARDED_BY(mutex_) = false;
  unsigned attempts_ ABSL_GUARDED_BY(mutex_) = 0;
  Backoff backoff_ ABSL_GUARDED_BY(mutex_);
  grpc::Alarm alarm_ ABSL_GUARDED_BY(mutex_);
  absl::StatusOr<Frame> frame_ ABSL_GUARDED_BY(mutex_) = Frame();  // Not OK: the call fails so.
  // What the frame uses of shared memory; null: nothing.
  std::shared_ptr<SharedArena> arena_ ABSL_GUARDED_BY(mutex_);
  SharedArena::Allocation sent_ ABSL_GUARDED_BY(mutex_);
  SharedArena::Allocation received_ ABSL_GUARDED_BY(mutex_);
  // Of the attempt under way.
  absl::Time begun_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer reply_ ABSL_GUARDED_BY(mutex_);
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Link> link_ ABSL_GUARDED_BY(mutex_);  // Null unless it is in this process.
};

PsClient::Impl::Impl(const PsClientOptions& options) : options_(options) {
  MutexLock lock(&connections_mutex_);
  for (const std::string& address : options.addresses) {
    connections_.push_back({std::make_shared<grpc::GenericStub>(CreateChannel(address)),
                            absl::Now(), absl::InfinitePast()});
    if (!options.share_memory) continue;
    links_.push_back(std::make_unique<SharedMemoryLink>(RouteOf(address)));
  }
  thread_ = std::thread([this] { Serve(); });
}

PsClient::Impl::~Impl() {
  {
    MutexLock lock(&mutex_);
    closing_ = true;
  }
  CancelIf([](const Call&) { return true; });
  {
    MutexLock lock(&mutex_);
    while (!calls_.empty()) no_calls_.Wait(&mutex_);
  }
  queue_.Shutdown();
  thread_.join();
}

std::shared_ptr<grpc::GenericStub> PsClient::Impl::Stub(int ps) {
  MutexLock lock(&connections_mutex_);
  return connections_[ps].stub;
}

// A connection that damaged bytes have spoiled may live on and answer gRPC's pings, but deliver no
// call, or end each with an error of gRPC's ("Bad :te header", from the table of compressed
// headers). So the next attempt uses a new connection after an error that the ps has not sent. A
// timeout alone does not count while the ps answers others: it may have parked the call. Calls in
// flight keep the old connection.
void PsClient::Impl::AttemptEnded(int ps, absl::Time begun, const grpc::Status& status) {
  std::shared_ptr<grpc::GenericStub> old;  // Destroyed without the lock.
  MutexLock lock(&connections_mutex_);
  Connection& connection = connections_[ps];
  if (IsFromServer(status)) {
    connection.answered = absl::Now();
    connection.silent_since = absl::InfiniteFuture();
    return;
  }
  const bool timed_out = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  const bool may_be_parked = timed_out && connection.answered >= begun;
  if (may_be_parked) return;
  if (connection.silent_since == absl::InfiniteFuture()) {
    connection.silent_since = std::max(begun, connection.answered);
    unpinged_.push_back(ps);
  }
  if (connection.made > begun) return;
  old = std::exchange(connection.stub,
                      std::make_shared<grpc::GenericStub>(CreateChannel(options_.addresses[ps])));
  connection.made = absl::Now();
}

void PsClient::Impl::PingSilentPs() {
  std::vector<int> silent;
  {
    MutexLock lock(&connections_mutex_);
    silent.swap(unpinged_);
  }
  for (const int ps : silent) Ping(ps);
}

// Repeated, as every request, until the ps answers. One at a time for each ps.
void PsClient::Impl::Ping(int ps) {
  {
    MutexLock lock(&connections_mutex_);
    if (std::exchange(connections_[ps].pinged, true)) return;
  }
  Request request = {DataMethod::kPing, ps, kPingGroup, options_.ping_timeout};
  request.encode = [](const FrameRoom&) { return EncodeFrame(proto::Frame(), {}); };
  request.read = [](const Frame&) { return absl::OkStatus(); };
  request.finish = [this, ps](const absl::Status&) {
    MutexLock lock(&connections_mutex_);
    connections_[ps].pinged = false;
  };
  Start(std::move(request));
}

std::vector<PsClient::Silence> PsClient::Impl::Silences() const {
  std::vector<Silence> silences;
  MutexLock lock(&connections_mutex_);
  const absl::Time now = absl::Now();
  for (size_t ps = 0; ps < connections_.size(); ++ps) {
    const absl::Time since = connections_[ps].silent_since;
    if (since != absl::InfiniteFuture()) silences.push_back({static_cast<int>(ps), now - since});
  }
  return silences;
}

void PsClient::Impl::Serve() {
  void* tag;
  bool ok;
  while (queue_.Next(&tag, &ok)) {
    GrpcTag::Acquired(tag)->OnEvent(ok);
    PingSilentPs();
  }
}

template <typename Header>
void PsClient::Impl::SetFrame(const absl::Status& arguments, Header header,
                              std::vector<FramePiece> pieces, Request* request) const {
  proto::Envelope* envelope = header.mutable_envelope();
  envelope->set_version(kVersion);
  envelope->set_cluster_id(options_.cluster_id);
  envelope->set_receiver(request->ps);
  envelope->set_sender(options_.sender);
  for (const FramePiece& piece : pieces) request->sent_bytes += piece.bytes;
  request->encode = [arguments, header = std::move(header),
                     pieces = std::move(pieces)](const FrameRoom& room) -> absl::StatusOr<Frame> {
    if (!arguments.ok()) return arguments;
    return EncodeFrame(header, pieces, room);
  };
}

void PsClient::Impl::Start(Request request) {
  CAIRN_CHECK(request.ps >= 0 && request.ps < ps_count());
  const bool is_ping = request.group == kPingGroup;
  auto call = std::make_unique<Call>(this, std::move(request), seed_++);
  bool closing;
  {
    MutexLock lock(&mutex_);
    closing = closing_;
    // The destructor may have seen the end of the last call.
    if (closing && is_ping) return;
    calls_.insert(call.get());
  }
  call.release()->Start(closing);
}

void PsClient::Impl::Ended(Call* call) {
  {
    MutexLock lock(&mutex_);
    calls_.erase(call);
  }
  delete call;
  MutexLock lock(&mutex_);
  if (calls_.empty()) no_calls_.NotifyAll();
}

template <typename Selected>
void PsClient::Impl::CancelIf(Selected selected) {
  // The lock keeps the calls alive meanwhile.
  MutexLock lock(&mutex_);
  for (Call* call : calls_) {
    if (selected(*call)) call->Cancel();
  }
}

PsClient::PsClient(const PsClientOptions& options) : impl_(std::make_unique<Impl>(options)) {}
PsClient::~PsClient() = default;
int PsClient::ps_count() const { return impl_->ps_count(); }
int PsClient::own_ps() const { return impl_->own_ps(); }
void PsClient::Ping(int ps) { impl_->Ping(ps); }
std::vector<PsClient::Silence> PsClient::Silences() const { return impl_->Silences(); }
std::optional<PsClient::Silence> PsClient::LongestSilence() const {
  const std::vector<Silence> silences = Silences();
  const auto longest =
      std::max_element(silences.begin(), silences.end(),
                       [](const Silence& a, const Silence& b) { return a.duration < b.duration; });
  if (longest == silences.end()) return std::nullopt;
  return *longest;
}

void PsClient::Pull(int ps, proto::PullHeader header, std::vector<absl::Span<float>> destinations,
                    PullCallback callback, Group group) {
  const absl::Status good = CheckCount("destinations", destinations.size(), header.blocks_size());
  Request request = {DataMethod::kPull, ps, group, impl_->options().attempt_timeout};
  impl_->SetFrame(good, std::move(header), {}, &request);
  ReadInto(std::move(destinations), std::move(callback), &request);
  impl_->Start(std::move(request));
}

void PsClient::Push(int ps, proto::PushHeader header, std::vector<FramePiece> pieces,
                    std::vector<absl::Span<float>> destinations, PushCallback callback,
                    Group group) {
  absl::Status good =
      CheckCount("pieces", pieces.size(), header.already_buffered() ? 0 : header.blocks_size());
  good.Update(CheckCount("destinations", destinations.size(),
                         header.want_values() ? header.blocks_size() : 0));
  Request request = {DataMethod::kPush, ps, group, impl_->options().attempt_timeout};
  impl_->SetFrame(good, std::move(header), std::move(pieces), &request);
  ReadInto(std::move(destinations), std::move(callback), &request);
  impl_->Start(std::move(request));
}

void PsClient::Upload(int ps, proto::UploadHeader header, std::vector<FramePiece> pieces,
                      UploadCallback callback, Group group) {
  const absl::Status good = CheckCount("pieces", pieces.size(), header.blocks_size());
  Request request = {DataMethod::kUpload, ps, group, impl_->options().attempt_timeout};
  impl_->SetFrame(good, std::move(header), std::move(pieces), &request);
  ReadInto({}, std::move(callback), &request);
  impl_->Start(std::move(request));
}

void PsClient::Fetch(int ps, proto::FetchHeader header, FetchCallback callback, Group group) {
  Request request = {DataMethod::kFetch, ps, group, impl_->options().attempt_timeout};
  impl_->SetFrame(absl::OkStatus(), header, {}, &request);
  ReadInto<std::vector<FetchedRecord>>(
      {},
      [asked = std::move(header),
       callback = std::move(callback)](absl::StatusOr<std::vector<FetchedRecord>> records) mutable {
        if (records.ok()) {
          const absl::Status right = CheckFetched(asked.blocks(), *records);
          if (!right.ok()) return callback(right);
        }
        callback(std::move(records));
      },
      &request);
  impl_->Start(std::move(request));
}

void PsClient::Cancel(Group group) {
  impl_->CancelIf([group](const Impl::Call& call) { return call.group() == group; });
}

void PsClient::CancelAll() {
  impl_->CancelIf([](const Impl::Call&) { return true; });
}

}  // namespace cairn::cluster
