#include "worker/data/text/text_source.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "job/data_formats/data_features.h"
#include "job/data_formats/text_format.h"
#include "nn/text_input.h"
#include "worker/data/features/deferred_rows.h"
#include "worker/data/features/feature_encoder.h"
#include "worker/data/features/text_vectorizer.h"
#include "worker/data/files/file_folder.h"
#include "worker/data/files/file_list.h"
#include "worker/data/files/file_reader.h"
#include "worker/data/files/load_file.h"

namespace cairn::worker {
namespace {

// The largest file of one text, and the longest line.
constexpr uint64_t kTextBytesMax = uint64_t{64} << 20;
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
constexpr size_t kVocabularyBytesMax = size_t{1} << 20;
// The most files of one text that are read by one task.
constexpr size_t kFilesOfTask = 1000;

const ExampleFiles& TextFiles() {
  static const auto* const files = new ExampleFiles{{".txt"}, {}, ".txt file"};
  return *files;
}

struct Example {
  std::string_view text;
  std::optional<std::string_view> label;
  std::string place;  // For messages.
};
using OnExample = std::function<absl::Status(const Example& example)>;

// Divides a line. Without `needs_label` a line without a delimiter is a text.
absl::StatusOr<Example> ExampleOf(std::string_view line, const proto::TextSource& source,
                                  bool needs_label) {
  const std::string delimiter = source.has_delimiter() ? source.delimiter() : "\t";
  const bool is_last = source.label() == "last";
  const size_t at = is_last ? line.rfind(delimiter) : line.find(delimiter);
  Example example;
  example.text = line;
  if (at == std::string_view::npos) {
    if (!needs_label) return example;
    return absl::InvalidArgumentError(
        absl::StrCat("it has no ",
                     delimiter == "\t" ? "tab" : absl::StrCat("\"", PrintableLine(delimiter), "\""),
                     " between ", is_last ? "the text and the label" : "the label and the text",
                     "; \"delimiter\" and \"label\" say how lines are written"));
  }
  const std::string_view first = line.substr(0, at);
  const std::string_view last = line.substr(at + delimiter.size());
  example.text = is_last ? first : last;
  example.label = is_last ? last : first;
  return example;
}

absl::Status At(const std::string& place, const absl::Status& status) {
  return status.ok() ? status
                     : absl::Status(status.code(), absl::StrCat(place, ": ", status.message()));
}

absl::Status ReadLines(const std::string& path, const proto::TextSource& source, bool needs_labels,
                       const OnExample& on_example) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> file, FileReader::Open(path));
  std::string buffer;
  int64_t number = 0;
  for (bool at_end = false; !at_end;) {
    const size_t before = buffer.size();
    CAIRN_RETURN_IF_ERROR(file->Read(kPieceBytes, &buffer));
    at_end = buffer.size() - before < kPieceBytes;
    size_t begin = 0;
    while (begin < buffer.size()) {
      size_t end = buffer.find('\n', begin);
      if (end == std::string::npos) {
        if (!at_end) break;
        end = buffer.size();
      }
      std::string_view line(buffer.data() + begin, end - begin);
      begin = end + 1;
      ++number;
      if (number == 1 && line.substr(0, 3) == "\xef\xbb\xbf") line.remove_prefix(3);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      if (line.empty()) continue;
      const std::string place = absl::StrCat("data file ", path, ", line ", number);
      auto example = ExampleOf(line, source, needs_labels);
      if (!example.ok()) return At(place, example.status());
      CAIRN_RETURN_IF_ERROR(At(place, on_example(*example)));
    }
    buffer.erase(0, std::min(begin, buffer.size()));
    if (buffer.size() > kTextBytesMax) {
      return file->Malformed(
          absl::StrCat("line ", number + 1, " has more than ", kTextBytesMax >> 20, " MiB"));
    }
  }
  return absl::OkStatus();
}

// What one task reads: a file of lines, or some files of one text.
struct Task {
  std::vector<std::string> files;
};

