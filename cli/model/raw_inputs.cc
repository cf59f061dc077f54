#include "cli/model/raw_inputs.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace cairn::cli {
namespace {

class Preprocessing {
 public:
  explicit Preprocessing(const proto::JobPlan& plan) : plan_(plan) {
    for (const proto::LayerSpec& layer : plan.model().layers()) taken_.insert(layer.name());
  }

  proto::ModelSpec Run() {
    proto::ModelSpec model = plan_.model();
    model.clear_layers();
    for (const proto::LayerSpec& layer : plan_.model().layers()) {
      proto::LayerSpec& added = *model.add_layers();
      added = layer;
      for (std::string& input : *added.mutable_inputs()) {
        if (const auto last = last_.find(input); last != last_.end()) input = last->second;
      }
      if (layer.class_name() == "InputLayer") Prepare(layer, &model);
    }
    return model;
  }

 private:
  // Adds the layers behind an input.
  void Prepare(const proto::LayerSpec& input, proto::ModelSpec* model) {
    // Integers are neither scaled nor standardized.
    const auto dtype = input.config().fields().find("dtype");
    const bool is_float =
        dtype == input.config().fields().end() || dtype->second.string_value() == "float32";
    if (!is_float) return;
    last_[input.name()] = input.name();
    if (const double scale = plan_.job().train().scale();
        plan_.job().train().has_scale() && scale != 1) {
      auto& arguments = *Append(input.name(), "Rescaling", model)->mutable_fields();
      arguments["scale"].set_number_value(scale);
      arguments["offset"].set_number_value(0);  // Keras requires it in files.
    }
    const auto& inputs = plan_.model().inputs();
    for (int i = 0; i < inputs.size() && i < plan_.data().inputs_size(); ++i) {
      const auto& statistics = plan_.data().inputs(i);
      if (inputs[i] != input.name() || statistics.mean().empty()) continue;
      auto& arguments = *Append(input.name(), "Normalization", model)->mutable_fields();
      for (int place = 0; place < statistics.mean_size(); ++place) {
        const double deviation = statistics.deviation(place);
        arguments["mean"].mutable_list_value()->add_values()->set_number_value(
            statistics.mean(place));
        arguments["variance"].mutable_list_value()->add_values()->set_number_value(deviation *
                                                                                   deviation);
      }
    }
  }

  google::protobuf::Struct* Append(const std::string& input, const char* class_name,
                                   proto::ModelSpec* model) {
    std::string name = absl::StrCat(input, "_", class_name);
    while (!taken_.insert(name).second) name += "_";
    proto::LayerSpec& layer = *model->add_layers();
    layer.set_name(name);
    layer.set_class_name(class_name);
    layer.add_inputs(std::exchange(last_[input], name));
    return layer.mutable_config();
  }

  const proto::JobPlan& plan_;
  std::set<std::string> taken_;
  std::map<std::string, std::string> last_;  // By input: the last layer that prepares it.
};

// The first column that is more than a number, if there is one.
std::string OtherColumn(const proto::JobPlan& plan) {
  for (const proto::CsvColumn& column : plan.job().train().csv().features()) {
    const bool is_looked_up =
        column.categorical() || column.vocabulary_size() > 0 || column.one_hot();
    if (is_looked_up || column.has_missing()) return column.name();
  }
  // What the data themselves decided.
  if (plan.data().vocabularies_size() > 0) return plan.data().vocabularies(0).column();
  return plan.data().fills_size() > 0 ? plan.data().fills(0).column() : "";
}

}  // namespace

absl::StatusOr<proto::ModelSpec> ModelOfRawInputs(const proto::JobPlan& plan) {
  if (const std::string column = OtherColumn(plan); !column.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--with-preprocessing: column ", column,
        " is looked up in a vocabulary or filled where it is missing, which the exported model "
        "cannot do; export without the flag and prepare the inputs before"));
  }
  return Preprocessing(plan).Run();
}

}  // namespace cairn::cli
