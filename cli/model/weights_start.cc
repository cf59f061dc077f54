#include "cli/model/weights_start.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/model/model_weights.h"
#include "cli/model/trained_model.h"
#include "common/status_macros.h"
#include "job/model_program.h"
#include "nn/formats/imported_model.h"
#include "nn/model.h"
#include "nn/tensor.h"

namespace cairn::cli {
namespace {

// More names than this are counted.
constexpr size_t kNamesMax = 5;

constexpr float kUpdatesMax = 9e18f;

std::string SomeOf(const std::vector<std::string>& names) {
  if (names.size() <= kNamesMax) return absl::StrJoin(names, ", ");
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + kNamesMax, ", "), " and ",
                      names.size() - kNamesMax, " more");
}

// By variable: the name of the layer that it belongs to, which is not all of its name before the
// last slash where a layer wraps another (Bidirectional).
std::vector<std::string> LayersOfVariables(const nn::Model& model) {
  std::vector<std::string> layers(model.variables().size());
  for (const nn::Model::Node& node : model.nodes()) {
    if (node.owner >= 0) continue;
    const size_t count = node.layer->variables().size();
    for (size_t i = 0; i < count; ++i) layers[node.first_variable + i] = node.layer->name();
  }
  return layers;
}

// A variable of the layer "base/dense" without the model that the layer belongs to; empty if it
// belongs to none.
std::string WithoutModel(const std::string& variable, const std::string& layer) {
  const size_t slash = layer.find('/');
  return slash == std::string::npos ? "" : variable.substr(slash + 1);
}

bool StaysRandom(const nn::VariableSpec& variable) {
  return variable.update == nn::VariableSpec::Update::kFrozen &&
         variable.initializer.kind != nn::InitializerSpec::Kind::kConstant &&
         variable.initializer.kind != nn::InitializerSpec::Kind::kIdentity;
}

// Which of the file's weights each of a model's variables takes.
class Matching {
 public:
  // `has_values`: the model's own file has values for what this file lacks.
  Matching(const nn::Model& model, const std::vector<nn::NamedTensor>& weights, bool has_values)
      : variables_(model.variables()),
        layers_(LayersOfVariables(model)),
        weights_(weights),
        has_values_(has_values),
        taker_(weights.size(), -1) {}

  absl::Status Run() {
    for (size_t i = 0; i < variables_.size(); ++i) {
      CAIRN_ASSIGN_OR_RETURN(const int weight, Find(i));
      places_.push_back(weight);
      if (weight >= 0) CAIRN_RETURN_IF_ERROR(Take(static_cast<int>(i), weight));
    }
    return CheckLayers();
  }

  // By variable; -1: the file has it not.
  const std::vector<int>& places() const { return places_; }
  bool taken(size_t weight) const { return taker_[weight] >= 0; }

 private:
  absl::StatusOr<int> Find(size_t variable) const {
    const std::string& name = variables_[variable].name;
    const std::string& layer = layers_[variable];
    for (const std::string& candidate : {name, WithoutModel(name, layer)}) {
      // In Keras 3 the kernel of a DepthwiseConv is "kernel", and the layer in a Bidirectional is
      // named forward_lstm from the start.
      const std::string keras3 =
          absl::StrReplaceAll(candidate, {{"/depthwise_kernel", "/kernel"},
                                          {"/forward_forward_", "/forward_"},
                                          {"/backward_backward_", "/backward_"},
                                          {"/backward_forward_", "/backward_"}});
      for (const std::string& there : {candidate, keras3}) {
        if (there.empty()) continue;
        CAIRN_ASSIGN_OR_RETURN(const int found, FindNamed(there, layer));
        if (found >= 0) return found;
      }
    }
    return -1;
  }

