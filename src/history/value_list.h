/*
 * value_list.h - the messages inside event attributes, and every enumeration, as data.
 *
 * Owns: MESSAGE_LIST (task queue, retry policy, failure and its infos ...) in the form that
 * event_list.h describes, and ENUM_LIST with the values of each enumeration that reaches a history.
 * Must not: include anything or hold code. Numbers are for ever.
 *
 *   MESSAGE_LIST(M)     M(c_name, NAME)        struct c_name, fields in FIELDS_<NAME>(F, O)
 *   ENUM_LIST(N)        N(c_name, PREFIX)      enum c_name, values in VALUES_<PREFIX>(E)
 *   VALUES_<PREFIX>(E)  E(PREFIX, NAME, number)
 */
#ifndef HISTORY_VALUE_LIST_H
#define HISTORY_VALUE_LIST_H

/* clang-format off */

#define MESSAGE_LIST(M)                                                                            \
    M(workflow_execution, WORKFLOW_EXECUTION)                                                      \
    M(task_queue, TASK_QUEUE)                                                                      \
    M(retry_policy, RETRY_POLICY)                                                                  \
    M(priority, PRIORITY)                                                                          \
    M(sdk_metadata, SDK_METADATA)                                                                  \
    M(update_meta, UPDATE_META)                                                                    \
    M(update_input, UPDATE_INPUT)                                                                  \
    M(update_request, UPDATE_REQUEST)                                                              \
    M(update_outcome, UPDATE_OUTCOME)                                                              \
    M(application_failure_info, APPLICATION_FAILURE_INFO)                                          \
    M(timeout_failure_info, TIMEOUT_FAILURE_INFO)                                                  \
    M(canceled_failure_info, CANCELED_FAILURE_INFO)                                                \
    M(terminated_failure_info, TERMINATED_FAILURE_INFO)                                            \
    M(server_failure_info, SERVER_FAILURE_INFO)                                                    \
    M(reset_workflow_failure_info, RESET_WORKFLOW_FAILURE_INFO)                                    \
    M(activity_failure_info, ACTIVITY_FAILURE_INFO)                                                \
    M(child_failure_info, CHILD_FAILURE_INFO)                                                      \
    M(nexus_operation_failure_info, NEXUS_OPERATION_FAILURE_INFO)                                  \
    M(nexus_handler_failure_info, NEXUS_HANDLER_FAILURE_INFO)                                      \
    M(failure, FAILURE)

#define FIELDS_WORKFLOW_EXECUTION(F, O)                                                            \
    F(O, STR, workflow_id, workflowId, 1, none)                                                    \
    F(O, STR, run_id, runId, 2, none)

#define FIELDS_TASK_QUEUE(F, O)                                                                    \
    F(O, STR, name, name, 1, none)                                                                 \
    F(O, ENUM, kind, kind, 2, task_queue_kind)                                                     \
    F(O, STR, normal_name, normalName, 3, none)

#define FIELDS_RETRY_POLICY(F, O)                                                                  \
    F(O, DUR, initial_interval, initialInterval, 1, none)                                          \
    F(O, DOUBLE, backoff_coefficient, backoffCoefficient, 2, none)                                 \
    F(O, DUR, maximum_interval, maximumInterval, 3, none)                                          \
    F(O, I32, maximum_attempts, maximumAttempts, 4, none)                                          \
    F(O, STRS, non_retryable_error_types, nonRetryableErrorTypes, 5, none)

#define FIELDS_PRIORITY(F, O)                                                                      \
    F(O, I32, priority_key, priorityKey, 1, none)                                                  \
    F(O, STR, fairness_key, fairnessKey, 2, none)                                                  \
    F(O, DOUBLE, fairness_weight, fairnessWeight, 3, single)

#define FIELDS_SDK_METADATA(F, O)                                                                  \
    F(O, U32S, core_used_flags, coreUsedFlags, 1, none)                                            \
    F(O, U32S, lang_used_flags, langUsedFlags, 2, none)                                            \
    F(O, STR, sdk_name, sdkName, 3, none)                                                          \
    F(O, STR, sdk_version, sdkVersion, 4, none)

#define FIELDS_UPDATE_META(F, O)                                                                   \
    F(O, STR, update_id, updateId, 1, none)                                                        \
    F(O, STR, identity, identity, 2, none)

