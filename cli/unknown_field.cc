#include "cli/unknown_field.h"

#include <string_view>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest_name.h"
#include "common/status_macros.h"
#include "google/protobuf/descriptor.h"
#include "job/callback_kinds.h"
#include "nn/keras_words.h"
#include "nn/loss.h"
#include "nn/metric.h"
#include "nn/optimizer.h"
#include "nn/optimizers/learning_rate.h"
#include "proto/job.pb.h"

namespace cairn::cli {
namespace {

using google::protobuf::Descriptor;

struct FileField {
  const char* type;  // Of the message; null: any.
  const char* name;
};
// Fields of messages that a file sets in another form, and not by these names.
constexpr FileField kOtherForm[] = {
    {nullptr, "metric_arguments"},       {"Job", "outputs"},
    {nullptr, "label_outputs"},          {nullptr, "one_hot_outputs"},
    {nullptr, "learning_rate_schedule"}, {nullptr, "validation_freq_epochs"},
    {nullptr, "save_freq_word"},         {nullptr, "mask_value_word"},
    {nullptr, "schedule_epochs"},        {nullptr, "target_array"}};

// Fields of the file that the message does not have.
constexpr FileField kFileFields[] = {
    {"Job", "loss_weights"}, {"Job", "weighted_metrics"}, {"Metric", "as"}};

absl::Status Bad(const std::string& path, std::string_view problem) {
  return absl::InvalidArgumentError(path.empty() ? std::string(problem)
                                                 : absl::StrCat(path, ": ", std::string(problem)));
}

template <typename Config>
Config Named(const std::string& name) {
  Config config;
  config.set_name(name);
  return config;
}

// Checks the name of a message of this type. OK for types whose names are free.
absl::Status CheckName(const std::string& path, const Descriptor& type, const std::string& name) {
  absl::Status status;
  if (type.name() == "Loss") status = nn::CreateLoss(Named<proto::Loss>(name)).status();
  if (type.name() == "Metric") status = nn::CreateMetricResult(Named<proto::Metric>(name)).status();
  if (type.name() == "Optimizer") {
    status = nn::CreateOptimizer(Named<proto::Optimizer>(name)).status();
  }
  if (type.name() == "LearningRateSchedule") status = nn::CheckScheduleName(name);
  return status.ok() ? status : Bad(path, std::string(status.message()));
}

std::vector<std::string> FieldsOf(const Descriptor& type) {
  std::vector<std::string> fields;
  for (int i = 0; i < type.field_count(); ++i) {
    if (IsJobFileField(*type.field(i))) fields.push_back(type.field(i)->name());
  }
  for (const FileField& field : kFileFields) {
    if (type.name() == field.type) fields.push_back(field.name);
  }
  return fields;
}

}  // namespace

bool IsJobFileField(const google::protobuf::FieldDescriptor& field) {
  return absl::c_none_of(kOtherForm, [&field](const FileField& other) {
    const bool is_type = other.type == nullptr || field.containing_type()->name() == other.type;
    return is_type && field.name() == other.name;
  });
}

absl::Status UnknownField(const std::string& path, const std::string& key,
                          const nlohmann::json& object, const Descriptor& type) {
  std::vector<std::string> known = FieldsOf(type);
  if (const auto said = object.find("name"); said != object.end() && said->is_string()) {
    const auto name = said->get<std::string>();
    CAIRN_RETURN_IF_ERROR(CheckName(path, type, name));
    if (type.name() == "Callback") {
      CAIRN_ASSIGN_OR_RETURN(const job::CallbackKind* kind, job::FindCallbackKind(path, name));
      known = kind->arguments;
      known.insert(known.begin(), "name");
    }
  }
  const std::string field = path.empty() ? key : absl::StrCat(path, ".", key);
  if (const std::string_view advice = nn::KerasWord(type.name(), key); !advice.empty()) {
    return Bad(field, absl::StrCat("unknown field; ", std::string(advice)));
  }
  const std::string nearest = NearestName(key, known);
  return Bad(field, nearest.empty()
                        ? absl::StrCat("unknown field; known here: ", absl::StrJoin(known, ", "))
                        : absl::StrCat("unknown field; did you mean \"", nearest, "\"?"));
}

}  // namespace cairn::cli
