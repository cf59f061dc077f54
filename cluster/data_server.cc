#include "cluster/data_server.h"

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "cluster/grpc_server.h"
#include "cluster/grpc_status.h"
#include "cluster/grpc_tag.h"
#include "cluster/shared_memory/shared_memory_host.h"
#include "common/logging.h"
#include "common/mutex.h"
#include "proto/parameter_server.grpc.pb.h"

namespace cairn::cluster {
namespace {

using RawService =
    proto::ParameterServer::WithRawMethod_Pull<proto::ParameterServer::WithRawMethod_Push<
        proto::ParameterServer::WithRawMethod_Upload<proto::ParameterServer::WithRawMethod_Fetch<
            proto::ParameterServer::WithRawMethod_Ping<proto::ParameterServer::Service>>>>>;
using Writer = grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>;

constexpr DataMethod kMethods[] = {DataMethod::kPull, DataMethod::kPush, DataMethod::kUpload,
                                   DataMethod::kFetch, DataMethod::kPing};
// The number of calls of a method that a queue can accept simultaneously.
constexpr int kPendingAccepts = 8;

bool IsBounded(DataMethod method) { return method != DataMethod::kPush; }

}  // namespace

class DataServer::Impl {
 public:
  class Call;
  struct Link;

  Impl(int calls_max, Handler handler) : calls_max_(calls_max), handler_(std::move(handler)) {}

  absl::Status Start(const DataServerOptions& options);
  void Shutdown(absl::Duration grace);
  int port() const { return server_.port(); }

  // Called by Call on the thread of its queue.
  void AcceptNext(DataMethod method, grpc::ServerCompletionQueue* queue);
  void CallArrived(Call* call, std::unique_ptr<RawCall> raw);
  void HandleInProcess(std::unique_ptr<RawCall> raw);
  void CallEnded(Call* call, DataMethod method);

  int calls_in_progress() const {
    MutexLock lock(&mutex_);
    return static_cast<int>(calls_.size());
  }
  RawService& service() { return service_; }
  const FindMemory& find_memory() const { return find_memory_; }

 private:
  static void Serve(grpc::ServerCompletionQueue* queue);
  void Handle(std::unique_ptr<RawCall> raw);
  void ShareMemory();
  // Returns false if Shutdown has been called before.
  bool BeginShutdown(std::vector<std::shared_ptr<Link>>* pending);

  const int calls_max_;
  const Handler handler_;
  RawService service_;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues_;
  GrpcServer server_;
  std::shared_ptr<const SharedMemoryHost> host_;  // Null if memory is not shared.
  FindMemory find_memory_;                        // Looks up memory in host_.
  std::vector<std::thread> threads_;

  mutable Mutex mutex_;
  ConditionVariable no_calls_;  // Nor handlers of calls in this process.
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  // Calls that have arrived and have outstanding tags.
  absl::flat_hash_set<Call*> calls_ ABSL_GUARDED_BY(mutex_);
  // The number of calls that calls_max_ limits.
  int bounded_calls_ ABSL_GUARDED_BY(mutex_) = 0;
  // The number of threads in HandleInProcess.
  int in_process_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Connects a RawCall with its Call. The RawCall may outlive the Call, because the server answers
// pending calls by itself when it shuts down.
struct DataServer::Impl::Link {
  Mutex mutex;
  // Null once the call has been answered.
  Call* call ABSL_GUARDED_BY(mutex) = nullptr;
  std::atomic<bool> cancelled = false;

  void Answer(absl::StatusOr<Frame> answer);
};

// A call, from before its arrival until all of its tags have been returned; then it deletes itself.
// Runs on the thread of its queue, except for Finish.
class DataServer::Impl::Call {
 public:
  Call(Impl* server, DataMethod method, grpc::ServerCompletionQueue* queue)
      : server_(server), method_(method), queue_(queue) {
    context_.AsyncNotifyWhenDone(ended_.Released());
    void* tag = arrived_.Released();
    RawService& service = server->service();
    switch (method) {
      case DataMethod::kPull:
        service.RequestPull(&context_, &request_, &writer_, queue, queue, tag);
        break;
      case DataMethod::kPush:
        service.RequestPush(&context_, &request_, &writer_, queue, queue, tag);
        break;
      case DataMethod::kUpload:
        service.RequestUpload(&context_, &request_, &writer_, queue, queue, tag);
        break;
      case DataMethod::kFetch:
        service.RequestFetch(&context_, &request_, &writer_, queue, queue, tag);
        break;
      case DataMethod::kPing:
        service.RequestPing(&context_, &request_, &writer_, queue, queue, tag);
        break;
    }
  }

