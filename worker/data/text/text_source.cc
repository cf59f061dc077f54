#include "worker/data/text/text_source.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "job/data_findings.h"
#include "job/data_formats/data_features.h"
#include "job/data_formats/text_format.h"
#include "job/data_source.h"
#include "nn/signature.h"
#include "worker/data/encoded_rows.h"
#include "worker/data/features/feature_encoder.h"
#include "worker/data/features/text_vectorizer.h"
#include "worker/data/files/file_folder.h"
#include "worker/data/files/file_list.h"
#include "worker/data/files/file_reader.h"
#include "worker/data/files/load_file.h"
#include "worker/data/label_spec.h"
#include "worker/data/row_condition.h"

namespace cairn::worker {
namespace {

// The largest file of one text, and the longest line.
constexpr uint64_t kTextBytesMax = uint64_t{64} << 20;
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
// The most files of one text that are read by one task.
constexpr size_t kFilesOfTask = 100;

const ExampleFiles& TextFiles() {
  static const auto* const files = new ExampleFiles{{".txt"}, {}, ".txt file"};
  return *files;
}

struct Example {
  std::string_view text;
  std::optional<std::string_view> label;
  std::string place;  // For messages.
  int passed = 0;     // As RowCondition::Passed.
};
using OnExample = std::function<absl::Status(const Example& example)>;
// Returns whether the example is counted: it is not if a filter leaves it out before.
using OnText = std::function<absl::StatusOr<bool>(Example example)>;

using Classes = std::set<std::string, std::less<>>;

// Which lines have a label.
struct LabelRule {
  bool is_needed = true;  // All.
  // Otherwise those that have a delimiter and one of these labels. Empty: any label.
  Classes classes;

  bool IsLabel(std::string_view text) const {
    return is_needed || classes.empty() || classes.find(text) != classes.end();
  }
};

// Divides a line. One without a label is a text, also if it has a delimiter.
absl::StatusOr<Example> ExampleOf(std::string_view line, const proto::TextSource& source,
                                  const LabelRule& rule) {
  const std::string delimiter = source.has_delimiter() ? source.delimiter() : "\t";
  const bool is_last = source.label() == "last";
  const size_t at = is_last ? line.rfind(delimiter) : line.find(delimiter);
  Example example;
  example.text = line;
  if (at == std::string_view::npos) {
    if (!rule.is_needed) return example;
    return absl::InvalidArgumentError(
        absl::StrCat("it has no ",
                     delimiter == "\t" ? "tab" : absl::StrCat("\"", PrintableLine(delimiter), "\""),
                     " between ", is_last ? "the text and the label" : "the label and the text",
                     "; \"delimiter\" and \"label\" say how lines are written"));
  }
  const std::string_view first = line.substr(0, at);
  const std::string_view last = line.substr(at + delimiter.size());
  if (!rule.IsLabel(is_last ? last : first)) return example;
  example.text = is_last ? first : last;
  example.label = is_last ? last : first;
  return example;
}

absl::Status At(const std::string& place, const absl::Status& status) {
  return status.ok() ? status
                     : absl::Status(status.code(), absl::StrCat(place, ": ", status.message()));
}

// The texts that are skipped because they cannot be read.
class Damage {
 public:
  // Without `skips`, the first one is an error.
  explicit Damage(bool skips) : skips_(skips) {}

  void CountSound() { ++sound_; }
  int64_t sound() const { return sound_; }
  bool skips() const { return skips_; }
  const proto::DamagedRecords& records() const { return records_; }

  // Counts a text with this error. Other errors than InvalidArgument are of the disk.
  absl::Status Take(absl::Status error) {
    if (!skips_ || !absl::IsInvalidArgument(error)) return error;
    if (records_.count() == 0) records_.set_first_error(std::string(error.message()));
    records_.add_places(sound_ + records_.count());
    records_.set_count(records_.count() + 1);
    return absl::OkStatus();
  }

