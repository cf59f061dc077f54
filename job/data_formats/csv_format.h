#ifndef CAIRN_JOB_DATA_FORMATS_CSV_FORMAT_H_
#define CAIRN_JOB_DATA_FORMATS_CSV_FORMAT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "job/data_formats/data_format.h"
#include "nn/signature.h"
#include "proto/job.pb.h"

namespace cairn::job {

DataFormat CsvFormat();

// True if the column's values are names that are replaced by ids.
bool IsCategorical(const proto::CsvColumn& column);

// Whether the training data say what the column does not: its names, or the mean of its numbers.
bool IsOpen(const proto::CsvColumn& column);

// The names of a categorical column in the order of their ids.
std::vector<std::string> VocabularyOf(const proto::CsvColumn& column, const proto::DataPlan& plan);

// Validates the columns of a CSV source. `path` is the source's path in the job file ("train.csv").
// INVALID_ARGUMENT starts with the field's path.
absl::Status CheckCsvColumns(const std::string& path, const proto::CsvSource& source);

// Checks that every input of the model has columns and that every column belongs to an input.
// CheckCsvColumns must have accepted the source.
absl::Status CheckCsvInputs(const std::string& path, const proto::CsvSource& source,
                            const nn::Signature& model);

// Like CheckCsvInputs, for outputs and label columns.
absl::Status CheckCsvOutputs(const std::string& path, const proto::CsvSource& source,
                             const nn::Signature& model);

}  // namespace cairn::job

#endif  // CAIRN_JOB_DATA_FORMATS_CSV_FORMAT_H_
