#include "worker/data/images/image_source.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/mutex.h"
#include "common/plural.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "job/data_findings.h"
#include "job/data_formats/images_format.h"
#include "job/value_steps.h"
#include "worker/data/csv/csv_value.h"
#include "worker/data/files/file_folder.h"
#include "worker/data/files/file_list.h"
#include "worker/data/files/load_file.h"
#include "worker/data/files/spool.h"
#include "worker/data/images/image_decoder.h"
#include "worker/data/images/image_table.h"
#include "worker/data/images/resize_image.h"
#include "worker/data/label_spec.h"
#include "worker/data/row_condition.h"

namespace cairn::worker {
namespace {

// The largest file that is read.
constexpr uint64_t kFileBytesMax = uint64_t{256} << 20;

const ExampleFiles& ImageFiles() {
  static const auto* const files =
      new ExampleFiles{{".jpeg", ".jpg", ".png"}, {".bmp", ".gif"}, ".jpeg, .jpg or .png file"};
  return *files;
}

// Reads a file, checks its fingerprint unless it is null, and makes an example of it.
absl::StatusOr<ResizedImage> ReadImage(const std::string& path, const uint64_t* fingerprint,
                                       const ImageTarget& target) {
  CAIRN_ASSIGN_OR_RETURN(const std::shared_ptr<const FileBytes> file,
                         ReadWholeFile(path, kFileBytesMax));
  if (fingerprint != nullptr) {
    CAIRN_ASSIGN_OR_RETURN(const uint64_t found, ContentsFingerprint(*file));
    if (found != *fingerprint) {
      return absl::DataLossError(absl::StrCat(
          "data file ", path,
          ": its contents are not those that were inspected when the job was planned; all workers "
          "need the same files, and these must not change"));
    }
  }
  std::string scratch;
  CAIRN_ASSIGN_OR_RETURN(const char* bytes, file->Read(0, file->size(), &scratch));
  const auto image = DecodeImage({bytes, file->size()}, target.channels);
  if (!image.ok()) return file->Malformed(std::string(image.status().message()));
  return ResizeImage(*image, target);
}

// The rows of a source: images that are decoded when they are read, and kept while there is room.
// Thread-safe.
class ImageRows {
 public:
  // A row for each file. Without `fingerprints` files are not compared with those of the plan.
  // `storage` is null if nothing is kept, and `spool` if nothing is kept on the disk.
  ImageRows(std::vector<std::string> files, std::vector<uint64_t> fingerprints,
            const ImageTarget& target, std::shared_ptr<DataStorage> storage,
            std::unique_ptr<SpoolFile> spool)
      : files_(std::move(files)),
        fingerprints_(std::move(fingerprints)),
        target_(target),
        row_bytes_(target.elements() * (target.is_nearest() ? 1 : sizeof(float))),
        storage_(std::move(storage)),
        spool_(std::move(spool)),
        kept_(files_.size()),
        spooled_(spool_ == nullptr ? 0 : files_.size()) {}

  uint64_t bytes() const { return files_.size() * row_bytes_; }

  // As FileBytes::ReadFunction, of whole rows.
  absl::StatusOr<const char*> Read(uint64_t offset, size_t count, std::string* scratch) {
    CAIRN_CHECK(offset % row_bytes_ == 0 && count % row_bytes_ == 0);
    scratch->resize(count);
    for (size_t done = 0; done < count; done += row_bytes_) {
      CAIRN_ASSIGN_OR_RETURN(const Kept image, Get((offset + done) / row_bytes_));
      Write(*image, scratch->data() + done);
    }
    return scratch->data();
  }

 private:
  using Kept = std::shared_ptr<const ResizedImage>;

  // An image in the spool file.
  struct Spooled {
    uint64_t place = 0;
    size_t bytes = 0;  // 0: it is not there.
    bool is_float = false;
  };

