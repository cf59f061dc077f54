#ifndef CAIRN_TESTS_END_TO_END_BAD_INPUT_STAGE_H_
#define CAIRN_TESTS_END_TO_END_BAD_INPUT_STAGE_H_

#include <string>

#include "tests/end_to_end/bad_input/bad_case.h"
#include "tests/end_to_end/bad_input/errors_document.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {

// The fixture for bad inputs: a valid project, its finished run in the state directory "state", and
// a cluster of real daemons that runs throughout the test. Not thread-safe.
class Stage {
 public:
  // Drops root's capability to read every file, for the children of this process: unreadable files
  // are one of the bad inputs.
  Stage();

  // Whether this stage can have unreadable files. False if root has kept that capability.
  bool can_forbid() const { return can_forbid_; }

  // Damages a valid project and runs the command of the case, or else of the kind, in it.
  Outcome Provoke(const InputKind& kind, const BadCase& bad);

  // Submits a valid job and waits for its end. Returns "" on success.
  std::string NextJob();

 private:
  Process::Options OptionsOf(const InputKind& kind, const BadCase& bad, const std::string& folder);
  // The contents of the file of standard error, without the parts that vary between runs.
  std::string Neutral(const std::string& errors, const std::string& folder) const;

  TemporaryFolder folder_;
  const bool can_forbid_;
  TestCluster cluster_{1, 1};
};

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_BAD_INPUT_STAGE_H_
