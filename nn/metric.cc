#include "nn/metric.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/config_arguments.h"
#include "nn/keras_words.h"
#include "nn/metrics/auc.h"
#include "nn/metrics/confusion.h"
#include "nn/metrics/iou.h"
#include "nn/metrics/means.h"
#include "nn/metrics/scores.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

constexpr int64_t kThresholdsMax = 1000;
// Of a metric whose state has a few numbers for each class.
constexpr int64_t kClassesMax = 1000;

// The loss and output that a metric is created for.
struct Setting {
  const Loss& loss;
  const Shape& output_shape;

  bool sparse() const { return loss.label_type() == proto::INT32; }
  int64_t classes() const { return output_shape.empty() ? 1 : output_shape.back(); }
};

using Created = absl::StatusOr<std::unique_ptr<MetricAccumulator>>;
using Config = proto::Metric;

// The labels that a metric accepts. kClassNumbers, kOneHot and kEither require classes in the
// output's last axis.
enum class Labels { kClassNumbers, kOneHot, kEither, kNumbers, kAny };

struct KnownMetric {
  const char* name;
  std::vector<std::string> arguments;
  Labels labels;
  Created (*create)(const Config&, const Setting&);
  MetricResult (*result)(const Config&);
};

absl::Status Bad(const absl::AlphaNum& a, const absl::AlphaNum& b = "",
                 const absl::AlphaNum& c = "") {
  return absl::InvalidArgumentError(absl::StrCat(a, b, c));
}

template <double (*function)(absl::Span<const double>)>
MetricResult Result(const Config&) {
  return function;
}

template <bool sparse>
Created CategoricalAccuracy(const Config&, const Setting&) {
  return CreateCategoricalAccuracy(sparse, 1);
}

template <bool sparse>
Created TopK(const Config& config, const Setting&) {
  const int64_t k = config.has_k() ? config.k() : 5;
  if (k < 1) return Bad("'k' is ", k, "; it must be at least 1");
  return CreateCategoricalAccuracy(sparse, k);
}

Created BinaryAccuracy(const Config& config, const Setting&) {
  return CreateBinaryAccuracy(config.has_threshold() ? config.threshold() : 0.5f);
}

absl::Status CheckClassId(const Config& config, const Setting& setting) {
  if (!config.has_class_id()) return absl::OkStatus();
  if (config.class_id() >= 0 && config.class_id() < setting.classes()) return absl::OkStatus();
  return Bad("'class_id' is ", config.class_id(),
             absl::StrCat("; it must be from 0 to ", setting.classes() - 1));
}

absl::Status CheckConfusion(const Config& config, const Setting& setting) {
  if (config.thresholds_size() > 1) {
    return Bad("'thresholds' has ", config.thresholds_size(),
               " numbers; one metric has one threshold, say the metric once for each");
  }
  if (config.has_top_k() && (config.top_k() < 1 || config.top_k() > setting.classes())) {
    return Bad("'top_k' is ", config.top_k(),
               absl::StrCat("; it must be from 1 to the ", setting.classes(), " classes"));
  }
  return CheckClassId(config, setting);
}

template <Confusion... kinds>
Created ConfusionMetric(const Config& config, const Setting& setting) {
  CAIRN_RETURN_IF_ERROR(CheckConfusion(config, setting));
  ConfusionOptions options;
  options.kinds = {kinds...};
  if (config.thresholds_size() == 1) {
    options.threshold = static_cast<float>(config.thresholds(0));
  } else if (config.has_top_k()) {
    options.threshold = kNoThreshold;
  }
  options.top_k = config.top_k();
  if (config.has_class_id()) options.class_id = config.class_id();
  return CreateConfusion(options);
}

