#include "serving-node/engine/kernels/registry.h"

#include <algorithm>
#include <vector>

#include "serving-node/engine/kernels/arrays/families.h"
#include "serving-node/engine/kernels/control/families.h"
#include "serving-node/engine/kernels/images/families.h"
#include "serving-node/engine/kernels/math/families.h"
#include "serving-node/engine/kernels/neural/families.h"
#include "serving-node/engine/kernels/random/families.h"
#include "serving-node/engine/kernels/sparse/families.h"
#include "serving-node/engine/kernels/state/families.h"
#include "serving-node/engine/kernels/text/families.h"

namespace longshore::engine::kernels {
namespace {

std::vector<Kernel> JoinFamilies() {
  std::vector<Kernel> all;
  for (const auto family : {text::Base64Kernels,
                            math::BinaryKernels,
                            arrays::BlockKernels,
                            math::CastKernels,
                            control::ControlKernels,
                            neural::ConvolutionKernels,
                            sparse::CountKernels,
                            images::CropKernels,
                            text::CsvKernels,
                            math::CumulativeKernels,
                            images::DecoderKernels,
                            math::DiagonalKernels,
                            math::EinsumKernels,
                            text::ExampleKernels,
                            arrays::FillKernels,
                            arrays::FlipKernels,
                            text::FormatKernels,
                            math::FunctionKernels,
                            arrays::GatherKernels,
                            text::HashKernels,
                            images::ImageKernels,
                            arrays::JoinKernels,
                            math::LogicKernels,
                            math::MatMulKernels,
                            math::MatrixKernels,
                            arrays::MoveKernels,
                            neural::NormalizeKernels,
                            sparse::PartitionKernels,
                            neural::PoolKernels,
                            neural::QuantizeKernels,
                            neural::QuantizedKernels,
                            sparse::RaggedDenseKernels,
                            sparse::RaggedKernels,
                            random::RandomKernels,
                            neural::RecurrentKernels,
                            math::ReduceKernels,
                            text::RegexKernels,
                            text::RenderingKernels,
                            images::ResizeKernels,
                            arrays::ScatterKernels,
                            sparse::SegmentKernels,
                            sparse::SetKernels,
                            arrays::ShapeKernels,
                            arrays::SliceKernels,
                            sparse::SparseKernels,
                            sparse::SparseProductKernels,
                            sparse::SparseSegmentKernels,
                            text::SplitKernels,
                            random::StatelessRandomKernels,
                            text::StringKernels,
                            images::SuppressionKernels,
                            state::TableFileKernels,
                            state::TableKernels,
                            control::TensorArrayKernels,
                            control::TensorListKernels,
                            text::TextJoinKernels,
                            neural::TransposedConvolutionKernels,
                            math::UnaryKernels,
                            text::UnicodeKernels,
                            state::VariableKernels,
                            math::VectorKernels,
                            neural::VolumeKernels}) {
    const auto kernels = family();
    all.insert(all.end(), kernels.begin(), kernels.end());
  }
  std::sort(all.begin(), all.end(), [](const Kernel& a, const Kernel& b) { return a.op < b.op; });
  return all;
}

}  // namespace

std::span<const Kernel> AllKernels() {
  static const std::vector<Kernel> kAll = JoinFamilies();
  return kAll;
}

const Kernel* FindKernel(std::string_view op) {
  const auto all = AllKernels();
  const auto found = std::lower_bound(all.begin(), all.end(), op,
                                      [](const Kernel& kernel, std::string_view name) { return kernel.op < name; });
  return found != all.end() && found->op == op ? &*found : nullptr;
}

}  // namespace longshore::engine::kernels