#define FIELDS_UPDATE_INPUT(F, O)                                                                  \
    F(O, PAYLOAD_MAP, header, header, 1, fields)                                                   \
    F(O, STR, name, name, 2, none)                                                                 \
    F(O, PAYLOADS, args, args, 3, none)

#define FIELDS_UPDATE_REQUEST(F, O)                                                                \
    F(O, MSG, meta, meta, 1, update_meta)                                                          \
    F(O, MSG, input, input, 2, update_input)                                                       \
    F(O, STR, request_id, requestId, 3, none)                                                      \
    F(O, RAW, completion_callbacks, completionCallbacks, 4, callbacks)                             \
    F(O, RAW, links, links, 5, links)

#define FIELDS_UPDATE_OUTCOME(F, O)                                                                \
    F(O, PAYLOADS, success, success, 1, none)                                                      \
    F(O, MSG, failure, failure, 2, failure)

#define FIELDS_APPLICATION_FAILURE_INFO(F, O)                                                      \
    F(O, STR, type, type, 1, none)                                                                 \
    F(O, BOOL, non_retryable, nonRetryable, 2, none)                                               \
    F(O, PAYLOADS, details, details, 3, none)                                                      \
    F(O, DUR, next_retry_delay, nextRetryDelay, 4, none)                                           \
    F(O, ENUM, category, category, 5, application_error_category)

#define FIELDS_TIMEOUT_FAILURE_INFO(F, O)                                                          \
    F(O, ENUM, timeout_type, timeoutType, 1, timeout_type)                                         \
    F(O, PAYLOADS, last_heartbeat_details, lastHeartbeatDetails, 2, none)

#define FIELDS_CANCELED_FAILURE_INFO(F, O)                                                         \
    F(O, PAYLOADS, details, details, 1, none)                                                      \
    F(O, STR, identity, identity, 2, none)

#define FIELDS_TERMINATED_FAILURE_INFO(F, O)                                                       \
    F(O, STR, identity, identity, 1, none)

#define FIELDS_SERVER_FAILURE_INFO(F, O)                                                           \
    F(O, BOOL, non_retryable, nonRetryable, 1, none)

#define FIELDS_RESET_WORKFLOW_FAILURE_INFO(F, O)                                                   \
    F(O, PAYLOADS, last_heartbeat_details, lastHeartbeatDetails, 1, none)

#define FIELDS_ACTIVITY_FAILURE_INFO(F, O)                                                         \
    F(O, I64, scheduled_event_id, scheduledEventId, 1, none)                                       \
    F(O, I64, started_event_id, startedEventId, 2, none)                                           \
    F(O, STR, identity, identity, 3, none)                                                         \
    F(O, NAME, activity_type, activityType, 4, none)                                               \
    F(O, STR, activity_id, activityId, 5, none)                                                    \
    F(O, ENUM, retry_state, retryState, 6, retry_state)

#define FIELDS_CHILD_FAILURE_INFO(F, O)                                                            \
    F(O, STR, namespace, namespace, 1, none)                                                       \
    F(O, MSG, workflow_execution, workflowExecution, 2, workflow_execution)                        \
    F(O, NAME, workflow_type, workflowType, 3, none)                                               \
    F(O, I64, initiated_event_id, initiatedEventId, 4, none)                                       \
    F(O, I64, started_event_id, startedEventId, 5, none)                                           \
    F(O, ENUM, retry_state, retryState, 6, retry_state)

#define FIELDS_NEXUS_OPERATION_FAILURE_INFO(F, O)                                                  \
    F(O, I64, scheduled_event_id, scheduledEventId, 1, none)                                       \
    F(O, STR, endpoint, endpoint, 2, none)                                                         \
    F(O, STR, service, service, 3, none)                                                           \
    F(O, STR, operation, operation, 4, none)                                                       \
    F(O, STR, operation_id, operationId, 5, none)                                                  \
    F(O, STR, operation_token, operationToken, 6, none)

#define FIELDS_NEXUS_HANDLER_FAILURE_INFO(F, O)                                                    \
    F(O, STR, type, type, 1, none)                                                                 \
    F(O, ENUM, retry_behavior, retryBehavior, 2, nexus_handler_error_retry_behavior)

