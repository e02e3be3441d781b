#include "common/net/grpc_server/reflection.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>

#include "grpc/health.pb.h"

namespace longshore::grpc_server {
namespace {

using ::grpc::reflection::v1::ServerReflectionRequest;
using ::grpc::reflection::v1::ServerReflectionResponse;

std::vector<std::string> FilesOf(const ServerReflectionResponse& response) {
  std::vector<std::string> names;
  for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    EXPECT_TRUE(file.ParseFromString(bytes));
    names.push_back(file.name());
  }
  return names;
}

TEST(Reflection, ListsTheServicesAndRepeatsTheQuestion) {
  ServerReflectionRequest request;
  request.set_host("h");
  request.set_list_services("*");
  const auto response = Reflect(request, {"a.A", "b.B"});
  EXPECT_EQ(response.valid_host(), "h");
  EXPECT_EQ(response.original_request().list_services(), "*");
  ASSERT_EQ(response.list_services_response().service_size(), 2);
  EXPECT_EQ(response.list_services_response().service(1).name(), "b.B");
}

TEST(Reflection, DescribesAServiceOfTheProgramByItsSymbolAndItsFile) {
  ServerReflectionRequest request;
  const std::string file = ::grpc::health::v1::HealthCheckRequest::descriptor()->file()->name();
  for (const char* symbol :
       {"grpc.health.v1.Health", "grpc.health.v1.Health.Check", "grpc.health.v1.HealthCheckRequest.service"}) {
    request.set_file_containing_symbol(symbol);
    EXPECT_THAT(FilesOf(Reflect(request, {})), testing::ElementsAre(file)) << symbol;
  }
  request.set_file_by_filename(file);
  EXPECT_THAT(FilesOf(Reflect(request, {})), testing::ElementsAre(file));
}

TEST(Reflection, AnswersWhatItDoesNotKnowWithAnErrorAndAnEmptyQuestionToo) {
  ServerReflectionRequest request;
  EXPECT_EQ(Reflect(request, {}).error_response().error_code(), static_cast<int>(Code::kInvalidArgument));
  request.set_file_containing_symbol("no.Such");
  EXPECT_EQ(Reflect(request, {}).error_response().error_code(), static_cast<int>(Code::kNotFound));
  EXPECT_EQ(Reflect(request, {}).error_response().error_message(), "no.Such was not found");
  request.set_file_by_filename("no/such.proto");
  EXPECT_EQ(Reflect(request, {}).error_response().error_code(), static_cast<int>(Code::kNotFound));
  request.set_all_extension_numbers_of_type("no.Such");
  EXPECT_EQ(Reflect(request, {}).error_response().error_code(), static_cast<int>(Code::kNotFound));
  request.mutable_file_containing_extension()->set_containing_type("grpc.health.v1.HealthCheckRequest");
  EXPECT_EQ(Reflect(request, {}).error_response().error_code(), static_cast<int>(Code::kNotFound));
}

TEST(Reflection, AMessageWithoutExtensionsHasNoExtensionNumbers) {
  ServerReflectionRequest request;
  request.set_all_extension_numbers_of_type("grpc.health.v1.HealthCheckRequest");
  const auto response = Reflect(request, {});
  EXPECT_EQ(response.all_extension_numbers_response().base_type_name(), "grpc.health.v1.HealthCheckRequest");
  EXPECT_EQ(response.all_extension_numbers_response().extension_number_size(), 0);
}

TEST(Reflection, IsAServiceOfBothVersionsAndListsItself) {
  Service service;
  service.Add("/a.A/Do", {});
  AddReflection(service);
  EXPECT_THAT(service.names(), testing::ElementsAre("a.A", "grpc.reflection.v1.ServerReflection",
                                                    "grpc.reflection.v1alpha.ServerReflection"));
  for (const char* version : {"v1", "v1alpha"}) {
    const std::string path = std::string("/grpc.reflection.") + version + ".ServerReflection/ServerReflectionInfo";
    ASSERT_NE(service.Find(path), nullptr) << path;
    EXPECT_EQ(service.Find(path)->kind, Method::Kind::kStreaming);
  }
}

}  // namespace
}  // namespace longshore::grpc_server
