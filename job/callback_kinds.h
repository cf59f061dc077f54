#ifndef CAIRN_JOB_CALLBACK_KINDS_H_
#define CAIRN_JOB_CALLBACK_KINDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace cairn::job {

// A callback that a job may have, and the arguments that it takes.
struct CallbackKind {
  std::string name;
  std::vector<std::string> arguments;
  // It sets the learning rate.
  bool sets_rate = false;
};

// The kind of this name, or of Keras's class (ReduceLROnPlateau). `path` is the callback's in the
// job file, "callbacks[0]". InvalidArgument: there is none; it names those that there are.
absl::StatusOr<const CallbackKind*> FindCallbackKind(const std::string& path,
                                                     const std::string& name);

// True if `name`, in a job file, names the callback `kind` ("early_stopping").
bool IsCallback(const std::string& name, std::string_view kind);

// The number of epochs of a learning_rate_warmup.
int64_t WarmupEpochsOf(const proto::Callback& warmup);

// After how many batches a checkpoint is due: the smallest of checkpoint.every_steps and each
// callback's save_freq; 0: only at the ends of epochs.
int64_t CheckpointStepsOf(const proto::Job& job);

// InvalidArgument: the kind has no such argument; it names those that it has.
absl::Status CheckCallbackArgument(const std::string& path, const CallbackKind& kind,
                                   const std::string& argument);

}  // namespace cairn::job

#endif  // CAIRN_JOB_CALLBACK_KINDS_H_
