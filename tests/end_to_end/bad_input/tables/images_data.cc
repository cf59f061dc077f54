#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

constexpr std::string_view kFile = "photos/rose/12.png";

// The beginning of a PNG image of 60000 x 60000 pixels.
constexpr std::string_view kBomb(
    "\211\120\116\107\015\012\032\012\000\000\000\015\111\110\104\122\000\000\352\140"
    "\000\000\352\140\010\002\000\000\000\017\260\342\025\000\000\000\005\111\104\101"
    "\124",
    41);

constexpr Step Job(std::string_view patch) { return Patch("photos.json", patch); }

constexpr BadCase kCases[] = {
    {kMissing, "the folder", {Job(R"({"train": {"images": {"directory": "pictures"}}})")}},
    {kMissing, "its name", {Job(R"({"train": {"images": {"directory": null}}})")}},
    {kMissing,
     "folders of classes",
     {Job(R"({"train": {"images": {"directory": "photos/rose"}}})")}},
    {kUnreadable, "an image that may not be read", {Forbid(kFile)}},
    {kFolder,
     "a file in place of the folder",
     {Job(R"({"train": {"images": {"directory": "flowers.csv"}}})")}},
    {kConflict,
     "the last rows for validation, which are of the last class",
     {Job(R"({"validation": null, "validation_fraction": 0.5})")}},
    {kEmpty, "an image", {Write(kFile, "")}},
    {kEmpty,
     "the folders",
     {Folder("roses"), Folder("roses/red"),
      Job(R"({"train": {"images": {"directory": "roses"}}})")}},
    {kTruncated, "an image", {Cut(kFile, 60)}},
    {kForeign, "text", {Write(kFile, "a rose is a rose")}},
    {kForeign, "an image of another kind", {Write("photos/rose/13.gif", "GIF89a")}},
    {kForeign, "an image of another kind by its contents", {Write(kFile, "GIF89a")}},
    {kForeign, "a byte that changed", {Flip(kFile, 50)}},
    {kShape, "a model that does not take images", {Job(R"({"model": "model.json"})")}},
    {kShape, "another size", {Job(R"({"train": {"images": {"image_size": [32, 24]}}})")}},
    {kShape, "other colors", {Job(R"({"train": {"images": {"color_mode": "grayscale"}}})")}},
    {kShape,
     "a size of three numbers",
     {Job(R"({"train": {"images": {"image_size": [32, 32, 3]}}})")}},
    {kLabels,
     "more folders than the model has classes",
     {Set("images.json", "/config/layers/1/config/units", "2"), Copy(kFile, "photos/daisy/1.png")}},
    {kLabels,
     "a folder that the training data have not",
     {Copy(kFile, "others/daisy/1.png"),
      Job(R"({"validation": {"images": {"directory": "others"}}})")}},
    {kAbsurd, "an image of 60000 x 60000 pixels", {Write(kFile, kBomb)}},
    {kAbsurd, "a size", {Job(R"({"train": {"images": {"image_size": [1099511627776, 1]}}})")}},
    {kUnknown, "a class", {Job(R"({"train": {"images": {"class_names": ["rose", "daisy"]}}})")}},
    {kUnknown, "colors", {Job(R"({"train": {"images": {"color_mode": "bgr"}}})")}},
    {kUnknown, "an interpolation", {Job(R"({"train": {"images": {"interpolation": "best"}}})")}},
    {kUnknown, "a field", {Job(R"({"train": {"images": {"folder": "photos"}}})")}},
    {kType, "a size that is a text", {Job(R"({"train": {"images": {"image_size": "32x32"}}})")}},
    {kMissing,
     "a size that a pipeline changes",
     {Job(R"({"train": {"pipeline": [{"crop": {"size": 8}}]}})")}},
    {kMissing,
     "the size of a crop",
     {Job(R"({"train": {"pipeline": [{"crop": {"random": true}}]}})")}},
    {kUnknown,
     "a direction of a flip",
     {Job(R"({"train": {"pipeline": [{"flip": "left_right"}]}})")}},
    {kUnknown,
     "an interpolation of a step",
     {Job(R"({"train": {"pipeline": [{"resize": {"size": 32, "interpolation": "best"}}]}})")}},
    {kRange,
     "a crop of more than the image",
     {Job(R"({"train": {"images": {"image_size": 16}, "pipeline": [{"crop": {"size": 64}}]}})")}},
    {kConflict,
     "two ways to keep the aspect ratio of a step",
     {Job(
         R"({"train": {"pipeline": [{"resize": {"size": 32, "crop_to_aspect_ratio": true, "pad_to_aspect_ratio": true}}]}})")}},
    {kMissing,
     "the table",
     {Job(R"({"train": {"images": {"directory": null, "table": "photos.csv"}}})")}},
    {kMissing,
     "the column of the paths",
     {Write("photos.csv", "file,class\nphotos/rose/12.png,rose\n"),
      Job(R"({"train": {"images": {"directory": null, "table": "photos.csv"}}})")}},
    {kMissing,
     "an image of the table",
     {Write("photos.csv", "filename,class\nphotos/rose/0.png,rose\n"),
      Job(R"({"train": {"images": {"directory": null, "table": "photos.csv"}}})")}},
    {kEmpty,
     "a path in the table",
     {Write("photos.csv", "filename,class\n,rose\n"),
      Job(R"({"train": {"images": {"directory": null, "table": "photos.csv"}}})")}},
    {kEmpty,
     "the table",
     {Write("photos.csv", "filename,class\n"),
      Job(R"({"train": {"images": {"directory": null, "table": "photos.csv"}}})")}},
    {kForeign,
     "a folder in place of the table",
     {Job(R"({"train": {"images": {"directory": null, "table": "photos"}}})")}},
    {kLabels,
     "more labels in the table than the model has classes",
     {Set("images.json", "/config/layers/1/config/units", "2"),
      Write("photos.csv",
            "filename,class\nphotos/rose/12.png,a\nphotos/rose/12.png,b\nphotos/rose/12.png,c\n"),
      Job(R"({"train": {"images": {"directory": null, "table": "photos.csv"}}})")}},
    {kConflict, "a folder and a table", {Job(R"({"train": {"images": {"table": "photos.csv"}}})")}},
    {kConflict,
     "a column without a table",
     {Job(R"({"train": {"images": {"label_column": "class"}}})")}},
    {kRange, "a size of 0", {Job(R"({"train": {"images": {"image_size": 0}}})")}},
    {kConflict,
     "two ways to keep the aspect ratio",
     {Job(
         R"({"train": {"images": {"crop_to_aspect_ratio": true, "pad_to_aspect_ratio": true}}})")}},
    {kConflict,
     "a class that is named twice",
     {Job(R"({"train": {"images": {"class_names": ["rose", "rose"]}}})")}},
    {kConflict,
     "a class that is a path",
     {Job(R"({"train": {"images": {"class_names": ["../photos/rose"]}}})")}},
    {kConflict,
     "more damaged images than may be skipped",
     {Job(R"({"train": {"skip_damaged": 1}})"), Write(kFile, "no"),
      Write("photos/tulip/13.png", "no")}},
};

}  // namespace

InputKind ImagesData() {
  return {"Data: images",
          "JPEG and PNG files in a folder for each class.",
          "cairn submit photos.json --follow",
          true,
          kCases,
          {}};
}

}  // namespace cairn::testing
