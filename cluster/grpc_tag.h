#ifndef CAIRN_CLUSTER_GRPC_TAG_H_
#define CAIRN_CLUSTER_GRPC_TAG_H_

// gRPC's completion queues pass tags between threads in a way that ThreadSanitizer does not see, so
// these annotations declare it: release before starting the operation that returns the tag, acquire
// after Next has returned it.
#if defined(CAIRN_THREAD_SANITIZER)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace cairn::cluster {

// The tag of an operation on a completion queue.
class GrpcTag {
 public:
  virtual ~GrpcTag() = default;

  // The operation has ended; called on the queue's thread. May delete this.
  virtual void OnEvent(bool ok) = 0;

  // Returns the tag for gRPC. Call it immediately before the operation is started.
  void* Released() {
#if defined(CAIRN_THREAD_SANITIZER)
    __tsan_release(this);
#endif
    return this;
  }

  // Returns the object for a tag that the queue has returned.
  static GrpcTag* Acquired(void* tag) {
#if defined(CAIRN_THREAD_SANITIZER)
    __tsan_acquire(tag);
#endif
    return static_cast<GrpcTag*>(tag);
  }
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_GRPC_TAG_H_
