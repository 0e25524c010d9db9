/*
 * event_list.h - every event type of a history and its fields, as data.
 *
 * Owns: the numbers, names and fields of all 60 event types of Temporal's history protocol. One
 * list makes the enum, the C structs (event.h), the field tables of the JSON and store codecs
 * (field.h) and the names that people read. Numbers are for ever: a row is added, never changed.
 * Must not: include anything or hold code.
 *
 *   EVENT_LIST(X)        X(number, NAME, c_name, Title, jsonName, protobuf number in the oneof)
 *   FIELDS_<NAME>(F, O)  F(O, KIND, c_name, jsonName, protobuf number, detail)
 *
 * KIND and detail, with the C member that each makes:
 *   STR           const char *            NAME     const char *, {"name":...} on the wire
 *   I64 I32 BOOL DOUBLE                   the plain C type
 *   DUR TIME      int64_t nanoseconds     ENUM     enum detail
 *   ENUMS         struct enum_list        U32S     struct u32_list
 *   STRS          struct string_list      MSG      struct detail *
 *   PAYLOAD       struct payload *        PAYLOADS struct payloads *
 *   PAYLOAD_MAP   struct payload_map *, detail is the member that holds the map on the wire
 *   PAYLOADS_MAP  struct payloads_map *   RAW      const char *, compact JSON text as it came;
 *                                                  detail is its shape on the wire (raw_list.h)
 *   DOUBLE's detail "single" is protobuf's float on the wire.
 *
 * To add a field: one F row (optional, so that older histories read on), a golden in
 * tests/golden, and the machine that uses it.
 */
#ifndef HISTORY_EVENT_LIST_H
#define HISTORY_EVENT_LIST_H

/* clang-format off */