absl::StatusOr<AucOptions> ReadAuc(const Config& config) {
  AucOptions options;
  if (config.has_num_thresholds()) {
    if (config.num_thresholds() < 2 || config.num_thresholds() > kThresholdsMax) {
      return Bad("'num_thresholds' is ", config.num_thresholds(),
                 absl::StrCat("; it must be from 2 to ", kThresholdsMax));
    }
    options.thresholds = static_cast<int>(config.num_thresholds());
  }
  if (config.curve() == "PR") {
    options.curve = AucOptions::Curve::kPr;
  } else if (config.has_curve() && config.curve() != "ROC") {
    return Bad("'curve' is '", config.curve(), "'; known: ROC, PR");
  }
  if (config.summation_method() == "minoring") {
    options.summation = AucOptions::Summation::kMinoring;
  } else if (config.summation_method() == "majoring") {
    options.summation = AucOptions::Summation::kMajoring;
  } else if (config.has_summation_method() && config.summation_method() != "interpolation") {
    return Bad("'summation_method' is '", config.summation_method(),
               "'; known: interpolation, minoring, majoring");
  }
  options.from_logits = config.from_logits();
  return options;
}

Created Auc(const Config& config, const Setting&) {
  CAIRN_ASSIGN_OR_RETURN(const AucOptions options, ReadAuc(config));
  return CreateAuc(options);
}

MetricResult ResultOfAuc(const Config& config) {
  const AucOptions options = ReadAuc(config).value_or(AucOptions());
  return [options](absl::Span<const double> state) { return AucResult(options, state); };
}

template <Rate wanted, Rate given, double (*value)(const Config&)>
MetricResult ResultOfBestRate(const Config& config) {
  const AucOptions options = ReadAuc(config).value_or(AucOptions());
  return [options, bound = value(config)](absl::Span<const double> state) {
    return BestRate(wanted, given, bound, options, state);
  };
}

template <double (*value)(const Config&)>
Created BestRateCounts(const Config& config, const Setting& setting) {
  CAIRN_ASSIGN_OR_RETURN(AucOptions options, ReadAuc(config));
  CAIRN_RETURN_IF_ERROR(CheckConfusion(config, setting));
  if (config.has_class_id()) options.class_id = config.class_id();
  // It is negative if it is missing.
  if (!(value(config) >= 0 && value(config) <= 1)) {
    return Bad("the rate that it holds must be given, from 0 to 1");
  }
  return CreateAuc(options);
}

double PrecisionOf(const Config& c) { return c.has_precision() ? c.precision() : -1; }
double RecallOf(const Config& c) { return c.has_recall() ? c.recall() : -1; }
double SensitivityOf(const Config& c) { return c.has_sensitivity() ? c.sensitivity() : -1; }
double SpecificityOf(const Config& c) { return c.has_specificity() ? c.specificity() : -1; }

absl::Status CheckClassCount(const Setting& setting) {
  if (setting.classes() <= kClassesMax) return absl::OkStatus();
  return Bad("the output has ", setting.classes(),
             absl::StrCat(" classes, at most ", kClassesMax, " are possible"));
}

absl::Status CheckTargets(const Config& config, int64_t classes, bool required) {
  for (const int64_t target : config.target_class_ids()) {
    if (target >= 0 && target < classes) continue;
    return Bad("'target_class_ids' has ", target,
               absl::StrCat("; it must be from 0 to ", classes - 1));
  }
  if (!required || config.target_class_ids_size() > 0) return absl::OkStatus();
  return Bad("'target_class_ids' is missing");
}

template <bool has_targets>
Created Iou(const Config& config, const Setting& setting) {
  if (config.has_num_classes() && config.num_classes() != setting.classes()) {
    return Bad("'num_classes' is ", config.num_classes(),
               absl::StrCat("; the output has ", setting.classes(), " classes"));
  }
  CAIRN_RETURN_IF_ERROR(CheckClassCount(setting));
  CAIRN_RETURN_IF_ERROR(CheckTargets(config, setting.classes(), has_targets));
  return CreateIou(setting.sparse(), setting.classes());
}

Created BinaryIou(const Config& config, const Setting&) {
  CAIRN_RETURN_IF_ERROR(CheckTargets(config, 2, /*required=*/false));
  return CreateBinaryIou(config.has_threshold() ? static_cast<float>(config.threshold()) : 0.5f);
}

