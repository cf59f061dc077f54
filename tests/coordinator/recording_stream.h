#ifndef CAIRN_TESTS_COORDINATOR_RECORDING_STREAM_H_
#define CAIRN_TESTS_COORDINATOR_RECORDING_STREAM_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "common/mutex.h"
#include "coordinator/session_registry.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// A stream that records its commands. Thread-safe.
class RecordingStream final : public OutgoingStream {
 public:
  void Send(const proto::Command& command, const SharedPlanPtr&) override {
    MutexLock lock(&mutex_);
    commands_.push_back(command);
  }
  void Close() override {
    MutexLock lock(&mutex_);
    ++closed_;
  }

  std::vector<proto::Command> commands() const {
    MutexLock lock(&mutex_);
    return commands_;
  }
  size_t Count(proto::Command::CommandCase kind) const {
    MutexLock lock(&mutex_);
    return static_cast<size_t>(
        std::count_if(commands_.begin(), commands_.end(),
                      [kind](const auto& command) { return command.command_case() == kind; }));
  }
  // The number of Close calls.
  int closed() const {
    MutexLock lock(&mutex_);
    return closed_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<proto::Command> commands_ ABSL_GUARDED_BY(mutex_);
  int closed_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_TESTS_COORDINATOR_RECORDING_STREAM_H_
