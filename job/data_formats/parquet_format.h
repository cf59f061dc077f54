#ifndef CAIRN_JOB_DATA_FORMATS_PARQUET_FORMAT_H_
#define CAIRN_JOB_DATA_FORMATS_PARQUET_FORMAT_H_

#include "job/data_formats/data_format.h"

namespace cairn::job {

// Apache Parquet files.
DataFormat ParquetFormat();

}  // namespace cairn::job

#endif  // CAIRN_JOB_DATA_FORMATS_PARQUET_FORMAT_H_
