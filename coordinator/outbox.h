#ifndef CAIRN_COORDINATOR_OUTBOX_H_
#define CAIRN_COORDINATOR_OUTBOX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "coordinator/shared_plan.h"
#include "coordinator/task.h"
#include "google/protobuf/message_lite.h"
#include "proto/coordinator.pb.h"
#include "storage/journal.h"

namespace cairn::coordinator {

// The effects of an event: journal changes, commands and replies. The control loop first writes the
// changes to the journal (synced if asked), and only then sends anything. So no process learns of a
// decision that a crash could undo.
struct Outbox {
  struct Sending {
    TaskId task;
    proto::Command command;
    // Of a StartJob or Restore: its plan, unless the task has it.
    SharedPlanPtr plan = nullptr;
  };
  struct Refused {
    TaskId task;
    std::string why;
  };
  struct Answer {
    uint64_t session = 0;
    proto::Command command;
    bool close = false;  // The stream ends after the command.
  };

  void Put(std::string key, const google::protobuf::MessageLite& message) {
    changes.push_back({std::move(key), message.SerializeAsString(), ""});
  }
  void Erase(std::string key) { changes.push_back({std::move(key), std::nullopt, ""}); }
  // Erases all records from `begin` to before `end`.
  void EraseRange(std::string begin, std::string end) {
    changes.push_back({std::move(begin), std::nullopt, std::move(end)});
  }
  // For decisions: everything sent after this must survive a power failure.
  void PutSynced(std::string key, const google::protobuf::MessageLite& message) {
    Put(std::move(key), message);
    sync = true;
  }
  void Send(TaskId task, proto::Command command, SharedPlanPtr plan = nullptr) {
    commands.push_back({task, std::move(command), std::move(plan)});
  }
  // Hits a failpoint of this decision when its changes are on disk and nothing is sent.
  void AfterWrite(absl::Status (*failpoint)()) { failpoints.push_back(failpoint); }
  // Counts a message of the task, or a part of it, that has had no effect.
  void Refuse(TaskId task, std::string why) { refused.push_back({task, std::move(why)}); }
  void SendToAllPs(uint32_t ps_count, const proto::Command& command) {
    for (uint32_t ps = 0; ps < ps_count; ++ps) Send(PsTask(ps), command);
  }

  std::vector<storage::Journal::Change> changes;
  bool sync = false;
  std::vector<absl::Status (*)()> failpoints;
  // Sent to these sessions, before `commands`.
  std::vector<Answer> answers;
  // Sent on the task's current session; dropped if there is none.
  std::vector<Sending> commands;
  // Counted by the scheduler.
  std::vector<Refused> refused;
  // Run last: replies to clients.
  std::vector<absl::AnyInvocable<void()>> replies;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_OUTBOX_H_