#define EVENT_LIST(X)                                                                              \
    X(1, WORKFLOW_EXECUTION_STARTED, workflow_execution_started, WorkflowExecutionStarted,         \
      workflowExecutionStarted, 6)                                                                 \
    X(2, WORKFLOW_EXECUTION_COMPLETED, workflow_execution_completed, WorkflowExecutionCompleted,   \
      workflowExecutionCompleted, 7)                                                               \
    X(3, WORKFLOW_EXECUTION_FAILED, workflow_execution_failed, WorkflowExecutionFailed,            \
      workflowExecutionFailed, 8)                                                                  \
    X(4, WORKFLOW_EXECUTION_TIMED_OUT, workflow_execution_timed_out, WorkflowExecutionTimedOut,    \
      workflowExecutionTimedOut, 9)                                                                \
    X(5, WORKFLOW_TASK_SCHEDULED, workflow_task_scheduled, WorkflowTaskScheduled,                  \
      workflowTaskScheduled, 10)                                                                   \
    X(6, WORKFLOW_TASK_STARTED, workflow_task_started, WorkflowTaskStarted, workflowTaskStarted,   \
      11)                                                                                          \
    X(7, WORKFLOW_TASK_COMPLETED, workflow_task_completed, WorkflowTaskCompleted,                  \
      workflowTaskCompleted, 12)                                                                   \
    X(8, WORKFLOW_TASK_TIMED_OUT, workflow_task_timed_out, WorkflowTaskTimedOut,                   \
      workflowTaskTimedOut, 13)                                                                    \
    X(9, WORKFLOW_TASK_FAILED, workflow_task_failed, WorkflowTaskFailed, workflowTaskFailed, 14)   \
    X(10, ACTIVITY_TASK_SCHEDULED, activity_task_scheduled, ActivityTaskScheduled,                 \
      activityTaskScheduled, 15)                                                                   \
    X(11, ACTIVITY_TASK_STARTED, activity_task_started, ActivityTaskStarted, activityTaskStarted,  \
      16)                                                                                          \
    X(12, ACTIVITY_TASK_COMPLETED, activity_task_completed, ActivityTaskCompleted,                 \
      activityTaskCompleted, 17)                                                                   \
    X(13, ACTIVITY_TASK_FAILED, activity_task_failed, ActivityTaskFailed, activityTaskFailed, 18)  \
    X(14, ACTIVITY_TASK_TIMED_OUT, activity_task_timed_out, ActivityTaskTimedOut,                  \
      activityTaskTimedOut, 19)                                                                    \
    X(15, ACTIVITY_TASK_CANCEL_REQUESTED, activity_task_cancel_requested,                          \
      ActivityTaskCancelRequested, activityTaskCancelRequested, 22)                                \
    X(16, ACTIVITY_TASK_CANCELED, activity_task_canceled, ActivityTaskCanceled,                    \
      activityTaskCanceled, 23)                                                                    \
    X(17, TIMER_STARTED, timer_started, TimerStarted, timerStarted, 20)                            \
    X(18, TIMER_FIRED, timer_fired, TimerFired, timerFired, 21)                                    \
    X(19, TIMER_CANCELED, timer_canceled, TimerCanceled, timerCanceled, 24)                        \
    X(20, WORKFLOW_EXECUTION_CANCEL_REQUESTED, workflow_execution_cancel_requested,                \
      WorkflowExecutionCancelRequested, workflowExecutionCancelRequested, 28)                      \
    X(21, WORKFLOW_EXECUTION_CANCELED, workflow_execution_canceled, WorkflowExecutionCanceled,     \
      workflowExecutionCanceled, 29)                                                               \
    X(22, REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,                                    \
      request_cancel_external_workflow_execution_initiated,                                        \
      RequestCancelExternalWorkflowExecutionInitiated,                                             \
      requestCancelExternalWorkflowExecutionInitiated, 30)                                         \
    X(23, REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED,                                       \
      request_cancel_external_workflow_execution_failed,                                           \
      RequestCancelExternalWorkflowExecutionFailed, requestCancelExternalWorkflowExecutionFailed,  \
      31)                                                                                          \
    X(24, EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED,                                            \
      external_workflow_execution_cancel_requested, ExternalWorkflowExecutionCancelRequested,      \
      externalWorkflowExecutionCancelRequested, 32)                                                \
    X(25, MARKER_RECORDED, marker_recorded, MarkerRecorded, markerRecorded, 25)                    \
    X(26, WORKFLOW_EXECUTION_SIGNALED, workflow_execution_signaled, WorkflowExecutionSignaled,     \
      workflowExecutionSignaled, 26)                                                               \
    X(27, WORKFLOW_EXECUTION_TERMINATED, workflow_execution_terminated,                            \
      WorkflowExecutionTerminated, workflowExecutionTerminated, 27)                                \
    X(28, WORKFLOW_EXECUTION_CONTINUED_AS_NEW, workflow_execution_continued_as_new,                \
      WorkflowExecutionContinuedAsNew, workflowExecutionContinuedAsNew, 33)                        \
    X(29, START_CHILD_WORKFLOW_EXECUTION_INITIATED, start_child_workflow_execution_initiated,      \
      StartChildWorkflowExecutionInitiated, startChildWorkflowExecutionInitiated, 34)              \
    X(30, START_CHILD_WORKFLOW_EXECUTION_FAILED, start_child_workflow_execution_failed,            \
      StartChildWorkflowExecutionFailed, startChildWorkflowExecutionFailed, 35)                    \
    X(31, CHILD_WORKFLOW_EXECUTION_STARTED, child_workflow_execution_started,                      \
      ChildWorkflowExecutionStarted, childWorkflowExecutionStarted, 36)                            \
    X(32, CHILD_WORKFLOW_EXECUTION_COMPLETED, child_workflow_execution_completed,                  \
      ChildWorkflowExecutionCompleted, childWorkflowExecutionCompleted, 37)                        \
    X(33, CHILD_WORKFLOW_EXECUTION_FAILED, child_workflow_execution_failed,                        \
      ChildWorkflowExecutionFailed, childWorkflowExecutionFailed, 38)                              \
    X(34, CHILD_WORKFLOW_EXECUTION_CANCELED, child_workflow_execution_canceled,                    \
      ChildWorkflowExecutionCanceled, childWorkflowExecutionCanceled, 39)                          \
    X(35, CHILD_WORKFLOW_EXECUTION_TIMED_OUT, child_workflow_execution_timed_out,                  \
      ChildWorkflowExecutionTimedOut, childWorkflowExecutionTimedOut, 40)                          \
    X(36, CHILD_WORKFLOW_EXECUTION_TERMINATED, child_workflow_execution_terminated,                \
      ChildWorkflowExecutionTerminated, childWorkflowExecutionTerminated, 41)                      \
    X(37, SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,                                            \
      signal_external_workflow_execution_initiated, SignalExternalWorkflowExecutionInitiated,      \
      signalExternalWorkflowExecutionInitiated, 42)                                                \
    X(38, SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED, signal_external_workflow_execution_failed,    \
      SignalExternalWorkflowExecutionFailed, signalExternalWorkflowExecutionFailed, 43)            \
    X(39, EXTERNAL_WORKFLOW_EXECUTION_SIGNALED, external_workflow_execution_signaled,              \
      ExternalWorkflowExecutionSignaled, externalWorkflowExecutionSignaled, 44)                    \
    X(40, UPSERT_WORKFLOW_SEARCH_ATTRIBUTES, upsert_workflow_search_attributes,                    \
      UpsertWorkflowSearchAttributes, upsertWorkflowSearchAttributes, 45)                          \
    X(41, WORKFLOW_EXECUTION_UPDATE_ACCEPTED, workflow_execution_update_accepted,                  \
      WorkflowExecutionUpdateAccepted, workflowExecutionUpdateAccepted, 46)                        \
    X(42, WORKFLOW_EXECUTION_UPDATE_REJECTED, workflow_execution_update_rejected,                  \
      WorkflowExecutionUpdateRejected, workflowExecutionUpdateRejected, 47)                        \
    X(43, WORKFLOW_EXECUTION_UPDATE_COMPLETED, workflow_execution_update_completed,                \
      WorkflowExecutionUpdateCompleted, workflowExecutionUpdateCompleted, 48)                      \
    X(44, WORKFLOW_PROPERTIES_MODIFIED_EXTERNALLY, workflow_properties_modified_externally,        \
      WorkflowPropertiesModifiedExternally, workflowPropertiesModifiedExternally, 49)              \
    X(45, ACTIVITY_PROPERTIES_MODIFIED_EXTERNALLY, activity_properties_modified_externally,        \
      ActivityPropertiesModifiedExternally, activityPropertiesModifiedExternally, 50)              \
    X(46, WORKFLOW_PROPERTIES_MODIFIED, workflow_properties_modified, WorkflowPropertiesModified,  \
      workflowPropertiesModified, 51)                                                              \
    X(47, WORKFLOW_EXECUTION_UPDATE_ADMITTED, workflow_execution_update_admitted,                  \
      WorkflowExecutionUpdateAdmitted, workflowExecutionUpdateAdmitted, 52)                        \
    X(48, NEXUS_OPERATION_SCHEDULED, nexus_operation_scheduled, NexusOperationScheduled,           \
      nexusOperationScheduled, 53)                                                                 \
    X(49, NEXUS_OPERATION_STARTED, nexus_operation_started, NexusOperationStarted,                 \
      nexusOperationStarted, 54)                                                                   \
    X(50, NEXUS_OPERATION_COMPLETED, nexus_operation_completed, NexusOperationCompleted,           \
      nexusOperationCompleted, 55)                                                                 \
    X(51, NEXUS_OPERATION_FAILED, nexus_operation_failed, NexusOperationFailed,                    \
      nexusOperationFailed, 56)                                                                    \
    X(52, NEXUS_OPERATION_CANCELED, nexus_operation_canceled, NexusOperationCanceled,              \
      nexusOperationCanceled, 57)                                                                  \
    X(53, NEXUS_OPERATION_TIMED_OUT, nexus_operation_timed_out, NexusOperationTimedOut,            \
      nexusOperationTimedOut, 58)                                                                  \
    X(54, NEXUS_OPERATION_CANCEL_REQUESTED, nexus_operation_cancel_requested,                      \
      NexusOperationCancelRequested, nexusOperationCancelRequested, 59)                            \
    X(55, WORKFLOW_EXECUTION_OPTIONS_UPDATED, workflow_execution_options_updated,                  \
      WorkflowExecutionOptionsUpdated, workflowExecutionOptionsUpdated, 60)                        \
    X(56, NEXUS_OPERATION_CANCEL_REQUEST_COMPLETED, nexus_operation_cancel_request_completed,      \
      NexusOperationCancelRequestCompleted, nexusOperationCancelRequestCompleted, 61)              \
    X(57, NEXUS_OPERATION_CANCEL_REQUEST_FAILED, nexus_operation_cancel_request_failed,            \
      NexusOperationCancelRequestFailed, nexusOperationCancelRequestFailed, 62)                    \
    X(58, WORKFLOW_EXECUTION_PAUSED, workflow_execution_paused, WorkflowExecutionPaused,           \
      workflowExecutionPaused, 63)                                                                 \
    X(59, WORKFLOW_EXECUTION_UNPAUSED, workflow_execution_unpaused, WorkflowExecutionUnpaused,     \
      workflowExecutionUnpaused, 64)                                                               \
    X(60, WORKFLOW_EXECUTION_TIME_SKIPPING_TRANSITIONED,                                           \
      workflow_execution_time_skipping_transitioned, WorkflowExecutionTimeSkippingTransitioned,    \
      workflowExecutionTimeSkippingTransitioned, 65)

