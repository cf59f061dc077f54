#ifndef CAIRN_WORKER_DATA_LABEL_SPEC_H_
#define CAIRN_WORKER_DATA_LABEL_SPEC_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "nn/objective.h"
#include "nn/signature.h"
#include "nn/tensor.h"
#include "proto/job.pb.h"

namespace cairn::worker {

// What the labels in a source's files must be for one of a model's outputs.
struct LabelSpec {
  // Class numbers, or the loss's own type.
  proto::DataType type = proto::FLOAT32;
  // What they may be, both ends included; infinite for losses that take any number.
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  // Above 0: the class numbers become vectors of so many elements.
  int64_t one_hot = 0;
  nn::Model::Output output;
  const nn::Loss* loss = nullptr;  // Null: labels of any shape will do.

  bool has_bounds() const { return std::isfinite(least); }
  // Who says so: "loss mean_squared_error, model output 'size' (1,)".
  std::string Taker() const;
  // The shape in which labels of this shape per example reach the loss. InvalidArgument: they do
  // not fit it.
  absl::StatusOr<nn::Shape> ShapeAtLoss(nn::Shape shape) const;
};

// Of each of the outputs. The objective, which is for the whole model, must outlive them.
std::vector<LabelSpec> LabelSpecs(const proto::DataSource& source, const nn::Signature& model,
                                  const nn::Objective& objective);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_LABEL_SPEC_H_
