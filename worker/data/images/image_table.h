#ifndef CAIRN_WORKER_DATA_IMAGES_IMAGE_TABLE_H_
#define CAIRN_WORKER_DATA_IMAGES_IMAGE_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace cairn::worker {

// Tables with a row for each image: its path and its label, as Keras's flow_from_dataframe takes
// them.

struct TableImage {
  std::string path;   // Relative paths are resolved: they begin at the folder of the table.
  std::string label;  // Empty without labels.
};

// Which labels of a table are read.
enum class TableLabels {
  kNone,     // The column may be missing.
  kAny,      // Names or numbers.
  kClasses,  // As kAny, and a NaN stands for a missing label, as an empty text does.
};

// Whether the name is that of a CSV or Parquet file.
bool IsImageTable(const std::string& name);

// The rows of the tables, in their order. Rows with a label that is not in the source's
// class_names, if there are any, are left out. InvalidArgument names the file and the column or
// line; a label is missing. Other errors as ReadCsvBlocks and ParquetFile.
absl::StatusOr<std::vector<TableImage>> ReadImageTables(const proto::ImagesSource& source,
                                                        const std::vector<std::string>& tables,
                                                        TableLabels labels);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_IMAGES_IMAGE_TABLE_H_
