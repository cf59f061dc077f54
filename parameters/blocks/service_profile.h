#ifndef CAIRN_PARAMETERS_BLOCKS_SERVICE_PROFILE_H_
#define CAIRN_PARAMETERS_BLOCKS_SERVICE_PROFILE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <thread>

#include "common/mutex.h"
#include "common/span_recorder.h"
#include "proto/coordinator.pb.h"

namespace cairn::parameters {

// Records where a ps spends its time while a profile runs. Otherwise a span costs one relaxed load.
// Thread-safe.
class ServiceProfile {
 public:
  // Index of the operation's name in a report.
  enum Operation : uint32_t {
    kReceive,  // Decoding a request and passing it to the blocks.
    kApply,    // One update of one block.
    kReply,    // Encoding a reply and passing it to the network.
  };

  // Measures an operation until the end of the enclosing scope.
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
    // For requests whose batch is known only after decoding.
    void set_batch(int64_t batch) { batch_ = batch; }

   private:
    ServiceProfile* const profile_;
    const Operation operation_;
    int64_t batch_;
    const int64_t begin_;
  };

  // Starts a new profile and discards the previous one.
  void Start(uint64_t profile);
  // Stops the profile and returns its report, without spans if it is not the current one.
  proto::ProfileReport Stop(uint64_t profile);

  bool on() const { return on_.load(std::memory_order_relaxed); }

 private:
  void Add(Operation operation, int64_t batch, int64_t begin, int64_t end);

  std::atomic<bool> on_ = false;
  Mutex mutex_;
  proto::ProfileReport report_ ABSL_GUARDED_BY(mutex_);
  std::map<std::thread::id, uint32_t> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_BLOCKS_SERVICE_PROFILE_H_
