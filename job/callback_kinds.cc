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
       {"monitor", "mode", "min_delta", "patience", "factor", "cooldown", "min_lr"}},
      {"terminate_on_nan", {}}};
  return *kKinds;
}

std::string Folded(const std::string& name) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(name, {{"_", ""}}));
}

}  // namespace

absl::StatusOr<const CallbackKind*> FindCallbackKind(const std::string& path,
                                                     const std::string& name) {
  std::vector<std::string> names;
  for (const CallbackKind& kind : Kinds()) {
    if (Folded(kind.name) == Folded(name)) return &kind;
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