  absl::StatusOr<Kept> Get(size_t row) {
    Mutex& mutex = mutexes_[row % mutexes_.size()];
    Spooled spooled;
    {
      MutexLock lock(&mutex);
      if (kept_[row] != nullptr) return kept_[row];
      if (spool_ != nullptr) spooled = spooled_[row];
    }
    if (spooled.bytes > 0) {
      ResizedImage read{.is_float = spooled.is_float};
      CAIRN_RETURN_IF_ERROR(spool_->Read(spooled.place, spooled.bytes, &read.data));
      return std::make_shared<const ResizedImage>(std::move(read));
    }
    // Without the lock: other rows must not wait. Two threads may decode the same image.
    const uint64_t* const fingerprint = fingerprints_.empty() ? nullptr : &fingerprints_[row];
    absl::StatusOr<ResizedImage> image = ReadImage(files_[row], fingerprint, target_);
    // All images were decoded when the job was planned.
    if (fingerprint != nullptr && absl::IsInvalidArgument(image.status())) {
      return absl::DataLossError(std::string(image.status().message()));
    }
    CAIRN_RETURN_IF_ERROR(image.status());
    Kept kept = std::make_shared<const ResizedImage>(*std::move(image));
    MutexLock lock(&mutex);
    if (kept_[row] != nullptr || storage_ == nullptr) return kept;
    if (storage_->TakeSpareMemory(kept->data.size())) {
      kept_[row] = kept;
    } else if (spool_ != nullptr && spooled_[row].bytes == 0 && !is_spool_full_) {
      const absl::StatusOr<uint64_t> place = spool_->Add(kept->data);
      if (place.ok()) {
        spooled_[row] = {*place, kept->data.size(), kept->is_float};
      } else {
        is_spool_full_ = true;
      }
    }
    return kept;
  }

  void Write(const ResizedImage& image, char* to) const {
    if (image.is_float || target_.is_nearest()) {
      std::memcpy(to, image.data.data(), row_bytes_);
      return;
    }
    for (size_t i = 0; i < image.data.size(); ++i) {
      const auto value = static_cast<float>(static_cast<unsigned char>(image.data[i]));
      std::memcpy(to + i * sizeof value, &value, sizeof value);
    }
  }

  const std::vector<std::string> files_;
  const std::vector<uint64_t> fingerprints_;
  const ImageTarget target_;
  const uint64_t row_bytes_;
  const std::shared_ptr<DataStorage> storage_;
  std::array<Mutex, 64> mutexes_;  // Row i is guarded by mutex i % 64.
  const std::unique_ptr<SpoolFile> spool_;
  // After a piece had no room, other images are decoded again without another attempt.
  std::atomic<bool> is_spool_full_ = false;
  std::vector<Kept> kept_;        // By row; null: not in memory.
  std::vector<Spooled> spooled_;  // By row.
};

absl::StatusOr<ImageTarget> TargetOf(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const job::ImageForm form,
                         job::ImageFormOf(request.model.inputs()[0].spec.shape));
  CAIRN_ASSIGN_OR_RETURN(const job::DecodedSize size,
                         job::DecodedSizeOf(request.source, request.model));
  ImageTarget target;
  target.height = size.height;
  target.width = size.width;
  target.channels = form.channels;
  target.method = size.method;
  if (size.crops) target.aspect = ImageTarget::Aspect::kCrop;
  if (size.pads) target.aspect = ImageTarget::Aspect::kPad;
  return target;
}

bool HasTable(const proto::ImagesSource& images) { return !images.table().empty(); }

// The directories, or the tables, that the job file names.
absl::StatusOr<std::vector<std::string>> PlacesOf(const proto::ImagesSource& images) {
  const auto& names = HasTable(images) ? images.table() : images.directory();
  return ExpandFileNames({names.begin(), names.end()});
}

// Of the classes of a job: their names are part of the plan.
constexpr size_t kClassBytesMax = size_t{1} << 20;

// The labels of tables, in the order of their numbers.
absl::StatusOr<std::vector<std::string>> ClassesInTables(const proto::ImagesSource& images,
                                                         const std::vector<std::string>& tables) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<TableImage> rows,
                         ReadImageTables(images, tables, TableLabels::kClasses));
  std::set<std::string> labels;
  size_t bytes = 0;
  for (const TableImage& row : rows) {
    if (labels.insert(row.label).second) bytes += row.label.size() + 4;
    if (bytes <= kClassBytesMax) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "data file ", absl::StrJoin(tables, ", "), ": column \"",
        images.has_label_column() ? images.label_column() : "class", "\" has more than ",
        labels.size() - 1, " different labels; is it another one?"));
  }
  return job::SortedClasses(labels);
}

// Labels that are no classes: the loss takes any number.
bool AreNumbers(const proto::ImagesSource& images, const LabelSpec& spec) {
  return HasTable(images) && !spec.has_bounds() && spec.one_hot == 0;
}

