#include "worker/data/images/image_source.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/mutex.h"
#include "common/plural.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "job/data_formats/images_format.h"
#include "job/value_steps.h"
#include "worker/data/files/file_folder.h"
#include "worker/data/files/file_list.h"
#include "worker/data/files/load_file.h"
#include "worker/data/images/image_decoder.h"
#include "worker/data/images/resize_image.h"

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
  // `storage` is null if nothing is kept.
  ImageRows(std::vector<std::string> files, std::vector<uint64_t> fingerprints,
            const ImageTarget& target, std::shared_ptr<DataStorage> storage)
      : files_(std::move(files)),
        fingerprints_(std::move(fingerprints)),
        target_(target),
        row_bytes_(target.elements() * (target.is_nearest ? 1 : sizeof(float))),
        storage_(std::move(storage)),
        kept_(files_.size()) {}

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

  absl::StatusOr<Kept> Get(size_t row) {
    Mutex& mutex = mutexes_[row % mutexes_.size()];
    {
      MutexLock lock(&mutex);
      if (kept_[row] != nullptr) return kept_[row];
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
    if (kept_[row] == nullptr && storage_ != nullptr && storage_->TakeMemory(kept->data.size())) {
      kept_[row] = kept;
    }
    return kept;
  }

  void Write(const ResizedImage& image, char* to) const {
    if (image.is_float || target_.is_nearest) {
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
  std::vector<Kept> kept_;         // By row; null: not kept.
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
  target.is_nearest = size.is_nearest;
  if (size.crops) target.aspect = ImageTarget::Aspect::kCrop;
  if (size.pads) target.aspect = ImageTarget::Aspect::kPad;
  return target;
}

// The directories that the job file names.
absl::StatusOr<std::vector<std::string>> DirectoriesOf(const proto::ImagesSource& images) {
  return ExpandFileNames({images.directory().begin(), images.directory().end()});
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
  return names.empty() ? ClassesIn(directories, {}) : names;
}

// The number of each file's class.
absl::StatusOr<std::vector<int32_t>> LabelsOf(const ReadRequest& request,
                                              const std::vector<std::string>& files) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         DirectoriesOf(request.source.images()));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> classes, ClassesOf(request, directories));
  const LabelSpec& spec = request.label_specs[0];
  if (spec.has_bounds() && static_cast<double>(classes.size()) > spec.most + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("data folder ", absl::StrJoin(directories, ", "), ": it has ",
                     Plural(static_cast<int64_t>(classes.size()), "class folder"), ", labels from ",
                     spec.least, " to ", spec.most, " expected (", spec.Taker(),
                     "); \"class_names\" chooses and orders the folders"));
  }
  std::unordered_map<std::string, int32_t> numbers;
  for (const std::string& name : classes) numbers.emplace(name, static_cast<int>(numbers.size()));
  std::vector<int32_t> labels;
  for (const std::string& file : files) {
    const std::string name = ClassOfFile(directories, file);
    const auto number = numbers.find(name);
    if (number == numbers.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("data file ", file, ": its folder \"", PrintableLine(name),
                       "\" is none of the classes ", absl::StrJoin(classes, ", "),
                       " of the training data; rename it, or set \"class_names\""));
    }
    labels.push_back(number->second);
  }
  return labels;
}

// Decodes all images. Adds to the index, and to the damaged ones.
absl::Status Inspect(const ReadRequest& request, const ImageTarget& target, SourceArrays* result) {
  const std::vector<std::string>& files = request.files.features[0];
  const int64_t allowed = request.source.skip_damaged();
  // Only whether they can be decoded: an inspection keeps no images.
  const std::vector<absl::StatusOr<bool>> decoded =
      ReadEach<bool>(files, [&](const std::string& path) -> absl::StatusOr<bool> {
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
    }
    proto::IndexedFile& entry = result->index.emplace_back();
    entry.set_examples(status.ok() ? 1 : 0);
    CAIRN_ASSIGN_OR_RETURN(const uint64_t bytes, FileSize(files[i]));
    entry.set_bytes(bytes);
  }
  if (damaged.count() <= allowed) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Plural(damaged.count(), "damaged image"),
                                                 ", \"skip_damaged\" allows ", allowed,
                                                 "; the first: ", damaged.first_error()));
}

