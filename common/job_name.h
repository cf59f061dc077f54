#ifndef CAIRN_COMMON_JOB_NAME_H_
#define CAIRN_COMMON_JOB_NAME_H_

#include <string>

#include "absl/status/status.h"

namespace cairn {

// Whether a job may have this name. Names stand in commands, where all digits would be an id and a
// leading dash a flag, and in file names: they are at most 128 letters, digits, '_', '-' and '.',
// do not begin with one of the last two, and are no number. InvalidArgument begins with "name: ".
absl::Status CheckJobName(const std::string& name);

}  // namespace cairn

#endif  // CAIRN_COMMON_JOB_NAME_H_