MetricResult ResultOfIou(const Config& config) {
  const std::vector<int64_t> targets(config.target_class_ids().begin(),
                                     config.target_class_ids().end());
  return [targets](absl::Span<const double> state) { return IouResult(targets, state); };
}

absl::StatusOr<FBetaOptions> ReadFBeta(const Config& config) {
  FBetaOptions options;
  if (config.average() == "micro") {
    options.average = FBetaOptions::Average::kMicro;
  } else if (config.average() == "weighted") {
    options.average = FBetaOptions::Average::kWeighted;
  } else if (config.has_class_id() && !config.has_average()) {
    options.class_id = config.class_id();
  } else if (config.average() != "macro") {
    return Bad("'average' is '", config.average(),
               "'; a metric is one number, so it must be micro, macro or weighted, or missing with "
               "a 'class_id'");
  }
  if (config.has_class_id() && config.has_average()) {
    return Bad("'class_id' is the score of one class; it has no 'average'");
  }
  if (config.has_beta()) {
    CAIRN_RETURN_IF_ERROR(
        CheckArgument("beta", config.beta(), {.ends = ArgumentRange::Ends::kAboveSmallest}));
    options.beta = config.beta();
  }
  if (config.has_threshold()) options.threshold = static_cast<float>(config.threshold());
  return options;
}

// For metrics that have a number for each class, and no other axes.
absl::Status CheckVector(const Setting& setting) {
  CAIRN_RETURN_IF_ERROR(CheckClassCount(setting));
  if (setting.output_shape.size() <= 1) return absl::OkStatus();
  return Bad("an example's output must have one axis, it is ", ShapeText(setting.output_shape));
}

Created FBeta(const Config& config, const Setting& setting) {
  CAIRN_ASSIGN_OR_RETURN(const FBetaOptions options, ReadFBeta(config));
  CAIRN_RETURN_IF_ERROR(CheckVector(setting));
  CAIRN_RETURN_IF_ERROR(CheckClassId(config, setting));
  return CreateFBeta(options, setting.classes());
}

MetricResult ResultOfFBeta(const Config& config) {
  const FBetaOptions options = ReadFBeta(config).value_or(FBetaOptions());
  return [options](absl::Span<const double> state) { return FBetaResult(options, state); };
}

Created R2(const Config& config, const Setting& setting) {
  const std::string& aggregation = config.class_aggregation();
  if (config.has_class_aggregation() && aggregation != "uniform_average" &&
      aggregation != "variance_weighted_average") {
    return Bad("'class_aggregation' is '", aggregation,
               "'; known: uniform_average, variance_weighted_average");
  }
  if (config.num_regressors() < 0) {
    return Bad("'num_regressors' is ", config.num_regressors(), "; it must be at least 0");
  }
  if (config.has_class_id() && config.has_class_aggregation()) {
    return Bad("'class_id' is the score of one class; it has no 'class_aggregation'");
  }
  CAIRN_RETURN_IF_ERROR(CheckVector(setting));
  CAIRN_RETURN_IF_ERROR(CheckClassId(config, setting));
  return CreateR2(setting.classes());
}

MetricResult ResultOfR2(const Config& config) {
  const R2Options options = {.weighted = config.class_aggregation() == "variance_weighted_average",
                             .class_id = config.has_class_id() ? config.class_id() : -1,
                             .regressors = config.num_regressors()};
  return [options](absl::Span<const double> state) { return R2Result(options, state); };
}

template <bool concordance>
Created CorrelationOf(const Config&, const Setting& setting) {
  if (setting.classes() < 2) {
    return Bad("the output has ", setting.classes(),
               " number in its last axis, a correlation needs at least 2");
  }
  return CreateCorrelation(concordance);
}

Created OwnLoss(const Config&, const Setting&) { return CreateOwnLossMean(); }

Created RootMeanSquaredError(const Config&, const Setting&) {
  proto::Loss squared;
  squared.set_name("mean_squared_error");
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<Loss> loss, CreateLoss(squared));
  return CreateLossMean(std::move(loss), /*negative=*/false);
}

