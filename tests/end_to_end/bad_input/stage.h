#ifndef CAIRN_TESTS_END_TO_END_BAD_INPUT_STAGE_H_
#define CAIRN_TESTS_END_TO_END_BAD_INPUT_STAGE_H_

#include <string>

#include "tests/end_to_end/bad_input/bad_case.h"
#include "tests/end_to_end/bad_input/errors_document.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {

// Where bad inputs are provoked: a good project, its finished run in the state directory "state",
// and a cluster of real daemons that goes on all the time. Not thread-safe.
class Stage {
 public:
  // Gives up root's right to read every file, for this process's children: files that nobody may
  // read are one of the bad inputs.
  Stage();

  // Whether this stage has files that may not be read. Not if root has kept that right.
  bool can_forbid() const { return can_forbid_; }

  // Makes a good project bad and runs the case's command, or else the kind's, in it.
  Outcome Provoke(const InputKind& kind, const BadCase& bad);

  // Submits a good job and waits for its end; "" when it went well.
  std::string NextJob();

 private:
  Process::Options OptionsOf(const InputKind& kind, const BadCase& bad, const std::string& folder);
  // What is in the file of standard error, but for what is not the same in every run.
  std::string Neutral(const std::string& errors, const std::string& folder) const;

  TemporaryFolder folder_;
  const bool can_forbid_;
  TestCluster cluster_{1, 1};
};

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_BAD_INPUT_STAGE_H_