 private:
  const bool skips_;
  int64_t sound_ = 0;
  proto::DamagedRecords records_;
};

// Texts may have any bytes, unless damaged ones are skipped.
absl::Status CheckText(std::string_view text, const Damage& damage) {
  if (!damage.skips() || IsUtf8(text)) return absl::OkStatus();
  return absl::InvalidArgumentError("it is not UTF-8");
}

absl::StatusOr<bool> TakeLine(std::string_view line, const proto::TextSource& source,
                              const LabelRule& rule, const Damage& damage, const OnText& on_text) {
  CAIRN_RETURN_IF_ERROR(CheckText(line, damage));
  CAIRN_ASSIGN_OR_RETURN(Example example, ExampleOf(line, source, rule));
  return on_text(std::move(example));
}

absl::Status ReadLines(const std::string& path, const proto::TextSource& source,
                       const LabelRule& rule, const OnText& on_text, Damage* damage) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> file, FileReader::Open(path));
  std::string buffer;
  int64_t number = 0;
  bool is_too_long = false;  // The line whose end is looked for.
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
      if (std::exchange(is_too_long, false)) continue;
      if (number == 1 && line.substr(0, 3) == "\xef\xbb\xbf") line.remove_prefix(3);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      if (line.empty()) continue;
      const std::string place = absl::StrCat("data file ", path, ", line ", number);
      const absl::StatusOr<bool> is_counted = TakeLine(line, source, rule, *damage, on_text);
      if (!is_counted.ok()) {
        CAIRN_RETURN_IF_ERROR(damage->Take(At(place, is_counted.status())));
      } else if (*is_counted) {
        damage->CountSound();
      }
    }
    buffer.erase(0, std::min(begin, buffer.size()));
    if (is_too_long) buffer.clear();
    if (buffer.size() > kTextBytesMax) {
      CAIRN_RETURN_IF_ERROR(damage->Take(file->Malformed(
          absl::StrCat("line ", number + 1, " has more than ", kTextBytesMax >> 20, " MiB"))));
      is_too_long = true;
      buffer.clear();
    }
  }
  return absl::OkStatus();
}

// What one task reads: a file of lines, or some files of one text.
struct Task {
  std::vector<std::string> files;
  size_t first = 0;  // The number of the first one.
};

class TextReader {
 public:
  TextReader(proto::TextSource source, const std::vector<std::string>& files,
             std::vector<std::string> directories, LabelRule rule, bool skips_damaged,
             std::shared_ptr<const RowCondition> condition)
      : source_(std::move(source)),
        directories_(std::move(directories)),
        rule_(std::move(rule)),
        condition_(std::move(condition)),
        skips_damaged_(skips_damaged) {
    const size_t step = has_folders() ? kFilesOfTask : 1;
    for (size_t i = 0; i < files.size(); i += step) {
      const size_t end = std::min(files.size(), i + step);
      tasks_.push_back({{files.begin() + i, files.begin() + end}, i});
      names_.push_back(files[i]);
    }
  }

  // The result of read(task) for each task, several in parallel, in the order of the examples.
  template <typename T>
  absl::StatusOr<std::vector<T>> ForEachTask(
      const std::function<absl::StatusOr<T>(const Task& task)>& read) const {
    return ForEachTaskWithIndex<T>([&read](size_t, const Task& task) { return read(task); });
  }
  template <typename T>
  absl::StatusOr<std::vector<T>> ForEachTaskWithIndex(
      const std::function<absl::StatusOr<T>(size_t index, const Task& task)>& read) const {
    std::vector<absl::StatusOr<T>> results(tasks_.size(), absl::UnknownError("not read"));
    ForEachFile(
        names_, [&](size_t i) { results[i] = read(i, tasks_[i]); },
        [&](size_t i, absl::Status error) { results[i] = std::move(error); });
    return AllOf(std::move(results));
  }

  const std::vector<Task>& tasks() const { return tasks_; }