const std::vector<KnownMetric>& KnownMetrics() {
  using enum Confusion;
  using enum Labels;
  const std::vector<std::string> confusion = {"thresholds", "top_k", "class_id"};
  const std::vector<std::string> auc = {"num_thresholds", "curve", "summation_method",
                                        "from_logits"};
  const auto mean = Result<MeanResult>;
  const auto share = Result<ShareResult>;
  const auto count = Result<CountResult>;
  const auto rate = [](const char* given) {
    return std::vector<std::string>{given, "num_thresholds", "class_id"};
  };
  static const std::vector<KnownMetric> kMetrics = {
      {"sparse_categorical_accuracy", {}, kClassNumbers, CategoricalAccuracy<true>, mean},
      {"categorical_accuracy", {}, kOneHot, CategoricalAccuracy<false>, mean},
      {"binary_accuracy", {"threshold"}, kNumbers, BinaryAccuracy, mean},
      {"sparse_top_k_categorical_accuracy", {"k"}, kClassNumbers, TopK<true>, mean},
      {"top_k_categorical_accuracy", {"k"}, kOneHot, TopK<false>, mean},
      {"precision", confusion, kNumbers, ConfusionMetric<kTruePositive, kFalsePositive>, share},
      {"recall", confusion, kNumbers, ConfusionMetric<kTruePositive, kFalseNegative>, share},
      {"true_positives", {"thresholds"}, kNumbers, ConfusionMetric<kTruePositive>, count},
      {"false_positives", {"thresholds"}, kNumbers, ConfusionMetric<kFalsePositive>, count},
      {"true_negatives", {"thresholds"}, kNumbers, ConfusionMetric<kTrueNegative>, count},
      {"false_negatives", {"thresholds"}, kNumbers, ConfusionMetric<kFalseNegative>, count},
      {"auc", auc, kNumbers, Auc, ResultOfAuc},
      {"precision_at_recall", rate("recall"), kNumbers, BestRateCounts<RecallOf>,
       ResultOfBestRate<Rate::kPrecision, Rate::kRecall, RecallOf>},
      {"recall_at_precision", rate("precision"), kNumbers, BestRateCounts<PrecisionOf>,
       ResultOfBestRate<Rate::kRecall, Rate::kPrecision, PrecisionOf>},
      {"sensitivity_at_specificity", rate("specificity"), kNumbers, BestRateCounts<SpecificityOf>,
       ResultOfBestRate<Rate::kRecall, Rate::kSpecificity, SpecificityOf>},
      {"specificity_at_sensitivity", rate("sensitivity"), kNumbers, BestRateCounts<SensitivityOf>,
       ResultOfBestRate<Rate::kSpecificity, Rate::kRecall, SensitivityOf>},
      {"mean_iou", {"num_classes"}, kEither, Iou<false>, ResultOfIou},
      {"iou", {"num_classes", "target_class_ids"}, kEither, Iou<true>, ResultOfIou},
      {"one_hot_mean_iou", {"num_classes"}, kOneHot, Iou<false>, ResultOfIou},
      {"one_hot_iou", {"num_classes", "target_class_ids"}, kOneHot, Iou<true>, ResultOfIou},
      {"binary_iou", {"target_class_ids", "threshold"}, kNumbers, BinaryIou, ResultOfIou},
      {"f1_score", {"average", "class_id", "threshold"}, kNumbers, FBeta, ResultOfFBeta},
      {"fbeta_score", {"average", "class_id", "beta", "threshold"}, kNumbers, FBeta, ResultOfFBeta},
      {"r2_score", {"class_aggregation", "class_id", "num_regressors"}, kNumbers, R2, ResultOfR2},
      {"pearson_correlation", {}, kNumbers, CorrelationOf<false>, mean},
      {"concordance_correlation", {}, kNumbers, CorrelationOf<true>, mean},
      {"root_mean_squared_error", {}, kNumbers, RootMeanSquaredError, Result<RootMeanResult>},
      {"loss", {}, kAny, OwnLoss, mean},
  };
  return kMetrics;
}