#define FIELDS_FAILURE(F, O)                                                                       \
    F(O, STR, message, message, 1, none)                                                           \
    F(O, STR, source, source, 2, none)                                                             \
    F(O, STR, stack_trace, stackTrace, 3, none)                                                    \
    F(O, MSG, cause, cause, 4, failure)                                                            \
    F(O, MSG, application_failure_info, applicationFailureInfo, 5, application_failure_info)       \
    F(O, MSG, timeout_failure_info, timeoutFailureInfo, 6, timeout_failure_info)                   \
    F(O, MSG, canceled_failure_info, canceledFailureInfo, 7, canceled_failure_info)                \
    F(O, MSG, terminated_failure_info, terminatedFailureInfo, 8, terminated_failure_info)          \
    F(O, MSG, server_failure_info, serverFailureInfo, 9, server_failure_info)                      \
    F(O, MSG, reset_workflow_failure_info, resetWorkflowFailureInfo, 10,                           \
      reset_workflow_failure_info)                                                                 \
    F(O, MSG, activity_failure_info, activityFailureInfo, 11, activity_failure_info)               \
    F(O, MSG, child_workflow_execution_failure_info, childWorkflowExecutionFailureInfo, 12,        \
      child_failure_info)                                                                          \
    F(O, MSG, nexus_operation_execution_failure_info, nexusOperationExecutionFailureInfo, 13,      \
      nexus_operation_failure_info)                                                                \
    F(O, MSG, nexus_handler_failure_info, nexusHandlerFailureInfo, 14,                             \
      nexus_handler_failure_info)                                                                  \
    F(O, PAYLOAD, encoded_attributes, encodedAttributes, 20, none)

#define ENUM_LIST(N)                                                                               \
    N(workflow_task_failed_cause, WORKFLOW_TASK_FAILED_CAUSE)                                      \
    N(retry_state, RETRY_STATE)                                                                    \
    N(timeout_type, TIMEOUT_TYPE)                                                                  \
    N(continue_as_new_initiator, CONTINUE_AS_NEW_INITIATOR)                                        \
    N(parent_close_policy, PARENT_CLOSE_POLICY)                                                    \
    N(workflow_id_reuse_policy, WORKFLOW_ID_REUSE_POLICY)                                          \
    N(workflow_id_conflict_policy, WORKFLOW_ID_CONFLICT_POLICY)                                    \
    N(start_child_workflow_execution_failed_cause, START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE)    \
    N(signal_external_workflow_execution_failed_cause,                                             \
      SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE)                                             \
    N(cancel_external_workflow_execution_failed_cause,                                             \
      CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE)                                             \
    N(task_queue_kind, TASK_QUEUE_KIND)                                                            \
    N(workflow_execution_status, WORKFLOW_EXECUTION_STATUS)                                        \
    N(suggest_continue_as_new_reason, SUGGEST_CONTINUE_AS_NEW_REASON)                              \
    N(update_admitted_event_origin, UPDATE_ADMITTED_EVENT_ORIGIN)                                  \
    N(application_error_category, APPLICATION_ERROR_CATEGORY)                                      \
    N(versioning_behavior, VERSIONING_BEHAVIOR)                                                    \
    N(indexed_value_type, INDEXED_VALUE_TYPE)                                                      \
    N(continue_as_new_versioning_behavior, CONTINUE_AS_NEW_VERSIONING_BEHAVIOR)                    \
    N(nexus_handler_error_retry_behavior, NEXUS_HANDLER_ERROR_RETRY_BEHAVIOR)                      \
    N(pinned_override_behavior, PINNED_OVERRIDE_BEHAVIOR)