  const std::shared_ptr<Link>& link() const { return link_; }

  // Called once, on any thread, with the link's mutex held.
  void Finish(const absl::StatusOr<Frame>& answer) {
    void* tag = finished_.Released();
    if (answer.ok() && answer->buffer() != nullptr) {
      writer_.Finish(*answer->buffer(), grpc::Status::OK, tag);
    } else if (answer.ok()) {
      writer_.FinishWithError(ToGrpc(absl::InternalError("the reply is empty")), tag);
    } else {
      writer_.FinishWithError(ToGrpc(answer.status()), tag);
    }
  }

 private:
  template <void (Call::*method)(bool)>
  class Tag final : public GrpcTag {
   public:
    explicit Tag(Call* call) : call_(call) {}
    void OnEvent(bool ok) override { (call_->*method)(ok); }

   private:
    Call* const call_;
  };

  void OnArrived(bool ok) {
    if (!ok) {  // The server is shutting down. A call that has not arrived has no other tags.
      delete this;
      return;
    }
    // Accept the next call before this one is handled, so that kPendingAccepts are always waiting.
    server_->AcceptNext(method_, queue_);
    {
      MutexLock lock(&link_->mutex);
      link_->call = this;
    }
    auto request = std::make_shared<grpc::ByteBuffer>();
    request->Swap(&request_);
    server_->CallArrived(
        this, std::make_unique<RawCall>(
                  method_, Frame(std::move(request), server_->find_memory()), context_.peer(),
                  [link = link_](absl::StatusOr<Frame> answer) { link->Answer(std::move(answer)); },
                  [link = link_] { return link->cancelled.load(); }));
  }

  void OnFinished(bool) { TagReturned(); }

  void OnEnded(bool) {
    if (context_.IsCancelled()) link_->cancelled = true;
    TagReturned();
  }

  void TagReturned() {
    if (--outstanding_tags_ > 0) return;
    {  // Wait until the thread that called Finish has released the mutex.
      MutexLock lock(&link_->mutex);
    }
    server_->CallEnded(this, method_);
    delete this;
  }

