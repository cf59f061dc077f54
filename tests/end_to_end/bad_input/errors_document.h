#ifndef CAIRN_TESTS_END_TO_END_BAD_INPUT_ERRORS_DOCUMENT_H_
#define CAIRN_TESTS_END_TO_END_BAD_INPUT_ERRORS_DOCUMENT_H_

#include <map>
#include <string>
#include <vector>

#include "tests/end_to_end/bad_input/bad_case.h"

namespace cairn::testing {

// How a program ended.
struct Outcome {
  std::string says;  // In words that are the same in every run.
  int exit_code = -1;
};

// The kind's section of doc/errors.md: its headline, and a row for each case and each reason to
// have none. `outcomes` are those of the kind's cases, in their order.
std::string ErrorsSection(const InputKind& kind, const std::vector<Outcome>& outcomes);

// The row of one case, with its line's end.
std::string ErrorsRow(const BadCase& bad, const Outcome& outcome);

// The whole document. `sections` are called by their kinds' titles; a kind without one has none in
// the document.
std::string ErrorsDocument(const std::vector<InputKind>& kinds,
                           const std::map<std::string, std::string>& sections);

// The sections of a document by their titles.
std::map<std::string, std::string> SectionsOf(const std::string& document);

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_BAD_INPUT_ERRORS_DOCUMENT_H_
