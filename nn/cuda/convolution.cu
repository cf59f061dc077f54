#include <algorithm>
#include <array>

#include "nn/cuda/convolution.h"
#include "nn/cuda/depthwise_convolution.h"
#include "nn/cuda/loops.h"
#include "nn/cuda/product.h"

namespace cairn::nn::cuda {
namespace {

using Geometry = ConvolutionGeometry;

Shape VolumeOf(const Shape& shape) {
  return shape.size() == 3 ? Shape{1, shape[0], shape[1], shape[2]} : shape;
}

Geometry GeometryOf(const Convolution::Options& o) {
  const Shape input = VolumeOf(o.input);
  const Shape output = VolumeOf(o.output);
  Geometry g = {.pixels = o.examples * output[0] * output[1] * output[2],
                .examples = o.examples,
                .height = input[1],
                .width = input[2],
                .channels = input[3],
                .output_height = output[1],
                .output_width = output[2],
                .filters = output[3],
                .groups = o.groups,
                .is_volume = o.input.size() == 4,
                .depth = input[0],
                .output_depth = output[0],
                .depth_size = o.depth_window.size[0],
                .depth_stride = o.depth_window.strides[0],
                .depth_dilation = o.depth_window.dilation[0],
                .depth_padding = o.depth_window.padding_before[0]};
  for (int axis : {0, 1}) {
    g.size[axis] = o.window.size[axis];
    g.strides[axis] = o.window.strides[axis];
    g.dilation[axis] = o.window.dilation[axis];
    g.padding[axis] = o.window.padding_before[axis];
  }
  return g;
}

// True if each window is one pixel, that of the same place.
bool IsPointwise(const Convolution::Options& o) {
  constexpr std::array<int64_t, 2> kOne = {1, 1};
  for (const Window* window : {&o.window, &o.depth_window}) {
    if (window->size != kOne || window->strides != kOne) return false;
  }
  return std::equal(o.input.begin(), o.input.end() - 1, o.output.begin());
}

// The output place whose window has input place `at` as its element `element`; -1 if there is none.
__device__ int64_t PlaceOf(int64_t at, int64_t element, int64_t dilation, int64_t padding,
                           const Divisor& stride, int64_t output) {
  const int64_t begin = at + padding - element * dilation;
  if (begin < 0) return -1;
  const int64_t place = begin / stride;
  return place * stride == begin && place < output ? place : -1;
}

// A window is unfolded run by run: adjacent elements of the input that are adjacent in the row,
// too. Without groups and dilation a run is a line of the window, else a pixel of a group.
struct Runs {
  Divisor lanes;     // The length of a run, in units of the elements that a thread copies.
  Divisor in_row;    // Runs of a row.
  Divisor in_group;  // Runs of a group.
  Divisor in_line;   // Runs of a line of the window.
  Divisor lines;     // Lines of a plane of the window.
};

Runs RunsOf(const Geometry& g, int64_t lanes) {
  const bool has_lines = g.groups == 1 && g.dilation[1] == 1;
  const int64_t in_line = has_lines ? 1 : g.size[1];
  return {.lanes = (has_lines ? g.size[1] : 1) * (g.channels / g.groups) / lanes,
          .in_row = g.groups * g.depth_size * g.size[0] * in_line,
          .in_group = g.depth_size * g.size[0] * in_line,
          .in_line = in_line,
          .lines = g.size[0]};
}

// Writes rows in the order (pixel, group, place in the window, channel of the group), with zeros in
// the padding. Each thread copies kLanes adjacent elements.
template <int kLanes>
void Unfold(Context* context, const Geometry& g, int64_t first_line, int64_t lines,
            const float* input, float* rows) {
  const Runs runs = RunsOf(g, kLanes);
  const int64_t group_channels = g.channels / g.groups;
  const int64_t line_elements = g.width * g.channels;
  const int64_t count = lines * g.output_width * runs.in_row * runs.lanes;
  ForEach(context, count, [=] __device__(int64_t i) {
    const int64_t all_runs = i / runs.lanes;
    const int64_t pixel = all_runs / runs.in_row;
    const int64_t run = all_runs - pixel * runs.in_row;
    const int64_t group = g.groups == 1 ? 0 : run / runs.in_group;
    const int64_t run_of_group = run - group * runs.in_group;
    int64_t ky = runs.in_line == 1 ? run_of_group : run_of_group / runs.in_line;
    const int64_t kx = run_of_group - ky * runs.in_line;
    const int64_t line_of_piece = pixel / g.output_width;
    const int64_t line = first_line + line_of_piece;
    const int64_t output_plane = line / g.output_height;  // Of all examples.
    int64_t plane = output_plane;
    bool is_inside = true;
    // Divisions are what this loop costs, so images leave these out.
    if (g.is_volume) {
      const int64_t example = output_plane / g.output_depth;
      const int64_t kz = ky / runs.lines;
      ky -= kz * runs.lines;
      const int64_t z = (output_plane - example * g.output_depth) * g.depth_stride -
                        g.depth_padding + kz * g.depth_dilation;
      is_inside = z >= 0 && z < g.depth;
      plane = example * g.depth + z;
    }
    const int64_t row =
        (line - output_plane * g.output_height) * g.strides[0] - g.padding[0] + ky * g.dilation[0];
    const int64_t column =
        (pixel - line_of_piece * g.output_width) * g.strides[1] - g.padding[1] + kx * g.dilation[1];
    // The place in the line of the image. That of a pixel outside is outside, too.
    const int64_t at =
        column * g.channels + group * group_channels + (i - all_runs * runs.lanes) * kLanes;
    Lanes<kLanes> values = {};
    if (is_inside && row >= 0 && row < g.height && at >= 0 && at < line_elements) {
      values = Load<kLanes>(input + (plane * g.height + row) * line_elements + at);
    }
    Store(values, rows + i * kLanes);
  });
}

// Sums over all windows of the lines that have an input pixel. Each thread sums kLanes channels, in
// the order of the window's places. If `adds`, adds the sums to `input`.
template <int kLanes>
void Fold(Context* context, const Geometry& g, int64_t first_line, int64_t lines,
          int64_t first_input_line, int64_t input_lines, bool adds, const float* rows,
          float* input) {
  const Divisor group_channels = g.channels / g.groups;
  const Divisor runs = g.channels / kLanes;
  const Divisor stride_y = g.strides[0];
  const Divisor stride_x = g.strides[1];
  const Divisor depth_stride = g.depth_stride;
  ForEach(context, input_lines * g.width * runs, [=] __device__(int64_t i) {
    const int64_t pixel_of_piece = i / runs;
    const int64_t channel = (i - pixel_of_piece * runs) * kLanes;
    const int64_t group = g.groups == 1 ? 0 : channel / group_channels;
    const int64_t line_of_piece = pixel_of_piece / g.width;
    const int64_t line = first_input_line + line_of_piece;
    const int64_t plane = line / g.height;  // Of all examples.
    const int64_t row = line - plane * g.height + g.padding[0];
    const int64_t column = pixel_of_piece - line_of_piece * g.width + g.padding[1];
    float* const to = input + (line * g.width + column - g.padding[1]) * g.channels + channel;
    Lanes<kLanes> sum = {};
    if (adds) sum = Load<kLanes>(to);
    const int64_t example = g.is_volume ? plane / g.depth : plane;
    for (int64_t kz = 0; kz < g.depth_size; ++kz) {
      const int64_t z = g.is_volume ? PlaceOf(plane - example * g.depth, kz, g.depth_dilation,
                                              g.depth_padding, depth_stride, g.output_depth)
                                    : 0;
      if (z < 0) continue;
      for (int64_t ky = 0; ky < g.size[0]; ++ky) {
        const int64_t top = row - ky * g.dilation[0];
        if (top < 0) break;
        const int64_t y = top / stride_y;
        const int64_t output_line =
            (example * g.output_depth + z) * g.output_height + y - first_line;
        if (y * stride_y != top || y >= g.output_height) continue;
        if (output_line < 0 || output_line >= lines) continue;
        for (int64_t kx = 0; kx < g.size[1]; ++kx) {
          const int64_t left = column - kx * g.dilation[1];
          if (left < 0) break;
          const int64_t x = left / stride_x;
          if (x * stride_x != left || x >= g.output_width) continue;
          const int64_t pixel = output_line * g.output_width + x;
          const int64_t place =
              (((pixel * g.groups + group) * g.depth_size + kz) * g.size[0] + ky) * g.size[1] + kx;
          const auto value =
              Load<kLanes>(rows + place * group_channels + channel - group * group_channels);
          for (int lane = 0; lane < kLanes; ++lane) sum.values[lane] += value.values[lane];
        }
      }
    }
    Store(sum, to);
  });
}

// Of images: the lines that the windows of some output lines of one example touch.
struct Band {
  int64_t begin = 0;
  int64_t end = 0;
};

Band BandOf(const Geometry& g, int64_t first_line, int64_t end_line) {
  const int64_t example = first_line / g.output_height;
  const int64_t first = (first_line - example * g.output_height) * g.strides[0] - g.padding[0];
  const int64_t last = (end_line - 1 - example * g.output_height) * g.strides[0] - g.padding[0] +
                       (g.size[0] - 1) * g.dilation[0];
  const int64_t height = g.height;
  return {.begin = example * height + std::clamp<int64_t>(first, 0, height),
          .end = example * height + std::clamp<int64_t>(last + 1, 0, height)};
}

}  // namespace

Convolution::Convolution(const Options& options, Context* context)
    : context_(context),
      geometry_(GeometryOf(options)),
      is_depthwise_(options.groups > 1 && options.groups == geometry_.channels &&
                    !geometry_.is_volume),
      is_pointwise_(IsPointwise(options)),
      piece_lines_([&] {
        if (is_pointwise_) return std::max<int64_t>(lines(), 1);
        const int64_t bytes = geometry_.output_width * row_width() * int64_t{sizeof(float)};
        const int64_t least = geometry_.is_volume ? example_lines() : 1;
        const int64_t most = std::max(options.scratch_bytes_max / bytes, least);
        // Whole examples, if at least one fits.
        return most < example_lines()
                   ? most
                   : std::min(most / example_lines(), geometry_.examples) * example_lines();
      }()) {
  if (is_depthwise_) {
    context->ReserveScratch(DepthwiseScratchBytes(geometry_));
  } else if (!is_pointwise_) {
    context->ReserveScratch(piece_lines_ * geometry_.output_width * row_width() * sizeof(float));
  }
}

template <typename Body>
void Convolution::ForEachPiece(const Body& body) const {
  const int64_t of_example = example_lines();
  for (int64_t begin = 0; begin < lines();) {
    const int64_t end_max = is_partial() ? (begin / of_example + 1) * of_example : lines();
    const int64_t end = std::min(begin + piece_lines_, end_max);
    body(Piece{.begin = begin, .end = end});
    begin = end;
  }
}

const float* Convolution::Unfolded(const float* input, const Piece& piece) const {
  if (is_pointwise_) return input;
  auto* const rows = context_->scratch<float>();
  const int64_t count = piece.end - piece.begin;
  if (group_channels() % 4 == 0 && IsAligned(input)) {
    Unfold<4>(context_, geometry_, piece.begin, count, input, rows);
  } else {
    Unfold<1>(context_, geometry_, piece.begin, count, input, rows);
  }
  return rows;
}

void Convolution::Forward(const float* input, const float* kernel, float* output) {
  if (is_depthwise_) return DepthwiseForward(context_, geometry_, input, kernel, output);
  ForEachPiece([&](const Piece& piece) {
    Multiply(context_,
             {.rows = (piece.end - piece.begin) * geometry_.output_width,
              .columns = group_filters(),
              .inner = group_width(),
              .a_row_stride = row_width(),
              .b_row_stride = geometry_.filters,
              .c_row_stride = geometry_.filters,
              .batches = geometry_.groups,
              .a_batch_stride = group_width(),
              .b_batch_stride = group_filters(),
              .c_batch_stride = group_filters()},
             Unfolded(input, piece), kernel,
             output + piece.begin * geometry_.output_width * geometry_.filters);
  });
}

void Convolution::KernelGradient(const float* input, const float* output_gradient,
                                 float* kernel_gradient) {
  if (is_depthwise_) {
    return DepthwiseKernelGradient(context_, geometry_, input, output_gradient, kernel_gradient);
  }
  ForEachPiece([&](const Piece& piece) {
    Multiply(context_,
             {.rows = group_width(),
              .columns = group_filters(),
              .inner = (piece.end - piece.begin) * geometry_.output_width,
              .a_transposed = true,
              .a_row_stride = row_width(),
              .b_row_stride = geometry_.filters,
              .c_row_stride = geometry_.filters,
              .batches = geometry_.groups,
              .a_batch_stride = group_width(),
              .b_batch_stride = group_filters(),
              .c_batch_stride = group_filters(),
              .adds = piece.begin > 0},
             Unfolded(input, piece),
             output_gradient + piece.begin * geometry_.output_width * geometry_.filters,
             kernel_gradient);
  });
}

void Convolution::InputGradient(const float* output_gradient, const float* kernel,
                                float* input_gradient) {
  const Geometry& g = geometry_;
  if (is_depthwise_) {
    return DepthwiseInputGradient(context_, g, output_gradient, kernel, input_gradient);
  }
  float* const rows = is_pointwise_ ? input_gradient : context_->scratch<float>();
  // Pieces of one example may share pixels of the input, so they add to it.
  const bool adds = is_partial() && !is_pointwise_;
  if (adds) {
    context_->Zero(input_gradient, g.examples * g.height * g.width * g.channels * sizeof(float));
  }
  ForEachPiece([&](const Piece& piece) {
    const int64_t count = piece.end - piece.begin;
    Multiply(context_,
             {.rows = count * g.output_width,
              .columns = group_width(),
              .inner = group_filters(),
              .b_transposed = true,
              .a_row_stride = g.filters,
              .b_row_stride = g.filters,
              .c_row_stride = row_width(),
              .batches = g.groups,
              .a_batch_stride = group_filters(),
              .b_batch_stride = group_filters(),
              .c_batch_stride = group_width()},
             output_gradient + piece.begin * g.output_width * g.filters, kernel, rows);
    if (is_pointwise_) return;
    const Band band = adds ? BandOf(g, piece.begin, piece.end)
                           : Band{.begin = piece.begin / example_lines() * g.depth * g.height,
                                  .end = piece.end / example_lines() * g.depth * g.height};
    const auto fold = group_channels() % 4 == 0 && IsAligned(input_gradient) ? Fold<4> : Fold<1>;
    fold(context_, g, piece.begin, count, band.begin, band.end - band.begin, adds, rows,
         input_gradient);
  });
}

}  // namespace cairn::nn::cuda