#define VALUES_WORKFLOW_TASK_FAILED_CAUSE(E)                                                       \
    E(WORKFLOW_TASK_FAILED_CAUSE, UNSPECIFIED, 0)                                                  \
    E(WORKFLOW_TASK_FAILED_CAUSE, UNHANDLED_COMMAND, 1)                                            \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_SCHEDULE_ACTIVITY_ATTRIBUTES, 2)                             \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_REQUEST_CANCEL_ACTIVITY_ATTRIBUTES, 3)                       \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_START_TIMER_ATTRIBUTES, 4)                                   \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_CANCEL_TIMER_ATTRIBUTES, 5)                                  \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_RECORD_MARKER_ATTRIBUTES, 6)                                 \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_COMPLETE_WORKFLOW_EXECUTION_ATTRIBUTES, 7)                   \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_FAIL_WORKFLOW_EXECUTION_ATTRIBUTES, 8)                       \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_CANCEL_WORKFLOW_EXECUTION_ATTRIBUTES, 9)                     \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_ATTRIBUTES, 10)   \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_CONTINUE_AS_NEW_ATTRIBUTES, 11)                              \
    E(WORKFLOW_TASK_FAILED_CAUSE, START_TIMER_DUPLICATE_ID, 12)                                    \
    E(WORKFLOW_TASK_FAILED_CAUSE, RESET_STICKY_TASK_QUEUE, 13)                                     \
    E(WORKFLOW_TASK_FAILED_CAUSE, WORKFLOW_WORKER_UNHANDLED_FAILURE, 14)                           \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_SIGNAL_WORKFLOW_EXECUTION_ATTRIBUTES, 15)                    \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_START_CHILD_EXECUTION_ATTRIBUTES, 16)                        \
    E(WORKFLOW_TASK_FAILED_CAUSE, FORCE_CLOSE_COMMAND, 17)                                         \
    E(WORKFLOW_TASK_FAILED_CAUSE, FAILOVER_CLOSE_COMMAND, 18)                                      \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_SIGNAL_INPUT_SIZE, 19)                                       \
    E(WORKFLOW_TASK_FAILED_CAUSE, RESET_WORKFLOW, 20)                                              \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_BINARY, 21)                                                  \
    E(WORKFLOW_TASK_FAILED_CAUSE, SCHEDULE_ACTIVITY_DUPLICATE_ID, 22)                              \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_SEARCH_ATTRIBUTES, 23)                                       \
    E(WORKFLOW_TASK_FAILED_CAUSE, NON_DETERMINISTIC_ERROR, 24)                                     \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_MODIFY_WORKFLOW_PROPERTIES_ATTRIBUTES, 25)                   \
    E(WORKFLOW_TASK_FAILED_CAUSE, PENDING_CHILD_WORKFLOWS_LIMIT_EXCEEDED, 26)                      \
    E(WORKFLOW_TASK_FAILED_CAUSE, PENDING_ACTIVITIES_LIMIT_EXCEEDED, 27)                           \
    E(WORKFLOW_TASK_FAILED_CAUSE, PENDING_SIGNALS_LIMIT_EXCEEDED, 28)                              \
    E(WORKFLOW_TASK_FAILED_CAUSE, PENDING_REQUEST_CANCEL_LIMIT_EXCEEDED, 29)                       \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_UPDATE_WORKFLOW_EXECUTION_MESSAGE, 30)                       \
    E(WORKFLOW_TASK_FAILED_CAUSE, UNHANDLED_UPDATE, 31)                                            \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_SCHEDULE_NEXUS_OPERATION_ATTRIBUTES, 32)                     \
    E(WORKFLOW_TASK_FAILED_CAUSE, PENDING_NEXUS_OPERATIONS_LIMIT_EXCEEDED, 33)                     \
    E(WORKFLOW_TASK_FAILED_CAUSE, BAD_REQUEST_CANCEL_NEXUS_OPERATION_ATTRIBUTES, 34)               \
    E(WORKFLOW_TASK_FAILED_CAUSE, FEATURE_DISABLED, 35)                                            \
    E(WORKFLOW_TASK_FAILED_CAUSE, GRPC_MESSAGE_TOO_LARGE, 36)                                      \
    E(WORKFLOW_TASK_FAILED_CAUSE, PAYLOADS_TOO_LARGE, 37)                                          \
    E(WORKFLOW_TASK_FAILED_CAUSE, EXTERNAL_STORAGE_FAILURE, 38)                                    \
    E(WORKFLOW_TASK_FAILED_CAUSE, WORKFLOW_PAUSE_REQUESTED_BEFORE_TASK_STARTED, 39)

#define VALUES_RETRY_STATE(E)                                                                      \
    E(RETRY_STATE, UNSPECIFIED, 0)                                                                 \
    E(RETRY_STATE, IN_PROGRESS, 1)                                                                 \
    E(RETRY_STATE, NON_RETRYABLE_FAILURE, 2)                                                       \
    E(RETRY_STATE, TIMEOUT, 3)                                                                     \
    E(RETRY_STATE, MAXIMUM_ATTEMPTS_REACHED, 4)                                                    \
    E(RETRY_STATE, RETRY_POLICY_NOT_SET, 5)                                                        \
    E(RETRY_STATE, INTERNAL_SERVER_ERROR, 6)                                                       \
    E(RETRY_STATE, CANCEL_REQUESTED, 7)

