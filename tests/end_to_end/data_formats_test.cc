// Every data format, from files to a trained model. The same numbers must give the same bits in
// every format.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "nn/formats/zip_archive.h"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/test_cluster.h"
#include "tests/worker/data/images/image_bytes.h"
#include "tests/worker/data/tfrecord/example_bytes.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr int kPixels = 1024;
constexpr int kExamples = 200;

// Images in the format of CIFAR-10 (label, then planes); the class is the brightest color.
struct Images {
  std::vector<uint8_t> labels;
  std::vector<std::vector<uint8_t>> planes;  // Each has 3 * kPixels bytes.

  uint8_t At(int example, int pixel, int channel) const {
    return planes[example][channel * kPixels + pixel];
  }
};

Images MakeImages() {
  std::mt19937 random(11);
  Images images;
  for (int i = 0; i < kExamples; ++i) {
    const int label = static_cast<int>(random() % 3);
    images.labels.push_back(static_cast<uint8_t>(label));
    std::vector<uint8_t>& planes = images.planes.emplace_back();
    for (int c = 0; c < 3; ++c) {
      for (int p = 0; p < kPixels; ++p) {
        planes.push_back(static_cast<uint8_t>(random() % 156 + (c == label ? 100 : 0)));
      }
    }
  }
  return images;
}

void WriteCifar(const Images& images, const std::string& prefix) {
  std::string bytes[2];
  for (int i = 0; i < kExamples; ++i) {
    std::string& file = bytes[i < kExamples / 3 ? 0 : 1];
    file += static_cast<char>(images.labels[i]);
    file.append(images.planes[i].begin(), images.planes[i].end());
  }
  WriteFile(prefix + "_1.bin", bytes[0]);
  WriteFile(prefix + "_2.bin", bytes[1]);
}

void WriteNpy(const Images& images, const std::string& folder) {
  Array x{{kExamples, 32, 32, 3}, {}};
  Array y{{kExamples}, {}};
  for (int i = 0; i < kExamples; ++i) {
    y.values.push_back(images.labels[i]);
    for (int p = 0; p < kPixels; ++p) {
      for (int c = 0; c < 3; ++c) x.values.push_back(images.At(i, p, c));
    }
  }
  WriteFile(folder + "/x.npy", EncodeNpy(x));
  WriteFile(folder + "/y.npy", EncodeNpy(y));
}

// Images as raw bytes, in three files, one of which has no records.
void WriteTfrecords(const Images& images, const std::string& prefix) {
  std::string bytes[3];
  for (int i = 0; i < kExamples; ++i) {
    std::string pixels;
    for (int p = 0; p < kPixels; ++p) {
      for (int c = 0; c < 3; ++c) pixels += static_cast<char>(images.At(i, p, c));
    }
    bytes[i < kExamples / 3 ? 0 : 2] += RecordBytes(ExampleBytes(
        {{"image", BytesFeature({pixels})}, {"label", IntsFeature({images.labels[i]})}}));
  }
  for (int i = 0; i < 3; ++i) WriteFile(prefix + std::to_string(i) + ".tfrecord", bytes[i]);
}

void WriteNpz(const std::string& folder) {
  WriteFile(folder + "/both.npz", *nn::WriteZip({{"x.npy", ReadFile(folder + "/x.npy")},
                                                 {"y.npy", ReadFile(folder + "/y.npy")}}));
}

// A folder of PNG files for each class, and x_sorted.npy and y_sorted.npy with the same examples in
// the same order.
void WriteFolders(const Images& images, const std::string& folder) {
  Array x{{kExamples, 32, 32, 3}, {}};
  Array y{{kExamples}, {}};
  for (int label = 0; label < 3; ++label) {
    const std::string of_class = folder + "/folders/" + std::to_string(label);
    std::filesystem::create_directories(of_class);
    for (int i = 0; i < kExamples; ++i) {
      if (images.labels[i] != label) continue;
      std::string pixels;
      for (int p = 0; p < kPixels; ++p) {
        for (int c = 0; c < 3; ++c) pixels += static_cast<char>(images.At(i, p, c));
      }
      WriteFile(of_class + "/" + std::to_string(1000 + i) + ".png", PngBytes(32, 32, 3, pixels));
      for (const char value : pixels) x.values.push_back(static_cast<unsigned char>(value));
      y.values.push_back(static_cast<float>(label));
    }
  }
  WriteFile(folder + "/x_sorted.npy", EncodeNpy(x));
  WriteFile(folder + "/y_sorted.npy", EncodeNpy(y));
}

void WriteCsv(const Images& images, const std::string& file) {
  const char* const names[] = {"red", "green", "blue"};
  std::string text = "\"the label\"";
  for (int i = 0; i < 3 * kPixels; ++i) text += ",x" + std::to_string(i);
  for (int i = 0; i < kExamples; ++i) {
    text += "\r\n" + std::string(names[images.labels[i]]);
    for (int p = 0; p < kPixels; ++p) {
      for (int c = 0; c < 3; ++c) text += "," + std::to_string(images.At(i, p, c)) + ".0";
    }
  }
  WriteFile(file, text);
}