// The classes that number the labels: of the training data, or, while these are inspected, of the
// job file or the directories. InvalidArgument: the job file has others than the training data.
absl::StatusOr<std::vector<std::string>> ClassesOf(const ReadRequest& request,
                                                   const std::vector<std::string>& directories) {
  const auto& named = request.source.images().class_names();
  const std::vector<std::string> names(named.begin(), named.end());
  for (const auto& vocabulary : request.plan.vocabularies()) {
    if (!vocabulary.column().empty()) continue;
    std::vector<std::string> classes(vocabulary.names().begin(), vocabulary.names().end());
    if (names.empty() || names == classes) return classes;
    return absl::InvalidArgumentError(
        absl::StrCat("data folder ", absl::StrJoin(directories, ", "), ": class_names are ",
                     absl::StrJoin(names, ", "), ", those of the training data ",
                     absl::StrJoin(classes, ", "), ", which number the labels; leave them out"));
  }
  if (!names.empty()) return names;
  const proto::ImagesSource& images = request.source.images();
  return HasTable(images) ? ClassesInTables(images, directories) : ClassesIn(directories, {});
}

// The name of the class of each file; of tables, the labels of their rows. The tables are the last
// files.
absl::StatusOr<std::vector<std::string>> NamesOfLabels(const ReadRequest& request,
                                                       const std::vector<std::string>& files,
                                                       const std::vector<std::string>& places) {
  std::vector<std::string> names;
  if (!HasTable(request.source.images())) {
    for (const std::string& file : files) names.push_back(ClassOfFile(places, file));
    return names;
  }
  const proto::ImagesSource& images = request.source.images();
  const TableLabels labels =
      AreNumbers(images, request.label_specs[0]) ? TableLabels::kAny : TableLabels::kClasses;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<TableImage> rows,
                         ReadImageTables(images, places, labels));
  const bool has_changed =
      rows.size() + places.size() != files.size() ||
      !std::equal(rows.begin(), rows.end(), files.begin(),
                  [](const TableImage& row, const std::string& file) { return row.path == file; });
  if (has_changed) {
    return absl::FailedPreconditionError(
        absl::StrCat("data file ", places[0], ": it was changed while it was read"));
  }
  for (const TableImage& row : rows) names.push_back(row.label);
  return names;
}

absl::Status CheckTables(const ReadRequest& request, const std::vector<std::string>& files) {
  for (size_t i = files.size(); i > 0 && IsImageTable(files[i - 1]); --i) {
    CAIRN_ASSIGN_OR_RETURN(const uint64_t found, FileFingerprint(files[i - 1]));
    CAIRN_RETURN_IF_ERROR(
        CheckFingerprint(files[i - 1], found, request.planned->fingerprints[i - 1]));
  }
  return absl::OkStatus();
}

// The label of each image: the number of its class, or the number in its table.
absl::StatusOr<std::vector<double>> LabelsOf(const ReadRequest& request,
                                             const std::vector<std::string>& files) {
  const proto::ImagesSource& images = request.source.images();
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> places, PlacesOf(images));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         NamesOfLabels(request, files, places));
  const LabelSpec& spec = request.label_specs[0];
  std::vector<double> labels;
  if (AreNumbers(images, spec)) {
    for (size_t i = 0; i < names.size(); ++i) {
      const std::optional<double> number = ParseNumber(names[i]);
      if (number && (std::isfinite(static_cast<float>(*number)) || request.source.allow_nan())) {
        labels.push_back(*number);
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("data file ", places[0], ": the label of ", files[i], " is ",
                       QuotedField(names[i]), ", and ", spec.Taker(),
                       " takes numbers; for classes take another loss, or set \"one_hot\""));
    }
    return labels;
  }
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> classes, ClassesOf(request, places));
  if (spec.has_bounds() && static_cast<double>(classes.size()) > spec.most + 1) {
    const auto count = static_cast<int64_t>(classes.size());
    return absl::InvalidArgumentError(absl::StrCat(
        HasTable(images) ? "data file " : "data folder ", absl::StrJoin(places, ", "), ": it has ",
        HasTable(images) ? absl::StrCat(count, " different labels") : Plural(count, "class folder"),
        ", labels from ", spec.least, " to ", spec.most, " expected (", spec.Taker(),
        "); \"class_names\" chooses and orders the ", HasTable(images) ? "labels" : "folders"));
  }
  std::unordered_map<std::string, int32_t> numbers;
  for (const std::string& name : classes) numbers.emplace(name, static_cast<int>(numbers.size()));
  for (size_t i = 0; i < names.size(); ++i) {
    const auto number = numbers.find(names[i]);
    if (number == numbers.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "data file ", files[i], ": its ", HasTable(images) ? "label" : "folder", " \"",
          PrintableLine(names[i]), "\" is none of the classes ", absl::StrJoin(classes, ", "),
          " of the training data; rename it, or set \"class_names\""));
    }
    labels.push_back(number->second);
  }
  return labels;
}

