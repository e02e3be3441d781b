"""KServe's Python server with the model `identity`: y is x. kserve_server.py --http_port=P --grpc_port=P"""

import kserve


class Identity(kserve.Model):
    def load(self) -> bool:
        self.ready = True
        return True

    async def predict(self, payload, headers=None, response_headers=None):
        x = payload.inputs[0].as_numpy()
        y = kserve.InferOutput("y", list(x.shape), "FP32")
        y.set_data_from_numpy(x, binary_data=True)
        return kserve.InferResponse(payload.id, self.name, [y])


if __name__ == "__main__":
    kserve.model_server.parser.parse_known_args()
    model = Identity("identity")
    model.load()
    kserve.ModelServer(workers=1).start([model])
