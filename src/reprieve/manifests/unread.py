"""Fields that Kubernetes and the designs have but no decision reads: they are known, and not looked into."""

from msgspec import inspect

from reprieve.manifests import core, job_sets, karmada, kueue, kueue_versions, limits, meta, pods, scheduling, storage

_NAMES: dict[type, str] = {
    meta.ObjectMeta: "generation finalizers managedFields selfLink",
    meta.OwnerReference: "blockOwnerDeletion",
    meta.Condition: "observedGeneration lastProbeTime lastHeartbeatTime lastUpdateTime",
    meta.Taint: "timeAdded",
    meta.Reference: "apiGroup resourceVersion fieldPath",
    pods.Container: """
        imagePullPolicy command args workingDir env envFrom volumeMounts volumeDevices livenessProbe
        readinessProbe startupProbe lifecycle terminationMessagePath terminationMessagePolicy securityContext stdin
        stdinOnce tty resizePolicy restartPolicyRules
    """,
    pods.ContainerPort: "name",
    pods.ResourceRequirements: "claims",
    pods.PodSpec: """
        ephemeralContainers restartPolicy activeDeadlineSeconds dnsPolicy dnsConfig serviceAccountName
        serviceAccount automountServiceAccountToken hostPID hostIPC hostUsers hostname hostnameOverride subdomain
        setHostnameAsFQDN shareProcessNamespace securityContext imagePullSecrets hostAliases readinessGates
        enableServiceLinks os
    """,
    pods.PodStatus: """
        message reason hostIP hostIPs podIP podIPs qosClass observedGeneration
        ephemeralContainerStatuses resize resources allocatedResources resourceClaimStatuses extendedResourceClaimStatus
    """,
    pods.ContainerStatus: """
        state lastState ready restartCount image imageID containerID started volumeMounts user allocatedResourcesStatus
        stopSignal
    """,
    pods.Volume: """
        emptyDir hostPath secret configMap projected downwardAPI nfs gitRepo azureDisk azureFile cephfs cinder fc
        flexVolume flocker glusterfs photonPersistentDisk portworxVolume quobyte scaleIO storageos vsphereVolume
    """,
    pods.ClaimVolume: "readOnly",
    pods.ImageVolume: "pullPolicy",
    pods.InlineCsiVolume: "fsType nodePublishSecretRef readOnly volumeAttributes",
    pods.PodResourceClaim: "resourceClaimName resourceClaimTemplateName",
    storage.ClaimSpec: "resources selector volumeMode dataSource dataSourceRef volumeAttributesClassName",
    storage.ClaimStatus: """
        accessModes capacity conditions allocatedResources allocatedResourceStatuses currentVolumeAttributesClassName
        modifyVolumeStatus
    """,
    storage.PersistentVolume: "status",
    storage.VolumeSpec: """
        capacity accessModes claimRef persistentVolumeReclaimPolicy storageClassName mountOptions volumeMode
        volumeAttributesClassName cephfs fc flexVolume flocker glusterfs hostPath iscsi local nfs photonPersistentDisk
        quobyte rbd scaleIO storageos
    """,
    storage.CsiVolume: """
        volumeHandle fsType readOnly volumeAttributes controllerPublishSecretRef nodeStageSecretRef nodePublishSecretRef
        controllerExpandSecretRef nodeExpandSecretRef
    """,
    storage.StorageClass: "parameters reclaimPolicy mountOptions allowVolumeExpansion allowedTopologies",
    storage.NodeDriver: "nodeID topologyKeys",
    core.NodeSpec: "podCIDR podCIDRs providerID configSource externalID",
    core.NodeStatus: """
        addresses nodeInfo daemonEndpoints volumesAttached volumesInUse phase config runtimeHandlers features
        declaredFeatures
    """,
    core.Namespace: "spec status",
    limits.LimitItem: "maxLimitRequestRatio",
    limits.RuntimeClass: "scheduling",
    core.ConfigMap: "immutable",
    core.PodDisruptionBudgetSpec: "unhealthyPodEvictionPolicy",
    core.PodDisruptionBudgetStatus: "conditions observedGeneration",
    core.JobSpec: """
        backoffLimit backoffLimitPerIndex maxFailedIndexes activeDeadlineSeconds ttlSecondsAfterFinished completionMode
        selector manualSelector podFailurePolicy successPolicy podReplacementPolicy managedBy
    """,
    job_sets.ReplicatedJob: "groupName",
    job_sets.JobSetSpec: "network coordinator volumeClaimPolicies",
    job_sets.JobSetStatus: """
        restartsCountTowardsMax terminalState individualJobRestarts individualJobRecreates previousInPlaceRestartAttempt
        currentInPlaceRestartAttempt
    """,
    core.JobStatus: "startTime completionTime completedIndexes failedIndexes terminating uncountedTerminatedPods",
    core.ControllerStatus: """
        availableReplicas unavailableReplicas updatedReplicas currentReplicas fullyLabeledReplicas terminatingReplicas
        collisionCount conditions currentRevision updateRevision observedGeneration currentNumberScheduled
        desiredNumberScheduled numberAvailable numberMisscheduled numberReady numberUnavailable updatedNumberScheduled
    """,
    core.ControllerSpec: """
        minReadySeconds paused progressDeadlineSeconds revisionHistoryLimit strategy updateStrategy podManagementPolicy
        persistentVolumeClaimRetentionPolicy serviceName volumeClaimTemplates ordinals
    """,
    scheduling.PodGroupStatus: "resourceClaimStatuses",
    kueue_versions.ClusterQueueSpecV1beta1: "admissionScope",
    kueue.AdmissionCheckSpec: "retryDelayMinutes",
    kueue.QueueStatus: """
        admittedWorkloads pendingWorkloads pendingWorkloadsStatus reservingWorkloads fairSharing flavors
        flavorsReservation flavorsUsage flavorUsage usedResources
    """,
    kueue.Cohort: "status",
    kueue.ResourceFlavor: "status",
    kueue.PodSet: "topologyRequest",
    kueue.PodSetAssignment: "topologyAssignment delayedTopologyRequest",
    kueue.QuotaWorkloadStatus: """
        resourceRequests accumulatedPastExecutionTimeSeconds
        accumulatedPastExexcutionTimeSeconds schedulingStats nominatedClusterNames clusterName unhealthyNodes
    """,
    karmada.ClusterSpec: """
        apiEndpoint id secretRef impersonatorSecretRef insecureSkipTLSVerification proxyURL proxyHeader resourceModels
    """,
    karmada.ClusterStatus: "kubernetesVersion nodeSummary remedyActions",
    karmada.ResourceSummary: "allocatableModelings",
    karmada.PropagationSpec: "association",
    karmada.BindingSpec: """
        propagateDeps requiredBy failover conflictResolution rescheduleTriggeredAt
        preserveResourcesOnDeletion
    """,
    karmada.Suspension: "dispatching dispatchingOnClusters",
    karmada.BindingStatus: "aggregatedStatus schedulerObservingAffinityName lastScheduledTime",
    karmada.GracefulEvictionTask: """
        purgeMode replicas gracePeriodSeconds suppressDeletion producer preservedLabelState clustersBeforeFailover
    """,
}
UNREAD: dict[type, tuple[str, ...]] = {kind: tuple(names.split()) for kind, names in _NAMES.items()}

RENAMED = {"preemptionMode": "disruptionMode", "cohort": "cohortName", "cohortName": "cohort"}
"""Fields that another version of the same API calls otherwise."""


def known_names(node: inspect.StructType) -> set[str]:
    """The fields of a type, with those that nobody reads."""
    return {*(item.encode_name for item in node.fields), *UNREAD.get(node.cls, ())}
