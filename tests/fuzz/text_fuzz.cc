// Files of texts, a line for each, compared with lines that are split here.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "common/check.h"
#include "common/utf8.h"
#include "nn/model.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "tests/nn/test_model.h"
#include "worker/data/source_arrays.h"
#include "worker/data/text/text_source.h"

namespace cairn::fuzz {
namespace {

// The reader reads files in pieces of this size.
constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr int kLabelsMax = 1 << 20;
constexpr int kIds = 3;
constexpr char kMark[] = "\xef\xbb\xbf";

// What the reader makes of a file.
struct Texts {
  std::vector<std::vector<double>> rows;  // A label, if there are labels, and ids.
  int64_t damaged = 0;
};

// Lines without their ends and without empty ones.
std::vector<std::string> LinesOf(std::string_view input) {
  if (input.starts_with(kMark)) input.remove_prefix(sizeof kMark - 1);
  std::vector<std::string> lines(1);
  for (const char c : input) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  for (std::string& line : lines) {
    if (line.ends_with('\r')) line.pop_back();
  }
  std::erase(lines, "");
  return lines;
}

void AddRows(const worker::Array& array, std::vector<std::vector<double>>* rows) {
  rows->resize(array.rows());
  const absl::Status status = array.ForEachRow([&](int64_t row, const char* bytes) {
    std::vector<double> values(array.elements());
    array.RowToDoubles(bytes, values.data());
    (*rows)[row].insert((*rows)[row].end(), values.begin(), values.end());
    return absl::OkStatus();
  });
  CAIRN_CHECK(status.ok());
}

// None: the file is refused.
std::optional<Texts> Read(const std::string& path, const proto::DataSource& source,
                          bool has_labels) {
  static const auto* const model =
      nn::testing::ModelOf({{"in", "InputLayer", R"({"batch_shape": [null, 3]})"},
                            {"out", "Dense", R"({"units": 9})"}})
          .release();
  const worker::SourceFiles files = {.features = {{path}}, .labels = {}, .weights = {}};
  proto::DataPlan plan;
  if (has_labels && !worker::InspectAlone(source, files, {}, &plan).ok()) return std::nullopt;
  std::vector<worker::LabelSpec> labels;
  if (has_labels) labels = {{.type = proto::INT32, .least = 0, .most = kLabelsMax}};
  worker::DataStorage storage({.memory_bytes = 1 << 24, .spool_bytes = 1 << 24});
  const auto arrays = worker::ReadText({source, files, plan, *model, labels, &storage});
  if (!arrays.ok()) {
    // What the inspection accepts has at least a text, or is refused as a whole.
    CAIRN_CHECK(!has_labels || arrays.status().message().find("no texts") != std::string::npos);
    return std::nullopt;
  }
  Texts texts;
  if (has_labels) AddRows(arrays->labels[0], &texts.rows);
  AddRows(arrays->inputs[0], &texts.rows);
  texts.damaged = arrays->damaged.count();
  return texts;
}

proto::DataSource Source(const std::vector<std::string>& vocabulary) {
  proto::DataSource source;
  proto::TextVectorization& text = *source.mutable_text()->mutable_text_vectorization();
  text.mutable_vocabulary()->Assign(vocabulary.begin(), vocabulary.end());
  return source;
}

// Each line has a label and a text, from which the classes and the tokens are taken.
bool CheckLabelled(const std::string& path, const std::vector<std::string>& lines) {
  const auto texts = Read(path, Source({}), /*has_labels=*/true);
  std::set<std::string> classes;
  bool are_numbers = true;
  bool is_sound = !lines.empty();
  for (const std::string& line : lines) {
    const size_t tab = line.find('\t');
    is_sound &= tab != std::string::npos;
    const std::string label = line.substr(0, tab);
    int64_t number = 0;
    are_numbers &= absl::SimpleAtoi(label, &number);
    classes.insert(label);
  }
  CAIRN_CHECK(texts.has_value() == is_sound);
  if (!texts) return false;
  CAIRN_CHECK(texts->rows.size() == lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    CAIRN_CHECK(texts->rows[i].size() == 1 + kIds);
    // Classes that are numbers have another order.
    if (are_numbers) continue;
    const auto own = classes.find(lines[i].substr(0, lines[i].find('\t')));
    CAIRN_CHECK(texts->rows[i][0] == static_cast<double>(std::distance(classes.begin(), own)));
  }
  return true;
}

void CheckSkipping(const std::string& path, const std::vector<std::string>& lines) {
  proto::DataSource source = Source({"a"});
  source.set_skip_damaged(static_cast<int64_t>(lines.size()));
  source.mutable_text()->set_label("last");
  source.mutable_text()->set_delimiter(", ");
  const auto sound = std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find(", ") != std::string::npos && IsUtf8(line);
  });
  const auto texts = Read(path, source, /*has_labels=*/true);
  CAIRN_CHECK(texts.has_value() == (sound > 0));
  if (!texts) return;
  CAIRN_CHECK(static_cast<int64_t>(texts->rows.size()) == sound);
  CAIRN_CHECK(texts->damaged + sound == static_cast<int64_t>(lines.size()));
}

// Without labels each line is a text, wherever the pieces in which the file is read end.
void CheckPieces(const std::string& path, std::string_view input, size_t lines) {
  proto::DataSource source = Source({"a", "b", "cat", "no"});
  source.mutable_text()->add_class_names("pos");
  source.mutable_text()->add_class_names("neg");
  const auto texts = Read(path, source, /*has_labels=*/false);
  CAIRN_CHECK(texts.has_value() == (lines > 0));
  if (!texts) return;
  CAIRN_CHECK(texts->rows.size() == lines);
  if (input.starts_with(kMark)) return;
  std::string padded(kPieceBytes - 1 - input.size() / 2, 'a');
  padded += '\n';
  padded += input;
  const MemoryFile file(padded);
  const auto moved = Read(file.path(), source, /*has_labels=*/false);
  CAIRN_CHECK(moved.has_value() && moved->rows.size() == lines + 1);
  CAIRN_CHECK(std::equal(texts->rows.begin(), texts->rows.end(), moved->rows.begin() + 1));
}

}  // namespace

bool RunInput(std::string_view input) {
  // Inputs that are not text: empty ones and gzip.
  if (input.empty() || input.substr(0, 2) == "\x1f\x8b") return false;
  const MemoryFile file(input);
  const std::vector<std::string> lines = LinesOf(input);
  CheckSkipping(file.path(), lines);
  CheckPieces(file.path(), input, lines.size());
  return CheckLabelled(file.path(), lines);
}

}  // namespace cairn::fuzz
