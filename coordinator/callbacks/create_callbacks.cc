#include "coordinator/callbacks/create_callbacks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "coordinator/callbacks/best_checkpoint_keeper.h"
#include "coordinator/callbacks/early_stopping.h"
#include "coordinator/callbacks/improvement.h"
#include "coordinator/callbacks/reduce_on_plateau.h"
#include "job/callback_kinds.h"
#include "job/job_numbers.h"
#include "job/job_plan.h"
#include "job/strategy.h"
#include "nlohmann/json.hpp"
#include "nn/optimizers/learning_rate.h"

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

// Of a callback that looks at the ends of epochs; nullptr: it does not.
Add AddFor(const job::CallbackKind& kind) {
  if (kind.name == "early_stopping") return &AddEarlyStopping;
  if (kind.name == "model_checkpoint") return &AddModelCheckpoint;
  if (kind.name == "reduce_lr_on_plateau") return &AddReduceOnPlateau;
  return nullptr;
}

// The argument in a job file. Some have two forms, each in a field.
std::string ArgumentOf(const std::string& field) {
  if (field == "save_freq_word") return "save_freq";
  return field == "schedule_epochs" ? "schedule" : field;
}

absl::Status CheckArguments(const std::string& path, const job::CallbackKind& kind,
                            const Config& config) {
  std::vector<const google::protobuf::FieldDescriptor*> said;
  config.GetReflection()->ListFields(config, &said);
  for (const auto* field : said) {
    if (field->name() == "name") continue;
    CAIRN_RETURN_IF_ERROR(job::CheckCallbackArgument(path, kind, ArgumentOf(field->name())));
  }
  return absl::OkStatus();
}

absl::Status CheckNotNegative(const std::string& path, const char* name, double value) {
  if (value >= 0 && std::isfinite(value)) return absl::OkStatus();
  return Invalid(path, ".", name, ": ", value, " is not a number of 0 or more");
}

absl::Status CheckSaveFreq(const std::string& path, const Config& config) {
  if (config.has_save_freq_word() && config.save_freq_word() != "epoch") {
    return Invalid(path, ".save_freq: '", config.save_freq_word(),
                   "' is neither \"epoch\" nor a number of batches");
  }
  if (!config.has_save_freq()) return absl::OkStatus();
  if (config.save_freq() < 1 || config.save_freq() > job::kTotalBatchesMax) {
    return Invalid(path, ".save_freq: ", config.save_freq(), " is not from 1 to ",
                   job::kTotalBatchesMax);
  }
  if (!config.save_best_only()) return absl::OkStatus();
  return Invalid(path, ".save_freq: ", config.save_freq(),
                 " batches conflict with save_best_only, which compares epochs; say \"epoch\"");
}

// The rates of a learning_rate_scheduler.
absl::Status CheckSchedule(const std::string& path, const Config& config) {
  const std::string field = path + ".schedule";
  if (config.has_schedule()) {
    proto::Optimizer optimizer;
    *optimizer.mutable_learning_rate_schedule() = config.schedule();
    const absl::Status status = nn::LearningRate::Create(optimizer, 0).status();
    absl::string_view message = status.message();
    absl::ConsumePrefix(&message, "learning_rate: ");
    return status.ok() ? status : Invalid(field, ": ", message);
  }
  if (config.schedule_epochs().empty()) {
    return Invalid(field,
                   ": is missing; say the rate of each epoch, [0.1, 0.1, 0.01], or a schedule of "
                   "the epoch as the optimizer's learning_rate");
  }
  if (config.schedule_epochs_size() > job::kScheduledEpochsMax) {
    return Invalid(field, ": has ", config.schedule_epochs_size(), " rates; at most ",
                   job::kScheduledEpochsMax, " are allowed");
  }
  for (int i = 0; i < config.schedule_epochs_size(); ++i) {
    const double rate = config.schedule_epochs(i);
    if (rate >= 0 && rate <= std::numeric_limits<float>::max()) continue;
    return Invalid(field, "[", i, "]: ", rate, " is not a learning rate of 0 or more");
  }
  return absl::OkStatus();
}

