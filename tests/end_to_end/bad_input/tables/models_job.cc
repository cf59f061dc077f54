#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

constexpr Step Job(std::string_view patch) { return Patch("models.json", patch); }

constexpr BadCase kCases[] =
    {
        {kMissing, "no objectives", {Job(R"json({"objectives": null})json")}},
        {kMissing,
         "the file of a model",
         {Job(R"json({"models": {"flower": "absent.json"}})json")}},
        {kEmpty,
         "an objective that trains nothing",
         {Job(
             R"json({"objectives": [{"trains": [], "optimizer": "sgd", "losses": [{"of": "flower(data)", "target": "labels", "loss": "sparse_categorical_crossentropy"}]}]})json")}},
        {kEmpty,
         "an objective without losses",
         {Job(
             R"json({"objectives": [{"trains": ["flower"], "optimizer": "sgd", "losses": []}]})json")}},
        {kForeign,
         "an operation in an expression",
         {Job(
             R"json({"objectives": [{"trains": ["flower"], "optimizer": "sgd", "losses": [{"of": "flower(data) + 1", "target": "labels", "loss": "sparse_categorical_crossentropy"}]}]})json")}},
        {kShape,
         "a model on the output of another that does not fit",
         {Job(
             R"json({"objectives": [{"trains": ["flower"], "optimizer": "sgd", "losses": [{"of": "flower(flower(data))", "target": 0, "loss": "sparse_categorical_crossentropy"}]}]})json")}},
        {kShape,
         "noise of another size than the model's input",
         {Job(
             R"json({"objectives": [{"trains": ["flower"], "optimizer": "sgd", "losses": [{"of": "flower(data)", "target": "labels", "loss": "sparse_categorical_crossentropy"}, {"of": "flower(noise(5))", "target": 0, "loss": "sparse_categorical_crossentropy"}]}]})json")}},
        {kLabels,
         "a class number beyond the model's output",
         {Job(
             R"json({"objectives": [{"trains": ["flower"], "optimizer": "sgd", "losses": [{"of": "flower(data)", "target": 7, "loss": "sparse_categorical_crossentropy"}]}]})json")}},
        {kAbsurd,
         "10^12 numbers of noise",
         {Job(
             R"json({"objectives": [{"trains": ["flower"], "optimizer": "sgd", "losses": [{"of": "flower(data)", "target": "labels", "loss": "sparse_categorical_crossentropy"}, {"of": "flower(noise(1000000000000))", "target": 0, "loss": "sparse_categorical_crossentropy"}]}]})json")}},
        {kUnknown,
         "a model in an expression",
         {Job(
             R"json({"objectives": [{"trains": ["flower"], "optimizer": "sgd", "losses": [{"of": "flwer(data)", "target": "labels", "loss": "sparse_categorical_crossentropy"}]}]})json")}},
        {kUnknown, "a field of an objective", {Job(R"json({"objectives": [{"trains": ["flower"], "optimizer": "sgd", "evry": 2, "losses": [{"of": "flower(data)", "target": "labels", "loss": "sparse_categorical_crossentropy"}]}]})json")}},
        {kUnknown,
         "a target",
         {Job(
             R"json({"objectives": [{"trains": ["flower"], "optimizer": "sgd", "losses": [{"of": "flower(data)", "target": "label", "loss": "sparse_categorical_crossentropy"}]}]})json")}},
        {kType, "a list of models", {Job(R"json({"models": ["model.json"]})json")}},
        {kTruncated,
         "an expression that ends too early",
         {Job(
             R"json({"objectives": [{"trains": ["flower"], "optimizer": "sgd", "losses": [{"of": "flower(data", "target": "labels", "loss": "sparse_categorical_crossentropy"}]}]})json")}},
        {kRange,
         "an objective in every 0th update",
         {Job(
             R"json({"objectives": [{"trains": ["flower"], "optimizer": "sgd", "every": 0, "losses": [{"of": "flower(data)", "target": "labels", "loss": "sparse_categorical_crossentropy"}]}]})json")}},
        {kConflict, "one model and several", {Job(R"json({"model": "model.json"})json")}},
        {kConflict,
         "a model that two objectives train",
         {Job(
             R"json({"objectives": [{"trains": ["flower"], "optimizer": "sgd", "name": "a", "losses": [{"of": "flower(data)", "target": "labels", "loss": "sparse_categorical_crossentropy"}]}, {"trains": ["flower"], "optimizer": "sgd", "name": "b", "losses": [{"of": "flower(data)", "target": "labels", "loss": "sparse_categorical_crossentropy"}]}]})json")}},
        {kConflict, "validation", {Job(R"json({"validation_fraction": 0.5})json")}},
};

constexpr Impossible kImpossible[] = {
    {kUnreadable, "as in a job of one model"},
    {kFolder, "as in a job of one model"},
};

}  // namespace

InputKind ModelsJobs() {
  return {"Job files of several models",
          "`models` and `objectives` of a job file.",
          "cairn submit models.json --follow",
          true,
          kCases,
          kImpossible};
}

}  // namespace cairn::testing