#define FIELDS_WORKFLOW_EXECUTION_STARTED(F, O)                                                    \
    F(O, NAME, workflow_type, workflowType, 1, none)                                               \
    F(O, STR, parent_workflow_namespace, parentWorkflowNamespace, 2, none)                         \
    F(O, MSG, parent_workflow_execution, parentWorkflowExecution, 3, workflow_execution)           \
    F(O, I64, parent_initiated_event_id, parentInitiatedEventId, 4, none)                          \
    F(O, MSG, task_queue, taskQueue, 5, task_queue)                                                \
    F(O, PAYLOADS, input, input, 6, none)                                                          \
    F(O, DUR, workflow_execution_timeout, workflowExecutionTimeout, 7, none)                       \
    F(O, DUR, workflow_run_timeout, workflowRunTimeout, 8, none)                                   \
    F(O, DUR, workflow_task_timeout, workflowTaskTimeout, 9, none)                                 \
    F(O, STR, continued_execution_run_id, continuedExecutionRunId, 10, none)                       \
    F(O, ENUM, initiator, initiator, 11, continue_as_new_initiator)                                \
    F(O, MSG, continued_failure, continuedFailure, 12, failure)                                    \
    F(O, PAYLOADS, last_completion_result, lastCompletionResult, 13, none)                         \
    F(O, STR, original_execution_run_id, originalExecutionRunId, 14, none)                         \
    F(O, STR, identity, identity, 15, none)                                                        \
    F(O, STR, first_execution_run_id, firstExecutionRunId, 16, none)                               \
    F(O, MSG, retry_policy, retryPolicy, 17, retry_policy)                                         \
    F(O, I32, attempt, attempt, 18, none)                                                          \
    F(O, TIME, workflow_execution_expiration_time, workflowExecutionExpirationTime, 19, none)      \
    F(O, STR, cron_schedule, cronSchedule, 20, none)                                               \
    F(O, DUR, first_workflow_task_backoff, firstWorkflowTaskBackoff, 21, none)                     \
    F(O, PAYLOAD_MAP, memo, memo, 22, fields)                                                      \
    F(O, PAYLOAD_MAP, search_attributes, searchAttributes, 23, indexedFields)                      \
    F(O, RAW, prev_auto_reset_points, prevAutoResetPoints, 24, reset_points)                       \
    F(O, PAYLOAD_MAP, header, header, 25, fields)                                                  \
    F(O, I64, parent_initiated_event_version, parentInitiatedEventVersion, 26, none)               \
    F(O, STR, parent_workflow_namespace_id, parentWorkflowNamespaceId, 27, none)                   \
    F(O, STR, workflow_id, workflowId, 28, none)                                                   \
    F(O, RAW, source_version_stamp, sourceVersionStamp, 29, version_stamp)                         \
    F(O, RAW, completion_callbacks, completionCallbacks, 30, callbacks)                            \
    F(O, MSG, root_workflow_execution, rootWorkflowExecution, 31, workflow_execution)              \
    F(O, STR, inherited_build_id, inheritedBuildId, 32, none)                                      \
    F(O, RAW, versioning_override, versioningOverride, 33, versioning_override)                    \
    F(O, STR, parent_pinned_worker_deployment_version, parentPinnedWorkerDeploymentVersion, 34,    \
      none)                                                                                        \
    F(O, MSG, priority, priority, 35, priority)                                                    \
    F(O, RAW, inherited_pinned_version, inheritedPinnedVersion, 37, deployment_version)            \
    F(O, BOOL, eager_execution_accepted, eagerExecutionAccepted, 38, none)                         \
    F(O, RAW, inherited_auto_upgrade_info, inheritedAutoUpgradeInfo, 39, auto_upgrade_info)        \
    F(O, RAW, declined_target_version_upgrade, declinedTargetVersionUpgrade, 40,                   \
      declined_upgrade)                                                                            \
    F(O, RAW, time_skipping_config, timeSkippingConfig, 41, time_skipping)                         \
    F(O, RAW, time_skipping_state_propagation, timeSkippingStatePropagation, 43,                   \
      time_skipping_state)

#define FIELDS_WORKFLOW_EXECUTION_COMPLETED(F, O)                                                  \
    F(O, PAYLOADS, result, result, 1, none)                                                        \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 2, none)             \
    F(O, STR, new_execution_run_id, newExecutionRunId, 3, none)

