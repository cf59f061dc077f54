#include "cli/model/prediction_file.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/files.h"
#include "common/npy.h"

namespace cairn::cli {
namespace {

bool IsCsv(const std::string& file) { return absl::EndsWithIgnoreCase(file, ".csv"); }

std::string NpyBytes(const Prediction& prediction) {
  NpyHeader header;
  header.shape = prediction.shape;
  std::string bytes = FormatNpyHeader(header);
  bytes.append(reinterpret_cast<const char*>(prediction.values.data()),
               prediction.values.size() * sizeof(float));
  return bytes;
}

std::string Quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  return absl::StrCat("\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}), "\"");
}

void AppendNumber(float value, std::string* text) {
  if (std::isnan(value)) {  // Whatever its sign bit is.
    text->append("nan");
    return;
  }
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  text->append(digits, end);
}

// Of an output of shape (examples, 2, 3): NAME_0_0, NAME_0_1, NAME_0_2, NAME_1_0 ...
void AppendColumns(const Prediction& prediction, size_t axis, const std::string& name,
                   std::string* text) {
  if (axis == prediction.shape.size()) {
    if (!text->empty()) text->push_back(',');
    text->append(Quoted(name));
    return;
  }
  for (int64_t i = 0; i < prediction.shape[axis]; ++i) {
    AppendColumns(prediction, axis + 1, absl::StrCat(name, "_", i), text);
  }
}

std::string CsvText(const Prediction& prediction) {
  std::string text;
  AppendColumns(prediction, 1, prediction.output, &text);
  text.push_back('\n');
  const auto examples = static_cast<size_t>(prediction.shape[0]);
  const size_t columns = examples == 0 ? 0 : prediction.values.size() / examples;
  for (size_t i = 0; i < examples * columns; ++i) {
    AppendNumber(prediction.values[i], &text);
    text.push_back((i + 1) % columns == 0 ? '\n' : ',');
  }
  return text;
}

}  // namespace

absl::Status CheckPredictionFile(const std::string& flag, const std::string& file) {
  if (IsCsv(file) || absl::EndsWithIgnoreCase(file, ".npy")) return absl::OkStatus();
  std::error_code ignored;
  const auto status = std::filesystem::status(file, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": ", file,
                   " must end in .npy (a NumPy array) or .csv (text, one line for each "
                   "example)"));
}

absl::Status WritePrediction(const std::string& file, const Prediction& prediction) {
  return WriteFile(file, IsCsv(file) ? CsvText(prediction) : NpyBytes(prediction));
}

}  // namespace cairn::cli