class TextReader {
 public:
  TextReader(const proto::TextSource& source, const std::vector<std::string>& files,
             std::vector<std::string> directories, bool needs_labels)
      : source_(source), directories_(std::move(directories)), needs_labels_(needs_labels) {
    const size_t step = has_folders() ? kFilesOfTask : 1;
    for (size_t i = 0; i < files.size(); i += step) {
      const size_t end = std::min(files.size(), i + step);
      tasks_.push_back({{files.begin() + i, files.begin() + end}});
      names_.push_back(files[i]);
    }
  }

  // The result of read(task) for each task, several in parallel, in the order of the examples.
  template <typename T>
  absl::StatusOr<std::vector<T>> ForEachTask(
      const std::function<absl::StatusOr<T>(const Task& task)>& read) const {
    std::vector<absl::StatusOr<T>> results(tasks_.size(), absl::UnknownError("not read"));
    ForEachFile(
        names_, [&](size_t i) { results[i] = read(tasks_[i]); },
        [&](size_t i, absl::Status error) { results[i] = std::move(error); });
    return AllOf(std::move(results));
  }

  absl::Status Read(const Task& task, const OnExample& on_example) const {
    for (const std::string& path : task.files) {
      if (!has_folders()) {
        CAIRN_RETURN_IF_ERROR(ReadLines(path, source_, needs_labels_, on_example));
        continue;
      }
      CAIRN_ASSIGN_OR_RETURN(const int64_t bytes, FileSize(path));
      std::string scratch;
      Example example;
      std::shared_ptr<const FileBytes> file;
      // A text may be empty.
      if (bytes > 0) {
        CAIRN_ASSIGN_OR_RETURN(file, ReadWholeFile(path, kTextBytesMax));
        CAIRN_ASSIGN_OR_RETURN(const char* contents, file->Read(0, file->size(), &scratch));
        example.text = {contents, file->size()};
      }
      const std::string label = ClassOfFile(directories_, path);
      if (needs_labels_) example.label = label;
      CAIRN_RETURN_IF_ERROR(At(absl::StrCat("data file ", path), on_example(example)));
    }
    return absl::OkStatus();
  }

 private:
  bool has_folders() const { return !source_.directory().empty(); }

  const proto::TextSource& source_;
  const std::vector<std::string> directories_;
  const bool needs_labels_;
  std::vector<Task> tasks_;
  std::vector<std::string> names_;  // Of each task's first file.
};

absl::StatusOr<std::vector<std::string>> DirectoriesOf(const proto::TextSource& source) {
  if (source.directory().empty()) return std::vector<std::string>();
  return ExpandFileNames({source.directory().begin(), source.directory().end()});
}

// What some texts have.
struct TextNames {
  explicit TextNames(const proto::TextVectorization& spec) : tokens(spec) {}
  TokenCounts tokens;
  std::set<std::string> classes;
};

std::vector<std::string> SortedClasses(const std::set<std::string>& names) {
  std::vector<std::string> classes(names.begin(), names.end());
  const auto number = [](const std::string& name) {
    int64_t value = 0;
    return absl::SimpleAtoi(name, &value) ? std::optional<int64_t>(value) : std::nullopt;
  };
  const bool are_numbers = std::all_of(classes.begin(), classes.end(),
                                       [&](const auto& name) { return number(name).has_value(); });
  if (are_numbers) {
    std::stable_sort(classes.begin(), classes.end(), [&](const auto& one, const auto& other) {
      return *number(one) < *number(other);
    });
  }
  return classes;
}

}  // namespace