#define FIELDS_WORKFLOW_EXECUTION_FAILED(F, O)                                                     \
    F(O, MSG, failure, failure, 1, failure)                                                        \
    F(O, ENUM, retry_state, retryState, 2, retry_state)                                            \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 3, none)             \
    F(O, STR, new_execution_run_id, newExecutionRunId, 4, none)

#define FIELDS_WORKFLOW_EXECUTION_TIMED_OUT(F, O)                                                  \
    F(O, ENUM, retry_state, retryState, 1, retry_state)                                            \
    F(O, STR, new_execution_run_id, newExecutionRunId, 2, none)

#define FIELDS_WORKFLOW_TASK_SCHEDULED(F, O)                                                       \
    F(O, MSG, task_queue, taskQueue, 1, task_queue)                                                \
    F(O, DUR, start_to_close_timeout, startToCloseTimeout, 2, none)                                \
    F(O, I32, attempt, attempt, 3, none)

#define FIELDS_WORKFLOW_TASK_STARTED(F, O)                                                         \
    F(O, I64, scheduled_event_id, scheduledEventId, 1, none)                                       \
    F(O, STR, identity, identity, 2, none)                                                         \
    F(O, STR, request_id, requestId, 3, none)                                                      \
    F(O, BOOL, suggest_continue_as_new, suggestContinueAsNew, 4, none)                             \
    F(O, I64, history_size_bytes, historySizeBytes, 5, none)                                       \
    F(O, RAW, worker_version, workerVersion, 6, version_stamp)                                     \
    F(O, I64, build_id_redirect_counter, buildIdRedirectCounter, 7, none)                          \
    F(O, ENUMS, suggest_continue_as_new_reasons, suggestContinueAsNewReasons, 8,                   \
      suggest_continue_as_new_reason)                                                              \
    F(O, BOOL, target_worker_deployment_version_changed, targetWorkerDeploymentVersionChanged, 9,  \
      none)

#define FIELDS_WORKFLOW_TASK_COMPLETED(F, O)                                                       \
    F(O, I64, scheduled_event_id, scheduledEventId, 1, none)                                       \
    F(O, I64, started_event_id, startedEventId, 2, none)                                           \
    F(O, STR, identity, identity, 3, none)                                                         \
    F(O, STR, binary_checksum, binaryChecksum, 4, none)                                            \
    F(O, RAW, worker_version, workerVersion, 5, version_stamp)                                     \
    F(O, MSG, sdk_metadata, sdkMetadata, 6, sdk_metadata)                                          \
    F(O, RAW, deployment, deployment, 7, deployment)                                               \
    F(O, ENUM, versioning_behavior, versioningBehavior, 8, versioning_behavior)                    \
    F(O, STR, worker_deployment_version, workerDeploymentVersion, 9, none)                         \
    F(O, STR, worker_deployment_name, workerDeploymentName, 10, none)                              \
    F(O, RAW, deployment_version, deploymentVersion, 11, deployment_version)                       \
    F(O, RAW, metering_metadata, meteringMetadata, 13, metering)

#define FIELDS_WORKFLOW_TASK_TIMED_OUT(F, O)                                                       \
    F(O, I64, scheduled_event_id, scheduledEventId, 1, none)                                       \
    F(O, I64, started_event_id, startedEventId, 2, none)                                           \
    F(O, ENUM, timeout_type, timeoutType, 3, timeout_type)

#define FIELDS_WORKFLOW_TASK_FAILED(F, O)                                                          \
    F(O, I64, scheduled_event_id, scheduledEventId, 1, none)                                       \
    F(O, I64, started_event_id, startedEventId, 2, none)                                           \
    F(O, ENUM, cause, cause, 3, workflow_task_failed_cause)                                        \
    F(O, MSG, failure, failure, 4, failure)                                                        \
    F(O, STR, identity, identity, 5, none)                                                         \
    F(O, STR, base_run_id, baseRunId, 6, none)                                                     \
    F(O, STR, new_run_id, newRunId, 7, none)                                                       \
    F(O, I64, fork_event_version, forkEventVersion, 8, none)                                       \
    F(O, STR, binary_checksum, binaryChecksum, 9, none)                                            \
    F(O, RAW, worker_version, workerVersion, 10, version_stamp)

#define FIELDS_ACTIVITY_TASK_SCHEDULED(F, O)                                                       \
    F(O, STR, activity_id, activityId, 1, none)                                                    \
    F(O, NAME, activity_type, activityType, 2, none)                                               \
    F(O, MSG, task_queue, taskQueue, 4, task_queue)                                                \
    F(O, PAYLOAD_MAP, header, header, 5, fields)                                                   \
    F(O, PAYLOADS, input, input, 6, none)                                                          \
    F(O, DUR, schedule_to_close_timeout, scheduleToCloseTimeout, 7, none)                          \
    F(O, DUR, schedule_to_start_timeout, scheduleToStartTimeout, 8, none)                          \
    F(O, DUR, start_to_close_timeout, startToCloseTimeout, 9, none)                                \
    F(O, DUR, heartbeat_timeout, heartbeatTimeout, 10, none)                                       \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 11, none)            \
    F(O, MSG, retry_policy, retryPolicy, 12, retry_policy)                                         \
    F(O, BOOL, use_workflow_build_id, useWorkflowBuildId, 13, none)                                \
    F(O, MSG, priority, priority, 14, priority)

#define FIELDS_ACTIVITY_TASK_STARTED(F, O)                                                         \
    F(O, I64, scheduled_event_id, scheduledEventId, 1, none)                                       \
    F(O, STR, identity, identity, 2, none)                                                         \
    F(O, STR, request_id, requestId, 3, none)                                                      \
    F(O, I32, attempt, attempt, 4, none)                                                           \
    F(O, MSG, last_failure, lastFailure, 5, failure)                                               \
    F(O, RAW, worker_version, workerVersion, 6, version_stamp)                                     \
    F(O, I64, build_id_redirect_counter, buildIdRedirectCounter, 7, none)

