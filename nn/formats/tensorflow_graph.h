#ifndef CAIRN_NN_FORMATS_TENSORFLOW_GRAPH_H_
#define CAIRN_NN_FORMATS_TENSORFLOW_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nn/tensor.h"
#include "proto/tensorflow.pb.h"

namespace cairn::nn {

// A TensorFlow graph under construction: operators, constants and the names of the values between
// them. A value is the name of its operator, with ":K" for its output K.
//
//   TensorflowGraph graph;
//   const std::string sum = graph.Add("AddV2", {x, graph.Constant({3}, bias)});
class TensorflowGraph {
 public:
  using Ints = std::vector<int32_t>;

  // A named argument of an operator.
  struct Attribute {
    Attribute(const char* name, tensorflow::DataType type) : name(name) { value.set_type(type); }
    Attribute(const char* name, int64_t number) : name(name) { value.set_i(number); }
    Attribute(const char* name, float number) : name(name) { value.set_f(number); }
    Attribute(const char* name, bool flag) : name(name) { value.set_b(flag); }
    Attribute(const char* name, const char* text) : name(name) { value.set_s(text); }
    Attribute(const char* name, const Ints& numbers) : name(name) {
      for (const int32_t number : numbers) value.mutable_list()->add_i(number);
    }
    Attribute(const char* name, const std::vector<int64_t>& numbers) : name(name) {
      value.mutable_list()->mutable_i()->Assign(numbers.begin(), numbers.end());
    }
    Attribute(const char* name, const std::vector<std::string>& texts) : name(name) {
      value.mutable_list()->mutable_s()->Assign(texts.begin(), texts.end());
    }
    const char* name;
    tensorflow::AttrValue value;
  };

  TensorflowGraph();

  // Appends the sizes.
  static void SetShape(const Shape& shape, tensorflow::TensorShapeProto* proto);
  static tensorflow::DataType TypeOf(const TensorSpec& spec);

  // Adds an operator without a type and returns the name of its first output.
  std::string Node(const char* op, const std::vector<std::string>& inputs,
                   const std::vector<Attribute>& attributes);
  // Adds an operator on floats.
  std::string Add(const char* op, const std::vector<std::string>& inputs,
                  std::vector<Attribute> attributes = {});

  std::string Constant(const Shape& shape, const std::vector<float>& values);
  std::string Scalar(float value) { return Constant({}, {value}); }
  std::string Integer(int32_t value);
  std::string Integers(const Ints& values);
  std::string Int64(int64_t value);
  std::string Int64s(const std::vector<int64_t>& values);
  std::string Text(const std::string& value);
  // A list of texts.
  std::string Texts(const std::vector<std::string>& values);

  // An input of the graph with the shape of an example.
  std::string Placeholder(const Shape& shape, tensorflow::DataType type);

  std::string Cast(const std::string& x, tensorflow::DataType from, tensorflow::DataType to);
  // The value with another shape of an example.
  std::string Reshape(const std::string& x, const Shape& shape);
  std::string Slice(const std::string& x, const Ints& begin, const Ints& size);
  // Parts of equal length; one of them is RESULT:K.
  std::string Split(const std::string& x, int axis, int64_t parts);
  std::string Concatenate(std::vector<std::string> values, int axis);
  // Zeros around the axes behind the batch. Adds nothing if there are none.
  std::string Pad(const std::string& x, const Ints& before, const Ints& after);
  std::string Reduce(const char* op, const std::string& x, const Ints& axes, bool keeps);
  std::string Transpose(const std::string& x, const Ints& order);
  // The floats of texts, or of int64, in a hash table from `keys`, a constant, to `values`. Others
  // have the float `other`.
  std::string LookUp(const std::string& x, const std::string& keys, tensorflow::DataType type,
                     const std::vector<float>& values, float other);

  // The operator that fills the hash tables; empty: there are none.
  std::string AddInitialization();
  // Ends the construction.
  tensorflow::GraphDef Finish() { return std::move(graph_); }

 private:
  std::string Constant(tensorflow::DataType type, const Shape& shape, const void* values,
                       size_t bytes);
  std::string TextConstant(const Shape& shape, const std::vector<std::string>& values);

  tensorflow::GraphDef graph_;
  std::vector<std::string> fillings_;  // The operators that fill the hash tables.
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_TENSORFLOW_GRAPH_H_
