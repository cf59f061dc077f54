#ifndef CAIRN_TESTS_FUZZ_FUZZ_TARGET_H_
#define CAIRN_TESTS_FUZZ_FUZZ_TARGET_H_

#include <string_view>

namespace cairn::fuzz {

// The function that every fuzz target (NAME_fuzz.cc) defines. It passes `input`, which is
// arbitrary, to a parser of external data, checks the invariants of an accepted input with
// CAIRN_CHECK, and returns whether the input was accepted. It is called many times in one process,
// sequentially, and must be deterministic.
bool RunInput(std::string_view input);

}  // namespace cairn::fuzz

#endif  // CAIRN_TESTS_FUZZ_FUZZ_TARGET_H_
