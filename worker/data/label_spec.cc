#include "worker/data/label_spec.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "job/data_source.h"

namespace cairn::worker {
namespace {

LabelSpec SpecOf(const proto::DataSource& source, const nn::Model::Output& output,
                 const nn::Loss& loss) {
  LabelSpec spec;
  spec.output = output;
  spec.loss = &loss;
  const bool one_hot = job::IsOneHot(source, output.name);
  spec.type = one_hot ? proto::INT32 : loss.label_type();
  if (one_hot && !output.shape.empty()) spec.one_hot = output.shape.back();
  if (loss.name() == "circle") return spec;  // Its classes are not those of the output.
  if (spec.type == proto::INT32) {
    spec.least = 0;
    spec.most = output.shape.empty() ? 0.0 : static_cast<double>(output.shape.back() - 1);
  } else if (loss.name() == "binary_crossentropy" || loss.name() == "categorical_crossentropy") {
    spec.least = 0;
    spec.most = 1;
  }
  return spec;
}

}  // namespace

std::string LabelSpec::Taker() const {
  return absl::StrCat("loss ", loss == nullptr ? "" : loss->name(), ", model output '", output.name,
                      "' ", nn::ShapeText(output.shape));
}

absl::StatusOr<nn::Shape> LabelSpec::ShapeAtLoss(nn::Shape shape) const {
  if (loss == nullptr) return shape;
  if (one_hot > 0) {
    if (loss->label_type() == proto::INT32) {
      return absl::InvalidArgumentError(absl::StrCat(
          "loss ", loss->name(), " takes class numbers, not vectors: leave out \"one_hot\""));
    }
    if (!shape.empty() && shape.back() == 1) shape.pop_back();
    shape.push_back(one_hot);
  }
  CAIRN_RETURN_IF_ERROR(loss->ValidateShapes(output.shape, shape));
  return shape;
}

std::vector<LabelSpec> LabelSpecs(const proto::DataSource& source, const nn::Signature& model,
                                  const nn::Objective& objective) {
  std::vector<LabelSpec> specs;
  // Objectives of several models may need no labels.
  if (objective.losses().empty()) return specs;
  for (size_t i = 0; i < model.outputs().size(); ++i) {
    const nn::Loss& loss = *objective.losses()[model.PlaceInModel(i)].loss;
    specs.push_back(SpecOf(source, model.outputs()[i], loss));
  }
  return specs;
}

}  // namespace cairn::worker
