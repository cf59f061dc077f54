#ifndef CAIRN_TESTS_CLI_WORKER_SCRIPT_H_
#define CAIRN_TESTS_CLI_WORKER_SCRIPT_H_

#include <string>

namespace cairn::cli {

// A shell script in the place of `worker --evaluate TASK`, where what the real one computes is not
// the question (tests/worker/offline_evaluation_test.cc). It finds the task's files by the names
// $values, $result, $output and $output2.
void WriteWorkerScript(const std::string& file, const std::string& script);

}  // namespace cairn::cli

#endif  // CAIRN_TESTS_CLI_WORKER_SCRIPT_H_