// Of each image, the number of filters that are true for it.
absl::StatusOr<std::vector<double>> PassedOf(const RowCondition& condition,
                                             const ReadRequest& request,
                                             const std::vector<std::string>& files) {
  CAIRN_RETURN_IF_ERROR(CheckHasClasses(&condition, !request.label_specs.empty()));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> places, PlacesOf(request.source.images()));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         NamesOfLabels(request, files, places));
  using Value = RowCondition::Value;
  std::vector<double> all;
  for (const std::string& name : names) {
    // The class is the only column.
    CAIRN_ASSIGN_OR_RETURN(const int passed,
                           condition.Passed({{.kind = Value::Kind::kField, .text = name}}));
    all.push_back(passed);
  }
  return all;
}

// Decodes all images. Adds to the index, and to the damaged ones.
absl::Status Inspect(const ReadRequest& request, const ImageTarget& target, SourceArrays* result) {
  const std::vector<std::string>& files = request.files.features[0];
  const int64_t allowed = request.source.skip_damaged();
  // Only whether they can be decoded: an inspection keeps no images.
  const std::vector<absl::StatusOr<bool>> decoded =
      ReadEach<bool>(files, [&](const std::string& path) -> absl::StatusOr<bool> {
        if (IsImageTable(path)) return false;
        CAIRN_RETURN_IF_ERROR(ReadImage(path, nullptr, target).status());
        return true;
      });
  proto::DamagedRecords& damaged = result->damaged;
  for (size_t i = 0; i < files.size(); ++i) {
    const absl::Status& status = decoded[i].status();
    if (!status.ok()) {
      if (!absl::IsInvalidArgument(status) || allowed == 0) return status;
      if (damaged.count() == 0) damaged.set_first_error(std::string(status.message()));
      damaged.set_count(damaged.count() + 1);
      damaged.add_places(static_cast<int64_t>(i));
    }
    proto::IndexedFile& entry = result->index.emplace_back();
    entry.set_examples(status.ok() && *decoded[i] ? 1 : 0);
    CAIRN_ASSIGN_OR_RETURN(const uint64_t bytes, FileSize(files[i]));
    entry.set_bytes(bytes);
  }
  return CheckDamage(damaged, allowed, "damaged image");
}

// The plan has an entry for each file.
bool IsIndexed(const PlannedFiles* planned, size_t files) {
  return planned != nullptr && planned->index.size() == files &&
         planned->fingerprints.size() >= files;
}

template <typename T>
Array LabelArray(const std::string& name, const std::vector<double>& labels, ElementType type) {
  const std::vector<T> values(labels.begin(), labels.end());
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  Array::Layout layout;
  layout.type = type;
  return Array(FileBytes::InMemory(name, std::move(bytes)), static_cast<int64_t>(values.size()),
               layout);
}

Array ImageArray(const std::string& name, const std::shared_ptr<ImageRows>& rows, int64_t count,
                 const ImageTarget& target, nn::Shape shape) {
  shape[0] = target.height;
  shape[1] = target.width;
  Array::Layout layout;
  layout.type = target.is_nearest() ? ElementType::kUint8 : ElementType::kFloat32;
  layout.row_shape = std::move(shape);
  return Array(FileBytes::Computed(name, rows->bytes(),
                                   [rows](uint64_t offset, size_t bytes, std::string* scratch) {
                                     return rows->Read(offset, bytes, scratch);
                                   }),
               count, layout);
}

// The images of the tables, and then the tables. Without labels a name may also be that of an image
// or a folder.
absl::StatusOr<std::vector<std::string>> ListTables(const proto::ImagesSource& images,
                                                    const std::vector<std::string>& names,
                                                    bool needs_labels) {
  std::vector<std::string> files;
  std::vector<std::string> tables;
  for (const std::string& name : names) {
    if (!IsImageTable(name) && !needs_labels) {
      CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> found,
                             ListAllFiles({name}, ImageFiles()));
      files.insert(files.end(), found.begin(), found.end());
      continue;
    }
    if (!IsImageTable(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("data file ", name, ": a table of images is a .csv, .tsv or .parquet file"));
    }
    CAIRN_ASSIGN_OR_RETURN(
        const std::vector<TableImage> rows,
        ReadImageTables(images, {name}, needs_labels ? TableLabels::kAny : TableLabels::kNone));
    for (const TableImage& row : rows) {
      if (IsImageTable(row.path)) {
        return absl::InvalidArgumentError(
            absl::StrCat("data file ", name, ": ", row.path, " is no image"));
      }
      files.push_back(row.path);
    }
    tables.push_back(name);
  }
  if (files.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("data file ", absl::StrJoin(names, ", "), ": it has no row",
                     images.class_names().empty() ? "" : " with a label of \"class_names\""));
  }
  files.insert(files.end(), tables.begin(), tables.end());
  return files;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ListImages(const proto::DataSource& source,
                                                    const std::vector<std::string>& names,
                                                    bool needs_labels) {
  if (HasTable(source.images())) return ListTables(source.images(), names, needs_labels);
  if (!needs_labels) return ListAllFiles(names, ImageFiles());
  const auto& classes = source.images().class_names();
  return ListClassFiles(names, {classes.begin(), classes.end()}, ImageFiles());
}

