#ifndef CAIRN_JOB_DATA_FORMATS_NPZ_FORMAT_H_
#define CAIRN_JOB_DATA_FORMATS_NPZ_FORMAT_H_

#include "job/data_formats/data_format.h"

namespace cairn::job {

// NumPy's .npz: files with several named arrays.
DataFormat NpzFormat();

}  // namespace cairn::job

#endif  // CAIRN_JOB_DATA_FORMATS_NPZ_FORMAT_H_
