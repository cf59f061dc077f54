#ifndef CAIRN_NN_FORMATS_SAFETENSORS_H_
#define CAIRN_NN_FORMATS_SAFETENSORS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/formats/imported_model.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Writes weights as a safetensors file, the only element of the result: the length of a JSON header
// as a little-endian uint64, the header, and the values. The tensors are float32, in the order of
// their names. The architecture is not part of the format.
absl::StatusOr<std::vector<std::string>> WriteSafetensors(const proto::ModelSpec& spec,
                                                          absl::Span<const NamedTensor> weights);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_SAFETENSORS_H_
