#ifndef CAIRN_WORKER_DATA_DATA_READER_H_
#define CAIRN_WORKER_DATA_DATA_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "nn/signature.h"
#include "proto/job.pb.h"
#include "worker/data/array.h"
#include "worker/data/files/data_storage.h"
#include "worker/data/files/file_bytes.h"
#include "worker/data/label_spec.h"

namespace cairn::worker {

// What all readers of data formats share.

// The files of a data source, with patterns expanded.
struct SourceFiles {
  // One list for each input of the model. Formats with inputs and labels in the same file (CSV,
  // CIFAR) have a single list.
  std::vector<std::vector<std::string>> features;
  // One list for each output. Empty for such formats, and if there are no labels.
  std::vector<std::vector<std::string>> labels;
  std::vector<std::string> weights;  // Of the examples; empty: each has weight 1.

  // All files: inputs, then labels, then weights.
  std::vector<std::string> All() const;
};

// The arrays of a source, in the types of the files.
struct SourceArrays {
  std::vector<Array> inputs;  // In the order of the model's inputs.
  std::vector<Array> labels;  // In the order of the model's outputs; empty if not requested.
  std::optional<Array> weights;
  // Of each row, the number of filters of the pipeline that are true before the first one that is
  // not, as int32. Where one is not, the other arrays have zeros. None: the reader has left such
  // rows out, or SelectRows finds them.
  std::optional<Array> passed;
  // That were skipped, with their places as far as they are known.
  proto::DamagedRecords damaged;
  // The reader has checked the values: whole numbers, labels, and that they are finite.
  bool checked = false;
  // For the plan, if the format's files can be opened as needed: an entry for each file.
  std::vector<proto::IndexedFile> index;
};

// The records of a source that were skipped, file by file. Not thread-safe.
class DamageList {
 public:
  // Adds those of the next file, or part of one, whose places are in it. It has so many others.
  void Add(const proto::DamagedRecords& file, int64_t sound);
  const proto::DamagedRecords& records() const { return all_; }

