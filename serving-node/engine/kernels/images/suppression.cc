// Non-maximum suppression: keeps the best of overlapping boxes. A box is given by any two opposite corners: [y1, x1,
// y2, x2].
#include <algorithm>
#include <cmath>
#include <queue>

#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/images/families.h"

namespace longshore::engine::kernels::images {
namespace {

struct Box {
  float bottom, left, top, right;
  float Area() const { return (top - bottom) * (right - left); }
};

Box BoxOf(const float* corners) {
  return {std::min(corners[0], corners[2]), std::min(corners[1], corners[3]), std::max(corners[0], corners[2]),
          std::max(corners[1], corners[3])};
}

// The intersection over union of two boxes: 0 to 1.
float Overlap(const Box& a, const Box& b) {
  if (a.Area() <= 0 || b.Area() <= 0) return 0;
  const float height = std::max(std::min(a.top, b.top) - std::max(a.bottom, b.bottom), 0.0F);
  const float width = std::max(std::min(a.right, b.right) - std::max(a.left, b.left), 0.0F);
  const float shared = height * width;
  return shared / (a.Area() + b.Area() - shared);
}

struct Limits {
  int64_t count_max = 0;
  float overlap_max = 0.5F;
  float score_min = 0;
  float sigma = 0;  // If above 0, a box that overlaps a chosen one loses some of its score and is not dropped.
};

struct Candidate {
  int box = 0;
  float score = 0;
  size_t compared = 0;  // How many of the chosen boxes this box has been compared with.
};

struct Chosen {
  std::vector<int32_t> boxes;
  std::vector<float> scores;
};

// The factor by which a chosen box reduces the score of a box that overlaps it by `overlap`.
float ScoreFactor(float overlap, const Limits& limits) {
  if (limits.sigma > 0) return std::exp(-0.5F / limits.sigma * overlap * overlap);
  return overlap <= limits.overlap_max ? 1.0F : 0.0F;
}

// Chooses the boxes with the best scores, the best first. Of boxes with equal scores, the first one is chosen first. A
// box that lost some of its score goes back into the queue. A box with a NaN score is dropped, because it would return
// to the queue forever.
Chosen Suppress(const std::vector<Box>& boxes, std::span<const float> scores, const Limits& limits) {
  const auto is_worse = [](const Candidate& a, const Candidate& b) {
    return a.score < b.score || (a.score == b.score && a.box > b.box);
  };
  std::priority_queue<Candidate, std::vector<Candidate>, decltype(is_worse)> left(is_worse);
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > limits.score_min) left.push({static_cast<int>(i), scores[i], 0});
  }
  Chosen chosen;
  while (!left.empty() && static_cast<int64_t>(chosen.boxes.size()) < limits.count_max) {
    Candidate next = left.top();
    left.pop();
    const float before = next.score;
    bool is_dropped = false;
    for (size_t i = chosen.boxes.size(); i-- > next.compared && !is_dropped;) {
      const float overlap = Overlap(boxes[static_cast<size_t>(next.box)], boxes[static_cast<size_t>(chosen.boxes[i])]);
      next.score *= ScoreFactor(overlap, limits);
      is_dropped = !(next.score > limits.score_min) || (limits.sigma <= 0 && !(overlap <= limits.overlap_max));
    }
    next.compared = chosen.boxes.size();
    if (is_dropped) continue;
    if (next.score != before) {
      left.push(next);
      continue;
    }
    chosen.boxes.push_back(next.box);
    chosen.scores.push_back(next.score);
  }
  return chosen;
}

Result<float> FloatOf(const Tensor& tensor, std::string_view what) {
  if (tensor.type() != DType::kFloat || tensor.rank() != 0) return InvalidArgument("{} must be one DT_FLOAT", what);
  return *Raw<float>(tensor);
}

Status CheckBoxes(const Call& call) {
  const Tensor& boxes = call.in(0);
  const Tensor& scores = call.in(1);
  if (boxes.type() == DType::kFloat && scores.type() == DType::kFloat && scores.rank() == 1 &&
      boxes.shape() == Shape{scores.dim(0), 4} && scores.dim(0) < INT32_MAX)
    return {};
  return InvalidArgument("boxes must be DT_FLOAT[n,4] and scores DT_FLOAT[n], not {}{} and {}{}",
                         DTypeName(boxes.type()), ToString(boxes.shape()), DTypeName(scores.type()),
                         ToString(scores.shape()));
}

