// Reads TensorBundle, the format in which a SavedModel stores its variables.
//
// `PREFIX.index` is a sorted table. The empty key has a BundleHeaderProto. Every other key is the name of a tensor and
// has a BundleEntryProto, which says where the bytes are in `PREFIX.data-SSSSS-of-NNNNN`.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "serving-node/saved_model/slices.h"
#include "serving-node/tensor/tensor.h"
#include "tensorflow/tensor_bundle.pb.h"

namespace longshore::saved_model {

inline constexpr size_t kBundleEntriesMax = 1'000'000;
inline constexpr int64_t kBundleBytesMax = int64_t{1} << 50;  // The limit for all tensors together.
// The limits for the parts of one partitioned tensor, and for the parts of all tensors together. All pairs of parts of
// a tensor are compared, which takes seconds at these limits.
inline constexpr int kPartsMax = 10'000;
inline constexpr int kPartsInAllMax = 100'000;

// Keeps the index in memory and reads tensors on request. Thread-safe after Open.
class Bundle {
 public:
  // `prefix` is the path without ".index": ".../variables/variables". NotFound if the index does not exist; DataLoss if
  // it is damaged, or if the parts of a partitioned tensor do not cover it exactly; FailedPrecondition if a data file
  // is missing or shorter than the index says (an incomplete copy); ResourceExhausted above the limits.
  static Result<Bundle> Open(const Path& prefix);

  // The entries by key. A partitioned tensor has one entry with its slices and no bytes, and one entry per part.
  const std::map<std::string, tensorflow::BundleEntryProto>& entries() const { return entries_; }
  bool Has(const std::string& name) const { return entries_.contains(name); }

  // Reads a tensor. NotFound if the bundle does not have it; Unimplemented for types without values (DT_VARIANT);
  // DataLoss if the bytes do not match the checksum. The message names the file and the tensor.
  Result<tensor::Tensor> Read(const std::string& name) const;

  // The slice that is the whole tensor. NotFound if the bundle does not have the tensor.
  Result<SliceSpec> Whole(const std::string& name) const;

  // Reads parts of a tensor. Each stored part is read at most once, even if several requested parts overlap it. Returns
  // the errors of Read; InvalidArgument if the shape in a request is not the tensor's; ResourceExhausted for more than
  // kPartsMax parts. Requires: each part is within the shape in its request.
  Result<std::vector<tensor::Tensor>> ReadSlices(const std::string& name, std::span<const SliceSpec> requested) const;

  struct Cost {
    // Bytes that ReadSlices would return. A string counts as all strings of its stored part, because the length of each
    // string is only known after reading.
    size_t given_bytes = 0;
    size_t read_bytes = 0;  // Bytes that ReadSlices would read, plus a charge for finding the parts.
  };
  // Returns the cost of ReadSlices without reading the tensor. Errors and requirements are those of ReadSlices.
  Result<Cost> CostOf(const std::string& name, std::span<const SliceSpec> requested) const;

  // The stored bytes of all tensors.
  int64_t stored_bytes() const { return stored_bytes_; }

 private:
  Path DataFile(int shard) const;
  Status CheckDataFiles() const;
  Status TakeHeader(std::string_view key, std::string_view value);
  Status AddEntry(const std::string& key, std::string_view value);
  // The stored parts of a tensor: the place of each in the tensor, and its key in the index.
  using Parts = std::vector<std::pair<Slice, std::string>>;
  Status FindParts();
  // Returns the stored parts of a tensor. A tensor that is not partitioned has one part, the whole tensor. Errors like
  // ReadSlices.
  Result<Parts> StoredParts(const std::string& name, std::span<const SliceSpec> requested) const;
  Result<Parts> PartsOf(const std::string& name, const tensorflow::BundleEntryProto& entry) const;
  Status CheckFits(const std::string& name, const tensorflow::BundleEntryProto& entry) const;
  Result<tensor::Tensor> ReadStored(const std::string& name, const tensorflow::BundleEntryProto& entry) const;
  Status CopyPart(const std::string& name, const Slice& place, const tensorflow::BundleEntryProto& entry,
                  std::span<const SliceSpec> requested, std::span<tensor::Tensor> made) const;
  // Reads the stored bytes of an entry and returns their checksum. Requires: bytes.size() is the size in the entry.
  Result<uint32_t> ReadBytes(const std::string& name, const tensorflow::BundleEntryProto& entry,
                             std::span<char> bytes) const;
  Result<uint32_t> ReadElements(const std::string& name, const tensorflow::BundleEntryProto& entry,
                                tensor::Tensor* made) const;

  Path prefix_;
  int shards_ = 0;
  int64_t stored_bytes_ = 0;
  std::map<std::string, tensorflow::BundleEntryProto> entries_;
  std::map<std::string, Parts> parts_;  // The parts of each partitioned tensor, by its name.
};

}  // namespace longshore::saved_model