absl::StatusOr<SourceArrays> ReadText(const ReadRequest& request) {
  const proto::TextSource& source = request.source.text();
  const bool takes_text = nn::LookupOf(request.model, 0) != nullptr;
  const bool has_labels = !request.label_specs.empty();
  const FeatureEncoder encoder(job::TextFeatures(source, takes_text), job::TextLabels(source),
                               request.source, request.plan, request.model, request.label_specs,
                               {});
  CAIRN_RETURN_IF_ERROR(encoder.CheckShapes());
  CAIRN_ASSIGN_OR_RETURN(std::vector<std::string> directories, DirectoriesOf(source));
  const TextReader reader(source, request.files.features[0], std::move(directories), has_labels);
  using File = FeatureEncoder::File;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<File> files,
                         reader.ForEachTask<File>([&](const Task& task) -> absl::StatusOr<File> {
                           FeatureEncoder::Collector rows(&encoder, task.files[0], request.storage);
                           std::vector<FeatureValues> values(encoder.wanted().size());
                           for (FeatureValues& each : values) {
                             each.kind = FeatureValues::Kind::kBytes;
                             each.count = 1;
                           }
                           CAIRN_RETURN_IF_ERROR(reader.Read(task, [&](const Example& example) {
                             values[0].bytes = {example.text};
                             if (has_labels) values[1].bytes = {example.label.value_or("")};
                             return rows.Add(values, nullptr);
                           }));
                           return rows.Finish();
                         }));
  SourceArrays result;
  result.checked = true;
  result.inputs.resize(encoder.inputs());
  result.labels.resize(encoder.targets() - encoder.inputs());
  for (const File& file : files) {
    CAIRN_RETURN_IF_ERROR(AddRows(encoder, file.rows, file.examples, &result));
  }
  if (result.inputs[0].rows() > 0) return result;
  return absl::InvalidArgumentError(
      absl::StrCat("data file ", request.files.features[0][0], ": it has no texts"));
}

absl::StatusOr<std::vector<std::string>> ListText(const proto::DataSource& source,
                                                  const std::vector<std::string>& names,
                                                  bool needs_labels) {
  if (source.text().directory().empty()) return names;
  if (!needs_labels) return ListAllFiles(names, TextFiles());
  const auto& classes = source.text().class_names();
  return ListClassFiles(names, {classes.begin(), classes.end()}, TextFiles());
}

absl::Status InspectText(const proto::DataSource& train, const SourceFiles& files,
                         const ChooseTrainingRows& /*choose*/, proto::DataPlan* plan) {
  const proto::TextSource& source = train.text();
  CAIRN_ASSIGN_OR_RETURN(std::vector<std::string> directories, DirectoriesOf(source));
  const TextReader reader(source, files.features[0], std::move(directories),
                          /*needs_labels=*/true);
  const bool wants_tokens = source.text_vectorization().vocabulary().empty();
  using Found = std::shared_ptr<TextNames>;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Found> found,
                         reader.ForEachTask<Found>([&](const Task& task) -> absl::StatusOr<Found> {
                           auto names = std::make_shared<TextNames>(source.text_vectorization());
                           CAIRN_RETURN_IF_ERROR(reader.Read(task, [&](const Example& example) {
                             if (wants_tokens) names->tokens.AddText(example.text);
                             names->classes.emplace(*example.label);
                             return absl::OkStatus();
                           }));
                           return names;
                         }));
  std::set<std::string> classes;
  TokenCounts tokens(source.text_vectorization());
  for (const Found& names : found) {
    classes.insert(names->classes.begin(), names->classes.end());
    tokens.Add(names->tokens);
  }
  size_t bytes = 0;
  const auto add = [&](const char* column, const std::vector<std::string>& names) {
    proto::DataPlan::Vocabulary& vocabulary = *plan->add_vocabularies();
    vocabulary.set_column(column);
    for (const std::string& name : names) {
      vocabulary.add_names(name);
      bytes += name.size() + 4;
    }
  };
  if (source.class_names().empty()) add(job::kTextLabel, SortedClasses(classes));
  if (bytes > kVocabularyBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("the texts have ", classes.size(),
                     " different labels; is \"label\" or \"delimiter\" "
                     "another one?"));
  }
  if (!wants_tokens) return absl::OkStatus();
  add(job::kTextFeature, tokens.Vocabulary(job::VocabularyMost(source.text_vectorization())));
  if (bytes <= kVocabularyBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the vocabulary of the texts is larger than ",
                                                 kVocabularyBytesMax >> 10,
                                                 " KiB; set \"max_tokens\""));
}

}  // namespace cairn::worker
