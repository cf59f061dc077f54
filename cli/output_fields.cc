#include "cli/output_fields.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/json_text.h"
#include "cli/json_to_message.h"
#include "common/status_macros.h"
#include "google/protobuf/descriptor.h"
#include "job/data_source.h"

namespace cairn::cli {
namespace {

using nlohmann::json;

absl::Status Bad(std::string_view path, std::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(path), ": ", std::string(problem)));
}

absl::Status Under(const std::string& path, const absl::Status& status) {
  return status.ok() ? status : Bad(path, std::string(status.message()));
}

// True if the keys of an object are names of outputs, and not fields of `message`.
bool IsByName(const json& value, const google::protobuf::Descriptor& message) {
  if (!value.is_object() || value.contains("name")) return false;
  if (value.contains("class_name")) return false;  // Written by Keras's serialize().
  for (const auto& [key, each] : value.items()) {
    if (message.FindFieldByName(key) == nullptr) return true;
  }
  return false;
}

// Calls read(path, value, output) for each entry of a list or of an object by name.
using ReadEntry = std::function<absl::Status(const std::string& path, const json& value,
                                             proto::TrainedOutput* output)>;

absl::Status ReadEntries(const std::string& field, const json& values, const ReadEntry& read,
                         proto::Job* job) {
  uint32_t position = 0;
  for (const auto& [key, value] : values.items()) {
    proto::TrainedOutput* output = job->add_outputs();
    std::string path = absl::StrCat(field, "[", position, "]");
    if (values.is_object()) {
      if (key.empty()) return Bad(field, "\"\" is not the name of an output");
      output->set_name(key);
      path = absl::StrCat(field, ".", key);
    } else {
      output->set_position(position);
    }
    ++position;
    CAIRN_RETURN_IF_ERROR(read(path, value, output));
  }
  return absl::OkStatus();
}

absl::Status ReadLoss(const std::string& path, const json& value, proto::TrainedOutput* output) {
  if (!value.is_string() && !value.is_object()) {
    return Bad(path, absl::StrCat(ShortJson(value), " is not a name or an object"));
  }
  const json loss = value.is_string() ? json{{"name", value}} : value;
  CAIRN_RETURN_IF_ERROR(Under(path, JsonToMessage(loss, output->mutable_loss())));
  if (!output->loss().name().empty()) return absl::OkStatus();
  return Bad(path + ".name", R"(is missing; for example "name": "mse")");
}

absl::Status ReadWeight(const std::string& path, const json& value, proto::TrainedOutput* output) {
  if (!value.is_number()) return Bad(path, absl::StrCat(ShortJson(value), " is not a number"));
  output->set_loss_weight(value.get<double>());
  return absl::OkStatus();
}

// Adds a metric, which is a name or an object, to `owner`, a Job or a TrainedOutput.
template <typename Owner>
absl::Status ReadMetric(const std::string& path, json metric, bool weighted, Owner* owner) {
  if (metric.is_string() && !weighted) {
    owner->add_metrics(metric.get<std::string>());
    return absl::OkStatus();
  }
  if (metric.is_string()) metric = json{{"name", metric}};
  if (!metric.is_object()) return Bad(path, absl::StrCat(ShortJson(metric), " is not a string"));
  std::string called;
  if (const auto as = metric.find("as"); as != metric.end()) {
    if (!as->is_string() || as->get<std::string>().empty()) {
      return Bad(path + ".as", absl::StrCat(ShortJson(*as), " is not a name"));
    }
    called = as->get<std::string>();
    metric.erase(as);
  }
  proto::MetricArguments* arguments = owner->add_metric_arguments();
  arguments->set_index(owner->metrics_size());
  arguments->set_weighted(weighted);
  CAIRN_RETURN_IF_ERROR(Under(path, JsonToMessage(metric, arguments->mutable_metric())));
  if (arguments->metric().name().empty()) {
    return Bad(path + ".name", R"(is missing; for example "name": "auc")");
  }
  owner->add_metrics(called.empty() ? arguments->metric().name() : called);
  return absl::OkStatus();
}

