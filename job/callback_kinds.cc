#include "job/callback_kinds.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "nn/keras_words.h"

namespace cairn::job {
namespace {

const std::vector<CallbackKind>& Kinds() {
  static const auto* const kKinds = new std::vector<CallbackKind>{
      {"early_stopping",
       {"monitor", "mode", "min_delta", "patience", "baseline", "restore_best_weights",
        "start_from_epoch"}},
      {"model_checkpoint",
       {"monitor", "mode", "save_best_only", "save_freq", "initial_value_threshold"}},
      {"reduce_lr_on_plateau",
       {"monitor", "mode", "min_delta", "patience", "factor", "cooldown", "min_lr"},
       /*sets_rate=*/true},
      {"learning_rate_scheduler", {"schedule"}, /*sets_rate=*/true},
      {"learning_rate_warmup", {"initial_lr", "warmup_epochs", "size"}, /*sets_rate=*/true},
      {"csv_logger", {"filename", "separator", "append"}},
      {"backup_and_restore", {"backup_dir", "save_freq", "double_checkpoint", "delete_checkpoint"}},
      {"terminate_on_nan", {}}};
  return *kKinds;
}

// Horovod's default.
constexpr int64_t kWarmupEpochsDefault = 5;

std::string Folded(std::string_view name) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(std::string(name), {{"_", ""}}));
}

}  // namespace

bool IsCallback(const std::string& name, std::string_view kind) {
  return Folded(name) == Folded(kind);
}

int64_t WarmupEpochsOf(const proto::Callback& warmup) {
  return warmup.has_warmup_epochs() ? warmup.warmup_epochs() : kWarmupEpochsDefault;
}

int64_t CheckpointStepsOf(const proto::Job& job) {
  int64_t steps = job.checkpoint().every_steps();
  for (const proto::Callback& callback : job.callbacks()) {
    if (!callback.has_save_freq()) continue;
    steps = steps == 0 ? callback.save_freq() : std::min(steps, callback.save_freq());
  }
  return steps;
}

absl::StatusOr<const CallbackKind*> FindCallbackKind(const std::string& path,
                                                     const std::string& name) {
  std::vector<std::string> names;
  for (const CallbackKind& kind : Kinds()) {
    if (IsCallback(name, kind.name)) return &kind;
    names.push_back(kind.name);
  }
  return absl::InvalidArgumentError(
      name.empty() ? absl::StrCat(path, ".name: is missing; known: ", absl::StrJoin(names, ", "))
                   : absl::StrCat(path, ".name: unknown callback '", name, "'; ",
                                  nn::UnknownNameText("callback", name, names)));
}

absl::Status CheckCallbackArgument(const std::string& path, const CallbackKind& kind,
                                   const std::string& argument) {
  if (std::find(kind.arguments.begin(), kind.arguments.end(), argument) != kind.arguments.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path, ".", argument, ": ", kind.name, " has no such argument; ",
      kind.arguments.empty() ? "it has none"
                             : absl::StrCat("it has ", absl::StrJoin(kind.arguments, ", "))));
}

}  // namespace cairn::job
