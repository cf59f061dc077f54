#include "job/data_formats/images_format.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "job/value_steps.h"

namespace cairn::job {
namespace {

struct ColorMode {
  const char* name;
  int channels;
};

constexpr ColorMode kColorModes[] = {{"grayscale", 1}, {"rgb", 3}, {"rgba", 4}};
// The longest side of an example.
constexpr int64_t kSideMax = int64_t{1} << 16;

const ColorMode* ModeNamed(const std::string& name) {
  for (const ColorMode& mode : kColorModes) {
    if (name == mode.name) return &mode;
  }
  return nullptr;
}

absl::Status CheckSize(const std::string& path, const proto::ImagesSource& images) {
  if (images.image_size_size() > 2) {
    return Invalid(path, ".image_size: has ", images.image_size_size(),
                   " numbers; say height and width: [224, 224]");
  }
  for (const int64_t side : images.image_size()) {
    if (side >= 1 && side <= kSideMax) continue;
    return Invalid(path, ".image_size: ", side, " is not from 1 to ", kSideMax);
  }
  return absl::OkStatus();
}

absl::Status CheckClasses(const std::string& path, const proto::ImagesSource& images) {
  std::set<std::string> names;
  for (const std::string& name : images.class_names()) {
    const bool is_path = name == "." || name == ".." || name.find('/') != std::string::npos;
    if (name.empty() || (is_path && images.table().empty())) {
      return Invalid(path, ".class_names: \"", name, "\" is not the name of a ",
                     images.table().empty() ? "folder" : "class");
    }
    if (names.insert(name).second) continue;
    return Invalid(path, ".class_names: \"", name, "\" appears twice; keep one of them");
  }
  return absl::OkStatus();
}

absl::Status CheckImages(const std::string& path, const proto::DataSource& source,
                         const DataNeeds& /*needs*/) {
  const proto::ImagesSource& images = source.images();
  const bool has_table = !images.table().empty();
  if (has_table && !images.directory().empty()) {
    return Invalid(
        path,
        ".table: conflicts with \"directory\"; paths in a table begin at the folder of the "
        "table");
  }
  if (!has_table && (images.has_path_column() || images.has_label_column())) {
    return Invalid(path, images.has_path_column() ? ".path_column" : ".label_column",
                   ": has no meaning without \"table\"");
  }
  CAIRN_RETURN_IF_ERROR(CheckSize(path, images));
  CAIRN_RETURN_IF_ERROR(CheckClasses(path, images));
  if (images.has_color_mode() && ModeNamed(images.color_mode()) == nullptr) {
    return Invalid(path, ".color_mode: \"", images.color_mode(),
                   "\" is not one of grayscale, rgb, rgba");
  }
  if (images.has_interpolation()) {
    CAIRN_RETURN_IF_ERROR(CheckInterpolation(path + ".interpolation", images.interpolation()));
  }
  if (images.crop_to_aspect_ratio() && images.pad_to_aspect_ratio()) {
    return Invalid(path,
                   ".pad_to_aspect_ratio: conflicts with \"crop_to_aspect_ratio\"; keep one of "
                   "them");
  }
  return absl::OkStatus();
}

// Images are decoded to the size of a "resize" that is the first step, in its way.
absl::Status CheckResize(const std::string& path, const proto::DataSource& source,
                         const nn::Signature& model) {
  const proto::ImagesSource& images = source.images();
  const std::vector<const proto::PipelineStep*> steps = ValueStepsOf(source, model, 0);
  if (!images.image_size().empty() || steps.empty() || !steps[0]->has_resize()) {
    return absl::OkStatus();
  }
  const char* const field = images.crop_to_aspect_ratio()  ? "crop_to_aspect_ratio"
                            : images.pad_to_aspect_ratio() ? "pad_to_aspect_ratio"
                            : images.has_interpolation()   ? "interpolation"
                                                           : nullptr;
  if (field == nullptr) return absl::OkStatus();
  return Invalid(path, ".", field,
                 ": has no effect, because the pipeline begins with \"resize\"; set it in that "
                 "step, or set \"image_size\"");
}

absl::Status CheckModel(const std::string& path, const proto::DataSource& source,
                        const nn::Signature& model) {
  if (model.inputs().size() != 1) {
    return Invalid(path, ": the model has ", model.inputs().size(), " inputs, images are one");
  }
  if (model.outputs().size() > 1) {
    return Invalid(path, ": the model has ", model.outputs().size(),
                   " outputs, folders are the labels of one");
  }
  const nn::Model::Input& input = model.inputs()[0];
  const absl::StatusOr<ImageForm> form = ImageFormOf(input.spec.shape);
  if (!form.ok()) {
    return Invalid(path, ": the model's input '", input.name, "' takes ", form.status().message());
  }
  const proto::ImagesSource& images = source.images();
  CAIRN_RETURN_IF_ERROR(CheckResize(path, source, model));
  const auto size = DecodedSizeOf(source, model);
  if (!size.ok()) return Invalid(path, ".image_size: ", size.status().message());
  if (!images.image_size().empty() && RowShape(source, model, 0)) {
    const int64_t height = images.image_size(0);
    const int64_t width = *images.image_size().rbegin();
    if (height != form->height || width != form->width) {
      return Invalid(path, ".image_size: ", height, " x ", width, ", the model's input '",
                     input.name, "' takes ", form->height, " x ", form->width,
                     "; images are resized to the input's size, so leave it out");
    }
  }
  if (images.has_color_mode() && ModeNamed(images.color_mode())->channels != form->channels) {
    return Invalid(path, ".color_mode: \"", images.color_mode(), "\" has ",
                   Plural(ModeNamed(images.color_mode())->channels, "channel"),
                   ", the model's input '", input.name, "' takes ", form->channels);
  }
  if (input.spec.type == proto::INT32 && size->method != nn::ResizeMethod::kNearest) {
    return Invalid(path, ".interpolation: \"", nn::NameOf(size->method),
                   "\" has fractions, the model's input '", input.name,
                   "' takes whole numbers; set \"nearest\"");
  }
  return absl::OkStatus();
}

void Inherit(const proto::DataSource& training, proto::DataSource* validation) {
  proto::ImagesSource all = training.images();
  all.clear_directory();
  all.clear_table();
  if (!validation->images().directory().empty()) {
    all.clear_path_column();
    all.clear_label_column();
  }
  // The fields that the validation source sets replace those of the training source; lists do not
  // follow each other, and the two ways to keep the aspect ratio exclude each other.
  const proto::ImagesSource& own = validation->images();
  if (!own.class_names().empty()) all.clear_class_names();
  if (!own.image_size().empty()) all.clear_image_size();
  if (own.crop_to_aspect_ratio()) all.clear_pad_to_aspect_ratio();
  if (own.pad_to_aspect_ratio()) all.clear_crop_to_aspect_ratio();
  all.MergeFrom(own);
  *validation->mutable_images() = std::move(all);
}

}  // namespace

absl::StatusOr<ImageForm> ImageFormOf(const nn::Shape& shape) {
  const bool is_flat = shape.size() == 2;
  const int64_t channels = is_flat ? 1 : shape.size() == 3 ? shape[2] : 0;
  for (const ColorMode& mode : kColorModes) {
    if (channels == mode.channels && shape[0] <= kSideMax && shape[1] <= kSideMax) {
      return ImageForm{shape[0], shape[1], mode.channels};
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(nn::ShapeText(shape),
                                                 "; images have a height, a width (each at most ",
                                                 kSideMax, ") and 1, 3 or 4 channels"));
}

DataFormat ImagesFormat() {
  return {.name = "images",
          .lists =
              [](proto::DataSource* source) {
                proto::ImagesSource* const images = source->mutable_images();
                return images->table().empty() ? FileLists{"directory", images->mutable_directory()}
                                               : FileLists{"table", images->mutable_table()};
              },
          .file_example = "flowers/train",
          .skips_damaged = true,
          .filter_columns = {"class_name"},
          .has_folders = true,
          .is_divisible = true,
          .check = CheckImages,
          .check_model = CheckModel,
          .inherit = Inherit};
}

}  // namespace cairn::job
