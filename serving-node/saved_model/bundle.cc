#include "serving-node/saved_model/bundle.h"

#include <cstring>

#include "common/os/process/steady_reader.h"
#include "serving-node/saved_model/crc32c.h"
#include "serving-node/saved_model/index.h"
#include "serving-node/saved_model/varint.h"
#include "serving-node/tensor/proto.h"

namespace longshore::saved_model {
namespace {

// Decodes strings, which are stored as: all lengths as varints, the masked checksum of the lengths, and the bytes of
// all strings. Returns the checksum that the entry must have. It covers the lengths as numbers (u32, or u64 if they do
// not fit), the stored checksum of the lengths, and the bytes.
Result<uint32_t> DecodeStrings(std::string_view bytes, std::span<std::string> out) {
  std::vector<uint64_t> lengths(out.size());
  uint32_t crc = 0;
  for (auto& length : lengths) {
    if (!TakeVarint(&bytes, &length)) return DataLoss("the lengths of the strings are cut off");
    const size_t width = length <= UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t);
    crc = ExtendCrc32c(crc, {reinterpret_cast<const char*>(&length), width});
  }
  uint32_t stored = 0;
  if (bytes.size() < sizeof(stored)) return DataLoss("the lengths of the strings are cut off");
  std::memcpy(&stored, bytes.data(), sizeof(stored));
  if (stored != MaskCrc32c(crc)) return DataLoss("the checksum of the lengths of the strings does not match");
  crc = ExtendCrc32c(crc, bytes.substr(0, sizeof(stored)));
  bytes.remove_prefix(sizeof(stored));
  for (size_t i = 0; i < out.size(); ++i) {
    if (lengths[i] > bytes.size()) return DataLoss("the strings are cut off");
    out[i] = bytes.substr(0, lengths[i]);
    bytes.remove_prefix(lengths[i]);
  }
  if (!bytes.empty()) return DataLoss("{} bytes are left after the strings", bytes.size());
  return ExtendCrc32c(crc, [&] {
    std::string all;
    for (const auto& value : out) all += value;
    return all;
  }());
}

Path IndexFile(const Path& prefix) { return prefix.string() + ".index"; }

}  // namespace

Result<Bundle> Bundle::Open(const Path& prefix) {
  Bundle bundle;
  bundle.prefix_ = prefix;
  RETURN_IF_ERROR(ReadIndex(IndexFile(prefix), [&](std::string_view key, std::string_view value) {
    return bundle.shards_ == 0 ? bundle.TakeHeader(key, value) : bundle.AddEntry(std::string(key), value);
  }));
  if (bundle.shards_ == 0) return DataLoss("{} is damaged: it has no header", IndexFile(prefix).string());
  RETURN_IF_ERROR(bundle.CheckDataFiles());
  RETURN_IF_ERROR(bundle.FindParts());
  return bundle;
}

Status Bundle::TakeHeader(std::string_view key, std::string_view value) {
  const std::string index = IndexFile(prefix_).string();
  tensorflow::BundleHeaderProto header;
  if (!key.empty() || !header.ParseFromArray(value.data(), static_cast<int>(value.size())))
    return DataLoss("{} is damaged: it has no header", index);
  if (header.num_shards() < 1) return DataLoss("{} is damaged: it has no shards", index);
  if (header.endianness() != tensorflow::BundleHeaderProto::LITTLE)
    return Unimplemented("{}: the variables are stored big-endian", index);
  shards_ = header.num_shards();
  return {};
}

Status Bundle::AddEntry(const std::string& key, std::string_view value) {
  tensorflow::BundleEntryProto entry;
  const std::string index = IndexFile(prefix_).string();
  if (!entry.ParseFromArray(value.data(), static_cast<int>(value.size())) || entry.shard_id() < 0 ||
      entry.shard_id() >= shards_ || entry.offset() < 0 || entry.size() < 0 ||
      entry.offset() > INT64_MAX - entry.size()) {
    return DataLoss("{} is damaged: the entry of tensor \"{}\" is invalid", index, key);
  }
  if (entries_.size() == kBundleEntriesMax)
    return ResourceExhausted("{} has more than {} tensors", index, kBundleEntriesMax);
  if (entry.slices_size() > 0) entry.set_size(0);  // A partitioned tensor. Its bytes are stored with the parts.
  if (entry.size() > kBundleBytesMax - stored_bytes_)
    return ResourceExhausted("{} has tensors of more than {} bytes in total", index, kBundleBytesMax);
  const int64_t bytes = entry.size();
  if (entries_.emplace(key, std::move(entry)).second) stored_bytes_ += bytes;
  return {};
}

