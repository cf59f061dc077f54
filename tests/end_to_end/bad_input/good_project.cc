#include "tests/end_to_end/bad_input/good_project.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "nn/formats/zip_archive.h"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/bad_input/damage.h"
#include "tests/end_to_end/process.h"
#include "tests/worker/data/images/image_bytes.h"
#include "tests/worker/data/tfrecord/example_bytes.h"

namespace cairn::testing {
namespace {

using nlohmann::json;

constexpr int kExamples = 16;
constexpr int kFeatures = 8;

json Dense(const std::string& name, int units, const std::string& activation) {
  return {{"class_name", "Dense"},
          {"config", {{"name", name}, {"units", units}, {"activation", activation}}}};
}

json Sequential(json layers, const json& input_shape) {
  layers[0]["config"]["batch_input_shape"] = input_shape;
  return {{"class_name", "Sequential"},
          {"config", {{"name", "model"}, {"layers", std::move(layers)}}},
          {"keras_version", "2.15.0"},
          {"backend", "tensorflow"}};
}

void WriteModels(const std::string& folder) {
  const json model =
      Sequential({Dense("first", 4, "relu"), Dense("last", 3, "softmax")}, {nullptr, kFeatures});
  WriteFile(folder + "/model.json", model.dump());
  const json images = Sequential(
      {{{"class_name", "Flatten"}, {"config", {{"name", "flat"}}}}, Dense("last", 10, "softmax")},
      {nullptr, 32, 32, 3});
  WriteFile(folder + "/images.json", images.dump());
  json weights = json::array();
  const std::vector<std::pair<std::string, std::vector<int>>> shapes = {
      {"first/kernel", {kFeatures, 4}},
      {"first/bias", {4}},
      {"last/kernel", {4, 3}},
      {"last/bias", {3}}};
  for (const auto& [name, shape] : shapes) {
    weights.push_back({{"name", name}, {"shape", shape}, {"dtype", "float32"}});
  }
  const json manifest = {{{"paths", {"weights.bin"}}, {"weights", weights}}};
  const json layers_model = {
      {"format", "layers-model"}, {"modelTopology", model}, {"weightsManifest", manifest}};
  WriteFile(folder + "/tfjs.json", layers_model.dump());
  WriteFile(folder + "/weights.bin", std::string((kFeatures * 4 + 4 + 4 * 3 + 3) * 4, '\0'));
}

std::string Idx(const std::string& axes, int elements) {
  std::string bytes("\0\0\x08", 3);
  bytes += static_cast<char>(axes.size());
  for (const char size : axes) bytes += std::string("\0\0\0", 3) + size;
  for (int i = 0; i < elements; ++i) bytes += static_cast<char>(i % 3);
  return bytes;
}

void WriteData(const std::string& folder) {
  std::vector<float> labels;
  std::string csv = "a,b,c,d,e,f,g,h,y\n";
  std::string cifar;
  std::string tfrecord;
  for (int i = 0; i < kExamples; ++i) {
    labels.push_back(static_cast<float>(i % 3));
    csv += "1,2,3,4,5,6,7,8," + std::to_string(i % 3) + "\n";
    cifar += std::string(1, static_cast<char>(i % 10)) + std::string(3072, '\x40');
    tfrecord += RecordBytes(ExampleBytes({{"x", FloatsFeature(std::vector<float>(kFeatures, 1.0f))},
                                          {"y", IntsFeature({i % 3})},
                                          {"name", BytesFeature({"rose"})}}));
  }
  WriteFile(folder + "/x.npy",
            EncodeNpy({{kExamples, kFeatures}, std::vector<float>(kExamples * kFeatures, 1.0f)}));
  WriteFile(folder + "/y.npy", EncodeNpy({{kExamples}, labels}));
  WriteFile(folder + "/x.idx", Idx({kExamples, kFeatures}, kExamples * kFeatures));
  WriteFile(folder + "/y.idx", Idx({kExamples}, kExamples));
  for (const char* const name : {"/x.idx", "/y.idx"}) {
    WriteFile(folder + name + ".gz", Packed(ReadFile(folder + name)));
  }
  WriteFile(folder + "/flowers.csv", csv);
  WriteFile(folder + "/batch.bin", cifar);
  WriteFile(folder + "/flowers.tfrecord", tfrecord);
  // What is in it is not read.
  WriteFile(folder + "/flowers.parquet", "PAR1");
  std::string texts;
  for (int i = 0; i < kExamples; ++i)
    texts += (i % 2 == 0 ? "rose\tred " : "tulip\tblue ") + std::to_string(i) + "\n";
  WriteFile(folder + "/flowers.tsv", texts);
  for (int i = 0; i < kExamples; ++i) {
    const std::string flower = folder + "/photos/" + (i % 2 == 0 ? "rose" : "tulip");
    std::filesystem::create_directories(flower);
    WriteFile(flower + "/" + std::to_string(10 + i) + ".png",
              PngBytes(32, 32, 3, std::string(32 * 32 * 3, static_cast<char>(i))));
  }
  WriteFile(folder + "/flowers.npz", *nn::WriteZip({{"x_train.npy", ReadFile(folder + "/x.npy")},
                                                    {"y_train.npy", ReadFile(folder + "/y.npy")}}));
}

void WriteJob(const std::string& folder, const std::string& file, const json& change) {
  json job = {{"name", "flowers"},
              {"model", "model.json"},
              {"loss", "sparse_categorical_crossentropy"},
              {"metrics", {"accuracy"}},
              {"optimizer", {{"name", "sgd"}, {"learning_rate", 0.1}}},
              {"batch_size", 8},
              {"epochs", 1}};
  job.update(change);
  WriteFile(folder + "/" + file, job.dump());
}

// A job that trains the same model as one of several.
void WriteModelsJob(const std::string& folder, const json& train) {
  const json loss = {
      {"of", "flower(data)"}, {"target", "labels"}, {"loss", "sparse_categorical_crossentropy"}};
  const json objective = {
      {"trains", {"flower"}}, {"optimizer", "sgd"}, {"losses", json::array({loss})}};
  const json job = {{"name", "flowers"},
                    {"models", {{"flower", "model.json"}}},
                    {"objectives", json::array({objective})},
                    {"train", train},
                    {"batch_size", 8},
                    {"epochs", 1}};
  WriteFile(folder + "/models.json", job.dump());
}

void WriteTfConfigs(const std::string& folder) {
  const json cluster = {{"chief", {"h:1"}}, {"ps", {"h:2", "h:3"}}, {"worker", {"h:4", "h:5"}}};
  for (const auto& [program, type] : std::vector<std::pair<std::string, std::string>>{
           {"coordinator", "chief"}, {"ps_server", "ps"}, {"worker", "worker"}}) {
    const json task = {{"type", type}, {"index", 0}};
    WriteFile(folder + "/TF_CONFIG." + program, json{{"cluster", cluster}, {"task", task}}.dump());
  }
}

}  // namespace

void WriteGoodProject(const std::string& folder) {
  std::filesystem::create_directories(folder);
  WriteModels(folder);
  WriteData(folder);
  WriteTfConfigs(folder);
  const json npy = {{"npy", {{"features", "x.npy"}, {"labels", "y.npy"}}}};
  WriteJob(folder, "job.json", {{"train", npy}});
  WriteJob(folder, "pretrained.json", {{"train", npy}, {"model", "tfjs.json"}});
  WriteJob(folder, "idx.json",
           {{"train", {{"idx", {{"features", "x.idx"}, {"labels", "y.idx"}}}}}});
  WriteJob(folder, "idx_gz.json",
           {{"train", {{"idx", {{"features", "x.idx.gz"}, {"labels", "y.idx.gz"}}}}}});
  WriteJob(folder, "csv.json", {{"train", {{"csv", {{"files", "flowers.csv"}, {"labels", "y"}}}}}});
  WriteJob(
      folder, "tfrecord.json",
      {{"train",
        {{"tfrecord",
          {{"files", "flowers.tfrecord"}, {"features", {{{"name", "x"}}}}, {"labels", "y"}}}}}});
  WriteJob(
      folder, "parquet.json",
      {{"train",
        {{"parquet",
          {{"files", "flowers.parquet"}, {"features", {{{"name", "x"}}}}, {"labels", "y"}}}}}});
  WriteJob(folder, "text.json", {{"train", {{"text", {{"files", "flowers.tsv"}}}}}});
  WriteJob(
      folder, "npz.json",
      {{"train",
        {{"npz", {{"files", "flowers.npz"}, {"features", "x_train"}, {"labels", "y_train"}}}}}});
  WriteJob(folder, "photos.json",
           {{"train", {{"images", {{"directory", "photos"}}}}}, {"model", "images.json"}});
  WriteModelsJob(folder, npy);
  WriteJob(folder, "cifar10.json",
           {{"train", {{"cifar10", {{"files", "batch.bin"}}}}}, {"model", "images.json"}});
}

}  // namespace cairn::testing
