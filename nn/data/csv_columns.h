#ifndef CAIRN_NN_DATA_CSV_COLUMNS_H_
#define CAIRN_NN_DATA_CSV_COLUMNS_H_

#include <string>

#include "absl/status/status.h"
#include "nn/model.h"
#include "proto/job.pb.h"

namespace cairn::nn {

// Whether ids stand for what the column holds.
bool IsCategorical(const proto::CsvColumn& column);

// Checks what a CSV source says about its columns. InvalidArgument begins with the field's path;
// `path` is the source's: "train.csv".
absl::Status CheckCsvColumns(const std::string& path, const proto::CsvSource& source);

// Whether every input of the model has columns, and every column an input. The source passed
// CheckCsvColumns.
absl::Status CheckCsvInputs(const std::string& path, const proto::CsvSource& source,
                            const Model& model);

// The same for outputs and the columns of labels.
absl::Status CheckCsvOutputs(const std::string& path, const proto::CsvSource& source,
                             const Model& model);

}  // namespace cairn::nn

#endif  // CAIRN_NN_DATA_CSV_COLUMNS_H_