#define FIELDS_ACTIVITY_TASK_COMPLETED(F, O)                                                       \
    F(O, PAYLOADS, result, result, 1, none)                                                        \
    F(O, I64, scheduled_event_id, scheduledEventId, 2, none)                                       \
    F(O, I64, started_event_id, startedEventId, 3, none)                                           \
    F(O, STR, identity, identity, 4, none)                                                         \
    F(O, RAW, worker_version, workerVersion, 5, version_stamp)

#define FIELDS_ACTIVITY_TASK_FAILED(F, O)                                                          \
    F(O, MSG, failure, failure, 1, failure)                                                        \
    F(O, I64, scheduled_event_id, scheduledEventId, 2, none)                                       \
    F(O, I64, started_event_id, startedEventId, 3, none)                                           \
    F(O, STR, identity, identity, 4, none)                                                         \
    F(O, ENUM, retry_state, retryState, 5, retry_state)                                            \
    F(O, RAW, worker_version, workerVersion, 6, version_stamp)

#define FIELDS_ACTIVITY_TASK_TIMED_OUT(F, O)                                                       \
    F(O, MSG, failure, failure, 1, failure)                                                        \
    F(O, I64, scheduled_event_id, scheduledEventId, 2, none)                                       \
    F(O, I64, started_event_id, startedEventId, 3, none)                                           \
    F(O, ENUM, retry_state, retryState, 4, retry_state)

#define FIELDS_ACTIVITY_TASK_CANCEL_REQUESTED(F, O)                                                \
    F(O, I64, scheduled_event_id, scheduledEventId, 1, none)                                       \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 2, none)

#define FIELDS_ACTIVITY_TASK_CANCELED(F, O)                                                        \
    F(O, PAYLOADS, details, details, 1, none)                                                      \
    F(O, I64, latest_cancel_requested_event_id, latestCancelRequestedEventId, 2, none)             \
    F(O, I64, scheduled_event_id, scheduledEventId, 3, none)                                       \
    F(O, I64, started_event_id, startedEventId, 4, none)                                           \
    F(O, STR, identity, identity, 5, none)                                                         \
    F(O, RAW, worker_version, workerVersion, 6, version_stamp)

#define FIELDS_TIMER_STARTED(F, O)                                                                 \
    F(O, STR, timer_id, timerId, 1, none)                                                          \
    F(O, DUR, start_to_fire_timeout, startToFireTimeout, 2, none)                                  \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 3, none)

#define FIELDS_TIMER_FIRED(F, O)                                                                   \
    F(O, STR, timer_id, timerId, 1, none)                                                          \
    F(O, I64, started_event_id, startedEventId, 2, none)

#define FIELDS_TIMER_CANCELED(F, O)                                                                \
    F(O, STR, timer_id, timerId, 1, none)                                                          \
    F(O, I64, started_event_id, startedEventId, 2, none)                                           \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 3, none)             \
    F(O, STR, identity, identity, 4, none)

#define FIELDS_WORKFLOW_EXECUTION_CANCEL_REQUESTED(F, O)                                           \
    F(O, STR, cause, cause, 1, none)                                                               \
    F(O, I64, external_initiated_event_id, externalInitiatedEventId, 2, none)                      \
    F(O, MSG, external_workflow_execution, externalWorkflowExecution, 3, workflow_execution)       \
    F(O, STR, identity, identity, 4, none)

#define FIELDS_WORKFLOW_EXECUTION_CANCELED(F, O)                                                   \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 1, none)             \
    F(O, PAYLOADS, details, details, 2, none)

#define FIELDS_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED(F, O)                          \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 1, none)             \
    F(O, STR, namespace, namespace, 2, none)                                                       \
    F(O, MSG, workflow_execution, workflowExecution, 3, workflow_execution)                        \
    F(O, STR, control, control, 4, none)                                                           \
    F(O, BOOL, child_workflow_only, childWorkflowOnly, 5, none)                                    \
    F(O, STR, reason, reason, 6, none)                                                             \
    F(O, STR, namespace_id, namespaceId, 7, none)

#define FIELDS_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED(F, O)                             \
    F(O, ENUM, cause, cause, 1, cancel_external_workflow_execution_failed_cause)                   \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 2, none)             \
    F(O, STR, namespace, namespace, 3, none)                                                       \
    F(O, MSG, workflow_execution, workflowExecution, 4, workflow_execution)                        \
    F(O, I64, initiated_event_id, initiatedEventId, 5, none)                                       \
    F(O, STR, control, control, 6, none)                                                           \
    F(O, STR, namespace_id, namespaceId, 7, none)

#define FIELDS_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED(F, O)                                  \
    F(O, I64, initiated_event_id, initiatedEventId, 1, none)                                       \
    F(O, STR, namespace, namespace, 2, none)                                                       \
    F(O, MSG, workflow_execution, workflowExecution, 3, workflow_execution)                        \
    F(O, STR, namespace_id, namespaceId, 4, none)

#define FIELDS_MARKER_RECORDED(F, O)                                                               \
    F(O, STR, marker_name, markerName, 1, none)                                                    \
    F(O, PAYLOADS_MAP, details, details, 2, none)                                                  \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 3, none)             \
    F(O, PAYLOAD_MAP, header, header, 4, fields)                                                   \
    F(O, MSG, failure, failure, 5, failure)

#define FIELDS_WORKFLOW_EXECUTION_SIGNALED(F, O)                                                   \
    F(O, STR, signal_name, signalName, 1, none)                                                    \
    F(O, PAYLOADS, input, input, 2, none)                                                          \
    F(O, STR, identity, identity, 3, none)                                                         \
    F(O, PAYLOAD_MAP, header, header, 4, fields)                                                   \
    F(O, BOOL, skip_generate_workflow_task, skipGenerateWorkflowTask, 5, none)                     \
    F(O, MSG, external_workflow_execution, externalWorkflowExecution, 6, workflow_execution)       \
    F(O, STR, request_id, requestId, 7, none)

#define FIELDS_WORKFLOW_EXECUTION_TERMINATED(F, O)                                                 \
    F(O, STR, reason, reason, 1, none)                                                             \
    F(O, PAYLOADS, details, details, 2, none)                                                      \
    F(O, STR, identity, identity, 3, none)