Path Bundle::DataFile(int shard) const {
  return fmt::format("{}.data-{:05}-of-{:05}", prefix_.string(), shard, shards_);
}

Status Bundle::CheckDataFiles() const {
  std::map<int, std::pair<int64_t, std::string>> ends;
  for (const auto& [name, entry] : entries_) {
    if (entry.slices_size() > 0) continue;  // A partitioned tensor has no bytes of its own.
    auto& end = ends[entry.shard_id()];
    if (entry.offset() + entry.size() >= end.first) end = {entry.offset() + entry.size(), name};
  }
  for (const auto& [shard, end] : ends) {
    std::error_code error;
    const Path file = DataFile(shard);
    const uint64_t size = std::filesystem::file_size(file, error);
    if (error) return FailedPrecondition("{} is missing; it stores tensor \"{}\"", file.string(), end.second);
    if (size < static_cast<uint64_t>(end.first)) {
      return FailedPrecondition(
          "{} has {} bytes, but tensor \"{}\" ends at byte {}: the file is truncated, or its copy is not complete",
          file.string(), size, end.second, end.first);
    }
  }
  return {};
}

Result<uint32_t> Bundle::ReadBytes(const std::string& name, const tensorflow::BundleEntryProto& entry,
                                   std::span<char> bytes) const {
  const Path path = DataFile(entry.shard_id());
  const auto read_error = [&](std::string_view why) {
    return FailedPrecondition("{}: cannot read the {} bytes of tensor \"{}\" at byte {}{}", path.string(), entry.size(),
                              name, entry.offset(), why);
  };
  auto file = process::SteadyReader::Open(path, entry.offset());
  if (!file) return read_error(": " + file.error().message);
  uint32_t crc = 0;
  for (std::span<char> rest = bytes; !rest.empty();) {
    const auto piece = rest.first(std::min(rest.size(), process::SteadyReader::kPieceBytes));
    ASSIGN_OR_RETURN(const size_t read, file->Read(piece));
    if (read < piece.size()) return read_error(": the file ends earlier");
    crc = ExtendCrc32c(crc, {piece.data(), piece.size()});
    rest = rest.subspan(piece.size());
  }
  return crc;
}

// Reads the elements and returns their checksum, as TensorFlow computes it.
Result<uint32_t> Bundle::ReadElements(const std::string& name, const tensorflow::BundleEntryProto& entry,
                                      tensor::Tensor* made) const {
  if (made->type() != tensor::DType::kString) {
    return ReadBytes(name, entry, {reinterpret_cast<char*>(made->mutable_data()), made->bytes()});
  }
  std::string bytes(static_cast<size_t>(entry.size()), '\0');
  RETURN_IF_ERROR(ReadBytes(name, entry, bytes));
  return DecodeStrings(bytes, made->mutable_values<std::string>());
}

