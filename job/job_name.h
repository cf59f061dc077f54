#ifndef CAIRN_JOB_JOB_NAME_H_
#define CAIRN_JOB_JOB_NAME_H_

#include <string>

#include "absl/status/status.h"

namespace cairn::job {

// Checks a job's name: 1 to 128 letters, digits, '_', '-' and '.', not beginning with '-' or '.',
// and not all digits. Names are used in commands, where digits would be read as an id and a leading
// '-' as a flag, and as file names. InvalidArgument: the message begins with "name: ".
absl::Status CheckJobName(const std::string& name);

}  // namespace cairn::job

#endif  // CAIRN_JOB_JOB_NAME_H_