#define FIELDS_WORKFLOW_EXECUTION_CONTINUED_AS_NEW(F, O)                                           \
    F(O, STR, new_execution_run_id, newExecutionRunId, 1, none)                                    \
    F(O, NAME, workflow_type, workflowType, 2, none)                                               \
    F(O, MSG, task_queue, taskQueue, 3, task_queue)                                                \
    F(O, PAYLOADS, input, input, 4, none)                                                          \
    F(O, DUR, workflow_run_timeout, workflowRunTimeout, 5, none)                                   \
    F(O, DUR, workflow_task_timeout, workflowTaskTimeout, 6, none)                                 \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 7, none)             \
    F(O, DUR, backoff_start_interval, backoffStartInterval, 8, none)                               \
    F(O, ENUM, initiator, initiator, 9, continue_as_new_initiator)                                 \
    F(O, MSG, failure, failure, 10, failure)                                                       \
    F(O, PAYLOADS, last_completion_result, lastCompletionResult, 11, none)                         \
    F(O, PAYLOAD_MAP, header, header, 12, fields)                                                  \
    F(O, PAYLOAD_MAP, memo, memo, 13, fields)                                                      \
    F(O, PAYLOAD_MAP, search_attributes, searchAttributes, 14, indexedFields)                      \
    F(O, BOOL, inherit_build_id, inheritBuildId, 15, none)                                         \
    F(O, ENUM, initial_versioning_behavior, initialVersioningBehavior, 16,                         \
      continue_as_new_versioning_behavior)

#define FIELDS_START_CHILD_WORKFLOW_EXECUTION_INITIATED(F, O)                                      \
    F(O, STR, namespace, namespace, 1, none)                                                       \
    F(O, STR, workflow_id, workflowId, 2, none)                                                    \
    F(O, NAME, workflow_type, workflowType, 3, none)                                               \
    F(O, MSG, task_queue, taskQueue, 4, task_queue)                                                \
    F(O, PAYLOADS, input, input, 5, none)                                                          \
    F(O, DUR, workflow_execution_timeout, workflowExecutionTimeout, 6, none)                       \
    F(O, DUR, workflow_run_timeout, workflowRunTimeout, 7, none)                                   \
    F(O, DUR, workflow_task_timeout, workflowTaskTimeout, 8, none)                                 \
    F(O, ENUM, parent_close_policy, parentClosePolicy, 9, parent_close_policy)                     \
    F(O, STR, control, control, 10, none)                                                          \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 11, none)            \
    F(O, ENUM, workflow_id_reuse_policy, workflowIdReusePolicy, 12, workflow_id_reuse_policy)      \
    F(O, MSG, retry_policy, retryPolicy, 13, retry_policy)                                         \
    F(O, STR, cron_schedule, cronSchedule, 14, none)                                               \
    F(O, PAYLOAD_MAP, header, header, 15, fields)                                                  \
    F(O, PAYLOAD_MAP, memo, memo, 16, fields)                                                      \
    F(O, PAYLOAD_MAP, search_attributes, searchAttributes, 17, indexedFields)                      \
    F(O, STR, namespace_id, namespaceId, 18, none)                                                 \
    F(O, BOOL, inherit_build_id, inheritBuildId, 19, none)                                         \
    F(O, MSG, priority, priority, 20, priority)                                                    \
    F(O, RAW, time_skipping_config, timeSkippingConfig, 21, time_skipping)                         \
    F(O, RAW, time_skipping_state_propagation, timeSkippingStatePropagation, 23,                   \
      time_skipping_state)                                                                         \
    F(O, RAW, versioning_override, versioningOverride, 24, versioning_override)

#define FIELDS_START_CHILD_WORKFLOW_EXECUTION_FAILED(F, O)                                         \
    F(O, STR, namespace, namespace, 1, none)                                                       \
    F(O, STR, workflow_id, workflowId, 2, none)                                                    \
    F(O, NAME, workflow_type, workflowType, 3, none)                                               \
    F(O, ENUM, cause, cause, 4, start_child_workflow_execution_failed_cause)                       \
    F(O, STR, control, control, 5, none)                                                           \
    F(O, I64, initiated_event_id, initiatedEventId, 6, none)                                       \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 7, none)             \
    F(O, STR, namespace_id, namespaceId, 8, none)

#define FIELDS_CHILD_WORKFLOW_EXECUTION_STARTED(F, O)                                              \
    F(O, STR, namespace, namespace, 1, none)                                                       \
    F(O, I64, initiated_event_id, initiatedEventId, 2, none)                                       \
    F(O, MSG, workflow_execution, workflowExecution, 3, workflow_execution)                        \
    F(O, NAME, workflow_type, workflowType, 4, none)                                               \
    F(O, PAYLOAD_MAP, header, header, 5, fields)                                                   \
    F(O, STR, namespace_id, namespaceId, 6, none)

#define FIELDS_CHILD_WORKFLOW_EXECUTION_COMPLETED(F, O)                                            \
    F(O, PAYLOADS, result, result, 1, none)                                                        \
    F(O, STR, namespace, namespace, 2, none)                                                       \
    F(O, MSG, workflow_execution, workflowExecution, 3, workflow_execution)                        \
    F(O, NAME, workflow_type, workflowType, 4, none)                                               \
    F(O, I64, initiated_event_id, initiatedEventId, 5, none)                                       \
    F(O, I64, started_event_id, startedEventId, 6, none)                                           \
    F(O, STR, namespace_id, namespaceId, 7, none)

#define FIELDS_CHILD_WORKFLOW_EXECUTION_FAILED(F, O)                                               \
    F(O, MSG, failure, failure, 1, failure)                                                        \
    F(O, STR, namespace, namespace, 2, none)                                                       \
    F(O, MSG, workflow_execution, workflowExecution, 3, workflow_execution)                        \
    F(O, NAME, workflow_type, workflowType, 4, none)                                               \
    F(O, I64, initiated_event_id, initiatedEventId, 5, none)                                       \
    F(O, I64, started_event_id, startedEventId, 6, none)                                           \
    F(O, ENUM, retry_state, retryState, 7, retry_state)                                            \
    F(O, STR, namespace_id, namespaceId, 8, none)