// The plan has an entry for each file.
bool IsIndexed(const PlannedFiles* planned, size_t files) {
  return planned != nullptr && planned->index.size() == files &&
         planned->fingerprints.size() >= files;
}

Array LabelArray(const std::string& name, const std::vector<int32_t>& labels) {
  std::string bytes(labels.size() * sizeof(int32_t), '\0');
  if (!labels.empty()) std::memcpy(bytes.data(), labels.data(), bytes.size());
  Array::Layout layout;
  layout.type = ElementType::kInt32;
  return Array(FileBytes::InMemory(name, std::move(bytes)), static_cast<int64_t>(labels.size()),
               layout);
}

Array ImageArray(const std::string& name, const std::shared_ptr<ImageRows>& rows, int64_t count,
                 const ImageTarget& target, nn::Shape shape) {
  shape[0] = target.height;
  shape[1] = target.width;
  Array::Layout layout;
  layout.type = target.is_nearest ? ElementType::kUint8 : ElementType::kFloat32;
  layout.row_shape = std::move(shape);
  return Array(FileBytes::Computed(name, rows->bytes(),
                                   [rows](uint64_t offset, size_t bytes, std::string* scratch) {
                                     return rows->Read(offset, bytes, scratch);
                                   }),
               count, layout);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ListImages(const proto::DataSource& source,
                                                    const std::vector<std::string>& names,
                                                    bool needs_labels) {
  if (!needs_labels) return ListAllFiles(names, ImageFiles());
  const auto& classes = source.images().class_names();
  return ListClassFiles(names, {classes.begin(), classes.end()}, ImageFiles());
}

absl::Status InspectImages(const proto::DataSource& train, const SourceFiles& /*files*/,
                           const ChooseTrainingRows& /*choose*/, proto::DataPlan* plan) {
  const auto& names = train.images().class_names();
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> directories, DirectoriesOf(train.images()));
  const auto found = ClassesIn(directories, {names.begin(), names.end()});
  // Without class folders ListImages has accepted the source only if no labels are needed.
  if (absl::IsInvalidArgument(found.status()) && names.empty()) return absl::OkStatus();
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> classes, found);
  plan->add_vocabularies()->mutable_names()->Assign(classes.begin(), classes.end());
  return absl::OkStatus();
}

absl::StatusOr<SourceArrays> ReadImages(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const ImageTarget target, TargetOf(request));
  const std::vector<std::string>& files = request.files.features[0];
  SourceArrays result;
  result.checked = true;
  std::vector<int32_t> all_labels;
  const bool has_labels = !request.label_specs.empty();
  if (has_labels) {
    CAIRN_ASSIGN_OR_RETURN(all_labels, LabelsOf(request, files));
  }
  const bool is_indexed = IsIndexed(request.planned, files.size());
  if (!is_indexed) CAIRN_RETURN_IF_ERROR(Inspect(request, target, &result));
  const std::vector<proto::IndexedFile>& index = is_indexed ? request.planned->index : result.index;
  std::vector<std::string> sound;
  std::vector<uint64_t> fingerprints;
  std::vector<int32_t> labels;
  for (size_t i = 0; i < files.size(); ++i) {
    if (index[i].examples() == 0) continue;
    sound.push_back(files[i]);
    if (is_indexed) fingerprints.push_back(request.planned->fingerprints[i]);
    if (has_labels) labels.push_back(all_labels[i]);
  }
  const std::string name = absl::StrJoin(request.source.images().directory(), ", ");
  const auto count = static_cast<int64_t>(sound.size());
  const auto storage = request.planned == nullptr ? nullptr : request.planned->storage;
  const auto rows =
      std::make_shared<ImageRows>(std::move(sound), std::move(fingerprints), target, storage);
  result.inputs.push_back(
      ImageArray(name, rows, count, target, request.model.inputs()[0].spec.shape));
  if (has_labels) result.labels.push_back(LabelArray(name, labels));
  return result;
}

}  // namespace cairn::worker