Result<Bundle::Parts> Bundle::PartsOf(const std::string& name, const tensorflow::BundleEntryProto& entry) const {
  const std::string where = fmt::format("{}: tensor \"{}\"", IndexFile(prefix_).string(), name);
  const auto shape = tensor::PatternFromProto(entry.shape());
  const auto whole = tensor::ElementCount(shape.value_or(tensor::Shape{-1}));
  if (!whole) return DataLoss("{} has no shape", where);
  if (entry.slices_size() > kPartsMax) return ResourceExhausted("{} has more than {} parts", where, kPartsMax);
  Parts parts;
  int64_t missing = *whole;
  for (const auto& proto : entry.slices()) {
    const auto slice = SliceFromProto(proto, *shape);
    const auto stored = entries_.find(SliceKey(name, proto));
    const bool fits = slice && stored != entries_.end() && stored->second.slices_size() == 0 &&
                      stored->second.dtype() == entry.dtype() &&
                      tensor::PatternFromProto(stored->second.shape()) == slice->sizes;
    if (!fits) return DataLoss("{}: a part is missing, or not within its shape {}", where, tensor::ToString(*shape));
    const int64_t elements = *tensor::ElementCount(slice->sizes);
    if (elements == 0 && *whole > 0) return DataLoss("{}: a part has no elements", where);
    for (const auto& [place, _] : parts) {
      if (place == *slice || Overlap(place, *slice)) return DataLoss("{}: its parts overlap", where);
    }
    parts.emplace_back(*slice, stored->first);
    missing -= elements;  // Never negative, because no two parts overlap.
  }
  if (missing == 0) return parts;
  return DataLoss("{}: its parts do not cover its shape {}", where, tensor::ToString(*shape));
}

Status Bundle::FindParts() {
  int64_t parts = 0;
  for (const auto& [name, entry] : entries_) parts += entry.slices_size();
  if (parts > kPartsInAllMax) {
    return ResourceExhausted("{} has more than {} parts of tensors", IndexFile(prefix_).string(), kPartsInAllMax);
  }
  for (const auto& [name, entry] : entries_) {
    if (entry.slices_size() == 0) continue;
    ASSIGN_OR_RETURN(parts_[name], PartsOf(name, entry));
  }
  return {};
}

Result<SliceSpec> Bundle::Whole(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return NotFound("{} has no tensor \"{}\"", IndexFile(prefix_).string(), name);
  const auto shape = tensor::PatternFromProto(found->second.shape()).value_or(tensor::Shape{-1});
  return SliceSpec{.whole = shape, .part = WholeOf(shape)};
}

Result<tensor::Tensor> Bundle::Read(const std::string& name) const {
  ASSIGN_OR_RETURN(const SliceSpec whole, Whole(name));
  ASSIGN_OR_RETURN(auto read, ReadSlices(name, {&whole, 1}));
  return std::move(read[0]);
}

Result<Bundle::Parts> Bundle::StoredParts(const std::string& name, std::span<const SliceSpec> requested) const {
  ASSIGN_OR_RETURN(const SliceSpec held, Whole(name));
  if (requested.size() > kPartsMax) {
    return ResourceExhausted("{}: more than {} parts of tensor \"{}\" were requested", IndexFile(prefix_).string(),
                             kPartsMax, name);
  }
  for (const auto& spec : requested) {
    if (spec.whole == held.whole) continue;
    return InvalidArgument("{}: tensor \"{}\" has the shape {}, but a part of the shape {} was requested",
                           IndexFile(prefix_).string(), name, tensor::ToString(held.whole),
                           tensor::ToString(spec.whole));
  }
  const auto found = parts_.find(name);
  Parts parts = found == parts_.end() ? Parts{{held.part, name}} : found->second;
  for (const auto& [place, key] : parts) RETURN_IF_ERROR(CheckFits(name, entries_.at(key)));
  return parts;
}

Result<Bundle::Cost> Bundle::CostOf(const std::string& name, std::span<const SliceSpec> requested) const {
  constexpr size_t kPairBytes = 16;  // Comparing two parts takes about as long as reading this many bytes.
  ASSIGN_OR_RETURN(const Parts parts, StoredParts(name, requested));
  const size_t element_bytes = tensor::ElementBytes(tensor::FromProto(entries_.at(name).dtype()));
  Cost cost{.given_bytes = 0, .read_bytes = parts.size() * requested.size() * kPairBytes};
  for (const auto& spec : requested)
    cost.given_bytes += static_cast<size_t>(*tensor::ElementCount(spec.part.sizes)) * element_bytes;
  for (const auto& [place, key] : parts) {
    const auto readers = static_cast<size_t>(
        std::ranges::count_if(requested, [&place](const SliceSpec& spec) { return Overlap(place, spec.part); }));
    const auto bytes = static_cast<size_t>(entries_.at(key).size());
    if (readers > 0) cost.read_bytes += bytes;
    if (element_bytes == 0) cost.given_bytes += readers * bytes;
  }
  return cost;
}