#define FIELDS_CHILD_WORKFLOW_EXECUTION_CANCELED(F, O)                                             \
    F(O, PAYLOADS, details, details, 1, none)                                                      \
    F(O, STR, namespace, namespace, 2, none)                                                       \
    F(O, MSG, workflow_execution, workflowExecution, 3, workflow_execution)                        \
    F(O, NAME, workflow_type, workflowType, 4, none)                                               \
    F(O, I64, initiated_event_id, initiatedEventId, 5, none)                                       \
    F(O, I64, started_event_id, startedEventId, 6, none)                                           \
    F(O, STR, namespace_id, namespaceId, 7, none)

#define FIELDS_CHILD_WORKFLOW_EXECUTION_TIMED_OUT(F, O)                                            \
    F(O, STR, namespace, namespace, 1, none)                                                       \
    F(O, MSG, workflow_execution, workflowExecution, 2, workflow_execution)                        \
    F(O, NAME, workflow_type, workflowType, 3, none)                                               \
    F(O, I64, initiated_event_id, initiatedEventId, 4, none)                                       \
    F(O, I64, started_event_id, startedEventId, 5, none)                                           \
    F(O, ENUM, retry_state, retryState, 6, retry_state)                                            \
    F(O, STR, namespace_id, namespaceId, 7, none)

#define FIELDS_CHILD_WORKFLOW_EXECUTION_TERMINATED(F, O)                                           \
    F(O, STR, namespace, namespace, 1, none)                                                       \
    F(O, MSG, workflow_execution, workflowExecution, 2, workflow_execution)                        \
    F(O, NAME, workflow_type, workflowType, 3, none)                                               \
    F(O, I64, initiated_event_id, initiatedEventId, 4, none)                                       \
    F(O, I64, started_event_id, startedEventId, 5, none)                                           \
    F(O, STR, namespace_id, namespaceId, 6, none)

#define FIELDS_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED(F, O)                                  \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 1, none)             \
    F(O, STR, namespace, namespace, 2, none)                                                       \
    F(O, MSG, workflow_execution, workflowExecution, 3, workflow_execution)                        \
    F(O, STR, signal_name, signalName, 4, none)                                                    \
    F(O, PAYLOADS, input, input, 5, none)                                                          \
    F(O, STR, control, control, 6, none)                                                           \
    F(O, BOOL, child_workflow_only, childWorkflowOnly, 7, none)                                    \
    F(O, PAYLOAD_MAP, header, header, 8, fields)                                                   \
    F(O, STR, namespace_id, namespaceId, 9, none)

#define FIELDS_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED(F, O)                                     \
    F(O, ENUM, cause, cause, 1, signal_external_workflow_execution_failed_cause)                   \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 2, none)             \
    F(O, STR, namespace, namespace, 3, none)                                                       \
    F(O, MSG, workflow_execution, workflowExecution, 4, workflow_execution)                        \
    F(O, I64, initiated_event_id, initiatedEventId, 5, none)                                       \
    F(O, STR, control, control, 6, none)                                                           \
    F(O, STR, namespace_id, namespaceId, 7, none)

#define FIELDS_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED(F, O)                                          \
    F(O, I64, initiated_event_id, initiatedEventId, 1, none)                                       \
    F(O, STR, namespace, namespace, 2, none)                                                       \
    F(O, MSG, workflow_execution, workflowExecution, 3, workflow_execution)                        \
    F(O, STR, control, control, 4, none)                                                           \
    F(O, STR, namespace_id, namespaceId, 5, none)

#define FIELDS_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES(F, O)                                             \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 1, none)             \
    F(O, PAYLOAD_MAP, search_attributes, searchAttributes, 2, indexedFields)

#define FIELDS_WORKFLOW_EXECUTION_UPDATE_ACCEPTED(F, O)                                            \
    F(O, STR, protocol_instance_id, protocolInstanceId, 1, none)                                   \
    F(O, STR, accepted_request_message_id, acceptedRequestMessageId, 2, none)                      \
    F(O, I64, accepted_request_sequencing_event_id, acceptedRequestSequencingEventId, 3, none)     \
    F(O, MSG, accepted_request, acceptedRequest, 4, update_request)

#define FIELDS_WORKFLOW_EXECUTION_UPDATE_REJECTED(F, O)                                            \
    F(O, STR, protocol_instance_id, protocolInstanceId, 1, none)                                   \
    F(O, STR, rejected_request_message_id, rejectedRequestMessageId, 2, none)                      \
    F(O, I64, rejected_request_sequencing_event_id, rejectedRequestSequencingEventId, 3, none)     \
    F(O, MSG, rejected_request, rejectedRequest, 4, update_request)                                \
    F(O, MSG, failure, failure, 5, failure)

#define FIELDS_WORKFLOW_EXECUTION_UPDATE_COMPLETED(F, O)                                           \
    F(O, MSG, meta, meta, 1, update_meta)                                                          \
    F(O, MSG, outcome, outcome, 2, update_outcome)                                                 \
    F(O, I64, accepted_event_id, acceptedEventId, 3, none)

#define FIELDS_WORKFLOW_PROPERTIES_MODIFIED_EXTERNALLY(F, O)                                       \
    F(O, STR, new_task_queue, newTaskQueue, 1, none)                                               \
    F(O, DUR, new_workflow_task_timeout, newWorkflowTaskTimeout, 2, none)                          \
    F(O, DUR, new_workflow_run_timeout, newWorkflowRunTimeout, 3, none)                            \
    F(O, DUR, new_workflow_execution_timeout, newWorkflowExecutionTimeout, 4, none)                \
    F(O, PAYLOAD_MAP, upserted_memo, upsertedMemo, 5, fields)