  // Whether all filters are true for the example.
  bool Keeps(const Example& example) const {
    return condition_ == nullptr || example.passed == condition_->filters();
  }
  bool needs_all_rows() const { return condition_ != nullptr && condition_->needs_all_rows(); }

  // Of each counted example of each task, the filters that are true.
  absl::StatusOr<std::vector<std::vector<int32_t>>> Count() const {
    using Passed = std::vector<int32_t>;
    return ForEachTask<Passed>([this](const Task& task) -> absl::StatusOr<Passed> {
      if (has_folders() && condition_ == nullptr) return Passed(task.files.size());
      Passed examples;
      const auto count = [&](const Example& example) {
        if (IsCounted(example)) examples.push_back(example.passed);
        return absl::OkStatus();
      };
      CAIRN_RETURN_IF_ERROR(Read(task, count).status());
      return examples;
    });
  }

  // Returns the texts that were skipped, and adds the number of counted ones of each file to
  // `counted`, unless it is null. Calls `on_example` also for those that filters leave out.
  absl::StatusOr<proto::DamagedRecords> Read(const Task& task, const OnExample& on_example,
                                             std::vector<int64_t>* counted = nullptr) const {
    Damage damage(skips_damaged_);
    const auto on_text = [&](Example example) -> absl::StatusOr<bool> {
      if (condition_ != nullptr) {
        CAIRN_ASSIGN_OR_RETURN(example.passed, Passed(example));
      }
      CAIRN_RETURN_IF_ERROR(on_example(example));
      return IsCounted(example);
    };
    for (const std::string& path : task.files) {
      const int64_t before = damage.sound();
      if (has_folders()) {
        const absl::StatusOr<bool> is_counted = ReadTextFile(path, damage, on_text);
        if (!is_counted.ok()) {
          CAIRN_RETURN_IF_ERROR(damage.Take(is_counted.status()));
        } else if (*is_counted) {
          damage.CountSound();
        }
      } else {
        CAIRN_RETURN_IF_ERROR(ReadLines(path, source_, rule_, on_text, &damage));
      }
      if (counted != nullptr) counted->push_back(damage.sound() - before);
    }
    return damage.records();
  }

 private:
  bool has_folders() const { return !source_.directory().empty(); }

  bool IsCounted(const Example& example) const { return needs_all_rows() || Keeps(example); }

  absl::StatusOr<int> Passed(const Example& example) const {
    using Value = RowCondition::Value;
    std::vector<Value> values;
    for (const std::string& column : condition_->columns()) {
      Value& value = values.emplace_back();
      if (column == "text") {
        value = {.kind = Value::Kind::kText, .text = example.text};
      } else if (example.label) {
        value = {.kind = Value::Kind::kField, .text = *example.label};
      }
    }
    return condition_->Passed(values);
  }

  absl::StatusOr<bool> ReadTextFile(const std::string& path, const Damage& damage,
                                    const OnText& on_text) const {
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
    if (rule_.is_needed) example.label = label;
    const std::string place = absl::StrCat("data file ", path);
    CAIRN_RETURN_IF_ERROR(At(place, CheckText(example.text, damage)));
    const absl::StatusOr<bool> is_counted = on_text(std::move(example));
    if (is_counted.ok()) return is_counted;
    return At(place, is_counted.status());
  }

  const proto::TextSource source_;
  const std::vector<std::string> directories_;
  const LabelRule rule_;
  const std::shared_ptr<const RowCondition> condition_;  // Null: there are no filters.
  const bool skips_damaged_;
  std::vector<Task> tasks_;
  std::vector<std::string> names_;  // Of each task's first file.
};

absl::StatusOr<std::vector<std::string>> DirectoriesOf(const proto::TextSource& source) {
  if (source.directory().empty()) return std::vector<std::string>();
  return ExpandFileNames({source.directory().begin(), source.directory().end()});
}

