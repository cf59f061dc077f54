#ifndef CAIRN_CLUSTER_GRPC_TAG_H_
#define CAIRN_CLUSTER_GRPC_TAG_H_

// Tags cross threads inside gRPC's completion queues, which thread sanitizer does not see: it is
// told here. Release before the operation starts that will return the tag, acquire after Next has
// returned it.
#if defined(CAIRN_THREAD_SANITIZER)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace cairn::cluster {

// Something that waits for a completion queue to return it.
class GrpcTag {
 public:
  virtual ~GrpcTag() = default;

  // On the queue's thread. May delete this.
  virtual void OnEvent(bool ok) = 0;

  // What to give to gRPC as the tag; called as the last thing before the operation starts.
  void* Released() {
#if defined(CAIRN_THREAD_SANITIZER)
    __tsan_release(this);
#endif
    return this;
  }

  // What the queue has returned.
  static GrpcTag* Acquired(void* tag) {
#if defined(CAIRN_THREAD_SANITIZER)
    __tsan_acquire(tag);
#endif
    return static_cast<GrpcTag*>(tag);
  }
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_GRPC_TAG_H_