#define FIELDS_ACTIVITY_PROPERTIES_MODIFIED_EXTERNALLY(F, O)                                       \
    F(O, I64, scheduled_event_id, scheduledEventId, 1, none)                                       \
    F(O, MSG, new_retry_policy, newRetryPolicy, 2, retry_policy)

#define FIELDS_WORKFLOW_PROPERTIES_MODIFIED(F, O)                                                  \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 1, none)             \
    F(O, PAYLOAD_MAP, upserted_memo, upsertedMemo, 2, fields)

#define FIELDS_WORKFLOW_EXECUTION_UPDATE_ADMITTED(F, O)                                            \
    F(O, MSG, request, request, 1, update_request)                                                 \
    F(O, ENUM, origin, origin, 2, update_admitted_event_origin)

#define FIELDS_NEXUS_OPERATION_SCHEDULED(F, O)                                                     \
    F(O, STR, endpoint, endpoint, 1, none)                                                         \
    F(O, STR, service, service, 2, none)                                                           \
    F(O, STR, operation, operation, 3, none)                                                       \
    F(O, PAYLOAD, input, input, 4, none)                                                           \
    F(O, DUR, schedule_to_close_timeout, scheduleToCloseTimeout, 5, none)                          \
    F(O, RAW, nexus_header, nexusHeader, 6, string_map)                                            \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 7, none)             \
    F(O, STR, request_id, requestId, 8, none)                                                      \
    F(O, STR, endpoint_id, endpointId, 9, none)                                                    \
    F(O, DUR, schedule_to_start_timeout, scheduleToStartTimeout, 10, none)                         \
    F(O, DUR, start_to_close_timeout, startToCloseTimeout, 11, none)

#define FIELDS_NEXUS_OPERATION_STARTED(F, O)                                                       \
    F(O, I64, scheduled_event_id, scheduledEventId, 1, none)                                       \
    F(O, STR, operation_id, operationId, 3, none)                                                  \
    F(O, STR, request_id, requestId, 4, none)                                                      \
    F(O, STR, operation_token, operationToken, 5, none)

#define FIELDS_NEXUS_OPERATION_COMPLETED(F, O)                                                     \
    F(O, I64, scheduled_event_id, scheduledEventId, 1, none)                                       \
    F(O, PAYLOAD, result, result, 2, none)                                                         \
    F(O, STR, request_id, requestId, 3, none)

#define FIELDS_NEXUS_OPERATION_FAILED(F, O)                                                        \
    F(O, I64, scheduled_event_id, scheduledEventId, 1, none)                                       \
    F(O, MSG, failure, failure, 2, failure)                                                        \
    F(O, STR, request_id, requestId, 3, none)

#define FIELDS_NEXUS_OPERATION_CANCELED(F, O)                                                      \
    F(O, I64, scheduled_event_id, scheduledEventId, 1, none)                                       \
    F(O, MSG, failure, failure, 2, failure)                                                        \
    F(O, STR, request_id, requestId, 3, none)

#define FIELDS_NEXUS_OPERATION_TIMED_OUT(F, O)                                                     \
    F(O, I64, scheduled_event_id, scheduledEventId, 1, none)                                       \
    F(O, MSG, failure, failure, 2, failure)                                                        \
    F(O, STR, request_id, requestId, 3, none)

#define FIELDS_NEXUS_OPERATION_CANCEL_REQUESTED(F, O)                                              \
    F(O, I64, scheduled_event_id, scheduledEventId, 1, none)                                       \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 2, none)

#define FIELDS_WORKFLOW_EXECUTION_OPTIONS_UPDATED(F, O)                                            \
    F(O, RAW, versioning_override, versioningOverride, 1, versioning_override)                     \
    F(O, BOOL, unset_versioning_override, unsetVersioningOverride, 2, none)                        \
    F(O, STR, attached_request_id, attachedRequestId, 3, none)                                     \
    F(O, RAW, attached_completion_callbacks, attachedCompletionCallbacks, 4, callbacks)            \
    F(O, STR, identity, identity, 5, none)                                                         \
    F(O, MSG, priority, priority, 6, priority)                                                     \
    F(O, RAW, time_skipping_config, timeSkippingConfig, 7, time_skipping)                          \
    F(O, RAW, workflow_update_options, workflowUpdateOptions, 8, update_options)                   \
    F(O, BOOL, time_skipping_config_updated, timeSkippingConfigUpdated, 9, none)

#define FIELDS_NEXUS_OPERATION_CANCEL_REQUEST_COMPLETED(F, O)                                      \
    F(O, I64, requested_event_id, requestedEventId, 1, none)                                       \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 2, none)             \
    F(O, I64, scheduled_event_id, scheduledEventId, 3, none)

#define FIELDS_NEXUS_OPERATION_CANCEL_REQUEST_FAILED(F, O)                                         \
    F(O, I64, requested_event_id, requestedEventId, 1, none)                                       \
    F(O, I64, workflow_task_completed_event_id, workflowTaskCompletedEventId, 2, none)             \
    F(O, MSG, failure, failure, 3, failure)                                                        \
    F(O, I64, scheduled_event_id, scheduledEventId, 4, none)

#define FIELDS_WORKFLOW_EXECUTION_PAUSED(F, O)                                                     \
    F(O, STR, identity, identity, 1, none)                                                         \
    F(O, STR, reason, reason, 2, none)                                                             \
    F(O, STR, request_id, requestId, 3, none)

#define FIELDS_WORKFLOW_EXECUTION_UNPAUSED(F, O)                                                   \
    F(O, STR, identity, identity, 1, none)                                                         \
    F(O, STR, reason, reason, 2, none)                                                             \
    F(O, STR, request_id, requestId, 3, none)

#define FIELDS_WORKFLOW_EXECUTION_TIME_SKIPPING_TRANSITIONED(F, O)                                 \
    F(O, TIME, target_time, targetTime, 1, none)                                                   \
    F(O, BOOL, disabled_after_fast_forward, disabledAfterFastForward, 2, none)                     \
    F(O, TIME, wall_clock_time, wallClockTime, 3, none)
/* clang-format on */

#endif
