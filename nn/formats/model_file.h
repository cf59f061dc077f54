#ifndef CAIRN_NN_FORMATS_MODEL_FILE_H_
#define CAIRN_NN_FORMATS_MODEL_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/formats/imported_model.h"

namespace cairn::nn {

// The entry point for model files of all formats: Keras's .keras and .h5 files, a Keras
// architecture JSON, a TF.js layers model, an ONNX file, or a TensorFlow checkpoint. The format is
// detected from the contents. All formats are in one table, in model_file.cc.

// The weight files, relative to the model's folder, whose contents ReadModel needs. `file_name` is
// the file's name in its folder; weight files of a TensorFlow checkpoint are named after it.
absl::StatusOr<std::vector<std::string>> ModelWeightFiles(std::string_view file,
                                                          std::string_view file_name);

// True if the name has an extension of such files: "model.onnx".
bool HasModelExtension(std::string_view file_name);

// Reads a model. `file_contents` are the contents of the files of ModelWeightFiles, in order. See
// keras_json.h for the dialect of the spec and for errors.
absl::StatusOr<ImportedModel> ReadModel(std::string_view file,
                                        absl::Span<const std::string> file_contents);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_MODEL_FILE_H_
