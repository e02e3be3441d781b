#include "serving-node/replay/bundle.h"

#include <google/protobuf/text_format.h>

#include "serving-node/config/text_proto.h"

namespace longshore::replay {

std::string ToText(const capture::Bundle& bundle) {
  std::string fields;
  google::protobuf::TextFormat::PrintToString(bundle, &fields);
  return "# A request that failed. To run it again: longshore-node replay FILE\n" + fields;
}

Result<capture::Bundle> ReadBundle(const Path& file) {
  capture::Bundle bundle;
  RETURN_IF_ERROR(config::ReadTextProto(file, &bundle));
  if (!bundle.has_request()) return InvalidArgument("{}: it holds no request", file.string());
  return bundle;
}

}  // namespace longshore::replay