Result<std::vector<tensor::Tensor>> Bundle::ReadSlices(const std::string& name,
                                                       std::span<const SliceSpec> requested) const {
  ASSIGN_OR_RETURN(const Parts parts, StoredParts(name, requested));
  std::vector<tensor::Tensor> made(requested.size());
  for (const auto& [place, key] : parts) RETURN_IF_ERROR(CopyPart(name, place, entries_.at(key), requested, made));
  for (size_t i = 0; i < requested.size(); ++i) {
    if (!made[i].empty()) continue;
    // No stored part overlaps this requested part, so it has no elements.
    ASSIGN_OR_RETURN(made[i],
                     tensor::Tensor::Make(tensor::FromProto(entries_.at(name).dtype()), requested[i].part.sizes));
  }
  return made;
}

// Copies the stored part into each requested part that overlaps it. Reads the stored part only if there is such a
// requested part.
Status Bundle::CopyPart(const std::string& name, const Slice& place, const tensorflow::BundleEntryProto& entry,
                        std::span<const SliceSpec> requested, std::span<tensor::Tensor> made) const {
  tensor::Tensor part;
  for (size_t i = 0; i < requested.size(); ++i) {
    const Slice& wanted = requested[i].part;
    if (!Overlap(place, wanted)) continue;
    if (part.empty()) {
      ASSIGN_OR_RETURN(part, ReadStored(name, entry));
    }
    if (place == wanted) {
      made[i] = part;
      continue;
    }
    if (made[i].empty()) {
      ASSIGN_OR_RETURN(made[i], tensor::Tensor::Make(part.type(), wanted.sizes));
    }
    CopyOverlap(part, place, wanted, &made[i]);
  }
  return {};
}

// Checks the entry before memory is allocated for the tensor: a damaged shape must not allocate gigabytes. Open has
// checked that the data file is long enough.
Status Bundle::CheckFits(const std::string& name, const tensorflow::BundleEntryProto& entry) const {
  const std::string where = fmt::format("{}: tensor \"{}\"", DataFile(entry.shard_id()).string(), name);
  const auto pattern = tensor::PatternFromProto(entry.shape());
  if (!pattern) return DataLoss("{} has no shape", where);
  const auto type = tensor::FromProto(entry.dtype());
  const auto count = tensor::ElementCount(*pattern);
  const auto stored = static_cast<size_t>(entry.size());
  const size_t least = std::max<size_t>(tensor::ElementBytes(type), 1);  // A string takes at least one byte.
  if (!count || static_cast<size_t>(*count) > stored / least)
    return DataLoss("{} has the shape {}, but only {} stored bytes", where, tensor::ToString(*pattern), stored);
  const size_t needed = static_cast<size_t>(*count) * tensor::ElementBytes(type);
  if (tensor::ElementBytes(type) == 0 || stored == needed) return {};
  return DataLoss("{} has {} stored bytes, but needs {}", where, stored, needed);
}

Result<tensor::Tensor> Bundle::ReadStored(const std::string& name, const tensorflow::BundleEntryProto& entry) const {
  RETURN_IF_ERROR(CheckFits(name, entry));
  const std::string where = fmt::format("{}: tensor \"{}\"", DataFile(entry.shard_id()).string(), name);
  const auto type = tensor::FromProto(entry.dtype());
  auto made = tensor::Tensor::Make(type, tensor::PatternFromProto(entry.shape()).value_or(tensor::Shape{}));
  if (!made) return Unimplemented("{} has the unsupported type {}", where, tensor::DTypeName(type));
  const auto crc = ReadElements(name, entry, &*made);
  if (!crc) return Prefixed(crc.error(), where);
  if (MaskCrc32c(*crc) != entry.crc32c()) return DataLoss("{} is damaged: its checksum does not match", where);
  return *made;
}

}  // namespace longshore::saved_model
