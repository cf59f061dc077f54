#ifndef CAIRN_NN_MODEL_UNION_H_
#define CAIRN_NN_MODEL_UNION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// One of the models of a union.
struct UnionPart {
  std::string name;
  proto::ModelSpec spec;
  // Nothing trains it: its layers become not trainable.
  bool frozen = false;
};

// Joins models that are trained together to one, which has the layers, inputs, outputs and
// variables of all of them, part after part. The name of a layer becomes PART/LAYER. Names of
// weights are not joined.
proto::ModelSpec UnionOf(const std::vector<UnionPart>& parts);

// The inverse: the model of that name. InvalidArgument: there is none, and the message lists the
// known ones, or the spec is no union.
absl::StatusOr<proto::ModelSpec> PartOf(const proto::ModelSpec& model, const std::string& name);

// The names of the parts, in order; empty if the model is no union.
std::vector<std::string> PartNames(const proto::ModelSpec& model);

}  // namespace cairn::nn

#endif  // CAIRN_NN_MODEL_UNION_H_
