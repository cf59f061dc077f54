#ifndef CAIRN_COMMON_STANDARD_FILES_H_
#define CAIRN_COMMON_STANDARD_FILES_H_

namespace cairn {

// Opens those of standard input, output and error that this process was started without ("cairn run
// job.json >&-"), so that no file opened later gets such a number, and with it what is meant for
// people. Reading finds an end, writing fails. First thing in main.
void OpenMissingStandardFiles();

}  // namespace cairn

#endif  // CAIRN_COMMON_STANDARD_FILES_H_