absl::Status InspectImages(const proto::DataSource& train, const SourceFiles& /*files*/,
                           proto::DataPlan* plan) {
  const proto::ImagesSource& images = train.images();
  const auto& names = images.class_names();
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> places, PlacesOf(images));
  absl::StatusOr<std::vector<std::string>> found;
  if (!HasTable(images)) {
    found = ClassesIn(places, {names.begin(), names.end()});
  } else if (names.empty()) {
    found = ClassesInTables(images, places);
  } else {
    found = std::vector<std::string>(names.begin(), names.end());
  }
  // Without class folders ListImages has accepted the source only if no labels are needed. A table
  // whose labels are numbers may have too many of them for classes.
  if (absl::IsInvalidArgument(found.status()) && names.empty()) return absl::OkStatus();
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> classes, found);
  plan->add_vocabularies()->mutable_names()->Assign(classes.begin(), classes.end());
  return absl::OkStatus();
}

absl::StatusOr<SourceArrays> SurveyImages(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const ImageTarget target, TargetOf(request));
  SourceArrays found;
  CAIRN_RETURN_IF_ERROR(Inspect(request, target, &found));
  return found;
}

absl::StatusOr<SourceArrays> ReadImages(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const ImageTarget target, TargetOf(request));
  const std::vector<std::string>& files = request.files.features[0];
  SourceArrays result;
  result.checked = true;
  std::vector<double> all_labels;
  const bool has_labels = !request.label_specs.empty();
  if (has_labels) {
    CAIRN_ASSIGN_OR_RETURN(all_labels, LabelsOf(request, files));
  }
  CAIRN_ASSIGN_OR_RETURN(const auto condition, RowCondition::Of(request.source));
  std::vector<double> all_passed;
  if (condition != nullptr) {
    CAIRN_ASSIGN_OR_RETURN(all_passed, PassedOf(*condition, request, files));
  }
  const bool is_indexed = IsIndexed(request.planned, files.size());
  if (is_indexed) CAIRN_RETURN_IF_ERROR(CheckTables(request, files));
  if (!is_indexed) CAIRN_RETURN_IF_ERROR(Inspect(request, target, &result));
  const std::vector<proto::IndexedFile>& index = is_indexed ? request.planned->index : result.index;
  std::vector<std::string> sound;
  std::vector<uint64_t> fingerprints;
  std::vector<double> labels;
  std::vector<double> passed;
  for (size_t i = 0; i < files.size(); ++i) {
    if (index[i].examples() == 0) continue;
    sound.push_back(files[i]);
    if (is_indexed) fingerprints.push_back(request.planned->fingerprints[i]);
    if (has_labels) labels.push_back(all_labels[i]);
    if (condition != nullptr) passed.push_back(all_passed[i]);
  }
  const proto::ImagesSource& images = request.source.images();
  const std::string name =
      absl::StrJoin(HasTable(images) ? images.table() : images.directory(), ", ");
  const auto count = static_cast<int64_t>(sound.size());
  const auto storage = request.planned == nullptr ? nullptr : request.planned->storage;
  const bool is_cached =
      absl::c_any_of(request.source.pipeline(), [](const auto& step) { return step.has_cache(); });
  std::unique_ptr<SpoolFile> spool;
  if (is_cached && storage != nullptr) {
    CAIRN_ASSIGN_OR_RETURN(spool, SpoolFile::Create(name, storage.get()));
  }
  const auto rows = std::make_shared<ImageRows>(std::move(sound), std::move(fingerprints), target,
                                                storage, std::move(spool));
  result.inputs.push_back(
      ImageArray(name, rows, count, target, request.model.inputs()[0].spec.shape));
  if (has_labels && AreNumbers(images, request.label_specs[0])) {
    result.labels.push_back(LabelArray<float>(name, labels, ElementType::kFloat32));
  } else if (has_labels) {
    result.labels.push_back(LabelArray<int32_t>(name, labels, ElementType::kInt32));
  }
  if (condition != nullptr) {
    result.passed = LabelArray<int32_t>(name, passed, ElementType::kInt32);
  }
  return result;
}

}  // namespace cairn::worker