Result<Limits> LimitsOf(const Call& call) {
  Limits limits{.overlap_max = call.attributes().Float("iou_threshold", 0.5F),
                .score_min = std::numeric_limits<float>::lowest()};
  ASSIGN_OR_RETURN(limits.count_max, IntOf(call.in(2), "max_output_size"));
  if (call.inputs.size() > 3) {
    ASSIGN_OR_RETURN(limits.overlap_max, FloatOf(call.in(3), "iou_threshold"));
  }
  if (call.inputs.size() > 4) {
    ASSIGN_OR_RETURN(limits.score_min, FloatOf(call.in(4), "score_threshold"));
  }
  if (call.inputs.size() > 5) {
    ASSIGN_OR_RETURN(limits.sigma, FloatOf(call.in(5), "soft_nms_sigma"));
  }
  if (limits.count_max < 0) return InvalidArgument("max_output_size {} must be non-negative", limits.count_max);
  if (!(limits.overlap_max >= 0 && limits.overlap_max <= 1))
    return InvalidArgument("iou_threshold {} must be in [0, 1]", limits.overlap_max);
  if (!(limits.sigma >= 0)) return InvalidArgument("soft_nms_sigma {} must be non-negative", limits.sigma);
  return limits;
}

struct Found {
  Chosen chosen;
  int32_t count = 0;  // How many boxes are chosen, without padding.
};

Result<Found> Find(const Call& call) {
  RETURN_IF_ERROR(CheckBoxes(call));
  ASSIGN_OR_RETURN(const Limits limits, LimitsOf(call));
  std::vector<Box> boxes;
  for (int64_t i = 0; i < call.in(1).elements(); ++i) boxes.push_back(BoxOf(Raw<float>(call.in(0)) + i * 4));
  Found found{Suppress(boxes, call.in(1).values<float>(), limits), 0};
  found.count = static_cast<int32_t>(found.chosen.boxes.size());
  if (!call.attributes().Bool("pad_to_max_output_size", false)) return found;
  RETURN_IF_ERROR(call.HasRoomFor(DType::kInt64, {limits.count_max}));
  found.chosen.boxes.resize(static_cast<size_t>(limits.count_max));
  found.chosen.scores.resize(static_cast<size_t>(limits.count_max));
  return found;
}

template <int kVersion>
Outputs NonMaxSuppression(const Call& call) {
  ASSIGN_OR_RETURN(const Found found, Find(call));
  const Shape shape = {static_cast<int64_t>(found.chosen.boxes.size())};
  std::vector<Tensor> outputs = {Tensor::Of<int32_t>(shape, found.chosen.boxes)};
  if (kVersion == 5) outputs.push_back(Tensor::Of<float>(shape, found.chosen.scores));
  if (kVersion >= 4) outputs.push_back(Tensor::Of<int32_t>({}, {found.count}));
  return outputs;
}

// A box that is kept for an image, with its class and score.
struct Detection {
  int64_t box = 0;
  int64_t class_number = 0;
  float score = 0;
};

struct Combined {
  Tensor boxes, scores, classes, counts;
};

// InvalidArgument unless boxes are [batch, n, 1 or classes, 4] and scores are [batch, n, classes].
Status CheckCombined(const Call& call) {
  const Tensor& boxes = call.in(0);
  const Tensor& scores = call.in(1);
  if (boxes.type() == DType::kFloat && scores.type() == DType::kFloat && boxes.rank() == 4 && scores.rank() == 3 &&
      boxes.dim(0) == scores.dim(0) && boxes.dim(1) == scores.dim(1) && boxes.dim(3) == 4 &&
      (boxes.dim(2) == 1 || boxes.dim(2) == scores.dim(2)) && scores.dim(1) < INT32_MAX)
    return {};
  return InvalidArgument(
      "boxes must be DT_FLOAT[batch,n,q,4], with q = 1 or q = classes, and scores DT_FLOAT[batch,n,classes], not {}{} "
      "and {}{}",
      DTypeName(boxes.type()), ToString(boxes.shape()), DTypeName(scores.type()), ToString(scores.shape()));
}

// Returns the chosen boxes of all classes of one image, ordered by score.
std::vector<Detection> BestOfImage(const Tensor& boxes, const Tensor& scores, int64_t image, const Limits& limits) {
  const int64_t count = scores.dim(1), classes = scores.dim(2), per_box = boxes.dim(2);
  std::vector<Detection> best;
  for (int64_t c = 0; c < classes; ++c) {
    std::vector<Box> own_boxes;
    std::vector<float> own_scores;
    for (int64_t i = 0; i < count; ++i) {
      own_boxes.push_back(BoxOf(Raw<float>(boxes) + ((image * count + i) * per_box + (per_box == 1 ? 0 : c)) * 4));
      own_scores.push_back(Raw<float>(scores)[(image * count + i) * classes + c]);
    }
    const Chosen chosen = Suppress(own_boxes, own_scores, limits);
    for (size_t i = 0; i < chosen.boxes.size(); ++i) best.push_back({chosen.boxes[i], c, chosen.scores[i]});
  }
  std::ranges::stable_sort(best, [](const Detection& a, const Detection& b) { return a.score > b.score; });
  return best;
}

