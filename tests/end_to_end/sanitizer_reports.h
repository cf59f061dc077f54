#ifndef CAIRN_TESTS_END_TO_END_SANITIZER_REPORTS_H_
#define CAIRN_TESTS_END_TO_END_SANITIZER_REPORTS_H_

namespace cairn::testing {

// What a sanitizer finds in the programs that a test starts fails the test, though a cluster
// survives the death of its daemons. Called before main; true.
bool WatchSanitizerReports();

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_SANITIZER_REPORTS_H_