 private:
  proto::DamagedRecords all_;
  int64_t count_ = 0;  // Of all records so far.
};

// InvalidArgument: more records, which `what` calls, are damaged than may be skipped.
absl::Status CheckDamage(const proto::DamagedRecords& damaged, int64_t allowed,
                         const char* what = "damaged record");

// What the plan says about the files of a source.
struct PlannedFiles {
  std::vector<proto::IndexedFile> index;
  std::vector<uint64_t> fingerprints;
  // Of the files that are opened later.
  std::shared_ptr<DataStorage> storage;
};

// What a reader reads.
struct ReadRequest {
  const proto::DataSource& source;
  const SourceFiles& files;
  const proto::DataPlan& plan;  // With the results of DataReader::inspect.
  const nn::Signature& model;
  // What the labels of each output must be. If it is empty, no labels are read.
  const std::vector<LabelSpec>& label_specs;
  DataStorage* storage;
  // If it has an index, files may be opened when their rows are read. Null: files are opened now.
  const PlannedFiles* planned = nullptr;
};

// Returns the rows of a source that are for training, if it has this number of rows. `passed` is
// that of RowSelection::Create.
using IsTrainingRow = std::function<bool(int64_t row)>;
using ChooseTrainingRows =
    std::function<absl::StatusOr<IsTrainingRow>(int64_t rows, const std::vector<int32_t>& passed)>;

// The reader of a format of data files. Its rules are a job::DataFormat with the same name.
struct DataReader {
  const char* name;
  absl::StatusOr<SourceArrays> (*read)(const ReadRequest& request);
  // Lists the data files of the names in the job file, whose patterns are expanded. With
  // `needs_labels` each of them has a label. Null: the names are those of the data files.
  absl::StatusOr<std::vector<std::string>> (*list)(const proto::DataSource& source,
                                                   const std::vector<std::string>& names,
                                                   bool needs_labels) = nullptr;
  // Adds to the plan what the first of the training files, or their names, tell. Null: nothing.
  absl::Status (*inspect)(const proto::DataSource& train, const SourceFiles& files,
                          proto::DataPlan* plan) = nullptr;
  // Of a format with job::DataFormat::open_columns: what the files, some of the training files,
  // have in the open columns. `choose` is empty if all rows are for training, or if no column wants
  // to know; otherwise it is called once, unless no column wants to know.
  absl::StatusOr<proto::DataFindings> (*search)(const proto::DataSource& train,
                                                const SourceFiles& files,
                                                const ChooseTrainingRows& choose) = nullptr;
  // Of a format with job::DataFormat::is_divisible: reads some of a source's files, for `index` and
  // `damaged` of the result.
  absl::StatusOr<SourceArrays> (*survey)(const ReadRequest& request) = nullptr;
};

// The most files that are read in parallel.
inline constexpr size_t kReadersMax = 8;

// The number of threads that read this number of files.
int ReadersOf(size_t files);

// Calls read(i) for file i of `files`, several in parallel. If it throws std::bad_alloc, calls
// failed(i, ResourceExhausted).
void ForEachFile(const std::vector<std::string>& files, const std::function<void(size_t i)>& read,
                 const std::function<void(size_t i, absl::Status error)>& failed);

// Calls read(i) for i from 0 to count - 1, several in parallel, and none after that of an error.
// Returns the first error in the order of i; std::bad_alloc becomes ResourceExhausted.
absl::Status ReadInParallel(size_t count, const std::function<absl::Status(size_t i)>& read);

// The results of read(file) for each file, several in parallel.
template <typename T>
std::vector<absl::StatusOr<T>> ReadEach(
    const std::vector<std::string>& files,
    const std::function<absl::StatusOr<T>(const std::string& file)>& read) {
  std::vector<absl::StatusOr<T>> results(files.size(), absl::UnknownError("not read"));
  ForEachFile(
      files, [&](size_t i) { results[i] = read(files[i]); },
      [&](size_t i, absl::Status error) { results[i] = std::move(error); });
  return results;
}

// The values, or the first error in the order of the files.
template <typename T>
absl::StatusOr<std::vector<T>> AllOf(std::vector<absl::StatusOr<T>> results) {
  std::vector<T> values;
  for (absl::StatusOr<T>& result : results) {
    CAIRN_ASSIGN_OR_RETURN(T value, std::move(result));
    values.push_back(std::move(value));
  }
  return values;
}

template <typename T>
absl::StatusOr<std::vector<T>> ReadAll(
    const std::vector<std::string>& files,
    const std::function<absl::StatusOr<T>(const std::string& file)>& read) {
  return AllOf(ReadEach(files, read));
}

// Appends the rows of `next`. InvalidArgument: types or shapes differ.
absl::Status Join(const Array& next, Array* all);

// Reads one array from the contents of a file. The storage has room for what is not read in place.
using ReadArray = absl::StatusOr<Array> (*)(std::shared_ptr<const FileBytes> file,
                                            DataStorage* storage);

// Reads files with one array each, and joins them.
absl::StatusOr<Array> ReadArrays(const std::vector<std::string>& files, ReadArray read,
                                 DataStorage* storage);

// Reads a source whose inputs and labels are in array files.
template <ReadArray read>
absl::StatusOr<SourceArrays> ReadArrayFiles(const ReadRequest& request) {
  SourceArrays result;
  for (const std::vector<std::string>& output : request.files.labels) {
    CAIRN_ASSIGN_OR_RETURN(result.labels.emplace_back(), ReadArrays(output, read, request.storage));
  }
  for (const std::vector<std::string>& input : request.files.features) {
    CAIRN_ASSIGN_OR_RETURN(result.inputs.emplace_back(), ReadArrays(input, read, request.storage));
  }
  return result;
}

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_DATA_READER_H_
