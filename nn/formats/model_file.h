#ifndef CAIRN_NN_FORMATS_MODEL_FILE_H_
#define CAIRN_NN_FORMATS_MODEL_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/formats/imported_model.h"

namespace cairn::nn {

// The one entry for model files of any known format: a Keras architecture JSON or a TF.js layers
// model, told apart by what they contain.

// The files, relative to the model's folder, whose contents ReadModel needs too.
absl::StatusOr<std::vector<std::string>> ModelWeightFiles(std::string_view model_json);

// `file_contents` are the files of ModelWeightFiles. See keras_json.h for the dialect of the spec
// and for the errors.
absl::StatusOr<ImportedModel> ReadModel(std::string_view model_json,
                                        absl::Span<const std::string> file_contents);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_MODEL_FILE_H_
