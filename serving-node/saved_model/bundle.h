// TensorBundle: how a SavedModel stores its variables.
//
// `PREFIX.index` is a sorted table: the empty key holds a BundleHeaderProto, every other key is a tensor's name and
// holds a BundleEntryProto that says where the bytes lie in `PREFIX.data-SSSSS-of-NNNNN`.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/file.h"
#include "serving-node/saved_model/slices.h"
#include "serving-node/tensor/tensor.h"
#include "tensorflow/tensor_bundle.pb.h"

namespace longshore::saved_model {

inline constexpr size_t kBundleEntriesMax = 1'000'000;
inline constexpr int64_t kBundleBytesMax = int64_t{1} << 50;  // Of all tensors together.
// Of one partitioned tensor, and of all. Each part of a tensor is held against each other one: seconds at most.
inline constexpr int kPartsMax = 10'000;
inline constexpr int kPartsInAllMax = 100'000;

// The index in memory; tensors are read when asked for. Thread-safe after Open.
class Bundle {
 public:
  // `prefix` is the path without ".index": ".../variables/variables". NotFound without the index; DataLoss when it is
  // damaged, or the parts of a partitioned tensor do not make it up; FailedPrecondition when a data file is missing or
  // shorter than the index says (a copy that is not finished); ResourceExhausted above the limits.
  static Result<Bundle> Open(const Path& prefix);

  // By the index's keys: a partitioned tensor has an entry with its slices and no bytes, and one for each part.
  const std::map<std::string, tensorflow::BundleEntryProto>& entries() const { return entries_; }
  bool Has(const std::string& name) const { return entries_.contains(name); }

  // The tensor. NotFound when there is none of that name; Unimplemented for types without values (DT_VARIANT); DataLoss
  // when bytes and checksum do not agree. The message names the file and the tensor.
  Result<tensor::Tensor> Read(const std::string& name) const;

  // All of the tensor, as a part of it. NotFound when there is none of that name.
  Result<SliceSpec> Whole(const std::string& name) const;

  // So many parts of the tensor, for which no byte of it is read twice. Errors as of Read; InvalidArgument when a shape
  // that is asked for is not the tensor's; ResourceExhausted for more than kPartsMax. Requires: each part lies within
  // its shape.
  Result<std::vector<tensor::Tensor>> ReadSlices(const std::string& name, std::span<const SliceSpec> asked) const;

  struct Cost {
    // Stored bytes that ReadSlices would give. A string counts with all that is stored as one part with it: how long
    // each is only shows when they are read.
    size_t given_bytes = 0;
    size_t read_bytes = 0;  // To give them; finding the parts counts as some, too.
  };
  // Errors and requirements as of ReadSlices.
  Result<Cost> CostOf(const std::string& name, std::span<const SliceSpec> asked) const;

  // Bytes of all tensors as stored.
  int64_t stored_bytes() const { return stored_bytes_; }

 private:
  Path DataFile(int shard) const;
  Status CheckDataFiles() const;
  Status TakeHeader(std::string_view key, std::string_view value);
  Status AddEntry(const std::string& key, std::string_view value);
  // The keys of a partitioned tensor's parts, with where they lie in it.
  using Parts = std::vector<std::pair<Slice, std::string>>;
  Status FindParts();
  // Those of a tensor that is not partitioned: itself. Errors as of ReadSlices.
  Result<Parts> PartsHeld(const std::string& name, std::span<const SliceSpec> asked) const;
  Result<Parts> PartsOf(const std::string& name, const tensorflow::BundleEntryProto& entry) const;
  Status CheckFits(const std::string& name, const tensorflow::BundleEntryProto& entry) const;
  Result<tensor::Tensor> ReadStored(const std::string& name, const tensorflow::BundleEntryProto& entry) const;
  Status CopyPart(const std::string& name, const Slice& place, const tensorflow::BundleEntryProto& entry,
                  std::span<const SliceSpec> asked, std::span<tensor::Tensor> made) const;
  // The entry's bytes as stored; their checksum. Requires: as many as the entry says.
  Result<uint32_t> ReadBytes(const std::string& name, const tensorflow::BundleEntryProto& entry,
                             std::span<char> bytes) const;
  Result<uint32_t> ReadElements(const std::string& name, const tensorflow::BundleEntryProto& entry,
                                tensor::Tensor* made) const;

  Path prefix_;
  int shards_ = 0;
  int64_t stored_bytes_ = 0;
  std::map<std::string, tensorflow::BundleEntryProto> entries_;
  std::map<std::string, Parts> parts_;  // By the names of partitioned tensors.
};

}  // namespace longshore::saved_model
