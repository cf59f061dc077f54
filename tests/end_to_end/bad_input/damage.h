#ifndef CAIRN_TESTS_END_TO_END_BAD_INPUT_DAMAGE_H_
#define CAIRN_TESTS_END_TO_END_BAD_INPUT_DAMAGE_H_

#include <string>

#include "tests/end_to_end/bad_input/bad_case.h"

namespace cairn::testing {

// Applies the step in `folder`. A file name may be a pattern, which stands for its first match;
// "${COORDINATOR}" in a JSON value stands for `coordinator`. Throws if the file or place does not
// exist, which is an error in the table.
void Do(const Step& step, const std::string& folder, const std::string& coordinator);

// Compresses the bytes with gzip.
std::string Packed(const std::string& bytes);

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_BAD_INPUT_DAMAGE_H_