  absl::StatusOr<int> FindNamed(const std::string& name, const std::string& layer) const {
    std::vector<int> found;
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i].name == name) return static_cast<int>(i);
      if (IsWeightOf(name, weights_[i].name)) found.push_back(static_cast<int>(i));
    }
    if (found.size() <= 1) return found.empty() ? -1 : found.front();
    return absl::InvalidArgumentError(
        absl::StrCat("layer ", layer, ": both ", weights_[found[0]].name, " and ",
                     weights_[found[1]].name, " could be its ", name));
  }

  absl::Status Take(int variable, int weight) {
    const std::string& name = variables_[variable].name;
    if (const int other = std::exchange(taker_[weight], variable); other >= 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "layers ", layers_[other], " and ", layers_[variable], " could both be the one with ",
          weights_[weight].name, "; rename one of them"));
    }
    if (weights_[weight].shape == variables_[variable].shape) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("layer ", layers_[variable], ": ", name, " has the shape ",
                     nn::ShapeText(variables_[variable].shape), ", there ",
                     nn::ShapeText(weights_[weight].shape),
                     "; a layer that starts with initial values needs another "
                     "name"));
  }

  absl::Status CheckLayers() const {
    std::set<std::string> found;
    for (size_t i = 0; i < variables_.size(); ++i) {
      if (places_[i] >= 0) found.insert(layers_[i]);
    }
    std::vector<std::string> random;
    for (size_t i = 0; i < variables_.size(); ++i) {
      if (places_[i] >= 0) continue;
      const std::string& layer = layers_[i];
      if (found.contains(layer)) {
        return absl::InvalidArgumentError(
            absl::StrCat("layer ", layer, " lacks ", variables_[i].name));
      }
      if (!has_values_ && StaysRandom(variables_[i])) random.push_back(layer);
    }
    if (found.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("it has none of this model's layers but ", SomeOf(LayersOfFile())));
    }
    if (random.empty()) return absl::OkStatus();
    random.erase(std::unique(random.begin(), random.end()), random.end());
    return absl::InvalidArgumentError(absl::StrCat(
        "it lacks these frozen layers, which would keep random values: ", SomeOf(random)));
  }

  std::vector<std::string> LayersOfFile() const {
    std::vector<std::string> layers;
    for (const nn::NamedTensor& weight : weights_) {
      layers.push_back(weight.name.substr(0, weight.name.find_last_of('/')));
    }
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    return layers;
  }

  const std::vector<nn::VariableSpec>& variables_;
  const std::vector<std::string> layers_;  // By variable.
  const std::vector<nn::NamedTensor>& weights_;
  const bool has_values_;
  std::vector<int> taker_;  // By weight: the variable; -1: none.
  std::vector<int> places_;
};

absl::StatusOr<std::vector<nn::NamedTensor>> ReadWeights(const std::string& file) {
  CAIRN_ASSIGN_OR_RETURN(nn::ImportedModel imported, ReadImportedModel(file));
  if (!imported.weights.empty()) return std::move(imported.weights);
  return absl::InvalidArgumentError(absl::StrCat(
      file,
      " has an architecture without weights; .keras, .h5 and .onnx files, TF.js layers "
      "models and TensorFlow checkpoints have weights"));
}

// Takes values out of `weights`, and leaves their names.
absl::StatusOr<WarmStart> StartFromWeights(const std::string& file, const nn::Model& model,
                                           const SubmittedModel& submitted, uint64_t seed,
                                           std::vector<nn::NamedTensor>* weights,
                                           std::vector<std::string>* names = nullptr) {
  Matching matching(model, *weights, !submitted.weights.empty());
  if (absl::Status fits = matching.Run(); !fits.ok()) return AtModelFile(file, fits);
  WarmStart warm;
  warm.from = file;
  for (size_t i = 0; i < weights->size(); ++i) {
    if (!matching.taken(i)) warm.left.push_back((*weights)[i].name);
  }
  for (size_t i = 0; i < model.variables().size(); ++i) {
    const int place = matching.places()[i];
    if (names != nullptr) names->push_back(place < 0 ? "" : (*weights)[place].name);
    if (place < 0) {
      warm.fresh.push_back(model.variables()[i].name);
      warm.variables.push_back(FreshValues(model.variables()[i], submitted, i, seed));
      continue;
    }
    if (absl::Status numbers = ExpectNumbers((*weights)[place]); !numbers.ok()) {
      return AtModelFile(file, numbers);
    }
    warm.variables.push_back(std::move((*weights)[place].values));
    ++warm.taken;
  }
  return warm;
}

// The state of an optimizer in a file: the weight "optimizer/updates", the number of updates, and
// "optimizer/SLOT/WEIGHT" for each slot of each weight that it trains.
class OptimizerState {
 public:
  // Takes its tensors out of `weights`. InvalidArgument: there is none.
  static absl::StatusOr<OptimizerState> TakeFrom(std::vector<nn::NamedTensor>* weights) {
    OptimizerState state;
    std::vector<nn::NamedTensor> others;
    for (nn::NamedTensor& weight : *weights) {
      if (!absl::StartsWith(weight.name, kOptimizerPrefix)) {
        others.push_back(std::move(weight));
      } else if (weight.name == kUpdatesName) {
        if (weight.values.size() != 1 ||
            !(weight.values[0] >= 0 && weight.values[0] < kUpdatesMax) ||
            weight.values[0] != std::floor(weight.values[0])) {
          return absl::InvalidArgumentError(
              absl::StrCat(kUpdatesName, " is not a number of updates"));
        }
        state.updates_ = static_cast<int64_t>(weight.values[0]);
      } else {
        const std::string name = weight.name;
        state.slots_[name] = std::move(weight);
      }
    }
    if (state.updates_ < 0) {
      return absl::InvalidArgumentError(absl::StrCat("it has no state of an optimizer (",
                                                     kUpdatesName, "); leave with_optimizer out"));
    }
    *weights = std::move(others);
    return state;
  }