#define VALUES_TIMEOUT_TYPE(E)                                                                     \
    E(TIMEOUT_TYPE, UNSPECIFIED, 0)                                                                \
    E(TIMEOUT_TYPE, START_TO_CLOSE, 1)                                                             \
    E(TIMEOUT_TYPE, SCHEDULE_TO_START, 2)                                                          \
    E(TIMEOUT_TYPE, SCHEDULE_TO_CLOSE, 3)                                                          \
    E(TIMEOUT_TYPE, HEARTBEAT, 4)

#define VALUES_CONTINUE_AS_NEW_INITIATOR(E)                                                        \
    E(CONTINUE_AS_NEW_INITIATOR, UNSPECIFIED, 0)                                                   \
    E(CONTINUE_AS_NEW_INITIATOR, WORKFLOW, 1)                                                      \
    E(CONTINUE_AS_NEW_INITIATOR, RETRY, 2)                                                         \
    E(CONTINUE_AS_NEW_INITIATOR, CRON_SCHEDULE, 3)

#define VALUES_PARENT_CLOSE_POLICY(E)                                                              \
    E(PARENT_CLOSE_POLICY, UNSPECIFIED, 0)                                                         \
    E(PARENT_CLOSE_POLICY, TERMINATE, 1)                                                           \
    E(PARENT_CLOSE_POLICY, ABANDON, 2)                                                             \
    E(PARENT_CLOSE_POLICY, REQUEST_CANCEL, 3)

#define VALUES_WORKFLOW_ID_REUSE_POLICY(E)                                                         \
    E(WORKFLOW_ID_REUSE_POLICY, UNSPECIFIED, 0)                                                    \
    E(WORKFLOW_ID_REUSE_POLICY, ALLOW_DUPLICATE, 1)                                                \
    E(WORKFLOW_ID_REUSE_POLICY, ALLOW_DUPLICATE_FAILED_ONLY, 2)                                    \
    E(WORKFLOW_ID_REUSE_POLICY, REJECT_DUPLICATE, 3)                                               \
    E(WORKFLOW_ID_REUSE_POLICY, TERMINATE_IF_RUNNING, 4)

#define VALUES_WORKFLOW_ID_CONFLICT_POLICY(E)                                                      \
    E(WORKFLOW_ID_CONFLICT_POLICY, UNSPECIFIED, 0)                                                 \
    E(WORKFLOW_ID_CONFLICT_POLICY, FAIL, 1)                                                        \
    E(WORKFLOW_ID_CONFLICT_POLICY, USE_EXISTING, 2)                                                \
    E(WORKFLOW_ID_CONFLICT_POLICY, TERMINATE_EXISTING, 3)

#define VALUES_START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE(E)                                      \
    E(START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE, UNSPECIFIED, 0)                                 \
    E(START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE, WORKFLOW_ALREADY_EXISTS, 1)                     \
    E(START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE, NAMESPACE_NOT_FOUND, 2)                         \
    E(START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE, INVALID_VERSIONING_OVERRIDE, 3)

#define VALUES_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE(E)                                  \
    E(SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE, UNSPECIFIED, 0)                             \
    E(SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE, EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND, 1)   \
    E(SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE, NAMESPACE_NOT_FOUND, 2)                     \
    E(SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE, SIGNAL_COUNT_LIMIT_EXCEEDED, 3)

#define VALUES_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE(E)                                  \
    E(CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE, UNSPECIFIED, 0)                             \
    E(CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE, EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND, 1)   \
    E(CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE, NAMESPACE_NOT_FOUND, 2)

#define VALUES_TASK_QUEUE_KIND(E)                                                                  \
    E(TASK_QUEUE_KIND, UNSPECIFIED, 0)                                                             \
    E(TASK_QUEUE_KIND, NORMAL, 1)                                                                  \
    E(TASK_QUEUE_KIND, STICKY, 2)                                                                  \
    E(TASK_QUEUE_KIND, WORKER_COMMANDS, 3)

