#ifndef CAIRN_NN_FORMATS_TFJS_LAYERS_H_
#define CAIRN_NN_FORMATS_TFJS_LAYERS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/formats/imported_model.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Reads and writes TF.js layers models: a model.json with topology and weight manifest, and files
// of raw little-endian float32 (as written by tf.LayersModel.save and tensorflowjs_converter).

// The weight files that `model_json` names, relative to its folder, in the order of
// ReadTfjsLayersModel's `file_contents`. INVALID_ARGUMENT if a path leaves the folder.
absl::StatusOr<std::vector<std::string>> TfjsWeightFiles(std::string_view model_json);

// Reads a model. `file_contents` are the contents of the files of TfjsWeightFiles, in order. The
// spec has the dialect of ReadKerasJson. INVALID_ARGUMENT: the model is malformed, weights are
// not float32 (before their quantization), or sizes do not match.
absl::StatusOr<ImportedModel> ReadTfjsLayersModel(std::string_view model_json,
                                                  absl::Span<const std::string> file_contents);

// Writes a model with these weights, in this order and under these names. Returns the contents of
// weights.bin and of model.json, which must be in the same folder. INVALID_ARGUMENT: a tensor's
// values do not match its shape, or TF.js would compute a different result.
absl::StatusOr<std::vector<std::string>> WriteTfjsLayersModel(
    const proto::ModelSpec& spec, absl::Span<const NamedTensor> weights);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_TFJS_LAYERS_H_