// Expands a short form or a class name to the metric's full name.
std::string FullName(const std::string& name) {
  const std::string snake = SnakeCase(name);
  if (snake == "acc") return "accuracy";
  if (snake == "rmse") return "root_mean_squared_error";
  if (snake == "io_u") return "iou";
  if (snake == "mean_io_u") return "mean_iou";
  if (snake == "binary_io_u") return "binary_iou";
  if (snake == "one_hot_io_u") return "one_hot_iou";
  if (snake == "one_hot_mean_io_u") return "one_hot_mean_iou";
  if (snake == "f1score") return "f1_score";
  if (snake == "r2score") return "r2_score";
  if (snake == "top_kcategorical_accuracy") return "top_k_categorical_accuracy";
  if (snake == "sparse_top_kcategorical_accuracy") return "sparse_top_k_categorical_accuracy";
  return snake;
}

const KnownMetric* FindMetric(const std::string& full_name) {
  for (const KnownMetric& known : KnownMetrics()) {
    if (full_name == known.name) return &known;
  }
  return nullptr;
}

bool IsAccuracy(const std::string& full_name) { return full_name == "accuracy"; }

// The metric that "accuracy" stands for.
const char* ResolveAccuracy(const Setting& setting) {
  if (setting.sparse()) return "sparse_categorical_accuracy";
  return setting.classes() == 1 ? "binary_accuracy" : "categorical_accuracy";
}

// Creates the loss of the metric's name; such a metric is the loss's mean.
absl::StatusOr<std::unique_ptr<Loss>> LossOf(const Config& config) {
  CAIRN_RETURN_IF_ERROR(CheckArguments(config, {"from_logits", "label_smoothing", "delta"}));
  proto::Loss loss;
  loss.set_name(config.name());
  if (config.has_from_logits()) loss.set_from_logits(config.from_logits());
  if (config.has_label_smoothing()) loss.set_label_smoothing(config.label_smoothing());
  if (config.has_delta()) loss.set_delta(config.delta());
  return CreateLoss(loss);
}

bool IsLoss(const std::string& name) {
  proto::Loss loss;
  loss.set_name(name);
  return CreateLoss(loss).ok();
}

absl::Status UnknownMetric(const std::string& name) {
  std::vector<std::string> names = {"accuracy"};
  for (const KnownMetric& known : KnownMetrics()) names.push_back(known.name);
  for (const std::string& loss : LossNames()) names.push_back(loss);
  return Bad(absl::StrCat("unknown metric '", name, "'; "), UnknownNameText("metric", name, names));
}

// The same metric for the other kind of class labels; empty if there is none.
std::string OtherKind(const std::string& name) {
  constexpr char kSparse[] = "sparse_";
  const std::string other =
      absl::StartsWith(name, kSparse) ? name.substr(std::strlen(kSparse)) : kSparse + name;
  return FindMetric(other) == nullptr ? "" : other;
}

absl::Status CheckLabels(const std::string& name, bool fits, const Setting& setting) {
  if (fits) return absl::OkStatus();
  if (const std::string other = OtherKind(name); !other.empty() && setting.classes() > 1) {
    return Bad(absl::StrCat("metric ", name, " does not fit loss ", setting.loss.name(),
                            ", whose labels are "),
               setting.sparse() ? "class numbers" : "not class numbers", "; use " + other);
  }
  return Bad(absl::StrCat("metric ", name, " does not fit loss ", setting.loss.name(),
                          ", whose labels are "),
             setting.sparse() ? "class numbers; with \"one_hot\": true they are vectors, for "
                                "loss categorical_crossentropy"
                              : "not class numbers");
}

