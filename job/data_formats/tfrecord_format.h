#ifndef CAIRN_JOB_DATA_FORMATS_TFRECORD_FORMAT_H_
#define CAIRN_JOB_DATA_FORMATS_TFRECORD_FORMAT_H_

#include "job/data_formats/data_format.h"

namespace cairn::job {

// TFRecord files of tf.train.Example.
DataFormat TfrecordFormat();

}  // namespace cairn::job

#endif  // CAIRN_JOB_DATA_FORMATS_TFRECORD_FORMAT_H_
