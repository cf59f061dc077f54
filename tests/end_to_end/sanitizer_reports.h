#ifndef CAIRN_TESTS_END_TO_END_SANITIZER_REPORTS_H_
#define CAIRN_TESTS_END_TO_END_SANITIZER_REPORTS_H_

namespace cairn::testing {

// Makes a sanitizer report of any program that the test starts fail the test. Without it the
// cluster would recover from the failed daemon, and the test would pass. Called before main;
// returns true.
bool WatchSanitizerReports();

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_SANITIZER_REPORTS_H_
