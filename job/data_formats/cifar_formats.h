#ifndef CAIRN_JOB_DATA_FORMATS_CIFAR_FORMATS_H_
#define CAIRN_JOB_DATA_FORMATS_CIFAR_FORMATS_H_

#include "job/data_formats/data_format.h"

namespace cairn::job {

// CIFAR's binary formats: images for one input, class numbers for one output.
DataFormat Cifar10Format();
DataFormat Cifar100Format();

}  // namespace cairn::job

#endif  // CAIRN_JOB_DATA_FORMATS_CIFAR_FORMATS_H_