  Impl* const server_;
  const DataMethod method_;
  grpc::ServerCompletionQueue* const queue_;
  const std::shared_ptr<Link> link_ = std::make_shared<Link>();
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  Writer writer_{&context_};
  int outstanding_tags_ = 2;  // The tags of a call that has arrived: finished_ and ended_.
  Tag<&Call::OnArrived> arrived_{this};
  Tag<&Call::OnFinished> finished_{this};
  Tag<&Call::OnEnded> ended_{this};
};

void DataServer::Impl::Link::Answer(absl::StatusOr<Frame> answer) {
  MutexLock lock(&mutex);
  if (Call* waiting = std::exchange(call, nullptr)) waiting->Finish(answer);
}

absl::Status DataServer::Impl::Start(const DataServerOptions& options) {
  server_.builder().RegisterService(&service_);
  for (int i = 0; i < options.threads; ++i) {
    queues_.push_back(server_.builder().AddCompletionQueue());
  }
  if (absl::Status started = server_.Start(options.address); !started.ok()) {
    // gRPC requires that all queues are shut down and drained before they are destroyed.
    for (auto& queue : queues_) queue->Shutdown();
    for (auto& queue : queues_) Serve(queue.get());
    return started;
  }
  ShareMemory();
  for (auto& queue : queues_) {
    for (DataMethod method : kMethods) {
      for (int i = 0; i < kPendingAccepts; ++i) AcceptNext(method, queue.get());
    }
    threads_.emplace_back(&Impl::Serve, queue.get());
  }
  return absl::OkStatus();
}

// Optional: without shared memory, clients use TCP.
void DataServer::Impl::ShareMemory() {
  absl::StatusOr<std::unique_ptr<SharedMemoryHost>> host = SharedMemoryHost::Start(port());
  if (!host.ok()) {
    CAIRN_LOG_WARNING("cannot share memory; clients on this machine use TCP", "why", host.status());
    return;
  }
  host_ = *std::move(host);
  // A request may outlive the server.
  find_memory_ = [weak = std::weak_ptr<const SharedMemoryHost>(host_)](uint64_t token) {
    const std::shared_ptr<const SharedMemoryHost> host = weak.lock();
    return host != nullptr ? host->Find(token) : nullptr;
  };
}

void DataServer::Impl::Serve(grpc::ServerCompletionQueue* queue) {
  void* tag;
  bool ok;
  while (queue->Next(&tag, &ok)) GrpcTag::Acquired(tag)->OnEvent(ok);
}

void DataServer::Impl::AcceptNext(DataMethod method, grpc::ServerCompletionQueue* queue) {
  // The lock prevents a request from being added to a queue that is being shut down.
  MutexLock lock(&mutex_);
  if (!stopped_) new Call(this, method, queue);
}

void DataServer::Impl::CallArrived(Call* call, std::unique_ptr<RawCall> raw) {
  absl::Status refused;
  const bool bounded = IsBounded(raw->method());
  {
    MutexLock lock(&mutex_);
    if (stopped_) {
      refused = absl::UnavailableError("the server is shutting down");
    } else if (bounded && bounded_calls_ >= calls_max_) {
      refused = absl::ResourceExhaustedError(
          absl::StrCat("the server has ", calls_max_, " calls in progress already; try later"));
    }
    calls_.insert(call);
    if (bounded) ++bounded_calls_;
  }
  if (!refused.ok()) return raw->Fail(refused);
  Handle(std::move(raw));
}

void DataServer::Impl::Handle(std::unique_ptr<RawCall> raw) {
  if (raw->method() == DataMethod::kPing) return raw->Reply(*EncodeFrame(proto::Frame(), {}));
  handler_(std::move(raw));
}

void DataServer::Impl::HandleInProcess(std::unique_ptr<RawCall> raw) {
  {
    MutexLock lock(&mutex_);
    if (stopped_) return raw->Fail(absl::UnavailableError("the server is shutting down"));
    ++in_process_;
  }
  Handle(std::move(raw));
  MutexLock lock(&mutex_);
  if (--in_process_ == 0) no_calls_.NotifyAll();
}

void DataServer::Impl::CallEnded(Call* call, DataMethod method) {
  MutexLock lock(&mutex_);
  calls_.erase(call);
  if (IsBounded(method)) --bounded_calls_;
  if (calls_.empty()) no_calls_.NotifyAll();
}

bool DataServer::Impl::BeginShutdown(std::vector<std::shared_ptr<Link>>* pending) {
  MutexLock lock(&mutex_);
  if (stopped_) return false;
  stopped_ = true;
  for (Call* call : calls_) pending->push_back(call->link());
  return true;
}

void DataServer::Impl::Shutdown(absl::Duration grace) {
  std::vector<std::shared_ptr<Link>> pending;
  if (!server_.started() || !BeginShutdown(&pending)) return;
  // Answer pending calls first: the server's Shutdown waits for all calls, and the owners of parked
  // calls may never answer them.
  for (auto& link : pending) {
    link->Answer(absl::UnavailableError("the server is shutting down"));
  }
  server_.Shutdown(grace);
  {
    // Wait for all tags before the queues are shut down; the calls refer to the queues and to this
    // object.
    MutexLock lock(&mutex_);
    while (!calls_.empty() || in_process_ > 0) no_calls_.Wait(&mutex_);
  }
  for (auto& queue : queues_) queue->Shutdown();
  for (std::thread& thread : threads_) thread.join();
  host_.reset();
}

absl::StatusOr<std::unique_ptr<DataServer>> DataServer::Start(const DataServerOptions& options,
                                                              Handler handler) {
  if (options.threads < 1 || options.calls_max < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a data server needs at least 1 thread and 1 "
                     "call, not ",
                     options.threads, " and ", options.calls_max));
  }
  auto impl = std::make_unique<Impl>(options.calls_max, std::move(handler));
  if (absl::Status status = impl->Start(options); !status.ok()) return status;
  return std::unique_ptr<DataServer>(new DataServer(std::move(impl)));
}

DataServer::DataServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DataServer::~DataServer() { impl_->Shutdown(absl::Seconds(1)); }
void DataServer::HandleInProcess(std::unique_ptr<RawCall> call) {
  impl_->HandleInProcess(std::move(call));
}
int DataServer::port() const { return impl_->port(); }
int DataServer::calls_in_progress() const { return impl_->calls_in_progress(); }
void DataServer::Shutdown(absl::Duration grace) { impl_->Shutdown(grace); }

}  // namespace cairn::cluster