// The classes and tokens of all texts. Tasks add what they find, so that an inspection ends as soon
// as there is too much of it. Thread-safe.
class TextSurvey {
 public:
  explicit TextSurvey(const proto::DataSource& train)
      : source_(train.text()),
        columns_(job::OpenColumns(train)),
        tokens_(source_.text_vectorization()) {}

  bool wants_classes() const { return source_.class_names().empty(); }
  bool wants_tokens() const { return source_.text_vectorization().vocabulary().empty(); }

  absl::Status AddClass(const std::string& name) {
    MutexLock lock(&mutex_);
    if (classes_.insert(name).second) class_bytes_ += job::NameBytes(name);
    return CheckClasses();
  }

  // InvalidArgument: the tokens of some texts alone are too large.
  absl::Status CheckTokens(const TokenCounts& tokens) const {
    const bool is_cut = source_.text_vectorization().has_max_tokens();
    return is_cut || tokens.bytes() <= job::kVocabularyBytesMax
               ? absl::OkStatus()
               : job::TooManyNames(columns_.back(), tokens.size());
  }

  absl::Status AddTokens(const TokenCounts& tokens) {
    MutexLock lock(&mutex_);
    CAIRN_RETURN_IF_ERROR(CheckTokens(tokens_));
    tokens_.Add(tokens);
    return CheckTokens(tokens_);
  }

  proto::DataFindings Found() {
    MutexLock lock(&mutex_);
    proto::DataFindings found;
    if (wants_classes()) {
      found.add_columns()->mutable_names()->Assign(classes_.begin(), classes_.end());
    }
    if (wants_tokens()) tokens_.AddTo(found.add_columns());
    return found;
  }

 private:
  absl::Status CheckClasses() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (class_bytes_ <= job::kVocabularyBytesMax) return absl::OkStatus();
    return job::TooManyNames(columns_.front(), classes_.size());
  }

  const proto::TextSource& source_;
  const std::vector<job::OpenColumn> columns_;
  Mutex mutex_;
  std::set<std::string> classes_ ABSL_GUARDED_BY(mutex_);
  size_t class_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  TokenCounts tokens_ ABSL_GUARDED_BY(mutex_);
};

// Adds the classes of a task's examples and the tokens of those that are for training. `first` is
// the number of its first example.
absl::Status AddTask(const TextReader& reader, const Task& task, int64_t first,
                     const IsTrainingRow& is_training, const proto::TextVectorization& spec,
                     TextSurvey* survey) {
  TokenCounts tokens(spec);
  Classes classes;  // That the survey has.
  int64_t row = first;
  const auto add = [&](const Example& example) -> absl::Status {
    if (survey->wants_classes() && classes.find(*example.label) == classes.end()) {
      CAIRN_RETURN_IF_ERROR(survey->AddClass(*classes.emplace(*example.label).first));
    }
    if (!reader.Keeps(example)) {
      if (reader.needs_all_rows()) ++row;
      return absl::OkStatus();
    }
    if (!is_training(row++) || !survey->wants_tokens()) return absl::OkStatus();
    tokens.AddText(example.text);
    return survey->CheckTokens(tokens);
  };
  CAIRN_RETURN_IF_ERROR(reader.Read(task, add).status());
  return survey->AddTokens(tokens);
}

// The reader of a source, and the encoder of its texts. Thread-safe.
class TextTable {
 public:
  static absl::StatusOr<std::shared_ptr<const TextTable>> Create(const ReadRequest& request) {
    const proto::TextSource& source = request.source.text();
    const bool has_labels = !request.label_specs.empty();
    CAIRN_ASSIGN_OR_RETURN(std::vector<std::string> directories, DirectoriesOf(source));
    LabelRule rule{has_labels, {}};
    if (!has_labels) {
      const auto classes = job::VocabularyOf(job::TextLabels(source)[0], request.plan);
      rule.classes = {classes.begin(), classes.end()};
    }
    CAIRN_ASSIGN_OR_RETURN(auto condition, RowCondition::Of(request.source));
    CAIRN_RETURN_IF_ERROR(CheckHasClasses(condition.get(), has_labels));
    std::shared_ptr<const TextTable> table(
        new TextTable(request, std::move(directories), std::move(rule), std::move(condition)));
    CAIRN_RETURN_IF_ERROR(table->encoder_.CheckShapes());
    return table;
  }

