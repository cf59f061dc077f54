// Makes every bad input of the tables and passes it to the real programs. Each must be rejected
// with its message and exit code in doc/errors.md, the messages must differ, and the cluster must
// complete the next job.
//
// With CAIRN_ACCEPT=FILE the test compares nothing and writes the document to FILE (accept.sh).

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/end_to_end/bad_input/bad_case.h"
#include "tests/end_to_end/bad_input/errors_document.h"
#include "tests/end_to_end/bad_input/stage.h"
#include "tests/end_to_end/bad_input/tables.h"
#include "tests/end_to_end/process.h"

namespace cairn::testing {
namespace {

constexpr char kDocument[] = "doc/errors.md";

bool Forbids(const BadCase& bad) {
  return std::any_of(bad.steps.begin(), bad.steps.end(),
                     [](const Step& step) { return step.kind == Step::Kind::kForbid; });
}

// The section without the rows that root may not be able to provoke.
std::string WithoutUnreadable(const std::string& section) {
  std::string text;
  std::istringstream lines(section);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| " + std::string(kUnreadable) + " |", 0) != 0) text += line + "\n";
  }
  return text;
}

// Converts a title to a test name of gtest.
std::string CamelCase(std::string_view title) {
  std::string name;
  bool is_first = true;
  for (const char c : title) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += is_first ? static_cast<char>(std::toupper(c)) : c;
    }
    is_first = c == ' ';
  }
  return name;
}

// Whether the bad input became a job of the cluster, and was not rejected before.
bool ReachedCluster(const Outcome& outcome) {
  return outcome.says.find("was rejected") != std::string::npos;
}

class BadInputTest : public ::testing::TestWithParam<InputKind> {
 protected:
  static void SetUpTestSuite() { stage_ = std::make_unique<Stage>(); }
  static void TearDownTestSuite() { stage_.reset(); }

  // Provokes the case. No two cases of any kinds may have the same message.
  static Outcome Provoke(const BadCase& bad) {
    SCOPED_TRACE(std::string(bad.what));
    if (Forbids(bad) && !stage_->can_forbid()) return {};
    const Outcome outcome = stage_->Provoke(GetParam(), bad);
    EXPECT_NE(outcome.says, "");
    const std::string place = std::string(GetParam().title) + ": " + std::string(bad.what);
    const auto [known, is_new] = said_.emplace(outcome.says, place);
    EXPECT_TRUE(is_new) << place << " and " << known->second << " say: " << outcome.says;
    return outcome;
  }

  static void Compare(const std::string& section, const std::string& golden) {
    const char* const how = "if it is meant: tests/end_to_end/bad_input/accept.sh";
    if (stage_->can_forbid()) {
      EXPECT_EQ(section, golden) << how;
    } else {
      EXPECT_EQ(WithoutUnreadable(section), WithoutUnreadable(golden)) << how;
    }
  }

  static std::unique_ptr<Stage> stage_;
  static std::map<std::string, std::string> said_;  // By message, the case that had it.
};

std::unique_ptr<Stage> BadInputTest::stage_;
std::map<std::string, std::string> BadInputTest::said_;

TEST_P(BadInputTest, IsRefusedWithItsMessageAndTheNextJobIsServed) {
  const InputKind& kind = GetParam();
  const std::string title(kind.title);
  std::vector<Outcome> outcomes;
  for (const BadCase& bad : kind.cases) {
    outcomes.push_back(Provoke(bad));
    if (ReachedCluster(outcomes.back())) {
      EXPECT_EQ(stage_->NextJob(), "") << bad.what;
    }
  }
  EXPECT_EQ(stage_->NextJob(), "");
  const std::string section = ErrorsSection(kind, outcomes);
  const char* const accept = std::getenv("CAIRN_ACCEPT");
  auto sections = SectionsOf(ReadFile(accept != nullptr ? accept : kDocument));
  if (accept == nullptr) return Compare(section, sections[title]);
  sections[title] = section;
  WriteFile(accept, ErrorsDocument(AllInputKinds(), sections));
}

INSTANTIATE_TEST_SUITE_P(, BadInputTest, ::testing::ValuesIn(AllInputKinds()),
                         [](const auto& info) { return CamelCase(info.param.title); });

TEST(BadInputTablesTest, EveryBadnessOfEveryKindHasACaseOrAReasonToHaveNone) {
  const std::set<std::string_view> all(kBadness.begin(), kBadness.end());
  for (const InputKind& kind : AllInputKinds()) {
    std::set<std::string_view> found;
    for (const BadCase& bad : kind.cases) found.insert(bad.badness);
    for (const Impossible& none : kind.impossible) {
      EXPECT_TRUE(found.insert(none.badness).second) << kind.title << ": " << none.badness;
    }
    EXPECT_EQ(found, all) << kind.title;
  }
}

TEST(BadInputTablesTest, TheDocumentHasNothingElse) {
  if (std::getenv("CAIRN_ACCEPT") != nullptr) GTEST_SKIP() << "it is being written";
  const std::string document = ReadFile(kDocument);
  EXPECT_EQ(document, ErrorsDocument(AllInputKinds(), SectionsOf(document)));
}

}  // namespace
}  // namespace cairn::testing