absl::Status CheckSetting(const KnownMetric& known, const Setting& setting) {
  if (known.labels == Labels::kAny) return absl::OkStatus();
  const bool fits = known.labels == Labels::kEither ||
                    (known.labels == Labels::kClassNumbers) == setting.sparse();
  CAIRN_RETURN_IF_ERROR(CheckLabels(known.name, fits, setting));
  if (known.labels != Labels::kNumbers && setting.classes() < 2) {
    return Bad(absl::StrCat("metric ", known.name, " needs at least 2 classes in the output's ",
                            "last axis, which is "),
               ShapeText(setting.output_shape));
  }
  return absl::OkStatus();
}

Created CreateLossAccumulator(const Config& config, const Setting& setting) {
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<Loss> loss, LossOf(config));
  CAIRN_RETURN_IF_ERROR(
      CheckLabels(loss->name(), loss->label_type() == setting.loss.label_type(), setting));
  const bool fits =
      loss->LabelCount(setting.output_shape) == setting.loss.LabelCount(setting.output_shape);
  if (!fits) {
    return Bad(absl::StrCat("metric ", loss->name(), " wants other labels than loss "),
               setting.loss.name());
  }
  const Shape labels = loss->label_type() == proto::INT32
                           ? Shape(setting.output_shape.begin(), setting.output_shape.end() - 1)
                           : setting.output_shape;
  CAIRN_RETURN_IF_ERROR(loss->ValidateShapes(setting.output_shape, labels));
  // Keras's metric of this name is the cosine itself; the loss is its negative.
  const bool negative = loss->name() == "cosine_similarity";
  return CreateLossMean(std::move(loss), negative);
}

absl::Status InMetric(const std::string& name, const absl::Status& status) {
  if (status.message().substr(0, 7) == "metric ") return status;
  return Bad(absl::StrCat("metric ", name, ": "), std::string(status.message()));
}

// Requires a state that is a sum over examples.
Created Weighted(std::unique_ptr<MetricAccumulator> accumulator, const Config& config,
                 const Setting& setting) {
  const std::string name = FullName(config.name());
  if (name == "loss") return Bad("the loss has its weights already; leave it out");
  for (const char* of_batch : {"dice", "tversky", "circle"}) {
    if (name == of_batch) return Bad("it is about all examples of a batch, so it has no weights");
  }
  if (config.num_regressors() > 0) {
    return Bad("'num_regressors' counts examples, which have weights here; leave it out");
  }
  return CreateWeighted(std::move(accumulator), setting.loss.LabelCount(setting.output_shape));
}

Created CreateAccumulator(const Config& config, const Setting& setting) {
  const std::string asked = FullName(config.name());
  const std::string meant = IsAccuracy(asked) ? ResolveAccuracy(setting) : asked;
  const KnownMetric* known = FindMetric(meant);
  if (known == nullptr) return CreateLossAccumulator(config, setting);
  CAIRN_RETURN_IF_ERROR(CheckSetting(*known, setting));
  CAIRN_RETURN_IF_ERROR(
      CheckArguments(config, IsAccuracy(asked) ? std::vector<std::string>() : known->arguments));
  return known->create(config, setting);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Metric>> CreateMetric(const proto::Metric& config, const Loss& loss,
                                                     const Shape& output_shape, bool weighted) {
  CAIRN_ASSIGN_OR_RETURN(MetricResult result, CreateMetricResult(config));
  const Setting setting = {loss, output_shape};
  Created accumulator = CreateAccumulator(config, setting);
  if (accumulator.ok() && weighted)
    accumulator = Weighted(*std::move(accumulator), config, setting);
  if (!accumulator.ok()) return InMetric(FullName(config.name()), accumulator.status());
  return std::make_unique<Metric>(*std::move(accumulator), std::move(result));
}

absl::StatusOr<MetricResult> CreateMetricResult(const proto::Metric& config) {
  const std::string name = FullName(config.name());
  if (const KnownMetric* known = FindMetric(name)) return known->result(config);
  // Accuracies and losses are means.
  if (IsAccuracy(name) || IsLoss(name)) return MetricResult(MeanResult);
  return UnknownMetric(config.name());
}

}  // namespace cairn::nn
