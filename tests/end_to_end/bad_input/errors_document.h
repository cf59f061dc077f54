#ifndef CAIRN_TESTS_END_TO_END_BAD_INPUT_ERRORS_DOCUMENT_H_
#define CAIRN_TESTS_END_TO_END_BAD_INPUT_ERRORS_DOCUMENT_H_

#include <map>
#include <string>
#include <vector>

#include "tests/end_to_end/bad_input/bad_case.h"

namespace cairn::testing {

// The result of a program.
struct Outcome {
  std::string says;  // Without the parts that vary between runs.
  int exit_code = -1;
};

// The section of a kind in doc/errors.md: its headline, and a row for each case and for each reason
// not to have one. `outcomes` has one element for each case of the kind, in order.
std::string ErrorsSection(const InputKind& kind, const std::vector<Outcome>& outcomes);

// The row of one case, with the newline.
std::string ErrorsRow(const BadCase& bad, const Outcome& outcome);

// The whole document. The keys of `sections` are the titles of the kinds. A kind that is not there
// has no section in the document.
std::string ErrorsDocument(const std::vector<InputKind>& kinds,
                           const std::map<std::string, std::string>& sections);

// The sections of a document, by title.
std::map<std::string, std::string> SectionsOf(const std::string& document);

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_BAD_INPUT_ERRORS_DOCUMENT_H_
