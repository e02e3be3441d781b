#include "common/net/grpc_server/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <optional>
#include <vector>

#include "common/net/grpc_server/call.h"
#include "common/net/grpc_server/messages.h"
#include "grpc/reflection_v1alpha.pb.h"

namespace longshore::grpc_server {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using ::grpc::reflection::v1::ServerReflectionRequest;
using ::grpc::reflection::v1::ServerReflectionResponse;
using CallPtr = std::shared_ptr<Call>;
using Names = std::shared_ptr<const std::set<std::string>>;

const DescriptorPool& Pool() { return *DescriptorPool::generated_pool(); }

void SetError(Code code, const std::string& message, ServerReflectionResponse* response) {
  response->mutable_error_response()->set_error_code(static_cast<int>(code));
  response->mutable_error_response()->set_error_message(message);
}

// Adds the file before the files that it imports.
void AddFile(const FileDescriptor& file, std::set<const FileDescriptor*>& added, ServerReflectionResponse* response) {
  if (!added.insert(&file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  response->mutable_file_descriptor_response()->add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) AddFile(*file.dependency(i), added, response);
}

void SetFile(const FileDescriptor* file, const std::string& asked, ServerReflectionResponse* response) {
  if (file == nullptr) return SetError(Code::kNotFound, asked + " was not found", response);
  std::set<const FileDescriptor*> added;
  AddFile(*file, added, response);
}

const FileDescriptor* FileOfExtension(const ::grpc::reflection::v1::ExtensionRequest& asked) {
  const auto* type = Pool().FindMessageTypeByName(asked.containing_type());
  const auto* extension = type == nullptr ? nullptr : Pool().FindExtensionByNumber(type, asked.extension_number());
  return extension == nullptr ? nullptr : extension->file();
}

void SetExtensions(const std::string& name, ServerReflectionResponse* response) {
  const auto* type = Pool().FindMessageTypeByName(name);
  if (type == nullptr) return SetError(Code::kNotFound, name + " was not found", response);
  std::vector<const FieldDescriptor*> extensions;
  Pool().FindAllExtensions(type, &extensions);
  auto& answer = *response->mutable_all_extension_numbers_response();
  answer.set_base_type_name(name);
  for (const FieldDescriptor* each : extensions) answer.add_extension_number(each->number());
}

// Answers the questions of a stream one after the other.
void AnswerNext(const CallPtr& call, const Names& services) {
  call->Read([call, services](const std::optional<Pieces>& message) {
    if (!message) return call->Finish({});
    ServerReflectionRequest request;
    if (const Status read = Parse(*message, &request); !read) return call->Finish(read);
    call->Write(ToPieces(Reflect(request, *services)), [call, services](bool ok) {
      if (ok) AnswerNext(call, services);
    });
  });
}

}  // namespace

ServerReflectionResponse Reflect(const ServerReflectionRequest& request, const std::set<std::string>& services) {
  ServerReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename:
      SetFile(Pool().FindFileByName(request.file_by_filename()), request.file_by_filename(), &response);
      break;
    case ServerReflectionRequest::kFileContainingSymbol:
      SetFile(Pool().FindFileContainingSymbol(request.file_containing_symbol()), request.file_containing_symbol(),
              &response);
      break;
    case ServerReflectionRequest::kFileContainingExtension:
      SetFile(FileOfExtension(request.file_containing_extension()), "the extension", &response);
      break;
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      SetExtensions(request.all_extension_numbers_of_type(), &response);
      break;
    case ServerReflectionRequest::kListServices:
      for (const std::string& name : services) response.mutable_list_services_response()->add_service()->set_name(name);
      break;
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      SetError(Code::kInvalidArgument, "the request asks for nothing", &response);
      break;
  }
  return response;
}

void AddReflection(Service& service) {
  const auto services = std::make_shared<std::set<std::string>>(service.names());
  const auto descriptors = {::grpc::reflection::v1::ServerReflectionRequest::descriptor(),
                            ::grpc::reflection::v1alpha::ServerReflectionRequest::descriptor()};
  for (const auto* request : descriptors) {
    const std::string name = request->file()->service(0)->full_name();
    services->insert(name);
    service.Add(
        "/" + name + "/ServerReflectionInfo",
        {.kind = Method::Kind::kStreaming, .handler = [services](const CallPtr& call) { AnswerNext(call, services); }});
  }
}

}  // namespace longshore::grpc_server
