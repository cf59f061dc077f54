#include "cli/help/starter.h"

#include <cmath>
#include <cstdint>

#include "common/npy.h"
#include "common/random.h"

namespace cairn::cli {
namespace {

constexpr int kArms = 3;

constexpr char kJob[] = R"(// A job file: what to train, on what, and how. Run it with
//
//   cairn run job.json
//
// Comments like this one are allowed; all fields are explained in doc/job_file.md
// (where Cairn is installed: share/doc/cairn/job_file.md). Relative paths are seen from this file.
// A field that Cairn does not know is rejected with its path.
{
  // How commands speak of the job: cairn status spirals, cairn export spirals --output trained
  "name": "spirals",

  // What Keras's model.to_json() writes, a .keras or .h5 file, or the model.json of a TF.js layers model.
  "model": "model.json",

  // Which examples. Formats: "npy" (NumPy), "idx" (MNIST) and others. "features" has a file for
  // each of the model's inputs; the first axis counts the examples. "scale" multiplies features:
  // for bytes of an image 0.00392156862745098, which is 1/255.
  "train":      {"npy": {"features": "train_x.npy", "labels": "train_y.npy"}, "scale": 1.0},

  // Evaluated after each epoch; may be left out.
  "validation": {"npy": {"features": "test_x.npy", "labels": "test_y.npy"}, "scale": 1.0},

  // Keras's names and defaults. A name may stand for an object: "optimizer": "adam".
  "loss": "sparse_categorical_crossentropy",
  "metrics": ["accuracy"],

  // A number serves as learning rate too. This one falls to 0 in 20 epochs of 188 steps, so that the
  // last steps do not depend on who came late.
  "optimizer": {"name": "adam",
                "learning_rate": {"name": "cosine_decay", "initial_learning_rate": 0.01,
                                  "decay_steps": 3760}},

  // Examples in one step of one worker.
  "batch_size": 32,

  // How often all examples are seen. "steps" may stand in its place: so many batches.
  "epochs": 20,

  // A new order in each epoch; all that is random follows from the seed.
  "shuffle": true,
  "seed": 1,

  // "async": workers do not wait for each other. "sync": as one large batch of all workers, the same
  // result whoever computes. "stale": in between, with a "window".
  "strategy": {"parameter_server": {"mode": "async"}},

  // From what a job goes on after a crash or Ctrl-C. One is always written after an epoch.
  "checkpoint": {"every_steps": 500, "keep": 3}
}
)";

constexpr char kModel[] = R"({
  "class_name": "Sequential",
  "config": {
    "name": "spirals",
    "layers": [
      {"class_name": "Dense",
       "config": {"name": "hidden_1", "units": 64, "activation": "relu",
                  "batch_input_shape": [null, 2]}},
      {"class_name": "Dense",
       "config": {"name": "hidden_2", "units": 64, "activation": "relu"}},
      {"class_name": "Dense",
       "config": {"name": "arm", "units": 3, "activation": "softmax"}}
    ]
  }
}
)";

template <typename Number>
std::string Npy(char kind, const std::vector<int64_t>& shape, const std::vector<Number>& values) {
  NpyHeader header;
  header.kind = kind;
  header.item_bytes = sizeof(Number);
  header.shape = shape;
  return FormatNpyHeader(header) +
         std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Number));
}

// Adds points on arms that wind once around the center, each moved off its arm by noise.
void AddPoints(const std::string& name, int64_t count, std::vector<StarterFile>* files) {
  constexpr float kTurn = 6.2831853f;
  constexpr float kNoise = 0.4f;
  const uint64_t key = DeriveKey(/*parent=*/1, name);
  std::vector<float> points;
  std::vector<int32_t> arms;
  for (int64_t i = 0; i < count; ++i) {
    const auto arm = static_cast<int32_t>(i % kArms);
    const float radius = RandomUniform(key, 2 * i);
    const float noise = kNoise * (RandomUniform(key, 2 * i + 1) - 0.5f);
    const float angle = kTurn * (radius + static_cast<float>(arm) / kArms) + noise;
    points.insert(points.end(), {radius * std::sin(angle), radius * std::cos(angle)});
    arms.push_back(arm);
  }
  files->push_back({name + "_x.npy", Npy('f', {count, 2}, points)});
  files->push_back({name + "_y.npy", Npy('i', {count}, arms)});
}

}  // namespace

std::vector<StarterFile> StarterFiles() {
  std::vector<StarterFile> files = {{"job.json", kJob}, {"model.json", kModel}};
  AddPoints("train", 6000, &files);
  AddPoints("test", 1200, &files);
  return files;
}

}  // namespace cairn::cli
