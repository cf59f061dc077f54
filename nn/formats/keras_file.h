#ifndef CAIRN_NN_FORMATS_KERAS_FILE_H_
#define CAIRN_NN_FORMATS_KERAS_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/formats/imported_model.h"

namespace cairn::nn {

// The files of Keras's model.save(): a zip file with an architecture (config.json) and an HDF5 file
// of weights.

// True if the file is a zip file, as .keras files are.
bool IsKerasFile(std::string_view file);

// Reads architecture and weights. The weights have the names of the model's variables. Optimizer,
// losses and metrics are ignored. InvalidArgument names the file in the archive and the layer: see
// ReadKerasJson, Model::Create and Hdf5File.
absl::StatusOr<ImportedModel> ReadKerasFile(std::string_view file, absl::Span<const std::string>);

// Writes a file that Keras 3 loads: the only element of the result. The statistics of Normalization
// layers become arguments. `weights` are the model's variables, in order. InvalidArgument: see
// WriteKerasConfig.
absl::StatusOr<std::vector<std::string>> WriteKerasFile(const proto::ModelSpec& spec,
                                                        absl::Span<const NamedTensor> weights);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_KERAS_FILE_H_
