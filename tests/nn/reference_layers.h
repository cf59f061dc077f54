#ifndef CAIRN_TESTS_NN_REFERENCE_LAYERS_H_
#define CAIRN_TESTS_NN_REFERENCE_LAYERS_H_

#include <cstdint>
#include <vector>

#include "nn/layer.h"
#include "tests/nn/reference_model.h"

namespace cairn::nn::testing {

// The tensors of one layer for a batch.
struct ReferenceCall {
  const ReferenceBatch& batch;
  const Layer& layer;
  std::vector<const Doubles*> inputs;
  std::vector<const Doubles*> variables;
  // By input: numbers where zero marks a masked step, or null if there is no mask. Empty if there
  // are no masks at all.
  std::vector<const Doubles*> masks;

  // The seed of the layer's random draws.
  uint64_t key() const;
};

// The output of any layer, by the functions below.
Doubles ReferenceLayer(const ReferenceCall& call);
// The mask that a Masking layer computes: by step, 0 or 1.
Doubles ReferenceMask(const ReferenceCall& call);

// The reference implementation of each family of layers, named after Keras's layers or what they
// have in common.
Doubles ReferenceConvolution(const ReferenceCall& call);
Doubles ReferenceTransposedConvolution(const ReferenceCall& call);
Doubles ReferenceConvLstm(const ReferenceCall& call);
Doubles ReferenceSeparableConvolution(const ReferenceCall& call);
Doubles ReferencePooling(const ReferenceCall& call);
Doubles ReferenceAdaptivePooling(const ReferenceCall& call);
Doubles ReferenceGlobalPooling(const ReferenceCall& call);

Doubles ReferenceFrame(const ReferenceCall& call);
Doubles ReferencePermute(const ReferenceCall& call);
Doubles ReferenceRepeatVector(const ReferenceCall& call);
Doubles ReferenceResizing(const ReferenceCall& call);
Doubles ReferenceRandomFlip(const ReferenceCall& call);
Doubles ReferenceRandomCrop(const ReferenceCall& call);
Doubles ReferenceRandomAffine(const ReferenceCall& call);
Doubles ReferenceRandomPixels(const ReferenceCall& call);
Doubles ReferenceRandomColor(const ReferenceCall& call);

Doubles ReferenceVolumeConvolution(const ReferenceCall& call);
Doubles ReferenceVolumeTransposedConvolution(const ReferenceCall& call);
Doubles ReferenceVolumePooling(const ReferenceCall& call);
Doubles ReferenceVolumeFrame(const ReferenceCall& call);
Doubles ReferenceVolumeUpSampling(const ReferenceCall& call);

Doubles ReferenceMasking(const ReferenceCall& call);
Doubles ReferenceRecurrent(const ReferenceCall& call);
Doubles ReferenceLayerOutput(const ReferenceCall& call);
Doubles ReferenceAttention(const ReferenceCall& call);
Doubles ReferenceScoreAttention(const ReferenceCall& call);

Doubles ReferenceDense(const ReferenceCall& call);
Doubles ReferenceEinsumDense(const ReferenceCall& call);
Doubles ReferenceEmbedding(const ReferenceCall& call);
Doubles ReferenceCategoryEncoding(const ReferenceCall& call);
Doubles ReferenceDiscretization(const ReferenceCall& call);
Doubles ReferenceStringLookup(const ReferenceCall& call);
Doubles ReferenceTimeDistributed(const ReferenceCall& call);
Doubles ReferenceAffine(const ReferenceCall& call);
Doubles ReferenceBatchNormalization(const ReferenceCall& call);
Doubles ReferenceLayerNormalization(const ReferenceCall& call);
Doubles ReferencePReLU(const ReferenceCall& call);
Doubles ReferenceDropout(const ReferenceCall& call);
Doubles ReferenceGaussianNoise(const ReferenceCall& call);
Doubles ReferenceConcatenate(const ReferenceCall& call);
Doubles ReferenceMerge(const ReferenceCall& call);
Doubles ReferenceDot(const ReferenceCall& call);

}  // namespace cairn::nn::testing

#endif  // CAIRN_TESTS_NN_REFERENCE_LAYERS_H_
