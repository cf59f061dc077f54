#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

constexpr std::string_view kModel = "model.json";

constexpr BadCase kCases[] = {
    {kMissing, "the file", {Remove(kModel)}},
    {kMissing, "a Dense layer without units", {Drop(kModel, "/config/layers/0/config/units")}},
    {kMissing, "no input shape", {Drop(kModel, "/config/layers/0/config/batch_input_shape")}},
    {kUnreadable, "a file that may not be read", {Forbid(kModel)}},
    {kFolder, "a folder in place of the file", {Folder(kModel)}},
    {kEmpty, "an empty file", {Write(kModel, "")}},
    {kEmpty, "a model without layers", {Patch(kModel, R"({"config": {"layers": []}})")}},
    {kTruncated, "JSON that ends too early", {Cut(kModel, 50)}},
    {kForeign, "an array", {Copy("x.npy", kModel)}},
    {kForeign, "JSON that is no model", {Write(kModel, R"({"hello": "world"})")}},
    {kForeign, "an HDF5 file that is cut off", {Write(kModel, "\x89HDF\r\n\x1a\n")}},
    {kForeign, "a .keras file that is cut off", {Write(kModel, "PK\x03\x04")}},
    {kShape,
     "a layer that cannot follow the one before",
     {Set(kModel, "/config/layers/0/config/batch_input_shape", "[null]")}},
    {kShape,
     "an image layer on vectors",
     {Insert(
         kModel, "/config/layers/1",
         R"({"class_name": "Conv2D", "config": {"name": "conv", "filters": 3, "kernel_size": 3}})")}},
    {kShape,
     "outputs that the loss does not take",
     {Set(kModel, "/config/layers/1/config/units", "1")}},
    {kShape,
     "a layer with several outputs in a Sequential",
     {Insert(
         kModel, "/config/layers/1",
         R"({"class_name": "GRU", "config": {"name": "gru", "units": 3, "return_state": true}})")}},
    {kAbsurd, "10^15 units", {Set(kModel, "/config/layers/0/config/units", "1000000000000000")}},
    {kAbsurd,
     "an input of 10^12 numbers",
     {Set(kModel, "/config/layers/0/config/batch_input_shape", "[null, 1000000000000]")}},
    {kAbsurd, "brackets without end", {Write(kModel, "", "[", 4096)}},
    {kUnknown, "a layer", {Set(kModel, "/config/layers/0/class_name", R"("Densee")")}},
    {kUnknown, "an argument", {Set(kModel, "/config/layers/0/config/unitz", "3")}},
    {kUnknown, "an activation", {Set(kModel, "/config/layers/0/config/activation", R"("rellu")")}},
    {kUnknown,
     "an initializer",
     {Set(kModel, "/config/layers/0/config/kernel_initializer",
          R"({"class_name": "Zeroes", "config": {}})")}},
    {kUnknown,
     "a regularizer",
     {Set(kModel, "/config/layers/0/config/kernel_regularizer",
          R"({"class_name": "L3", "config": {}})")}},
    {kUnknown, "a class of model", {Patch(kModel, R"({"class_name": "Sequental"})")}},
    {kType, "units in quotes", {Set(kModel, "/config/layers/0/config/units", R"("4")")}},
    {kType,
     "a word in place of true",
     {Set(kModel, "/config/layers/0/config/use_bias", R"("no")")}},
    {kType, "layers that are no list", {Set(kModel, "/config/layers", "3")}},
    {kType, "a layer that is a number", {Set(kModel, "/config/layers/1", "3")}},
    {kType, "a name that is a number", {Set(kModel, "/config/layers/0/config/name", "5")}},
    {kRange, "no units", {Set(kModel, "/config/layers/0/config/units", "0")}},
    {kRange, "negative units", {Set(kModel, "/config/layers/0/config/units", "-4")}},
    {kRange,
     "an input of size 0",
     {Set(kModel, "/config/layers/0/config/batch_input_shape", "[null, 0]")}},
    {kRange,
     "an input of unknown size",
     {Set(kModel, "/config/layers/0/config/batch_input_shape", "[null, null]")}},
    {kRange,
     "a number type that is not supported",
     {Set(kModel, "/config/layers/0/config/dtype", R"("float16")")}},
    {kRange,
     "a dropout of everything",
     {Insert(kModel, "/config/layers/1",
             R"({"class_name": "Dropout", "config": {"name": "drop", "rate": 1.5}})")}},
    {kConflict,
     "two layers of one name",
     {Set(kModel, "/config/layers/1/config/name", R"("first")")}},
    {kConflict,
     "nothing to train",
     {Set(kModel, "/config/layers/0/config/trainable", "false"),
      Set(kModel, "/config/layers/1/config/trainable", "false")}},
};

constexpr Impossible kImpossible[] = {
    {kLabels, "a model has none; see the data"},
};

}  // namespace

InputKind Model() {
  return {"Models",
          "A Keras architecture JSON. Layers are called by their names.",
          "cairn submit job.json --follow",
          true,
          kCases,
          kImpossible};
}

}  // namespace cairn::testing
