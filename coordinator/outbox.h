#ifndef CAIRN_COORDINATOR_OUTBOX_H_
#define CAIRN_COORDINATOR_OUTBOX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "coordinator/task.h"
#include "google/protobuf/message_lite.h"
#include "proto/coordinator.pb.h"
#include "storage/journal.h"

namespace cairn::coordinator {

// What the machines want done after an event. Whoever carries it out first writes the changes to
// the journal (synced if asked), and only then sends anything: nobody is told of a decision that a
// crash could undo.
struct Outbox {
  struct Sending {
    TaskId task;
    proto::Command command;
  };
  struct Answer {
    uint64_t session = 0;
    proto::Command command;
    bool close = false;  // The stream ends after the command.
  };

  void Put(std::string key, const google::protobuf::MessageLite& message) {
    changes.push_back({std::move(key), message.SerializeAsString()});
  }
  void Erase(std::string key) { changes.push_back({std::move(key), std::nullopt}); }
  // For decisions: what is told to others after this must survive a power cut.
  void PutSynced(std::string key, const google::protobuf::MessageLite& message) {
    Put(std::move(key), message);
    sync = true;
  }
  void Send(TaskId task, proto::Command command) { commands.push_back({task, std::move(command)}); }

  std::vector<storage::Journal::Change> changes;
  bool sync = false;
  // To sessions, before `commands`.
  std::vector<Answer> answers;
  // To whichever session is the task's now; dropped if there is none.
  std::vector<Sending> commands;
  // Run last: what clients wait for.
  std::vector<absl::AnyInvocable<void()>> replies;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_OUTBOX_H_