absl::Status CheckWarmup(const std::string& path, const Config& config, const proto::Job& job) {
  const double rate = config.initial_lr();
  if (config.has_initial_lr() && !(rate > 0 && rate <= std::numeric_limits<float>::max())) {
    return Invalid(path, ".initial_lr: ", rate, " is not a learning rate above 0");
  }
  if (config.has_warmup_epochs() &&
      (config.warmup_epochs() < 1 || config.warmup_epochs() > job::kScheduledEpochsMax)) {
    return Invalid(path, ".warmup_epochs: ", config.warmup_epochs(), " is not from 1 to ",
                   job::kScheduledEpochsMax);
  }
  if (config.has_size() && (config.size() < 1 || config.size() > job::kBatchesPerUpdateMax)) {
    return Invalid(path, ".size: ", config.size(), " is not from 1 to ", job::kBatchesPerUpdateMax);
  }
  if (config.has_size() || job::ResolveNumbers(job).updates.synchronous) return absl::OkStatus();
  return Invalid(
      path,
      ".size: is missing; the rate warms up from learning_rate / size, and the updates "
      "of an asynchronous job are single batches. Say for example the number of workers");
}

absl::Status CheckCsvLogger(const std::string& path, const Config& config) {
  if (config.filename().empty()) {
    return Invalid(path, R"(.filename: is missing; for example "filename": "log.csv")");
  }
  if (!config.has_separator()) return absl::OkStatus();
  const std::string& separator = config.separator();
  const bool is_one = separator.size() == 1 && separator != "\"" &&
                      (separator == "\t" || absl::ascii_isprint(separator[0]));
  if (is_one) return absl::OkStatus();
  return Invalid(path, ".separator: ", nlohmann::json(separator).dump(-1, ' ', true),
                 " is not one printable ASCII character or a tab");
}

absl::Status CheckArgumentsOf(const std::string& path, const job::CallbackKind& kind,
                              const Config& config, const proto::Job& job) {
  CAIRN_RETURN_IF_ERROR(CheckSaveFreq(path, config));
  if (kind.name == "learning_rate_scheduler") return CheckSchedule(path, config);
  if (kind.name == "learning_rate_warmup") return CheckWarmup(path, config, job);
  if (kind.name == "csv_logger") return CheckCsvLogger(path, config);
  return absl::OkStatus();
}

// Callbacks that set the learning rate: at most one of each, none beside a schedule of the
// optimizer, and only one of those that set it after a warm-up. `seen` has the kinds before this
// one.
absl::Status CheckSetsRate(const std::string& path, const std::string& name, const proto::Job& job,
                           std::set<std::string>* seen) {
  if (!seen->insert(name).second) {
    return Invalid(path, ".name: a second ", name, "; one of them can set the rate");
  }
  if (job.optimizer().has_learning_rate_schedule()) {
    return Invalid(path, ".name: ", name, " and a schedule, ",
                   job.optimizer().learning_rate_schedule().name(),
                   ", cannot both make the learning rate; keep one of them");
  }
  if (seen->contains("reduce_lr_on_plateau") && seen->contains("learning_rate_scheduler")) {
    return Invalid(path,
                   ".name: reduce_lr_on_plateau and learning_rate_scheduler cannot both set the "
                   "learning rate; keep one of them");
  }
  return absl::OkStatus();
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
  std::set<std::string> rate_setters;
  for (int i = 0; i < job.callbacks_size(); ++i) {
    const Config& config = job.callbacks(i);
    const std::string path = absl::StrCat("callbacks[", i, "]");
    CAIRN_ASSIGN_OR_RETURN(const job::CallbackKind* kind,
                           job::FindCallbackKind(path, config.name()));
    CAIRN_RETURN_IF_ERROR(CheckArguments(path, *kind, config));
    CAIRN_RETURN_IF_ERROR(CheckValues(path, config));
    CAIRN_RETURN_IF_ERROR(CheckArgumentsOf(path, *kind, config, job));
    if (kind->sets_rate) {
      CAIRN_RETURN_IF_ERROR(CheckSetsRate(path, kind->name, job, &rate_setters));
    }
    if (kind->name == "terminate_on_nan") result.terminate_on_nan = true;
    if (kind->name == "csv_logger") {
      // As in Keras, the callbacks before it add the rate to the logs.
      CsvLogger log(config, job, /*logs_rate=*/!rate_setters.empty());
      for (const CsvLogger& other : result.csv_loggers) {
        if (other.filename() != log.filename()) continue;
        return Invalid(path, ".filename: another csv_logger writes '", log.filename(), "', too");
      }
      result.csv_loggers.push_back(std::move(log));
    }
    MonitoringCallback monitoring{static_cast<uint32_t>(i), MonitorOf(config), nullptr};
    if (const Add add = AddFor(*kind)) add(config, LargerIsBetter(config), &monitoring);
    if (monitoring.callback == nullptr) continue;
    CAIRN_RETURN_IF_ERROR(CheckMonitor(path, config, job));
    result.monitoring.push_back(std::move(monitoring));
  }
  return result;
}

}  // namespace cairn::coordinator
