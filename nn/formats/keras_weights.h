#ifndef CAIRN_NN_FORMATS_KERAS_WEIGHTS_H_
#define CAIRN_NN_FORMATS_KERAS_WEIGHTS_H_

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Where the files of Keras have the weights of a layer. Keras 3 numbers the layers of one class in
// a model instead of naming them: "layers/dense_1/vars/0" is the kernel of the second Dense,
// whatever its name. Each cell of a StackedRNNCells is a layer here, and numbered among the cells.
// Keras 2 and the .h5 files of Keras 3 group weights by the layers of the
// outermost model.

// Makes the names "dense", "dense_1", "dense_2" of the layers of one model, in its order.
class KerasLayerNumbers {
 public:
  // `class_name`: "Dense", "GlobalMaxPooling2D".
  std::string Next(const std::string& class_name);

 private:
  std::map<std::string, int> counts_;
};

// The path of a layer's variable below that of the layer: "vars/0", "cell/vars/1".
std::string KerasVariablePath(const Layer& layer, size_t variable);

// A layer of a model, or of a model in it, as the file has it.
struct KerasLayerPlace {
  std::string layer;  // The name in the spec; empty if the spec has no such layer.
  std::string path;   // In files of Keras 3: "layers/functional/layers/dense_1".
  std::string top;    // The layer of the outermost model that it is, or belongs to.
};

struct PlacedModel {
  proto::ModelSpec spec;
  std::vector<KerasLayerPlace> places;  // In the order of the file, without input layers.
};

// Reads a Keras architecture like ReadKerasTopology, and where its weights are. `root` is the place
// of the document in error messages.
absl::StatusOr<PlacedModel> ReadPlacedModel(nlohmann::json document, const std::string& root);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_KERAS_WEIGHTS_H_
