"""Images and volumes: transposed and three-dimensional convolution, pools, blocks, resizing, colours, boxes."""

import ml_dtypes
import numpy as np

from op_cases.case import INF, NAN, case, f32, f64, flags, i32, i64, ramp, text, u8


def transposed() -> None:
    filters = ramp(3, 2, 4, 3, scale=0.125)
    for padding in ("SAME", "VALID"):
        for stride in (1, 2, 3):
            for size in ([2, 7, 6, 4], [2, 5, 9, 4]):
                rows, columns = ((-(-size[k] // stride) if padding == "SAME" else (size[k] - w) // stride + 1)
                                 for k, w in ((1, 3), (2, 2)))
                case("Conv2DBackpropInput", input_sizes=i32(size), filter=filters,
                     out_backprop=ramp(2, rows, columns, 3),
                     strides=[1, stride, stride, 1], padding=padding)
    given = {"strides": [1, 2, 1, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 0, 1, 0, 0]}
    case("Conv2DBackpropInput", input_sizes=i32(1, 4, 5, 4), filter=filters, out_backprop=ramp(1, 3, 5, 3), **given)
    one = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    case("Conv2DBackpropInput", input_sizes=i32(4, 5), filter=filters, out_backprop=ramp(1, 4, 5, 3), **one)
    case("Conv2DBackpropInput", input_sizes=i32(1, 4, 5, 4), filter=f64(filters),
         out_backprop=ramp(1, 4, 5, 3, dtype=np.float64), **one)
    case("Conv2DBackpropInput", input_sizes=i32(1, 4, 5, 4), filter=filters,
         out_backprop=f32(np.full((1, 4, 5, 3), NAN)), **one)
    for size in ([1, 4, 4, 4], [2, 4, 5, 4], [1, 4, 5, 3], [1, 4, 5], [-1, 4, 5, 4]):
        case("Conv2DBackpropInput", input_sizes=i32(size), filter=filters, out_backprop=ramp(1, 4, 5, 3), **one)
    case("Conv2DBackpropInput", input_sizes=i32(0, 4, 5, 4), filter=filters, out_backprop=ramp(0, 4, 5, 3), **one)
    for stride, rows in ((1, 5), (2, 3)):
        case("DepthwiseConv2dNativeBackpropInput", input_sizes=i32(2, 5, 5, 2), filter=ramp(3, 3, 2, 3),
             out_backprop=ramp(2, rows, rows, 6),
             strides=[1, stride, stride, 1], padding="SAME")
    # TensorFlow's own DepthwiseConv2dNative ignores dilations; oneDNN's replacement and the engine apply them.
    case("DepthwiseConv2dNative", input=ramp(1, 4, 4, 2), filter=ramp(2, 2, 2, 1), strides=[1, 1, 1, 1],
         padding="EXPLICIT",
         explicit_paddings=[0, 0, 1, 0, 0, 2, 0, 0])


def volumes() -> None:
    for padding in ("SAME", "VALID"):
        for strides in ([1, 1, 1, 1, 1], [1, 2, 1, 2, 1]):
            case("Conv3D", input=ramp(2, 4, 5, 6, 2), filter=ramp(2, 3, 2, 2, 3), strides=strides, padding=padding)
            case("MaxPool3D", input=ramp(2, 4, 5, 6, 2), ksize=[1, 2, 3, 2, 1], strides=strides, padding=padding)
            case("AvgPool3D", input=ramp(2, 4, 5, 6, 2), ksize=[1, 2, 3, 2, 1], strides=strides, padding=padding)
            sizes = zip((4, 5, 6), strides[1:4], (2, 3, 2))
            out = [-(-s // t) if padding == "SAME" else (s - w) // t + 1 for s, t, w in sizes]
            case("Conv3DBackpropInputV2", input_sizes=i32(1, 4, 5, 6, 2), filter=ramp(2, 3, 2, 2, 3),
                 out_backprop=ramp(1, *out, 3),
                 strides=strides, padding=padding)
    one = {"strides": [1, 1, 1, 1, 1], "padding": "VALID"}
    case("Conv3D", input=ramp(1, 2, 2, 2, 1), filter=ramp(3, 1, 1, 1, 1), **one)
    case("Conv3D", input=ramp(1, 3, 3, 3, 2), filter=ramp(2, 2, 2, 3, 1), **one)
    case("Conv3D", input=ramp(3, 3, 3, 2), filter=ramp(2, 2, 2, 2, 1), **one)
    case("Conv3D", input=ramp(0, 3, 3, 3, 2), filter=ramp(2, 2, 2, 2, 1), **one)
    case("Conv3D", input=ramp(1, 3, 3, 3, 2, dtype=np.float64), filter=ramp(2, 2, 2, 2, 1, dtype=np.float64), **one)
    case("Conv3DBackpropInputV2", input_sizes=i32(1, 4, 4, 4, 2), filter=ramp(2, 2, 2, 2, 3),
         out_backprop=ramp(1, 4, 4, 4, 3), **one)
    spots = f32([1, NAN, 3, 4, INF, -INF, -1, -2]).reshape(1, 2, 2, 2, 1)
    for op in ("MaxPool3D", "AvgPool3D"):
        case(op, input=spots, ksize=[1, 2, 2, 2, 1], **one)
        case(op, input=spots, ksize=[1, 1, 2, 1, 1], **one)


def pools() -> None:
    case("MaxPool", input=ramp(1, 4, 4, 2), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="EXPLICIT",
         explicit_paddings=[0, 0, 1, 0, 0, 1, 0, 0])
    for padding in ("SAME", "VALID"):
        case("MaxPoolV2", input=ramp(2, 5, 6, 2), ksize=i32(1, 2, 3, 1), strides=i32(1, 2, 1, 1), padding=padding)
        for batch in (True, False):
            for index in (np.int32, np.int64):
                case("MaxPoolWithArgmax", input=ramp(2, 5, 6, 2), ksize=[1, 2, 3, 1], strides=[1, 2, 1, 1],
                     padding=padding,
                     include_batch_in_index=batch, Targmax=index)
    case("MaxPoolV2", input=ramp(2, 5, 6, 2), ksize=i32(1, 0, 3, 1), strides=i32(1, 2, 1, 1), padding="SAME")
    case("MaxPoolV2", input=ramp(2, 5, 6, 2), ksize=i32(1, 2, 3, 2), strides=i32(1, 2, 1, 1), padding="SAME")
    case("MaxPoolV2", input=ramp(2, 5, 6, 2), ksize=i32(1, 2, 3), strides=i32(1, 2, 1, 1), padding="SAME")
    spots = f32([1, NAN, 3, 4, INF, -INF, -1, -2, -INF, -INF, 5, 5, -INF, -INF, 5, 5]).reshape(1, 4, 4, 1)
    case("MaxPoolWithArgmax", input=spots, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    case("MaxPool", input=ramp(1, 4, 4, 1, scale=1, dtype=np.int32), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
         padding="VALID")


def blocks() -> None:
    case("SpaceToBatchND", input=ramp(2, 4, 6, 3), block_shape=i32(2, 3), paddings=i32([[0, 0], [0, 0]]))
    case("SpaceToBatchND", input=ramp(2, 5, 7), block_shape=i32(2, 3), paddings=i32([[1, 0], [0, 2]]))
    case("SpaceToBatchND", input=ramp(1, 4, 1, 2, 2), block_shape=i64(2, 1, 2), paddings=i64([[0, 2], [1, 0], [1, 1]]))
    case("SpaceToBatchND", input=ramp(3, 5), block_shape=i32([5]), paddings=i32([[0, 0]]))
    for blocks_, pads in (([2, 3], [[0, 0], [0, 1]]), ([0, 1], [[0, 0], [0, 0]]), ([2, 2], [[-1, 1], [0, 0]]),
                          ([2], [[0, 0], [0, 0]])):
        case("SpaceToBatchND", input=ramp(2, 4, 6, 3), block_shape=i32(blocks_), paddings=i32(pads))
    case("SpaceToBatchND", input=ramp(0, 4, 6, 3), block_shape=i32(2, 3), paddings=i32([[0, 0], [0, 0]]))
    case("BatchToSpaceND", input=ramp(12, 2, 2, 3), block_shape=i32(2, 3), crops=i32([[0, 0], [0, 0]]))
    case("BatchToSpaceND", input=ramp(12, 2, 3), block_shape=i64(2, 3), crops=i64([[1, 0], [2, 3]]))
    case("BatchToSpaceND", input=ramp(12, 2, 3), block_shape=i32(2, 3), crops=i32([[2, 2], [2, 3]]))
    for blocks_, crops in (([2, 5], [[0, 0], [0, 0]]), ([2, 3], [[3, 2], [0, 0]]), ([2, 3], [[-1, 0], [0, 0]]),
                           ([2, 0], [[0, 0], [0, 0]])):
        case("BatchToSpaceND", input=ramp(12, 2, 3, 1), block_shape=i32(blocks_), crops=i32(crops))
    case("SpaceToBatch", input=ramp(1, 4, 6, 2), paddings=i32([[0, 0], [1, 1]]), block_size=2)
    case("BatchToSpace", input=ramp(4, 2, 3, 2), crops=i32([[0, 1], [1, 0]]), block_size=2)
    case("SpaceToDepth", input=ramp(2, 4, 6, 3), block_size=2)
    case("SpaceToDepth", input=ramp(2, 3, 6, 3), block_size=2)
    case("SpaceToDepth", input=text(["a"] * 16).reshape(1, 4, 4, 1), block_size=2)
    case("SpaceToDepth", input=u8(range(18)).reshape(1, 3, 6, 1), block_size=3)
    case("DepthToSpace", input=ramp(2, 2, 3, 8), block_size=2)
    case("DepthToSpace", input=ramp(2, 2, 3, 18), block_size=3)
    case("DepthToSpace", input=ramp(2, 2, 3, 6), block_size=2)
    case("DepthToSpace", input=ramp(2, 3, 8), block_size=2)


def flips() -> None:
    block = ramp(2, 3, 4)
    for mode in ("REFLECT", "SYMMETRIC"):
        for pads in ([[0, 0], [1, 2], [0, 3]], [[1, 1], [2, 0], [3, 1]], [[2, 0], [3, 0], [0, 4]],
                     [[0, 0], [-1, 0], [0, 0]], [[0, 0], [0, 0]]):
            case("MirrorPad", input=block, paddings=i32(pads), mode=mode)
        case("MirrorPad", input=i32(1, 2, 3), paddings=i64([[2, 1]]), mode=mode)
        case("MirrorPad", input=f32([[1, 2]]).reshape(2, 1), paddings=i32([[1, 0], [0, 0]]), mode=mode)
    for axis in ([0], [1, -1], [], [0, 1, 2], [1, 1], [3], [-4]):
        case("ReverseV2", tensor=block, axis=i32(axis))
    case("ReverseV2", tensor=text("a", "b"), axis=i64([0]))
    case("ReverseV2", tensor=ramp(0, 3), axis=i32([1]))
    case("Reverse", tensor=block, dims=flags(True, False, True))
    case("Reverse", tensor=block, dims=flags(True, False))
    case("ReverseSequence", input=block, seq_lengths=i32(3, 2), seq_dim=1, batch_dim=0)
    case("ReverseSequence", input=block, seq_lengths=i64(0, 1, 2), seq_dim=0, batch_dim=1)
    case("ReverseSequence", input=block, seq_lengths=i64(4, 1, 2), seq_dim=2, batch_dim=1)
    case("ReverseSequence", input=block, seq_lengths=i32(4, 1), seq_dim=1, batch_dim=0)
    case("ReverseSequence", input=block, seq_lengths=i32(-1, 1), seq_dim=1, batch_dim=0)
    case("ReverseSequence", input=block, seq_lengths=i32(1, 1, 1), seq_dim=1, batch_dim=0)
    case("ReverseSequence", input=block, seq_lengths=i32(1, 1), seq_dim=0, batch_dim=0)
    for shift, axis in ((1, 0), (-1, 1), (7, 2), ([1, 2], [0, -1]), ([1, 1], [1, 1]), ([1], [3]), ([1, 2], [0]),
                        (0, -3)):
        case("Roll", input=block, shift=i32(shift), axis=i32(axis))
    case("Roll", input=f32(1.0), shift=i32(1), axis=i32(0))
    case("Roll", input=ramp(0, 3), shift=i64(1), axis=i64(1))
    case("Roll", input=text("a", "b", "c"), shift=i64(-(2**40) - 1), axis=i32(0))


def resizes() -> None:
    image = ramp(2, 5, 4, 3)
    for op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"):
        for size in ([5, 4], [10, 8], [3, 3], [1, 1], [7, 2], [2, 9]):
            case(op, images=image, size=i32(size))
            case(op, images=image, size=i32(size), align_corners=True)
            if op != "ResizeArea":
                case(op, images=image, size=i32(size), half_pixel_centers=True)
        case(op, images=ramp(1, 1, 1, 1), size=i32(3, 2), align_corners=True)
        case(op, images=ramp(1, 1, 3, 1), size=i32(3, 5), align_corners=True)
        case(op, images=u8(range(24)).reshape(1, 4, 6, 1), size=i32(3, 5))
        case(op, images=i32(range(24)).reshape(1, 4, 6, 1), size=i32(6, 3))
        case(op, images=f64(range(24)).reshape(1, 4, 6, 1), size=i32(6, 7))
        case(op, images=f32([1, NAN, INF, -INF]).reshape(1, 2, 2, 1), size=i32(2, 2))
        case(op, images=f32([1, NAN, INF, -INF]).reshape(1, 2, 2, 1), size=i32(3, 4))
        case(op, images=image, size=i32(0, 2))
        case(op, images=image, size=i32(-1, 2))
        case(op, images=image, size=i32([2]))
        case(op, images=image[0], size=i32(2, 2))
        case(op, images=ramp(0, 2, 2, 1), size=i32(2, 2))
        case(op, images=ramp(1, 0, 2, 1), size=i32(2, 2))
        for dtype in (np.float16, ml_dtypes.bfloat16):
            for size in ([5, 4], [3, 7], [1, 1]):
                case(op, images=image.astype(dtype), size=i32(size))
            case(op, images=f32([1, NAN, INF, 0.1]).astype(dtype).reshape(1, 2, 2, 1), size=i32(3, 4))
            case(op, images=image[0].astype(dtype), size=i32(2, 2))
    case("ResizeNearestNeighbor", images=ramp(1, 3, 4, 2), size=i32(5, 6), align_corners=False, half_pixel_centers=True)


def crops() -> None:
    image = ramp(2, 5, 4, 3)
    boxes = f32([[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], [1, 1, 0, 0], [-0.5, -0.2, 1.3, 0.5], [0.3, 0.3, 0.3, 0.3],
                 [NAN, 0, 1, 1]])
    at = i32(0, 1, 0, 1, 0, 1)
    for method in ("bilinear", "nearest"):
        for size in ([3, 3], [1, 1], [6, 2], [1, 4]):
            case("CropAndResize", image=image, boxes=boxes[:5], box_ind=at[:5], crop_size=i32(size), method=method)
        case("CropAndResize", image=image, boxes=boxes[:4], box_ind=at[:4], crop_size=i32(3, 3), method=method,
             extrapolation_value=-7.5)
    case("CropAndResize", image=u8(range(24)).reshape(1, 4, 6, 1), boxes=boxes[:2], box_ind=i32(0, 0),
         crop_size=i32(3, 3))
    case("CropAndResize", image=image, boxes=boxes[:2], box_ind=i32(0, 2), crop_size=i32(3, 3))
    case("CropAndResize", image=image, boxes=boxes[:2], box_ind=i32(0, -1), crop_size=i32(3, 3))
    case("CropAndResize", image=image, boxes=boxes[:2], box_ind=i32([0]), crop_size=i32(3, 3))
    case("CropAndResize", image=image, boxes=boxes[:2], box_ind=i32(0, 1), crop_size=i32(0, 3))
    case("CropAndResize", image=image, boxes=boxes[:0], box_ind=at[:0], crop_size=i32(2, 3))
    for kernel in ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"):
        for size, scale, shift in (([10, 8], [2, 2], [0, 0]), ([3, 3], [0.6, 0.75], [0, 0]),
                                   ([5, 4], [1, 1], [0.5, -1.25]), ([4, 4], [0.1, 3], [1, 1])):
            for antialias in (True, False):
                case("ScaleAndTranslate", images=image, size=i32(size), scale=f32(scale), translation=f32(shift),
                     kernel_type=kernel,
                     antialias=antialias)
    for dtype in (np.float16, ml_dtypes.bfloat16):
        case("CropAndResize", image=image.astype(dtype), boxes=boxes[:5], box_ind=at[:5], crop_size=i32(6, 2))
        case("ScaleAndTranslate", images=image.astype(dtype), size=i32(3, 3), scale=f32(0.6, 0.75), translation=f32(0.5, 0))
    case("ScaleAndTranslate", images=image, size=i32(3, 3), scale=f32(0, 1), translation=f32(0, 0))
    case("ScaleAndTranslate", images=image, size=i32(0, 3), scale=f32(1, 1), translation=f32(0, 0))
    case("ScaleAndTranslate", images=u8(range(24)).reshape(1, 4, 6, 1), size=i32(3, 3), scale=f32(0.75, 0.5),
         translation=f32(0, 0))


def colours() -> None:
    rgb = f32([[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.2, 0.5, 0.3], [0.9, 0.1, 0.5], [0.3, 0.3, 0.8],
               [0.7, 0.7, 0.1]])
    case("RGBToHSV", images=rgb)
    case("RGBToHSV", images=f64(rgb).reshape(3, 3, 3))
    case("RGBToHSV", images=ramp(3, 3))
    case("RGBToHSV", images=ramp(3, 4))
    case("RGBToHSV", images=f32(1.0))
    hsv = f32([[0, 0, 0], [0.1, 0.5, 1], [0.35, 1, 0.2], [0.5, 0.1, 0.9], [0.7, 0.3, 0.4], [0.9, 0.9, 0.9], [1, 1, 1],
               [0, 1, 0.5]])
    case("HSVToRGB", images=hsv)
    case("HSVToRGB", images=f64(hsv))
    case("HSVToRGB", images=ramp(0, 3))
    image = (ramp(2, 4, 3, 3) + 3) / 6
    for factor in (0.0, 0.5, 2.0, -1.0):
        case("AdjustContrastv2", images=image, contrast_factor=f32(factor))
        case("AdjustHue", images=image, delta=f32(factor / 3))
        case("AdjustSaturation", images=image, scale=f32(factor))
    case("AdjustContrastv2", images=ramp(2, 3), contrast_factor=f32(1))
    case("AdjustContrastv2", images=ramp(0, 2, 2, 3), contrast_factor=f32(1))
    case("AdjustHue", images=ramp(2, 2, 4), delta=f32(0.1))
    for radius, bias, alpha, beta in ((5, 1.0, 1.0, 0.5), (1, 2.0, 1e-4, 0.75), (0, 1.0, 0.5, 1.0),
                                      (2, 0.5, 0.25, 0.6)):
        case("LRN", input=ramp(1, 2, 3, 8), depth_radius=radius, bias=bias, alpha=alpha, beta=beta)
    case("LRN", input=ramp(2, 3, 8))
    for padding in ("SAME", "VALID"):
        for sizes, strides, rates in (([1, 3, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1]),
                                      ([1, 2, 2, 1], [1, 2, 3, 1], [1, 2, 1, 1])):
            case("ExtractImagePatches", images=ramp(2, 6, 5, 2), ksizes=sizes, strides=strides, rates=rates,
                 padding=padding)
    case("ExtractImagePatches", images=i32(range(9)).reshape(1, 3, 3, 1), ksizes=[1, 2, 2, 1], strides=[1, 1, 1, 1],
         rates=[1, 1, 1, 1], padding="VALID")
    case("ExtractImagePatches", images=ramp(6, 5, 2), ksizes=[1, 2, 2, 1], strides=[1, 1, 1, 1], rates=[1, 1, 1, 1],
         padding="VALID")


def boxes() -> None:
    corners = f32([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1],
                   [0, 100, 1, 101], [1, 1, 0, 0], [2, 2, 2, 2]])
    scores = f32(0.9, 0.75, 0.6, 0.95, 0.5, 0.3, 0.9, 0.1)
    for limit in (0, 3, 30):
        for overlap in (0.5, 0.0, 1.0):
            given = {"boxes": corners, "scores": scores, "max_output_size": i32(limit)}
            case("NonMaxSuppression", iou_threshold=overlap, **given)
            case("NonMaxSuppressionV2", iou_threshold=f32(overlap), **given)
            for threshold in (0.0, 0.55, -INF):
                case("NonMaxSuppressionV3", iou_threshold=f32(overlap), score_threshold=f32(threshold), **given)
                for pad in (True, False):
                    case("NonMaxSuppressionV4", iou_threshold=f32(overlap), score_threshold=f32(threshold),
                         pad_to_max_output_size=pad, **given)
                for sigma in (0.0, 0.5):
                    case("NonMaxSuppressionV5", iou_threshold=f32(overlap), score_threshold=f32(threshold),
                         soft_nms_sigma=f32(sigma),
                         pad_to_max_output_size=limit == 30, **given)
    one = {"iou_threshold": f32(0.5), "score_threshold": f32(0)}
    endless = f32([[0, 0, 1, 1], [-INF, -INF, INF, INF], [-INF, -INF, INF, INF], [0, 0.1, 1, 1.1]])
    case("NonMaxSuppressionV3", boxes=endless, scores=scores[:4], max_output_size=i32(4), **one)
    case("NonMaxSuppressionV5", boxes=endless, scores=scores[:4], max_output_size=i32(4), soft_nms_sigma=f32(0.5),
         **one)
    case("NonMaxSuppressionV3", boxes=corners, scores=scores[:3], max_output_size=i32(3), **one)
    case("NonMaxSuppressionV3", boxes=corners[:, :3], scores=scores, max_output_size=i32(3), **one)
    case("NonMaxSuppressionV3", boxes=corners, scores=scores, max_output_size=i32(-1), **one)
    case("NonMaxSuppressionV3", boxes=corners[:0], scores=scores[:0], max_output_size=i32(3), **one)
    case("NonMaxSuppressionV3", boxes=corners, scores=scores, max_output_size=i32(3), iou_threshold=f32(1.5),
         score_threshold=f32(0))


def detections() -> None:
    corners = ((np.arange(2 * 6 * 3 * 4) * 37 % 101) / 90 - 0.1).astype(np.float32).reshape(2, 6, 3, 4)
    scores = ((np.arange(2 * 6 * 3) * 29 % 47) / 47).astype(np.float32).reshape(2, 6, 3)
    for boxes_ in (corners, corners[:, :, :1]):
        for per_class, total in ((2, 4), (6, 100), (1, 2)):
            for flag in (True, False):
                case("CombinedNonMaxSuppression", boxes=boxes_, scores=scores, max_output_size_per_class=i32(per_class),
                     max_total_size=i32(total),
                     iou_threshold=f32(0.3), score_threshold=f32(0.2), pad_per_class=flag, clip_boxes=not flag)
    one = {"max_output_size_per_class": i32(2), "iou_threshold": f32(0.3), "score_threshold": f32(0.2)}
    case("CombinedNonMaxSuppression", boxes=corners, scores=scores, max_total_size=i32(0), **one)
    case("CombinedNonMaxSuppression", boxes=corners[:, :, :2], scores=scores, max_total_size=i32(3), **one)
    case("CombinedNonMaxSuppression", boxes=corners[:, :2], scores=scores, max_total_size=i32(3), **one)


def formats() -> None:
    """Formats that TensorFlow supports only on GPUs."""
    one, cube = {"strides": [1, 1, 1, 1], "padding": "SAME", "data_format": "NCHW"}, {"strides": [1, 1, 1, 1, 1],
                                                                                      "padding": "SAME",
                                                                                      "data_format": "NCDHW"}
    case("Conv2D", input=ramp(1, 2, 4, 4), filter=ramp(2, 2, 2, 3), **one)
    case("Conv2DBackpropInput", input_sizes=i32(1, 2, 4, 4), filter=ramp(2, 2, 2, 3), out_backprop=ramp(1, 3, 4, 4),
         **one)
    case("MaxPool", input=ramp(1, 2, 4, 4), ksize=[1, 1, 2, 2], **one)
    case("AvgPool", value=ramp(1, 2, 4, 4), ksize=[1, 1, 2, 2], **one)
    case("Conv3D", input=ramp(1, 2, 4, 4, 4), filter=ramp(2, 2, 2, 2, 3), **cube)
    case("MaxPool3D", input=ramp(1, 2, 4, 4, 4), ksize=[1, 1, 2, 2, 2], **cube)
    case("DepthToSpace", input=ramp(1, 4, 2, 2), block_size=2, data_format="NCHW")
    case("SpaceToDepth", input=ramp(1, 4, 2, 2), block_size=2, data_format="NCHW")


for family in (transposed, volumes, pools, blocks, flips, resizes, crops, colours, boxes, detections, formats):
    family()
