#ifndef CAIRN_TESTS_COORDINATOR_LIVE_TASK_H_
#define CAIRN_TESTS_COORDINATOR_LIVE_TASK_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/task_session.h"
#include "common/mutex.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// A simulated task with a real stream to a real coordinator.
class LiveTask : public cluster::SessionHandler {
 public:
  // Both are called under `mutex`, which several tasks may share.
  struct Behaviour {
    std::function<proto::Join()> make_join;
    std::function<void(const proto::Command&, std::vector<proto::TaskMessage>*)> handle;
  };

  LiveTask(const std::string& coordinator, Behaviour behaviour, Mutex* mutex);
  ~LiveTask() override;

  void Send(std::vector<proto::TaskMessage> messages);
  bool connected();
  // The reason of the last refusal, and whether it was permanent.
  std::string refused();
  bool refused_permanently();

  void OnWelcome(const proto::Welcome& welcome) override;
  void OnCommand(const proto::Command& command) override;
  void OnDisconnected(const absl::Status& why) override;
  void OnRefused(const proto::Refused& refused) override;

 private:
  Behaviour behaviour_;
  Mutex* const shared_;
  Mutex mutex_;
  bool connected_ ABSL_GUARDED_BY(mutex_) = false;
  proto::Refused refused_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<cluster::TaskSession> session_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_TESTS_COORDINATOR_LIVE_TASK_H_
