#ifndef CAIRN_JOB_CALLBACK_KINDS_H_
#define CAIRN_JOB_CALLBACK_KINDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::job {

// A callback that a job may have, and the arguments that it takes.
struct CallbackKind {
  std::string name;
  std::vector<std::string> arguments;
};

// The kind of this name, or of Keras's class (ReduceLROnPlateau). `path` is the callback's in the
// job file, "callbacks[0]". InvalidArgument: there is none; it names those that there are.
absl::StatusOr<const CallbackKind*> FindCallbackKind(const std::string& path,
                                                     const std::string& name);

// InvalidArgument: the kind has no such argument; it names those that it has.
absl::Status CheckCallbackArgument(const std::string& path, const CallbackKind& kind,
                                   const std::string& argument);

}  // namespace cairn::job

#endif  // CAIRN_JOB_CALLBACK_KINDS_H_
