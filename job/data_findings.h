#ifndef CAIRN_JOB_DATA_FINDINGS_H_
#define CAIRN_JOB_DATA_FINDINGS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "job/data_formats/data_format.h"
#include "job/exact_sum.h"
#include "proto/job.pb.h"

namespace cairn::job {

// The most bytes of all vocabularies in a plan. Larger ones should be ids in the files.
inline constexpr size_t kVocabularyBytesMax = size_t{1} << 20;

// About the size of a name in protobuf.
inline size_t NameBytes(std::string_view name) { return name.size() + 4; }

// InvalidArgument: the vocabulary of the column is too large; `names`: of how many it is known.
absl::Status TooManyNames(const OpenColumn& column, size_t names);

// The names of classes in the order of their numbers: of their values if all are whole numbers,
// otherwise of their bytes.
std::vector<std::string> SortedClasses(const std::set<std::string>& names);

// Whether the numbers of the training rows must be known before their columns can be searched.
bool SearchesTrainingRows(const proto::Job& job);

// Puts together what is found in parts of the training files for the columns that the source leaves
// open. The result depends neither on the parts nor on their order. Not thread-safe.
class DataFindings {
 public:
  explicit DataFindings(const proto::DataSource& train);

  // InvalidArgument: it is not about the columns of the source.
  absl::Status Add(const proto::DataFindings& part);
  // About the memory of names and tokens.
  size_t bytes() const { return bytes_; }

  // Adds the vocabularies and fills to the plan. InvalidArgument: the vocabularies are too large,
  // or there is no number to make a mean of.
  absl::Status Report(proto::DataPlan* plan) const;

 private:
  struct Found {
    std::set<std::string> names;
    std::unordered_map<std::string, int64_t> tokens;
    ExactSum sum;
    int64_t count = 0;
    bool is_bad = false;
  };

  static std::vector<std::string> VocabularyOf(const OpenColumn& column, const Found& found);

  std::vector<OpenColumn> columns_;
  std::vector<Found> found_;  // By column.
  size_t bytes_ = 0;
};

}  // namespace cairn::job

#endif  // CAIRN_JOB_DATA_FINDINGS_H_
