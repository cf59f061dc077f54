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

// The TF.js layers model: a model.json with topology and weight manifest, and beside it files of
// raw float32, little endian (what tf.LayersModel.save and tensorflowjs_converter write).

// The weight files that `model_json` names, relative to its folder, in the order in which
// ReadTfjsLayersModel wants their contents. Paths that leave the folder are refused.
absl::StatusOr<std::vector<std::string>> TfjsWeightFiles(std::string_view model_json);

// `file_contents` are the files of TfjsWeightFiles. The spec is in the dialect of ReadKerasJson.
// INVALID_ARGUMENT: malformed, quantised or not float32, or sizes that do not fit each other.
absl::StatusOr<ImportedModel> ReadTfjsLayersModel(std::string_view model_json,
                                                  absl::Span<const std::string> file_contents);

struct TfjsFiles {
  std::string model_json;
  // To be stored as "weights.bin" in the same folder.
  std::string weights_bin;
};

// Writes `spec` with `weights` in the given order, under the given names. INVALID_ARGUMENT: a
// tensor's values do not fill its shape, or TF.js would compute something else than the model.
absl::StatusOr<TfjsFiles> WriteTfjsLayersModel(const proto::ModelSpec& spec,
                                               absl::Span<const NamedTensor> weights);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_TFJS_LAYERS_H_