#define VALUES_WORKFLOW_EXECUTION_STATUS(E)                                                        \
    E(WORKFLOW_EXECUTION_STATUS, UNSPECIFIED, 0)                                                   \
    E(WORKFLOW_EXECUTION_STATUS, RUNNING, 1)                                                       \
    E(WORKFLOW_EXECUTION_STATUS, COMPLETED, 2)                                                     \
    E(WORKFLOW_EXECUTION_STATUS, FAILED, 3)                                                        \
    E(WORKFLOW_EXECUTION_STATUS, CANCELED, 4)                                                      \
    E(WORKFLOW_EXECUTION_STATUS, TERMINATED, 5)                                                    \
    E(WORKFLOW_EXECUTION_STATUS, CONTINUED_AS_NEW, 6)                                              \
    E(WORKFLOW_EXECUTION_STATUS, TIMED_OUT, 7)                                                     \
    E(WORKFLOW_EXECUTION_STATUS, PAUSED, 8)

#define VALUES_SUGGEST_CONTINUE_AS_NEW_REASON(E)                                                   \
    E(SUGGEST_CONTINUE_AS_NEW_REASON, UNSPECIFIED, 0)                                              \
    E(SUGGEST_CONTINUE_AS_NEW_REASON, HISTORY_SIZE_TOO_LARGE, 1)                                   \
    E(SUGGEST_CONTINUE_AS_NEW_REASON, TOO_MANY_HISTORY_EVENTS, 2)                                  \
    E(SUGGEST_CONTINUE_AS_NEW_REASON, TOO_MANY_UPDATES, 3)

#define VALUES_UPDATE_ADMITTED_EVENT_ORIGIN(E)                                                     \
    E(UPDATE_ADMITTED_EVENT_ORIGIN, UNSPECIFIED, 0)                                                \
    E(UPDATE_ADMITTED_EVENT_ORIGIN, REAPPLY, 1)

#define VALUES_APPLICATION_ERROR_CATEGORY(E)                                                       \
    E(APPLICATION_ERROR_CATEGORY, UNSPECIFIED, 0)                                                  \
    E(APPLICATION_ERROR_CATEGORY, BENIGN, 1)

#define VALUES_VERSIONING_BEHAVIOR(E)                                                              \
    E(VERSIONING_BEHAVIOR, UNSPECIFIED, 0)                                                         \
    E(VERSIONING_BEHAVIOR, PINNED, 1)                                                              \
    E(VERSIONING_BEHAVIOR, AUTO_UPGRADE, 2)

#define VALUES_INDEXED_VALUE_TYPE(E)                                                               \
    E(INDEXED_VALUE_TYPE, UNSPECIFIED, 0)                                                          \
    E(INDEXED_VALUE_TYPE, TEXT, 1)                                                                 \
    E(INDEXED_VALUE_TYPE, KEYWORD, 2)                                                              \
    E(INDEXED_VALUE_TYPE, INT, 3)                                                                  \
    E(INDEXED_VALUE_TYPE, DOUBLE, 4)                                                               \
    E(INDEXED_VALUE_TYPE, BOOL, 5)                                                                 \
    E(INDEXED_VALUE_TYPE, DATETIME, 6)                                                             \
    E(INDEXED_VALUE_TYPE, KEYWORD_LIST, 7)

#define VALUES_CONTINUE_AS_NEW_VERSIONING_BEHAVIOR(E)                                              \
    E(CONTINUE_AS_NEW_VERSIONING_BEHAVIOR, UNSPECIFIED, 0)                                         \
    E(CONTINUE_AS_NEW_VERSIONING_BEHAVIOR, AUTO_UPGRADE, 1)                                        \
    E(CONTINUE_AS_NEW_VERSIONING_BEHAVIOR, USE_RAMPING_VERSION, 2)

#define VALUES_NEXUS_HANDLER_ERROR_RETRY_BEHAVIOR(E)                                               \
    E(NEXUS_HANDLER_ERROR_RETRY_BEHAVIOR, UNSPECIFIED, 0)                                          \
    E(NEXUS_HANDLER_ERROR_RETRY_BEHAVIOR, RETRYABLE, 1)                                            \
    E(NEXUS_HANDLER_ERROR_RETRY_BEHAVIOR, NON_RETRYABLE, 2)

#define VALUES_PINNED_OVERRIDE_BEHAVIOR(E)                                                         \
    E(PINNED_OVERRIDE_BEHAVIOR, UNSPECIFIED, 0)                                                    \
    E(PINNED_OVERRIDE_BEHAVIOR, PINNED, 1)
/* clang-format on */

#endif
