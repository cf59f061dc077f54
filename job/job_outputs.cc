#include "job/job_outputs.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/nearest_name.h"
#include "common/status_macros.h"
#include "job/data_source.h"

namespace cairn::job {
namespace {

std::vector<std::string> OutputNames(const nn::Signature& model) {
  std::vector<std::string> names;
  for (const nn::Model::Output& output : model.outputs()) names.push_back(output.name);
  return names;
}

absl::StatusOr<int> FindOutput(const std::string& path, const std::string& name,
                               const nn::Signature& model) {
  const std::vector<std::string> names = OutputNames(model);
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<int>(i);
  }
  return Invalid(path, ": the model has no output '", name, "'; ", KnownNamesText(name, names));
}

// The job file's field that set the entry, for error messages.
const char* FieldOf(const proto::TrainedOutput& said) {
  if (said.has_loss()) return "loss";
  return said.has_loss_weight() ? "loss_weights" : "metrics";
}

// Appends metrics with their arguments; an index of the arguments is one of their own list.
template <typename From, typename To>
void AppendMetrics(const From& from, To* to) {
  for (proto::MetricArguments arguments : from.metric_arguments()) {
    arguments.set_index(arguments.index() + static_cast<uint32_t>(to->metrics_size()));
    *to->add_metric_arguments() = std::move(arguments);
  }
  to->mutable_metrics()->MergeFrom(from.metrics());
}

// The settings of each output, in the model's order.
absl::StatusOr<std::vector<proto::TrainedOutput>> Collect(const nn::Model& model,
                                                          const proto::Job& job) {
  std::vector<proto::TrainedOutput> outputs(model.outputs().size());
  for (const proto::TrainedOutput& said : job.outputs()) {
    int position = static_cast<int>(said.position());
    if (!said.name().empty()) {
      CAIRN_ASSIGN_OR_RETURN(position, FindOutput(FieldOf(said), said.name(), model));
    } else if (said.position() >= outputs.size()) {
      return Invalid(FieldOf(said), ": lists ", said.position() + 1, " outputs, the model has ",
                     outputs.size());
    }
    // "metrics" and "weighted_metrics" have an entry each.
    AppendMetrics(said, &outputs[position]);
    proto::TrainedOutput rest = said;
    rest.clear_metrics();
    rest.clear_metric_arguments();
    outputs[position].MergeFrom(rest);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].set_name(model.outputs()[i].name);
    outputs[i].set_position(static_cast<uint32_t>(i));
    if (outputs[i].has_loss()) continue;
    if (!job.has_loss()) {
      return Invalid("loss: has no entry for the model's output '", outputs[i].name(),
                     "'; every output has a loss");
    }
    *outputs[i].mutable_loss() = job.loss();
  }
  return outputs;
}

void SetOnlyOutput(proto::TrainedOutput only, proto::Job* job) {
  *job->mutable_loss() = only.loss();
  AppendMetrics(only, job);
  job->clear_outputs();
  if (only.has_loss_weight()) job->add_outputs()->set_loss_weight(only.loss_weight());
}

void AddMetric(const std::string& name, proto::MetricArguments arguments, uint32_t output,
               proto::Job* job) {
  arguments.set_index(job->metrics_size());
  arguments.set_output(output);
  *job->add_metric_arguments() = std::move(arguments);
  job->add_metrics(absl::StrCat(job->outputs(static_cast<int>(output)).name(), "_", name));
}

void AddMetrics(const proto::TrainedOutput& output, proto::Job* job) {
  std::vector<proto::MetricArguments> metrics(output.metrics_size());
  for (int i = 0; i < output.metrics_size(); ++i) {
    metrics[i].mutable_metric()->set_name(output.metrics(i));
  }
  for (const proto::MetricArguments& more : output.metric_arguments()) {
    if (more.index() < metrics.size()) metrics[more.index()] = more;
  }
  for (int i = 0; i < output.metrics_size(); ++i) {
    AddMetric(output.metrics(i), metrics[i], output.position(), job);
  }
}