// Reads a list of metrics, or a single one.
template <typename Owner>
absl::Status ReadMetrics(const std::string& path, const json& metrics, bool weighted,
                         Owner* owner) {
  if (!metrics.is_array()) return ReadMetric(path, metrics, weighted, owner);
  for (size_t i = 0; i < metrics.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(ReadMetric(absl::StrCat(path, "[", i, "]"), metrics[i], weighted, owner));
  }
  return absl::OkStatus();
}

bool HasLists(const json& value) {
  if (!value.is_array()) return false;
  for (const json& each : value) {
    if (each.is_array()) return true;
  }
  return false;
}

absl::Status TakeMetrics(const char* field, const json& metrics, bool weighted, proto::Job* job) {
  if (!HasLists(metrics) && !IsByName(metrics, *proto::Metric::descriptor())) {
    return ReadMetrics(field, metrics, weighted, job);
  }
  const auto read = [weighted](const std::string& path, const json& value,
                               proto::TrainedOutput* output) {
    return ReadMetrics(path, value, weighted, output);
  };
  return ReadEntries(field, metrics, read, job);
}

// As Keras: a weighted metric with the name of another one of the same output is called
// weighted_NAME.
template <typename Owner>
void NameWeighted(const std::vector<std::string>& others, Owner* owner) {
  for (const proto::MetricArguments& arguments : owner->metric_arguments()) {
    const auto index = static_cast<int>(arguments.index());
    std::string& name = *owner->mutable_metrics(index);
    const auto& before = owner->metrics();
    const bool is_taken = std::count(others.begin(), others.end(), name) > 0 ||
                          std::count(before.begin(), before.begin() + index, name) > 0;
    if (arguments.weighted() && is_taken) name = "weighted_" + name;
  }
}

void NameAllWeighted(proto::Job* job) {
  NameWeighted({}, job);
  for (int i = 0; i < job->outputs_size(); ++i) {
    std::vector<std::string> others;
    for (int j = 0; j < i; ++j) {
      const proto::TrainedOutput& other = job->outputs(j);
      const bool is_same =
          other.name() == job->outputs(i).name() && other.position() == job->outputs(i).position();
      if (is_same) others.insert(others.end(), other.metrics().begin(), other.metrics().end());
    }
    NameWeighted(others, job->mutable_outputs(i));
  }
}

absl::Status TakeWeights(const json& weights, proto::Job* job) {
  const bool is_one = !weights.is_array() && !weights.is_object();
  return ReadEntries("loss_weights", is_one ? json::array({weights}) : weights, ReadWeight, job);
}

absl::Status TakeNamedLabels(const std::string& path, const json& labels,
                             const job::FileLists& lists) {
  for (auto entry = labels.begin(); entry != labels.end(); ++entry) {
    const std::string& output = entry.key();
    const json& file = entry.value();
    if (!file.is_string()) {
      return Bad(absl::StrCat(path, ".labels.", output),
                 absl::StrCat(ShortJson(file), " is not a string: one name, or pattern, for each ",
                              "output"));
    }
    *lists.labels->Add() = file.get<std::string>();
    *lists.label_outputs->Add() = output;
  }
  return absl::OkStatus();
}

// Takes all of a list of sources with fields beside each, because the sources cannot be completed
// after they are parsed. Leaves what is not a list of objects to JsonToMessage, which refuses it.
template <typename Sources>
absl::Status TakeSources(const std::string& path, const char* field, const char* if_empty,
                         json* source, Sources* sources) {
  const auto list = source->find(field);
  if (list == source->end()) return absl::OkStatus();
  const bool is_list =
      list->is_array() &&
      std::all_of(list->begin(), list->end(), [](const json& each) { return each.is_object(); });
  if (!is_list) return absl::OkStatus();
  const std::string list_path = absl::StrCat(path, path.empty() ? "" : ".", field);
  if (list->empty()) return Bad(list_path, if_empty);
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string at = absl::StrCat(list_path, "[", i, "]");
    json& entry = (*list)[i];
    auto& added = *sources->Add();
    if (const auto its = entry.find("source"); its != entry.end()) {
      CAIRN_RETURN_IF_ERROR(TakeLabels(at + ".source", &*its, added.mutable_source()));
    }
    // Its errors start with the path of a field.
    if (const absl::Status parsed = JsonToMessage(entry, &added); !parsed.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(at, ".", parsed.message()));
    }
  }
  source->erase(list);
  return absl::OkStatus();
}

