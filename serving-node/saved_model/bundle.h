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

// The index in memory; tensors are read when asked for. Thread-safe after Open.
class Bundle {
 public:
  // `prefix` is the path without ".index": ".../variables/variables". NotFound without the index; DataLoss when it is
  // damaged; FailedPrecondition when a data file is missing or shorter than the index says (a copy that is not
  // finished).
  static Result<Bundle> Open(const Path& prefix);

  const std::map<std::string, tensorflow::BundleEntryProto>& entries() const { return entries_; }
  bool Has(const std::string& name) const { return entries_.contains(name); }

  // The tensor. NotFound when there is none of that name; Unimplemented for types without values (DT_VARIANT); DataLoss
  // when bytes and checksum do not agree, or when the parts of a partitioned tensor do not make it up. The message
  // names the file and the tensor.
  Result<tensor::Tensor> Read(const std::string& name) const;

  // A part of the tensor. Errors as of Read; InvalidArgument when it does not lie within the tensor.
  Result<tensor::Tensor> ReadSlice(const std::string& name, const Slice& slice) const;

  // Bytes of all tensors as stored.
  int64_t stored_bytes() const;

 private:
  Path DataFile(int shard) const;
  Status CheckDataFiles() const;
  Status AddEntry(const std::string& key, std::string_view value);
  Result<tensor::Tensor> ReadStored(const std::string& name, const tensorflow::BundleEntryProto& entry) const;
  // The parts of a partitioned tensor, with where they lie in it.
  using Parts = std::vector<std::pair<Slice, const tensorflow::BundleEntryProto*>>;
  Result<Parts> PartsOf(const std::string& name, const tensorflow::BundleEntryProto& entry) const;
  // The entry's bytes as stored; their checksum. Requires: as many as the entry says.
  Result<uint32_t> ReadBytes(const std::string& name, const tensorflow::BundleEntryProto& entry,
                             std::span<char> bytes) const;
  Result<uint32_t> ReadElements(const std::string& name, const tensorflow::BundleEntryProto& entry,
                                tensor::Tensor* made) const;

  Path prefix_;
  int shards_ = 0;
  std::map<std::string, tensorflow::BundleEntryProto> entries_;
};

}  // namespace longshore::saved_model
