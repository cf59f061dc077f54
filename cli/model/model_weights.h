#ifndef CAIRN_CLI_MODEL_MODEL_WEIGHTS_H_
#define CAIRN_CLI_MODEL_MODEL_WEIGHTS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/formats/imported_model.h"

namespace cairn::cli {

// Reads a model file (nn/formats/model_file.h) and its weight files. `file` may also be the folder
// of a TF.js model or of a SavedModel. Errors start with the name of the wrong file.
absl::StatusOr<nn::ImportedModel> ReadImportedModel(const std::string& file);

// Prefixes "model FILE: " to an error that does not name the file.
absl::Status AtModelFile(const std::string& file, const absl::Status& status);

// True if the name `in_file` of a weight in a file refers to the model's variable. Keras adds a
// prefix with the model's name and the name of a recurrent layer's cell; TensorFlow adds the suffix
// ":0".
bool IsWeightOf(std::string_view variable, std::string_view in_file);

// InvalidArgument, which names the weight and the element: a value is not finite.
absl::Status ExpectNumbers(const nn::NamedTensor& tensor);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_MODEL_WEIGHTS_H_
