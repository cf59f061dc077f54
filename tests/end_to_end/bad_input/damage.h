#ifndef CAIRN_TESTS_END_TO_END_BAD_INPUT_DAMAGE_H_
#define CAIRN_TESTS_END_TO_END_BAD_INPUT_DAMAGE_H_

#include <string>

#include "tests/end_to_end/bad_input/bad_case.h"

namespace cairn::testing {

// Does the step in `folder`. A file's name may be a pattern, which stands for the first that
// matches; "${COORDINATOR}" in a JSON value is `coordinator`. Throws if there is no such file or
// place: then the table is wrong.
void Do(const Step& step, const std::string& folder, const std::string& coordinator);

// The bytes as gzip would have them.
std::string Packed(const std::string& bytes);

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_BAD_INPUT_DAMAGE_H_