  int64_t updates() const { return updates_; }

  absl::StatusOr<std::vector<float>> TakeSlot(const std::string& slot, const std::string& weight,
                                              const nn::Shape& shape,
                                              const std::string& optimizer) {
    const std::string name = absl::StrCat(kOptimizerPrefix, slot, "/", weight);
    const auto found = slots_.extract(name);
    if (found.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "it lacks ", name, ", which ", optimizer,
          " keeps; use the same arguments of the optimizer, or leave with_optimizer out"));
    }
    const nn::NamedTensor& tensor = found.mapped();
    if (tensor.shape != shape) {
      return absl::InvalidArgumentError(absl::StrCat(name, " has the shape ",
                                                     nn::ShapeText(tensor.shape), ", expected ",
                                                     nn::ShapeText(shape)));
    }
    CAIRN_RETURN_IF_ERROR(ExpectNumbers(tensor));
    return tensor.values;
  }

  // InvalidArgument: slots are left, of another optimizer.
  absl::Status ExpectAllTaken(const std::string& optimizer) const {
    if (slots_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "it has ", slots_.begin()->first, ", which ", optimizer,
        " does not keep; use the same arguments of the optimizer, or leave with_optimizer out"));
  }

 private:
  int64_t updates_ = -1;
  std::map<std::string, nn::NamedTensor> slots_;  // By name.
};

absl::StatusOr<WarmStart> AddOptimizer(const proto::Job& job, const nn::Model& model,
                                       const SubmittedModel& submitted,
                                       const std::vector<std::string>& names, OptimizerState state,
                                       WarmStart warm) {
  if (!warm.fresh.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it lacks ", SomeOf(warm.fresh),
                     "; leave with_optimizer out to start from the other variables"));
  }
  CAIRN_ASSIGN_OR_RETURN(const job::VariableRules rules,
                         job::VariableRules::Create(job, submitted.spec, model.variables()));
  const std::string& optimizer = job.optimizer().name();
  for (size_t i = 0; i < model.variables().size(); ++i) {
    const nn::VariableSpec& variable = model.variables()[i];
    cluster::VariableState& to = warm.states.emplace_back();
    to.values = std::move(warm.variables[i]);
    if (variable.update != nn::VariableSpec::Update::kFrozen) to.version = state.updates();
    if (variable.update != nn::VariableSpec::Update::kOptimized) continue;
    for (const char* const slot : rules.optimizers[rules.optimizer_of[i]]->slot_names()) {
      to.slots.push_back(slot);
      CAIRN_ASSIGN_OR_RETURN(to.slot_values.emplace_back(),
                             state.TakeSlot(slot, names[i], variable.shape, optimizer));
    }
  }
  CAIRN_RETURN_IF_ERROR(state.ExpectAllTaken(optimizer));
  warm.variables.clear();
  return warm;
}

absl::StatusOr<WarmStart> StartWithOptimizer(const std::string& file, const proto::Job& job,
                                             const SubmittedModel& submitted) {
  CAIRN_ASSIGN_OR_RETURN(const auto model, nn::Model::Create(submitted.spec));
  CAIRN_ASSIGN_OR_RETURN(std::vector<nn::NamedTensor> weights, ReadWeights(file));
  auto state = OptimizerState::TakeFrom(&weights);
  if (!state.ok()) return AtModelFile(file, state.status());
  std::vector<std::string> names;
  CAIRN_ASSIGN_OR_RETURN(WarmStart warm,
                         StartFromWeights(file, *model, submitted, job.seed(), &weights, &names));
  auto with = AddOptimizer(job, *model, submitted, names, *std::move(state), std::move(warm));
  if (!with.ok()) return AtModelFile(file, with.status());
  return with;
}

}  // namespace

absl::StatusOr<WarmStart> StartFromFile(const std::string& file, const SubmittedModel& submitted,
                                        uint64_t seed) {
  CAIRN_ASSIGN_OR_RETURN(const auto created, nn::Model::Create(submitted.spec));
  CAIRN_ASSIGN_OR_RETURN(std::vector<nn::NamedTensor> weights, ReadWeights(file));
  return StartFromWeights(file, *created, submitted, seed, &weights);
}

absl::StatusOr<WarmStart> ReadWeightsStart(const proto::Job& job, const SubmittedModel& submitted) {
  const std::string& file = job.resume_from().name();
  const bool with_optimizer = job.resume_from().with_optimizer();
  auto warm = with_optimizer ? StartWithOptimizer(file, job, submitted)
                             : StartFromFile(file, submitted, job.seed());
  if (!warm.ok()) return AtResumeFrom(warm.status());
  return warm;
}

}  // namespace cairn::cli