std::string IdxHeader(const std::vector<uint32_t>& axes) {
  std::string bytes = {0, 0, 8, static_cast<char>(axes.size())};
  for (const uint32_t size : axes) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  }
  return bytes;
}

void WriteIdx(const Images& images, const std::string& folder) {
  std::string x = IdxHeader({kExamples, 32, 32, 3});
  std::string y = IdxHeader({kExamples});
  for (int i = 0; i < kExamples; ++i) {
    y += static_cast<char>(images.labels[i]);
    for (int p = 0; p < kPixels; ++p) {
      for (int c = 0; c < 3; ++c) x += static_cast<char>(images.At(i, p, c));
    }
  }
  WriteFile(folder + "/x.idx", x);
  WriteFile(folder + "/y.idx", y);
}

json Model() {
  const auto layer = [](const char* name, const json& config) {
    json result = {{"class_name", name}, {"config", config}};
    return result;
  };
  const json layers = {
      layer("InputLayer", {{"name", "in"}, {"batch_input_shape", {nullptr, 32, 32, 3}}}),
      layer("Flatten", {{"name", "flat"}}),
      layer("Dense", {{"name", "out"}, {"units", 3}, {"activation", "softmax"}})};
  return {{"class_name", "Sequential"}, {"config", {{"name", "colours"}, {"layers", layers}}}};
}

class DataFormats : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteFile(folder_.path("model.json"), Model().dump());
    const Images images = MakeImages();
    WriteCifar(images, folder_.path("cifar"));
    WriteNpy(images, folder_.path("."));
    WriteCsv(images, folder_.path("x.csv"));
    WriteIdx(images, folder_.path("."));
    WriteTfrecords(images, folder_.path("images"));
    WriteNpz(folder_.path("."));
  }

  // Runs the job with these training data, after merging `changes` into it.
  CommandResult Run(const std::string& name, json train, const json& changes) {
    train["scale"] = 1.0 / 255;
    train["standardize"] = true;
    json job = {
        {"name", name},
        {"model", "model.json"},
        {"train", train},
        {"validation_fraction", 0.2},
        {"loss", "sparse_categorical_crossentropy"},
        {"metrics", {"accuracy"}},
        {"optimizer", {{"name", "sgd"}, {"learning_rate", 0.001}}},
        {"batch_size", 16},
        {"epochs", 4},
        {"strategy", {{"parameter_server", {{"mode", "sync"}, {"batches_per_update", 2}}}}}};
    job.merge_patch(changes);
    WriteFile(folder_.path(name + ".json"), job.dump());
    return RunCairn({"run", folder_.path(name + ".json"), "--ps", "1", "--workers", "1", "--state",
                     folder_.path(name), "--export", folder_.path(name + "_export")},
                    seconds(240));
  }

  // The predictions of the job's model for these inputs; "" and a test failure on error.
  std::string Predict(const std::string& name, const std::string& input) {
    const std::string output = folder_.path(name + "_predicted.npy");
    const CommandResult result = RunCairn({"predict", name, "--input", folder_.path(input),
                                           "--output", output, "--state", folder_.path(name)});
    EXPECT_EQ(result.exit_code, 0) << name << result.errors;
    return ReadFile(output);
  }

  // Loss and metrics on the job's validation data, which are a part of its training data.
  json Evaluate(const std::string& name) {
    const CommandResult result =
        RunCairn({"evaluate", name, "--json", "--state", folder_.path(name)});
    EXPECT_EQ(result.exit_code, 0) << name << result.errors;
    return result.lines().empty() ? json() : result.lines().back();
  }

  // The last evaluation of the run.
  json Validation(const std::string& name) {
    const auto history = RunCairn({"history", name, "--json", "--state", folder_.path(name)});
    return history.lines().empty() ? json() : history.lines().back();
  }

  std::string Weights(const std::string& name) {
    return ReadFile(folder_.path(name + "_export/weights.bin"));
  }

  TemporaryFolder folder_;
};

