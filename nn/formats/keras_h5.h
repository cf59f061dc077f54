#ifndef CAIRN_NN_FORMATS_KERAS_H5_H_
#define CAIRN_NN_FORMATS_KERAS_H5_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/formats/imported_model.h"

namespace cairn::nn {

// The .h5 files of Keras 2, which Keras 3 writes too: the architecture in an attribute, and the
// weights of each layer in a group with the layer's name.

// True if the file is an HDF5 file.
bool IsKerasH5(std::string_view file);

// Reads architecture and weights. The weights have the names of the model's variables. In a file
// that model.save_weights() wrote there is no architecture: then the spec is empty, and the weights
// have the names of the file. Optimizer, losses and metrics are ignored. InvalidArgument names the
// layer: see ReadKerasJson, Model::Create and Hdf5File.
absl::StatusOr<ImportedModel> ReadKerasH5(std::string_view file, absl::Span<const std::string>);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_KERAS_H5_H_