absl::Status SetOutputs(const std::vector<proto::TrainedOutput>& outputs, proto::Job* job) {
  if (!job->metrics().empty()) {
    return Invalid(
        "metrics: is one list, the model has ", outputs.size(),
        " outputs; give a list of lists, or an object with a list for each output's name");
  }
  job->clear_metric_arguments();
  job->clear_loss();
  job->clear_outputs();
  proto::MetricArguments loss;
  loss.mutable_metric()->set_name("loss");
  for (const proto::TrainedOutput& output : outputs) {
    proto::TrainedOutput* added = job->add_outputs();
    *added = output;
    added->clear_metrics();
    added->clear_metric_arguments();
    AddMetric("loss", loss, output.position(), job);
  }
  for (const proto::TrainedOutput& output : outputs) AddMetrics(output, job);
  return absl::OkStatus();
}

// Sorts the files of labels into the order of the model's outputs; label_outputs(i) names the
// output of labels(i).
absl::Status SortLabels(const std::string& path, const nn::Signature& model,
                        const FileLists& lists) {
  FileNames& labels = *lists.labels;
  FileNames& outputs = *lists.label_outputs;
  if (outputs.empty()) return absl::OkStatus();
  if (outputs.size() != labels.size()) {
    return Invalid(path, ".label_outputs: names ", outputs.size(), " outputs for ", labels.size(),
                   " labels");
  }
  std::vector<std::string> ordered(model.outputs().size());
  for (int i = 0; i < labels.size(); ++i) {
    CAIRN_ASSIGN_OR_RETURN(const int output, FindOutput(path + ".labels", outputs[i], model));
    ordered[output] = labels[i];
  }
  for (size_t i = 0; i < ordered.size(); ++i) {
    if (!ordered[i].empty()) continue;
    return Invalid(path, ".labels: has no entry for the model's output '", model.outputs()[i].name,
                   "'");
  }
  outputs.Clear();
  labels.Assign(ordered.begin(), ordered.end());
  return absl::OkStatus();
}

}  // namespace

absl::Status ResolveOutputs(const nn::Model& model, proto::Job* job) {
  const std::vector<std::string> names = OutputNames(model);
  if (names.size() == 1 && job->outputs().empty()) return absl::OkStatus();
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) {
    return Invalid("model: lists an output twice, which would have two losses");
  }
  CAIRN_ASSIGN_OR_RETURN(std::vector<proto::TrainedOutput> outputs, Collect(model, *job));
  if (names.size() > 1) return SetOutputs(outputs, job);
  SetOnlyOutput(std::move(outputs[0]), job);
  return absl::OkStatus();
}

absl::Status ResolveLabels(const std::string& path, const nn::Signature& model,
                           proto::DataSource* source) {
  for (const std::string& output : source->one_hot_outputs()) {
    CAIRN_RETURN_IF_ERROR(FindOutput(path + ".one_hot", output, model).status());
  }
  for (int i = 0; i < source->mix_size(); ++i) {
    CAIRN_RETURN_IF_ERROR(ResolveLabels(absl::StrCat(path, ".mix[", i, "].source"), model,
                                        source->mutable_mix(i)->mutable_source()));
  }
  for (int i = 0; i < source->zip_size(); ++i) {
    const std::string at = absl::StrCat(path, ".zip[", i, "]");
    CAIRN_ASSIGN_OR_RETURN(const nn::Signature part, PartOf(at, model, source->zip(i)));
    CAIRN_RETURN_IF_ERROR(
        ResolveLabels(at + ".source", part, source->mutable_zip(i)->mutable_source()));
  }
  const DataFormat* format = FormatOf(*source);
  if (format == nullptr || !format->has_array_files()) return absl::OkStatus();
  return SortLabels(absl::StrCat(path, ".", format->name), model, format->lists(source));
}

}  // namespace cairn::job