void PutBest(const Tensor& boxes, const std::vector<Detection>& best, int64_t image, bool clips, Combined* out) {
  const int64_t room = out->scores.dim(1), per_box = boxes.dim(2);
  const auto count = std::min(room, static_cast<int64_t>(best.size()));
  Raw<int32_t>(out->counts)[image] = static_cast<int32_t>(count);
  for (int64_t i = 0; i < count; ++i) {
    const Detection& kept = best[static_cast<size_t>(i)];
    const int64_t at = (image * boxes.dim(1) + kept.box) * per_box + (per_box == 1 ? 0 : kept.class_number);
    for (int64_t k = 0; k < 4; ++k) {
      const float corner = Raw<float>(boxes)[at * 4 + k];
      Raw<float>(out->boxes)[(image * room + i) * 4 + k] = clips ? std::max(std::min(corner, 1.0F), 0.0F) : corner;
    }
    Raw<float>(out->scores)[image * room + i] = kept.score;
    Raw<float>(out->classes)[image * room + i] = static_cast<float>(kept.class_number);
  }
}

// Chooses a limited number of boxes for each class, and over all classes for each image. Elements of the outputs that
// stand for no box are zero.
Outputs CombinedNonMaxSuppression(const Call& call) {
  RETURN_IF_ERROR(CheckCombined(call));
  Limits limits;
  ASSIGN_OR_RETURN(limits.count_max, IntOf(call.in(2), "max_output_size_per_class"));
  ASSIGN_OR_RETURN(int64_t total, IntOf(call.in(3), "max_total_size"));
  ASSIGN_OR_RETURN(limits.overlap_max, FloatOf(call.in(4), "iou_threshold"));
  ASSIGN_OR_RETURN(limits.score_min, FloatOf(call.in(5), "score_threshold"));
  if (limits.count_max < 1 || limits.count_max > INT32_MAX || total < 1)
    return InvalidArgument("max_output_size_per_class {} and max_total_size {} must be positive", limits.count_max,
                           total);
  if (!(limits.overlap_max >= 0 && limits.overlap_max <= 1))
    return InvalidArgument("iou_threshold {} must be in [0, 1]", limits.overlap_max);
  const Tensor& boxes = call.in(0);
  const int64_t batch = boxes.dim(0), classes = call.in(1).dim(2);
  if (call.attributes().Bool("pad_per_class", false)) {
    int64_t most = 0;
    if (!__builtin_mul_overflow(limits.count_max, classes, &most)) total = std::min(total, most);
  }
  RETURN_IF_ERROR(call.HasRoomFor(DType::kFloat, {batch, total, 4}));
  RETURN_IF_ERROR(call.HasRoomFor(DType::kFloat, {classes}));
  Combined out;
  ASSIGN_OR_RETURN(out.boxes, Tensor::Make(DType::kFloat, {batch, total, 4}));
  ASSIGN_OR_RETURN(out.scores, Tensor::Make(DType::kFloat, {batch, total}));
  ASSIGN_OR_RETURN(out.classes, Tensor::Make(DType::kFloat, {batch, total}));
  ASSIGN_OR_RETURN(out.counts, Tensor::Make(DType::kInt32, {batch}));
  for (Tensor* part : {&out.boxes, &out.scores, &out.classes}) std::fill_n(Raw<float>(*part), part->elements(), 0.0F);
  std::fill_n(Raw<int32_t>(out.counts), batch, 0);
  for (int64_t image = 0; image < (call.in(1).elements() == 0 ? 0 : batch); ++image) {
    const auto best = BestOfImage(boxes, call.in(1), image, limits);
    PutBest(boxes, best, image, call.attributes().Bool("clip_boxes", true), &out);
  }
  return std::vector<Tensor>{out.boxes, out.scores, out.classes, out.counts};
}

constexpr TypeSet kFloatOnly = Only(DType::kFloat);
constexpr Kernel kKernels[] = {
    {"CombinedNonMaxSuppression", CombinedNonMaxSuppression, 6},
    {"NonMaxSuppression", NonMaxSuppression<1>, 3, kFloatOnly},
    {"NonMaxSuppressionV2", NonMaxSuppression<2>, 4, kFloatOnly},
    {"NonMaxSuppressionV3", NonMaxSuppression<3>, 5, kFloatOnly},
    {"NonMaxSuppressionV4", NonMaxSuppression<4>, 5, kFloatOnly},
    {"NonMaxSuppressionV5", NonMaxSuppression<5>, 6, kFloatOnly},
};

}  // namespace

std::span<const Kernel> SuppressionKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::images