absl::Status TakeMix(const std::string& path, json* source, proto::DataSource* data) {
  return TakeSources(
      path, "mix",
      "is empty; a mixture has one source or more, for example "
      R"({"source": {"npy": {"features": "x.npy", "labels": "y.npy"}}, "weight": 0.5})",
      source, data->mutable_mix());
}

absl::Status TakeZip(const std::string& path, json* source, proto::DataSource* data) {
  return TakeSources(path, "zip",
                     "is empty; a zip has one source or more, for example "
                     R"({"source": {"npy": {"features": "x.npy"}}, "inputs": "x"})",
                     source, data->mutable_zip());
}

// `path` ends with a dot, or is empty.
absl::Status TakeOneHot(const std::string& path, json* source, proto::DataSource* data) {
  if (source->contains("one_hot_outputs")) {
    return Bad(path + "one_hot_outputs", R"(unknown field; set "one_hot": {"OUTPUT": true})");
  }
  const auto one_hot = source->find("one_hot");
  if (one_hot == source->end() || !one_hot->is_object()) return absl::OkStatus();
  for (const auto& [output, value] : one_hot->items()) {
    if (!value.is_boolean()) {
      return Bad(absl::StrCat(path, "one_hot.", output),
                 absl::StrCat(ShortJson(value), " is not true or false"));
    }
    if (value.get<bool>()) data->add_one_hot_outputs(output);
  }
  if (data->one_hot_outputs().empty()) data->set_one_hot(false);
  source->erase("one_hot");
  return absl::OkStatus();
}

}  // namespace

absl::Status TakeOutputs(json* object, proto::Job* job) {
  if (!object->is_object()) return absl::OkStatus();
  for (const char* field : {"metric_arguments", "outputs"}) {
    if (!object->contains(field)) continue;
    return Bad(field, R"(unknown field; set it under "loss", "loss_weights" and "metrics")");
  }
  const auto loss = object->find("loss");
  if (loss != object->end() && (loss->is_array() || IsByName(*loss, *proto::Loss::descriptor()))) {
    CAIRN_RETURN_IF_ERROR(ReadEntries("loss", *loss, ReadLoss, job));
    object->erase("loss");
  }
  if (const auto weights = object->find("loss_weights"); weights != object->end()) {
    CAIRN_RETURN_IF_ERROR(TakeWeights(*weights, job));
    object->erase("loss_weights");
  }
  for (const char* field : {"metrics", "weighted_metrics"}) {
    const auto metrics = object->find(field);
    if (metrics == object->end()) continue;
    const bool weighted = std::string_view(field) == "weighted_metrics";
    CAIRN_RETURN_IF_ERROR(TakeMetrics(field, *metrics, weighted, job));
    object->erase(field);
  }
  NameAllWeighted(job);
  return absl::OkStatus();
}

absl::Status TakeLabels(const std::string& path, json* source, proto::DataSource* data) {
  if (!source->is_object()) return absl::OkStatus();
  CAIRN_RETURN_IF_ERROR(TakeMix(path, source, data));
  CAIRN_RETURN_IF_ERROR(TakeZip(path, source, data));
  CAIRN_RETURN_IF_ERROR(TakeOneHot(absl::StrCat(path, path.empty() ? "" : "."), source, data));
  for (const job::DataFormat& format : job::DataFormats()) {
    const auto arrays = source->find(format.name);
    if (arrays == source->end() || !arrays->is_object() || !format.has_array_files()) continue;
    const std::string at = absl::StrCat(path, path.empty() ? "" : ".", format.name);
    if (arrays->contains("label_outputs")) {
      return Bad(at + ".label_outputs", R"(unknown field; set "labels": {"OUTPUT": "FILE", ...})");
    }
    const auto labels = arrays->find("labels");
    if (labels == arrays->end() || !labels->is_object()) continue;
    CAIRN_RETURN_IF_ERROR(TakeNamedLabels(at, *labels, format.lists(data)));
    arrays->erase("labels");
  }
  return absl::OkStatus();
}

}  // namespace cairn::cli
