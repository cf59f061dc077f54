#ifndef CAIRN_PS_SERVER_BLOCKS_SERVICE_PROFILE_H_
#define CAIRN_PS_SERVER_BLOCKS_SERVICE_PROFILE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <thread>

#include "common/mutex.h"
#include "common/span_recorder.h"
#include "proto/coordinator.pb.h"

namespace cairn::ps {

// Where a ps's time goes, while somebody profiles it; otherwise it costs one relaxed load per span.
// Thread-safe.
class ServiceProfile {
 public:
  // The numbers of the names in a report.
  enum Operation : uint32_t {
    kReceive,  // A request is decoded and handed to the blocks.
    kApply,    // One update of one block.
    kReply,    // An answer is encoded and handed to the network.
  };

  // Measures an operation from here to the end of the block.
  class Span {
   public:
    // `profile` may be null.
    Span(ServiceProfile* profile, Operation operation, int64_t batch)
        : profile_(profile != nullptr && profile->on() ? profile : nullptr),
          operation_(operation),
          batch_(batch),
          begin_(profile_ == nullptr ? 0 : SpanRecorder::Now()) {}
    ~Span() {
      if (profile_ != nullptr) profile_->Add(operation_, batch_, begin_, SpanRecorder::Now());
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;
    // Known only after the request was decoded.
    void set_batch(int64_t batch) { batch_ = batch; }

   private:
    ServiceProfile* const profile_;
    const Operation operation_;
    int64_t batch_;
    const int64_t begin_;
  };

  // Begins anew.
  void Start(uint64_t profile);
  // Ends it. A report without spans: another profile was started since, or none.
  proto::ProfileReport Stop(uint64_t profile);

  bool on() const { return on_.load(std::memory_order_relaxed); }

 private:
  void Add(Operation operation, int64_t batch, int64_t begin, int64_t end);

  std::atomic<bool> on_ = false;
  Mutex mutex_;
  proto::ProfileReport report_ ABSL_GUARDED_BY(mutex_);
  std::map<std::thread::id, uint32_t> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_BLOCKS_SERVICE_PROFILE_H_
