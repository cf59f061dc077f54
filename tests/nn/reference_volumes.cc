// Reference implementations of layers for volumes (depth, height, width, channels).

#include <algorithm>
#include <limits>

#include "nn/layers/adaptive_pooling.h"
#include "nn/layers/conv3d.h"
#include "nn/layers/pooling2d.h"
#include "nn/layers/rearranging.h"
#include "tests/nn/reference_layers.h"

namespace cairn::nn::testing {
namespace {

// A position in a volume: plane, row and column.
struct Place {
  int64_t z = 0;
  int64_t y = 0;
  int64_t x = 0;
};

// Calls `visit(place)` for all places of a volume, in order.
template <typename Visit>
void ForEachPlace(const Shape& volume, const Visit& visit) {
  for (int64_t z = 0; z < volume[0]; ++z) {
    for (int64_t y = 0; y < volume[1]; ++y) {
      for (int64_t x = 0; x < volume[2]; ++x) visit(Place{z, y, x});
    }
  }
}

bool IsInside(const Shape& volume, const Place& at) {
  return at.z >= 0 && at.z < volume[0] && at.y >= 0 && at.y < volume[1] && at.x >= 0 &&
         at.x < volume[2];
}

int64_t IndexOf(const Shape& volume, int64_t example, const Place& at, int64_t channel) {
  return (((example * volume[0] + at.z) * volume[1] + at.y) * volume[2] + at.x) * volume[3] +
         channel;
}

int64_t Slide(const Window& window, int axis, int64_t at, int64_t i) {
  return at * window.strides[axis] - window.padding_before[axis] + i * window.dilation[axis];
}

// Calls `visit(place in the input, place in the window)` for the elements of a window inside.
template <typename Visit>
void VisitWindow(const Window& depth, const Window& plane, const Shape& input, const Place& output,
                 const Visit& visit) {
  ForEachPlace({depth.size[0], plane.size[0], plane.size[1]}, [&](const Place& i) {
    const Place at = {Slide(depth, 0, output.z, i.z), Slide(plane, 0, output.y, i.y),
                      Slide(plane, 1, output.x, i.x)};
    if (IsInside(input, at)) visit(at, i);
  });
}

// Calls `compute(example, place, channel)` for every element of the output, in order.
template <typename Compute>
Doubles ForEachElement(const ReferenceCall& call, const Compute& compute) {
  Doubles values;
  const Shape& output = call.layer.output().shape;
  for (int64_t example = 0; example < call.batch.size; ++example) {
    ForEachPlace(output, [&](const Place& at) {
      for (int64_t c = 0; c < output[3]; ++c) values.push_back(compute(example, at, c));
    });
  }
  return values;
}

}  // namespace

Doubles ReferenceVolumeConvolution(const ReferenceCall& call) {
  const auto& layer = static_cast<const Conv3DLayer&>(call.layer);
  const Shape& input = layer.inputs()[0].shape;
  const Shape& kernel = layer.variables()[0].spec.shape;
  const int64_t filters = layer.output().shape[3];
  Doubles values = ForEachElement(call, [&](int64_t example, const Place& output, int64_t filter) {
    double sum = layer.use_bias() ? (*call.variables[1])[filter] : 0;
    VisitWindow(layer.window().depth, layer.window().plane, input, output,
                [&](const Place& at, const Place& i) {
                  for (int64_t c = 0; c < input[3]; ++c) {
                    const int64_t row = ((i.z * kernel[1] + i.y) * kernel[2] + i.x) * input[3] + c;
                    sum += (*call.variables[0])[row * filters + filter] *
                           (*call.inputs[0])[IndexOf(input, example, at, c)];
                  }
                });
    return sum;
  });
  return ReferenceActivation(layer.activation(), filters, std::move(values));
}

Doubles ReferenceVolumeTransposedConvolution(const ReferenceCall& call) {
  const auto& layer = static_cast<const Conv3DLayer&>(call.layer);
  const Shape& input = layer.inputs()[0].shape;
  const Shape& output = layer.output().shape;
  const Shape& kernel = layer.variables()[0].spec.shape;
  Doubles values = ForEachElement(call, [&](int64_t, const Place&, int64_t filter) {
    return layer.use_bias() ? (*call.variables[1])[filter] : 0;
  });
  for (int64_t example = 0; example < call.batch.size; ++example) {
    ForEachPlace(input, [&](const Place& from) {
      VisitWindow(layer.window().depth, layer.window().plane, output, from,
                  [&](const Place& at, const Place& i) {
                    for (int64_t f = 0; f < output[3] * input[3]; ++f) {
                      const int64_t filter = f / input[3];
                      const int64_t channel = f % input[3];
                      const int64_t place = (i.z * kernel[1] + i.y) * kernel[2] + i.x;
                      values[IndexOf(output, example, at, filter)] +=
                          (*call.variables[0])[place * output[3] * input[3] + f] *
                          (*call.inputs[0])[IndexOf(input, example, from, channel)];
                    }
                  });
    });
  }
  return ReferenceActivation(layer.activation(), output[3], std::move(values));
}

// Images and sequences are volumes of one plane, or one plane and row. A pixel belongs to an output
// if the intervals that the two cover on the axis overlap.
Doubles ReferenceAdaptivePooling(const ReferenceCall& call) {
  const auto& layer = static_cast<const AdaptivePoolingLayer&>(call.layer);
  const auto volume = [](const Shape& shape) {
    Shape result(4 - shape.size(), 1);
    result.insert(result.end(), shape.begin(), shape.end());
    return result;
  };
  const Shape input = volume(layer.inputs()[0].shape);
  const Shape output = volume(layer.output().shape);
  const auto overlaps = [&](int axis, int64_t pixel, int64_t place) {
    return pixel * output[axis] < (place + 1) * input[axis] &&
           place * input[axis] < (pixel + 1) * output[axis];
  };
  Doubles values;
  for (int64_t example = 0; example < call.batch.size; ++example) {
    ForEachPlace(output, [&](const Place& place) {
      for (int64_t channel = 0; channel < output[3]; ++channel) {
        double sum = 0;
        double count = 0;
        double maximum = -std::numeric_limits<double>::infinity();
        ForEachPlace(input, [&](const Place& at) {
          if (!overlaps(0, at.z, place.z) || !overlaps(1, at.y, place.y) ||
              !overlaps(2, at.x, place.x)) {
            return;
          }
          const double value = (*call.inputs[0])[IndexOf(input, example, at, channel)];
          sum += value;
          ++count;
          maximum = std::max(maximum, value);
        });
        const bool is_maximum = layer.kind() == AdaptivePoolingLayer::Kind::kMaximum;
        values.push_back(is_maximum ? maximum : sum / count);
      }
    });
  }
  return values;
}

Doubles ReferenceVolumePooling(const ReferenceCall& call) {
  const auto& layer = static_cast<const Pooling2DLayer&>(call.layer);
  const Shape& input = layer.inputs()[0].shape;
  return ForEachElement(call, [&](int64_t example, const Place& output, int64_t c) {
    double maximum = -std::numeric_limits<double>::infinity();
    double sum = 0;
    int64_t count = 0;
    VisitWindow(*layer.depth(), layer.window(), input, output, [&](const Place& at, const Place&) {
      const double value = (*call.inputs[0])[IndexOf(input, example, at, c)];
      maximum = std::max(maximum, value);
      sum += value;
      ++count;
    });
    return layer.kind() == Pooling2DLayer::Kind::kMaximum ? maximum : sum / count;
  });
}

// Padding and cropping, as given by the first mappings.
Doubles ReferenceVolumeFrame(const ReferenceCall& call) {
  const auto& mappings = static_cast<const RearrangingLayer&>(call.layer).mappings();
  const Shape& input = call.layer.inputs()[0].shape;
  return ForEachElement(call, [&](int64_t example, const Place& output, int64_t c) {
    const Place at = {output.z - mappings[0].offset, output.y - mappings[1].offset,
                      output.x - mappings[2].offset};
    return IsInside(input, at) ? (*call.inputs[0])[IndexOf(input, example, at, c)] : 0.0;
  });
}

Doubles ReferenceVolumeUpSampling(const ReferenceCall& call) {
  const Shape& input = call.layer.inputs()[0].shape;
  const Shape& output = call.layer.output().shape;
  return ForEachElement(call, [&](int64_t example, const Place& at, int64_t c) {
    const Place from = {at.z * input[0] / output[0], at.y * input[1] / output[1],
                        at.x * input[2] / output[2]};
    return (*call.inputs[0])[IndexOf(input, example, from, c)];
  });
}

}  // namespace cairn::nn::testing