TEST_F(DataFormats, TheSameNumbersTrainToTheSameBitsAndLearn) {
  const struct {
    std::string name;
    json source;
    std::string inputs;
  } sources[] = {
      {"npy", {{"npy", {{"features", "x.npy"}, {"labels", "y.npy"}}}}, "x.npy"},
      {"idx", {{"idx", {{"features", "x.idx"}, {"labels", "y.idx"}}}}, "x.idx"},
      {"cifar10", {{"cifar10", {{"files", "cifar_*.bin"}}}}, "cifar_*.bin"},
      {"tfrecord",
       {{"tfrecord",
         {{"files", "images?.tfrecord"},
          {"features", {{"name", "image"}, {"decode", "raw"}, {"dtype", "uint8"}}},
          {"labels", "label"}}}},
       "images?.tfrecord"},
      {"npz", {{"npz", {{"files", "both.npz"}, {"features", "x"}, {"labels", "y"}}}}, "both.npz"},
      {"csv",
       {{"csv",
         {{"files", "x.csv"},
          {"labels", {{"name", "the label"}, {"vocabulary", {"red", "green", "blue"}}}}}}},
       "x.csv"}};
  for (const auto& [name, source, inputs] : sources) {
    const CommandResult result = Run(name, source, json::object());
    ASSERT_EQ(result.exit_code, 0) << name << result.output << result.errors;
    EXPECT_FALSE(Weights(name).empty());
    EXPECT_TRUE(Weights(name) == Weights("npy")) << name << " and npy differ";
    // Scaled and standardized as in the job, from a file of the job's format or a .npy file.
    const std::string predictions = Predict(name, inputs);
    EXPECT_EQ(DecodeNpy(predictions).shape, (std::vector<int64_t>{kExamples, 3})) << name;
    EXPECT_TRUE(predictions == Predict("npy", "x.npy")) << name << " predicts other numbers";
    EXPECT_TRUE(predictions == Predict(name, "x.npy")) << name << " predicts others from x.npy";
    const json evaluated = Evaluate(name);
    const json validated = Validation(name);
    ASSERT_TRUE(evaluated.is_object() && validated.is_object()) << name;
    EXPECT_EQ(evaluated.at("examples"), 40) << evaluated;
    EXPECT_EQ(evaluated.at("accuracy"), validated.at("accuracy")) << name;
    EXPECT_NEAR(evaluated.at("loss").get<double>(), validated.at("loss").get<double>(), 1e-6);
    EXPECT_GT(validated.at("accuracy").get<double>(), 0.95) << validated;
  }
}

TEST_F(DataFormats, FoldersOfImagesTrainAsArraysOfTheirPixels) {
  WriteFolders(MakeImages(), folder_.path("."));
  const json changes = {{"validation_choice", "random"}};
  const CommandResult images = Run("images", {{"images", {{"directory", "folders"}}}}, changes);
  ASSERT_EQ(images.exit_code, 0) << images.output << images.errors;
  const CommandResult arrays =
      Run("arrays", {{"npy", {{"features", "x_sorted.npy"}, {"labels", "y_sorted.npy"}}}}, changes);
  ASSERT_EQ(arrays.exit_code, 0) << arrays.output << arrays.errors;
  EXPECT_TRUE(Weights("images") == Weights("arrays"));
  const std::string predictions = Predict("images", "folders");
  EXPECT_EQ(DecodeNpy(predictions).shape, (std::vector<int64_t>{kExamples, 3}));
  EXPECT_TRUE(predictions == Predict("arrays", "x_sorted.npy"));
  EXPECT_EQ(Evaluate("images").at("loss"), Evaluate("arrays").at("loss"));
  EXPECT_GT(Validation("images").at("accuracy").get<double>(), 0.95);
}

// The first 1000 images are enough to see that the example learns.
TEST_F(DataFormats, TheExampleOfFoldersLearns) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  }
  for (const char* const name :
       {"images/make_folders.py", "images/folders.json", "fashion_mnist/cnn.json"}) {
    const std::string copy = folder_.path(name);
    std::filesystem::create_directories(std::filesystem::path(copy).parent_path());
    std::filesystem::copy_file(std::string("examples/") + name, copy);
  }
  const std::string made = "python3 " + folder_.path("images/make_folders.py") + " " +
                           folder_.path("images/data") + " 1000";
  ASSERT_EQ(std::system(made.c_str()), 0);
  const CommandResult result =
      RunCairn({"run", folder_.path("images/folders.json"), "--ps", "1", "--workers", "1",
                "--state", folder_.path("fashion_folders")},
               seconds(240));
  ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  const json validated = Validation("fashion_folders");
  EXPECT_EQ(validated.at("examples"), 1000) << validated;
  EXPECT_GT(validated.at("accuracy").get<double>(), 0.6) << validated;
}

TEST_F(DataFormats, BlocksAndARandomPartForValidationTrainToo) {
  const json changes = {{"shuffle_block", 8}, {"validation_choice", "random"}};
  const CommandResult result = Run("blocks", {{"cifar10", {{"files", "cifar_*.bin"}}}}, changes);
  ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  const CommandResult plain =
      Run("plain", {{"cifar10", {{"files", "cifar_*.bin"}}}}, json::object());
  ASSERT_EQ(plain.exit_code, 0) << plain.output << plain.errors;
  EXPECT_FALSE(Weights("blocks") == Weights("plain")) << "other examples, in another order";
}

}  // namespace
}  // namespace cairn::testing
