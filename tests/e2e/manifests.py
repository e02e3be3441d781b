"""The objects that ./dev e2e creates."""

from target import CLAIM

NAMESPACE = "longshore-e2e"
STEPS = [10, 50]
HOLD_S = 6
# v2 is a larger network than v1 and may take up to five times as long. The later versions may take at most 1.5 times as long as v2.
TOLERANCES = {1: 4, 2: 4, 3: 0.5, 4: 0.5, 5: 0.5}


def fleet(name, service_type, **spec):
    volume = {"name": "models", "mountPath": "/models", "persistentVolumeClaim": {"claimName": CLAIM, "readOnly": True}}
    return {"apiVersion": "longshore.dev/v1alpha1", "kind": "ServingFleet", "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"replicas": {"min": 2}, "modelVolumes": [volume], "service": {"type": service_type}, **spec}}


def model(name, fleet_name, version, **spec):
    return {"apiVersion": "longshore.dev/v1alpha1", "kind": "Model", "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"fleet": fleet_name, "source": {"uri": f"file:///models/{name}"}, "version": version, **spec}}


def of_digits(name, version, rollout):
    """A Model with the versions of digits."""
    return model(name, "main", version, source={"uri": "file:///models/digits"}, rollout=rollout)


def digits(version):
    return model("digits", "main", version,
                 validation={"goldenSet": {"path": "golden/golden.tfrecord", "metric": "top1", "minimum": 0.95},
                             "nonFinite": "Reject"},
                 rollout={"steps": [{"weight": weight} for weight in STEPS], "hold": f"{HOLD_S}s", "requestsMin": 100,
                          "analysis": {"latency": {"tolerance": TOLERANCES[version]}}})


WAITING = {"replicas": {"min": 1, "max": 3},
           "engine": {"concurrentRuns": 2, "simulatedRun": "20ms"},  # At most 100 requests per second per node.
           "autoscaling": {"queueDelay": "20ms", "utilization": "70%", "metricsAgeMax": "5s",
                           "scaleDownStabilization": "10s", "scaleUpCooldown": "3s"}}
