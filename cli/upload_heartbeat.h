#ifndef CAIRN_CLI_UPLOAD_HEARTBEAT_H_
#define CAIRN_CLI_UPLOAD_HEARTBEAT_H_

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "cli/coordinator_api.h"
#include "common/mutex.h"

namespace cairn::cli {

// Tells the coordinator that the client lives while it talks to the ps alone: a job is ended whose
// client says nothing for 3 min.
class UploadHeartbeat {
 public:
  UploadHeartbeat(CoordinatorApi* api, std::string job)
      : thread_([this, api, job = std::move(job)] { Run(api, job); }) {}
  ~UploadHeartbeat() {
    {
      MutexLock lock(&mutex_);
      over_ = true;
      changed_.NotifyAll();
    }
    thread_.join();
  }

 private:
  void Run(CoordinatorApi* api, const std::string& job) {
    MutexLock lock(&mutex_);
    while (!over_) {
      if (changed_.WaitFor(&mutex_, std::chrono::seconds(20)) || over_) continue;
      mutex_.Unlock();
      api->KeepUploading(job).status().IgnoreError();
      mutex_.Lock();
    }
  }

  Mutex mutex_;
  ConditionVariable changed_;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_UPLOAD_HEARTBEAT_H_
