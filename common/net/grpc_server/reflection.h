// gRPC server reflection (https://github.com/grpc/grpc/blob/master/doc/server-reflection.md), for tools such as
// grpcurl: clients can ask for the services and their messages.
#pragma once

#include "common/net/grpc_server/service.h"
#include "grpc/reflection.pb.h"

namespace longshore::grpc_server {

// Adds the methods of grpc.reflection.v1 and grpc.reflection.v1alpha, which name all services of `service`. Call it
// after all other methods were added. The messages are those of the generated code that is linked to the program.
void AddReflection(Service& service);

// Answers one question. `services` is what it answers to list_services.
::grpc::reflection::v1::ServerReflectionResponse Reflect(const ::grpc::reflection::v1::ServerReflectionRequest& request,
                                                         const std::set<std::string>& services);

}  // namespace longshore::grpc_server
