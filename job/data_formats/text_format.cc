#include "job/data_formats/text_format.h"

#include <set>
#include <string>

#include "common/status_macros.h"
#include "nn/signature.h"

namespace cairn::job {
namespace {

absl::Status CheckFields(const std::string& path, const proto::DataSource& source,
                         const DataNeeds& /*needs*/) {
  const proto::TextSource& text = source.text();
  const bool has_folders = !text.directory().empty();
  if (has_folders && !text.files().empty()) {
    return Invalid(path, ".files: conflicts with \"directory\"; keep one of them");
  }
  if (has_folders && (text.has_delimiter() || text.has_label())) {
    return Invalid(path, text.has_delimiter() ? ".delimiter" : ".label",
                   ": is for \"files\"; in a \"directory\" the folder is the label");
  }
  const std::string& delimiter = text.delimiter();
  if (text.has_delimiter() &&
      (delimiter.empty() || delimiter.find_first_of("\r\n") != std::string::npos)) {
    return Invalid(path, ".delimiter: \"", delimiter,
                   "\" is not one or more characters of a line, such as a tab");
  }
  if (text.has_label() && text.label() != "first" && text.label() != "last") {
    return Invalid(path, ".label: \"", text.label(), "\" is not one of first, last");
  }
  std::set<std::string> names;
  for (const std::string& name : text.class_names()) {
    const bool is_path = has_folders && (name.find('/') != std::string::npos || name == "..");
    if (name.empty() || is_path) {
      return Invalid(path, ".class_names: \"", name, "\" is not the name of a ",
                     has_folders ? "folder" : "class");
    }
    if (names.insert(name).second) continue;
    return Invalid(path, ".class_names: \"", name, "\" appears twice; keep one of them");
  }
  return CheckTextVectorization(path + ".text_vectorization", text.text_vectorization());
}

absl::Status CheckModel(const std::string& path, const proto::DataSource& source,
                        const nn::Signature& model) {
  if (model.inputs().size() != 1 || model.outputs().size() > 1) {
    return Invalid(path, ": the model has ", model.inputs().size(), " inputs and ",
                   model.outputs().size(), " outputs; texts are for one of each");
  }
  if (model.lookup(0) == nullptr || !source.text().has_text_vectorization()) {
    return absl::OkStatus();
  }
  return Invalid(path, ".text_vectorization: the model's input \"", model.inputs()[0].name,
                 "\" takes the texts themselves, which its StringLookup looks up; leave it out");
}

void Inherit(const proto::DataSource& train, proto::DataSource* validation) {
  const proto::TextSource& from = train.text();
  proto::TextSource& text = *validation->mutable_text();
  if (!text.has_text_vectorization() && from.has_text_vectorization()) {
    *text.mutable_text_vectorization() = from.text_vectorization();
  }
  if (text.class_names().empty()) *text.mutable_class_names() = from.class_names();
  if (!text.directory().empty()) return;
  if (!text.has_delimiter() && from.has_delimiter()) text.set_delimiter(from.delimiter());
  if (!text.has_label() && from.has_label()) text.set_label(from.label());
}

std::vector<OpenColumn> OpenColumnsOf(const proto::DataSource& source) {
  const proto::TextSource& text = source.text();
  std::vector<OpenColumn> open;
  if (text.class_names().empty()) {
    open.push_back({.name = kTextLabel,
                    // The names of folders are in the order of texts, as in Keras.
                    .may_be_numbers = text.directory().empty(),
                    .hint = "is \"label\" or \"delimiter\" another one?"});
  }
  if (text.text_vectorization().vocabulary().empty()) {
    open.push_back({.name = kTextFeature,
                    .kind = OpenColumn::Kind::kTokens,
                    .most = VocabularyMost(text.text_vectorization()),
                    .hint = "set \"max_tokens\""});
  }
  return open;
}

}  // namespace

DataFormat TextFormat() {
  return {.name = "text",
          .lists =
              [](proto::DataSource* source) {
                proto::TextSource* const text = source->mutable_text();
                return text->directory().empty()
                           ? ExampleFiles(text)
                           : FileLists{"directory", text->mutable_directory()};
              },
          .extensions = {".txt", ".tsv"},
          .file_example = "train.txt",
          .skips_damaged = true,
          .filter_columns = {"class_name", "text"},
          .has_text = true,
          .has_folders = true,
          .is_divisible = true,
          .open_columns = OpenColumnsOf,
          .check = CheckFields,
          .check_model = CheckModel,
          .inherit = Inherit};
}

DataFeatures TextFeatures(const proto::TextSource& source, bool takes_text) {
  DataFeatures features;
  proto::DataFeature& feature = *features.Add();
  feature.set_name(kTextFeature);
  if (!takes_text) *feature.mutable_text_vectorization() = source.text_vectorization();
  return features;
}

DataFeatures TextLabels(const proto::TextSource& source) {
  DataFeatures labels;
  proto::DataFeature& label = *labels.Add();
  label.set_name(kTextLabel);
  label.set_categorical(true);
  *label.mutable_vocabulary() = source.class_names();
  return labels;
}

}  // namespace cairn::job
