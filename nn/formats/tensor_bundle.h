#ifndef CAIRN_NN_FORMATS_TENSOR_BUNDLE_H_
#define CAIRN_NN_FORMATS_TENSOR_BUNDLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/formats/imported_model.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// TensorFlow's checkpoints, which are also the variables of a SavedModel: PREFIX.index has names,
// types and places, PREFIX.data-00000-of-00001 the values. The model file is the index.
//
// A mapping is a JSON file that gives variables of a checkpoint other names:
//   {"checkpoint": "run/ckpt-7", "variables": {"dense/kernel": "encoder/w"}}
// The checkpoint is a prefix, relative to the mapping's folder. Other variables keep their names.

bool IsTensorBundle(std::string_view file);

// The data files of the index `file_name`.
absl::StatusOr<std::vector<std::string>> TensorBundleFiles(std::string_view file,
                                                           std::string_view file_name);

// Reads the floating-point variables; there is no architecture. Variables have the names that their
// objects have ("dense/kernel"), or if these are not unique their keys. Those of optimizers are
// left out. InvalidArgument: a checksum is wrong, or a variable is stored in slices.
absl::StatusOr<ImportedModel> ReadTensorBundle(std::string_view file,
                                               absl::Span<const std::string> data);

// The files of a mapping: the index first. A checkpoint that a mapping names has one data file.
absl::StatusOr<std::vector<std::string>> MappedBundleFiles(std::string_view mapping,
                                                           std::string_view file_name);

// Reads the checkpoint of a mapping. InvalidArgument, which names it: the checkpoint does not have
// a variable of the mapping, whose name may also be its key.
absl::StatusOr<ImportedModel> ReadMappedBundle(std::string_view mapping,
                                               absl::Span<const std::string> files);

// Writes the data file and the index. Keras identifies variables by their places in a model, so the
// objects of the model are written too, and keys are NAME/.ATTRIBUTES/VARIABLE_VALUE. If the model
// has models as layers there are no objects, and keys are the names; if it has masks, only tf.keras
// finds its objects.
absl::StatusOr<std::vector<std::string>> WriteTensorBundle(const proto::ModelSpec& spec,
                                                           absl::Span<const NamedTensor> weights);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_TENSOR_BUNDLE_H_
