#ifndef CAIRN_COMMON_STANDARD_FILES_H_
#define CAIRN_COMMON_STANDARD_FILES_H_

namespace cairn {

// Opens /dev/null for each of standard input, output and error that is closed ("cairn run job.json
// >&-"). Otherwise a file opened later would get one of these descriptors, and messages would be
// written into it. Reads return end of file, writes fail. Call it first in main.
void OpenMissingStandardFiles();

}  // namespace cairn

#endif  // CAIRN_COMMON_STANDARD_FILES_H_
