#ifndef CAIRN_TESTS_FUZZ_FUZZ_TARGET_H_
#define CAIRN_TESTS_FUZZ_FUZZ_TARGET_H_

#include <string_view>

namespace cairn::fuzz {

// What every target (NAME_fuzz.cc) defines: gives `input`, which may be anything, to one parser of
// bytes that come from outside, and checks with CAIRN_CHECK what must hold of what it accepts.
// Returns whether it was accepted. Called many times in one process, one after the other; the same
// input must do the same each time.
bool RunInput(std::string_view input);

}  // namespace cairn::fuzz

#endif  // CAIRN_TESTS_FUZZ_FUZZ_TARGET_H_