  const std::vector<Task>& tasks() const { return reader_.tasks(); }
  EncodedLayouts layouts() const { return encoder_.layouts(); }

  // The numbers of examples of the task's files are added to `examples`, unless it is null.
  absl::StatusOr<EncodedFile> ReadTask(const Task& task, DataStorage* storage,
                                       std::vector<int64_t>* examples) const {
    FeatureEncoder::Collector rows(&encoder_, task.files[0], storage);
    std::vector<FeatureValues> values(encoder_.wanted().size());
    for (FeatureValues& each : values) {
      each.kind = FeatureValues::Kind::kBytes;
      each.count = 1;
    }
    const auto add = [&](const Example& example) {
      if (!reader_.Keeps(example)) {
        return reader_.needs_all_rows() ? rows.AddLeftOut(example.passed) : absl::OkStatus();
      }
      values[0].bytes = {example.text};
      if (has_labels_) values[1].bytes = {example.label.value_or("")};
      return rows.Add(values, nullptr);
    };
    CAIRN_ASSIGN_OR_RETURN(proto::DamagedRecords damaged, reader_.Read(task, add, examples));
    CAIRN_ASSIGN_OR_RETURN(EncodedFile file, rows.Finish());
    file.damaged = std::move(damaged);
    return file;
  }

  // Reads all texts, for the index and the damage, too.
  absl::Status AddAll(const ReadRequest& request, SourceArrays* all) const {
    struct InspectedTask {
      EncodedFile encoded;
      std::vector<int64_t> examples;  // Of its files.
    };
    CAIRN_ASSIGN_OR_RETURN(
        const std::vector<InspectedTask> inspected,
        reader_.ForEachTask<InspectedTask>([&](const Task& task) -> absl::StatusOr<InspectedTask> {
          InspectedTask result;
          CAIRN_ASSIGN_OR_RETURN(result.encoded, ReadTask(task, request.storage, &result.examples));
          return result;
        }));
    DamageList damage;
    for (size_t i = 0; i < inspected.size(); ++i) {
      const EncodedFile& encoded = inspected[i].encoded;
      CAIRN_RETURN_IF_ERROR(AddRows(layouts(), encoded, all));
      damage.Add(encoded.damaged, encoded.examples);
      for (size_t file = 0; file < inspected[i].examples.size(); ++file) {
        proto::IndexedFile& entry = all->index.emplace_back();
        entry.set_examples(inspected[i].examples[file]);
        CAIRN_ASSIGN_OR_RETURN(const uint64_t bytes, FileSize(tasks()[i].files[file]));
        entry.set_bytes(bytes);
      }
    }
    all->damaged = damage.records();
    return CheckDamage(all->damaged, request.source.skip_damaged(), "damaged text");
  }

 private:
  TextTable(const ReadRequest& request, std::vector<std::string> directories, LabelRule rule,
            std::shared_ptr<const RowCondition> condition)
      : has_labels_(rule.is_needed),
        encoder_(job::TextFeatures(request.source.text(), request.model.lookup(0) != nullptr),
                 job::TextLabels(request.source.text()), request.source, request.plan,
                 request.model, request.label_specs, {}),
        reader_(request.source.text(), request.files.features[0], std::move(directories),
                std::move(rule), request.source.skip_damaged() > 0, std::move(condition)) {}

  const bool has_labels_;
  const FeatureEncoder encoder_;
  const TextReader reader_;
};

