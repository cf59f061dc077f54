#ifndef CAIRN_CLI_MODEL_MODEL_WEIGHTS_H_
#define CAIRN_CLI_MODEL_MODEL_WEIGHTS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/formats/imported_model.h"

namespace cairn::cli {

// A model file (nn/formats/model_file.h) with the weight files beside it. Errors begin with the
// file that is wrong.
absl::StatusOr<nn::ImportedModel> ReadImportedModel(const std::string& file);

// "model FILE: " before an error that does not name the file yet.
absl::Status AtModelFile(const std::string& file, const absl::Status& status);

// Whether a weight that a file calls `in_file` is the model's variable of that name: Keras puts
// models' names before it and a recurrent layer's cell into it, TensorFlow ":0" behind it.
bool IsWeightOf(std::string_view variable, std::string_view in_file);

// InvalidArgument names the weight and the element that is no finite number.
absl::Status ExpectNumbers(const nn::NamedTensor& tensor);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_MODEL_WEIGHTS_H_
