#ifndef CAIRN_NN_FORMATS_ONNX_GRAPH_H_
#define CAIRN_NN_FORMATS_ONNX_GRAPH_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nn/tensor.h"
#include "proto/onnx.pb.h"

namespace cairn::nn {

// An ONNX graph under construction: operators, constants and the names of the values between them.
//
//   OnnxGraph graph("model");
//   const std::string sum = graph.Add("Add", {x, graph.Constant({3}, bias)});
//   graph.Output(sum, "dense", {3});
class OnnxGraph {
 public:
  // A named argument of an operator.
  struct Attribute {
    Attribute(const char* name, int64_t value);
    Attribute(const char* name, float value);
    Attribute(const char* name, const char* value);
    Attribute(const char* name, const std::vector<int64_t>& values);
    Attribute(const char* name, const std::vector<float>& values);
    Attribute(const char* name, const std::vector<std::string>& values);
    onnx::AttributeProto proto;
  };

  explicit OnnxGraph(const std::string& name);

  // Adds an operator and returns the name of its output number `output`. An input "" is absent.
  std::string Add(const char* op, const std::vector<std::string>& inputs,
                  const std::vector<Attribute>& attributes = {}, int output = 0);
  // The same for the first `count` outputs.
  std::vector<std::string> AddSeveral(const char* op, const std::vector<std::string>& inputs,
                                      const std::vector<Attribute>& attributes, int count);
  // The same for an operator of ai.onnx.ml, and its first output.
  std::string AddMl(const char* op, const std::vector<std::string>& inputs,
                    const std::vector<Attribute>& attributes);

  // Adds a constant and returns its name: `weight`, the name of a variable ("dense/kernel"), with
  // ":0" as TensorFlow has it, or a new one. A weight that is there already is not added again.
  std::string Constant(const Shape& shape, const std::vector<float>& values,
                       const std::string& weight = "");
  std::string Scalar(float value) { return Constant({}, {value}); }
  std::string Integers(const std::vector<int64_t>& values);

  // Adds an input or an output of the graph, with the shape of an example.
  void Input(const std::string& name, const TensorSpec& spec);
  void TextInput(const std::string& name, const Shape& shape);
  void Output(const std::string& value, const std::string& name, const Shape& shape);

  // The value with another shape of an example.
  std::string Reshape(const std::string& value, const Shape& shape);

  onnx::ModelProto model() const { return model_; }

 private:
  onnx::ModelProto model_;
  int names_ = 0;
  bool imports_ml_ = false;
  std::map<std::string, int> weights_;  // By name: the initializer.
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_ONNX_GRAPH_H_
