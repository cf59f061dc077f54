#include "coordinator/callbacks/create_callbacks.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "coordinator/callbacks/best_checkpoint_keeper.h"
#include "coordinator/callbacks/early_stopping.h"
#include "coordinator/callbacks/improvement.h"
#include "coordinator/callbacks/reduce_on_plateau.h"
#include "job/callback_kinds.h"

namespace cairn::coordinator {
namespace {

using Config = proto::Callback;

constexpr char kDefaultMonitor[] = "val_loss";

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

const std::string& MonitorOf(const Config& config) {
  static const std::string* const kDefault = new std::string(kDefaultMonitor);
  return config.has_monitor() ? config.monitor() : *kDefault;
}

void AddEarlyStopping(const Config& config, bool larger_is_better, MonitoringCallback* out) {
  EarlyStopping::Options options;
  options.monitor = MonitorOf(config);
  options.improves = Improvement(larger_is_better, config.min_delta());
  options.patience = config.patience();
  if (config.has_baseline()) options.baseline = config.baseline();
  options.restore_best_weights = config.restore_best_weights();
  options.start_from_epoch = config.start_from_epoch();
  out->callback = std::make_unique<EarlyStopping>(std::move(options));
}

void AddModelCheckpoint(const Config& config, bool larger_is_better, MonitoringCallback* out) {
  if (!config.save_best_only()) return;
  std::optional<double> threshold;
  if (config.has_initial_value_threshold()) threshold = config.initial_value_threshold();
  out->callback =
      std::make_unique<BestCheckpointKeeper>(Improvement(larger_is_better, 0), threshold);
}

void AddReduceOnPlateau(const Config& config, bool larger_is_better, MonitoringCallback* out) {
  ReduceOnPlateau::Options options;
  options.monitor = MonitorOf(config);
  options.larger_is_better = larger_is_better;
  if (config.has_min_delta()) options.min_delta = config.min_delta();
  if (config.has_factor()) options.factor = config.factor();
  if (config.has_patience()) options.patience = config.patience();
  options.cooldown = config.cooldown();
  options.min_lr = config.min_lr();
  out->callback = std::make_unique<ReduceOnPlateau>(std::move(options));
}

using Add = void (*)(const Config& config, bool larger_is_better, MonitoringCallback* out);

// Of a callback that looks at the ends of epochs; nullptr: terminate_on_nan does not.
Add AddFor(const job::CallbackKind& kind) {
  if (kind.name == "early_stopping") return &AddEarlyStopping;
  if (kind.name == "model_checkpoint") return &AddModelCheckpoint;
  if (kind.name == "reduce_lr_on_plateau") return &AddReduceOnPlateau;
  return nullptr;
}

absl::Status CheckArguments(const std::string& path, const job::CallbackKind& kind,
                            const Config& config) {
  std::vector<const google::protobuf::FieldDescriptor*> said;
  config.GetReflection()->ListFields(config, &said);
  for (const auto* field : said) {
    if (field->name() == "name") continue;
    CAIRN_RETURN_IF_ERROR(job::CheckCallbackArgument(path, kind, field->name()));
  }
  return absl::OkStatus();
}

absl::Status CheckNotNegative(const std::string& path, const char* name, double value) {
  if (value >= 0 && std::isfinite(value)) return absl::OkStatus();
  return Invalid(path, ".", name, ": ", value, " is not a number of 0 or more");
}

absl::Status CheckValues(const std::string& path, const Config& config) {
  CAIRN_RETURN_IF_ERROR(CheckNotNegative(path, "patience", config.patience()));
  CAIRN_RETURN_IF_ERROR(CheckNotNegative(path, "start_from_epoch", config.start_from_epoch()));
  CAIRN_RETURN_IF_ERROR(CheckNotNegative(path, "cooldown", config.cooldown()));
  CAIRN_RETURN_IF_ERROR(CheckNotNegative(path, "min_delta", config.min_delta()));
  CAIRN_RETURN_IF_ERROR(CheckNotNegative(path, "min_lr", config.min_lr()));
  if (config.has_factor() && !(config.factor() > 0 && config.factor() < 1)) {
    return Invalid(path, ".factor: ", config.factor(), " is not between 0 and 1");
  }
  if (config.has_baseline() && !std::isfinite(config.baseline())) {
    return Invalid(path, ".baseline: ", config.baseline(), " is not a finite number");
  }
  if (config.has_initial_value_threshold() && !std::isfinite(config.initial_value_threshold())) {
    return Invalid(path, ".initial_value_threshold: ", config.initial_value_threshold(),
                   " is not a finite number");
  }
  if (config.has_save_freq() && config.save_freq() != "epoch") {
    return Invalid(path, ".save_freq: '", config.save_freq(),
                   "' is not \"epoch\"; checkpoints every so many batches are made by "
                   "checkpoint.every_steps");
  }
  const std::string& mode = config.mode();
  if (config.has_mode() && mode != "auto" && mode != "min" && mode != "max") {
    return Invalid(path, ".mode: '", mode, "' is unknown; known are auto, min, max");
  }
  return absl::OkStatus();
}

// The default direction of Keras's metrics.
bool LargerIsBetter(const Config& config) {
  if (config.mode() == "min" || config.mode() == "max") return config.mode() == "max";
  const std::string& monitor = MonitorOf(config);
  for (const char* word : {"acc", "auc", "precision", "recall", "f1", "fbeta", "iou", "r2",
                           "cosine_similarity", "true_positives", "true_negatives"}) {
    if (absl::StrContains(monitor, word)) return true;
  }
  return false;
}

absl::Status CheckMonitor(const std::string& path, const Config& config, const proto::Job& job) {
  const std::string& monitor = MonitorOf(config);
  const bool of_validation = absl::StartsWith(monitor, "val_");
  const bool is_validated = job.has_validation() || job.has_validation_fraction();
  if (of_validation && !is_validated) {
    return Invalid(path, ".monitor: '", monitor,
                   "' needs validation data, and the job has none; say validation, or monitor '",
                   monitor.substr(4), "'");
  }
  const std::string name = of_validation ? monitor.substr(4) : monitor;
  std::vector<std::string> known = {"loss"};
  known.insert(known.end(), job.metrics().begin(), job.metrics().end());
  if (std::find(known.begin(), known.end(), name) != known.end()) return absl::OkStatus();
  return Invalid(path, ".monitor: '", monitor, "' is neither loss nor one of the job's metrics; ",
                 "known are ", absl::StrJoin(known, ", "),
                 is_validated ? ", and each with val_ before it" : "");
}

}  // namespace

absl::StatusOr<JobCallbacks> CreateCallbacks(const proto::Job& job) {
  JobCallbacks result;
  std::set<std::string> seen;
  for (int i = 0; i < job.callbacks_size(); ++i) {
    const Config& config = job.callbacks(i);
    const std::string path = absl::StrCat("callbacks[", i, "]");
    CAIRN_ASSIGN_OR_RETURN(const job::CallbackKind* kind,
                           job::FindCallbackKind(path, config.name()));
    CAIRN_RETURN_IF_ERROR(CheckArguments(path, *kind, config));
    CAIRN_RETURN_IF_ERROR(CheckValues(path, config));
    const std::string& name = kind->name;
    if (name == "terminate_on_nan") result.terminate_on_nan = true;
    if (name == "reduce_lr_on_plateau" && !seen.insert(name).second) {
      return Invalid(path, ".name: a second reduce_lr_on_plateau; one of them can set the rate");
    }
    MonitoringCallback monitoring{static_cast<uint32_t>(i), MonitorOf(config), nullptr};
    if (name == "reduce_lr_on_plateau" && job.optimizer().has_learning_rate_schedule()) {
      return Invalid(path, ".name: reduce_lr_on_plateau and a schedule, ",
                     job.optimizer().learning_rate_schedule().name(),
                     ", cannot both make the learning rate; keep one of them");
    }
    if (const Add add = AddFor(*kind)) add(config, LargerIsBetter(config), &monitoring);
    if (monitoring.callback == nullptr) continue;
    CAIRN_RETURN_IF_ERROR(CheckMonitor(path, config, job));
    result.sets_rate |= name == "reduce_lr_on_plateau";
    result.monitoring.push_back(std::move(monitoring));
  }
  return result;
}

}  // namespace cairn::coordinator
