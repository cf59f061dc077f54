#ifndef CAIRN_NN_FORMATS_EXPORT_FORMAT_H_
#define CAIRN_NN_FORMATS_EXPORT_FORMAT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/formats/imported_model.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// A format in which a trained model can be written. All formats are in one table, in
// export_format.cc.
struct ExportFormat {
  const char* name;  // For messages: "TF.js layers model".
  // Of the output's name: ".h5". Empty: that of a folder.
  const char* extension;
  // What is appended to the output's name, for each file. The last file refers to the others, so it
  // is written last. A format with one file has "".
  std::vector<const char*> files;
  // Returns the contents of the files. InvalidArgument: the format cannot express the model, or the
  // values of a tensor do not match its shape.
  absl::StatusOr<std::vector<std::string>> (*write)(const proto::ModelSpec& spec,
                                                    absl::Span<const NamedTensor> weights);

  // True if the output is a folder, in which the files are: "/model.json".
  bool is_folder() const { return *files.back() == '/'; }
};

// All formats, for messages: ".keras (Keras), ... or a folder (TF.js layers model)".
std::string ExportFormatNames();

// The format of an output with this extension, in any case; null if there is none. The empty
// extension is that of a folder.
const ExportFormat* FindExportFormat(std::string_view extension);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_EXPORT_FORMAT_H_