absl::Status AddDeferredTasks(const std::shared_ptr<const TextTable>& table,
                              const PlannedFiles& planned, SourceArrays* all) {
  for (const Task& task : table->tasks()) {
    DeferredPart part;
    for (size_t i = 0; i < task.files.size(); ++i) {
      part.files.push_back({task.files[i], planned.fingerprints[task.first + i]});
      part.examples += planned.index[task.first + i].examples();
    }
    part.read = [table, task, storage = planned.storage] {
      return table->ReadTask(task, storage.get(), nullptr);
    };
    CAIRN_RETURN_IF_ERROR(AddDeferredRows(table->layouts(), std::move(part), all));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SourceArrays> SurveyText(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const auto table, TextTable::Create(request));
  SourceArrays found = ArraysOf(table->layouts());
  CAIRN_RETURN_IF_ERROR(table->AddAll(request, &found));
  return found;
}

absl::StatusOr<SourceArrays> ReadText(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const auto table, TextTable::Create(request));
  SourceArrays result = ArraysOf(table->layouts());
  const std::vector<std::string>& files = request.files.features[0];
  if (IsIndexed(request.planned, files.size())) {
    CAIRN_RETURN_IF_ERROR(AddDeferredTasks(table, *request.planned, &result));
  } else {
    CAIRN_RETURN_IF_ERROR(table->AddAll(request, &result));
  }
  if (result.inputs[0].rows() > 0) return result;
  CAIRN_ASSIGN_OR_RETURN(const auto condition, RowCondition::Of(request.source));
  return absl::InvalidArgumentError(
      absl::StrCat("data file ", files[0], ": it has no texts",
                   condition == nullptr ? "" : " for which \"filter\" is true"));
}

absl::StatusOr<std::vector<std::string>> ListText(const proto::DataSource& source,
                                                  const std::vector<std::string>& names,
                                                  bool needs_labels) {
  if (source.text().directory().empty()) return names;
  if (!needs_labels) return ListAllFiles(names, TextFiles());
  const auto& classes = source.text().class_names();
  return ListClassFiles(names, {classes.begin(), classes.end()}, TextFiles());
}

absl::StatusOr<proto::DataFindings> SearchText(const proto::DataSource& train,
                                               const SourceFiles& files,
                                               const ChooseTrainingRows& choose) {
  const proto::TextSource& source = train.text();
  TextSurvey survey(train);
  CAIRN_ASSIGN_OR_RETURN(std::vector<std::string> directories, DirectoriesOf(source));
  CAIRN_ASSIGN_OR_RETURN(auto condition, RowCondition::Of(train));
  const TextReader reader(source, files.features[0], std::move(directories), LabelRule(),
                          train.skip_damaged() > 0, std::move(condition));
  // Where all examples are for training, their numbers do not matter, and they are read only once.
  // Where damaged ones are skipped, their numbers are unknown before all are read.
  std::vector<int64_t> first(reader.tasks().size(), 0);
  IsTrainingRow is_training = [](int64_t) { return true; };
  if (choose && survey.wants_tokens() && train.skip_damaged() == 0) {
    CAIRN_ASSIGN_OR_RETURN(const auto examples, reader.Count());
    std::vector<int32_t> passed;
    for (size_t i = 0; i < examples.size(); ++i) {
      first[i] = static_cast<int64_t>(passed.size());
      passed.insert(passed.end(), examples[i].begin(), examples[i].end());
    }
    const auto all = static_cast<int64_t>(passed.size());
    if (!reader.needs_all_rows()) passed.clear();
    CAIRN_ASSIGN_OR_RETURN(is_training, choose(all, passed));
  }
  CAIRN_RETURN_IF_ERROR(
      reader
          .ForEachTaskWithIndex<bool>([&](size_t i, const Task& task) -> absl::StatusOr<bool> {
            CAIRN_RETURN_IF_ERROR(
                AddTask(reader, task, first[i], is_training, source.text_vectorization(), &survey));
            return true;
          })
          .status());
  return survey.Found();
}

}  // namespace cairn::worker
