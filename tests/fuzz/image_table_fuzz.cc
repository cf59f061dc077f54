// CSV tables of images: which rows are read does not depend on what is asked of their labels.

#include <string>
#include <vector>

#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "worker/data/images/image_table.h"

namespace cairn::fuzz {
namespace {

using worker::TableImage;
using worker::TableLabels;

bool AreSame(const std::vector<TableImage>& left, const std::vector<TableImage>& right,
             bool with_labels) {
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i].path != right[i].path) return false;
    if (with_labels && left[i].label != right[i].label) return false;
  }
  return true;
}

// Rows of one class are those that are read without the others.
void CheckClass(const std::string& path, const std::vector<TableImage>& all,
                const std::string& label) {
  std::vector<TableImage> wanted;
  for (const TableImage& image : all) {
    if (image.label == label) wanted.push_back(image);
  }
  proto::ImagesSource source;
  source.add_class_names(label);
  const auto images = worker::ReadImageTables(source, {path}, TableLabels::kClasses);
  CAIRN_CHECK(images.ok() && AreSame(*images, wanted, /*with_labels=*/true));
}

}  // namespace

bool RunInput(std::string_view input) {
  // Inputs that are not text: empty ones and gzip.
  if (input.empty() || input.substr(0, 2) == "\x1f\x8b") return false;
  const MemoryFile file(input);
  const auto paths = worker::ReadImageTables({}, {file.path()}, TableLabels::kNone);
  const auto images = worker::ReadImageTables({}, {file.path()}, TableLabels::kAny);
  if (!images.ok()) return false;
  CAIRN_CHECK(paths.ok() && AreSame(*paths, *images, /*with_labels=*/false));
  const auto classes = worker::ReadImageTables({}, {file.path()}, TableLabels::kClasses);
  CAIRN_CHECK(classes.ok() && AreSame(*classes, *images, /*with_labels=*/true));
  for (const TableImage& image : *images) {
    CAIRN_CHECK(!image.label.empty());
    CAIRN_CHECK(image.path.starts_with("/") && image.path.find('\0') == std::string::npos);
  }
  if (!images->empty()) CheckClass(file.path(), *images, images->back().label);
  return !images->empty();
}

}  // namespace cairn::fuzz
