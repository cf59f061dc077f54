#ifndef CAIRN_TESTS_CLI_WORKER_SCRIPT_H_
#define CAIRN_TESTS_CLI_WORKER_SCRIPT_H_

#include <string>

namespace cairn::cli {

// A shell script that takes the place of `worker --evaluate TASK` in tests that do not need its
// results (tests/worker/offline_evaluation_test.cc tests those). The script finds the files of the
// task in $values, $result, $output and $output2.
void WriteWorkerScript(const std::string& file, const std::string& script);

}  // namespace cairn::cli

#endif  // CAIRN_TESTS_CLI_WORKER_SCRIPT_H_
