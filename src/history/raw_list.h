/*
 * raw_list.h - the messages that only the binary form has to know, as data.
 *
 * Owns: the shapes of what struct event keeps as JSON text (event_list.h: RAW) and of what stands
 * around events: their names and protobuf numbers. Must not: include anything or hold code.
 *
 *   RAW_MESSAGE_LIST(M)  M(c_name, NAME), fields in WIRES_<NAME>(W)
 *   WIRES_<NAME>(W)      W(KIND, jsonName, protobuf number, detail)
 *
 * KIND is one of event_list.h's, or
 *   BYTES FLOAT U32      a scalar that no struct member has
 *   EVENT_TYPE           the enumeration of event types
 *   RAWS                 a list of messages; detail is the message
 *   STR_MAP BYTES_MAP    a map from text to text, to bytes
 *   MSG_MAP              a map from text to messages; detail is the message
 */
#ifndef HISTORY_RAW_LIST_H
#define HISTORY_RAW_LIST_H

/* clang-format off */

#define RAW_MESSAGE_LIST(M)                                                                        \
    M(name, NAME)                                                                                  \
    M(external_payload, EXTERNAL_PAYLOAD)                                                          \
    M(payload, PAYLOAD)                                                                            \
    M(payloads, PAYLOADS)                                                                          \
    M(fields, FIELDS)                                                                              \
    M(indexedFields, INDEXED_FIELDS)                                                               \
    M(user_metadata, USER_METADATA)                                                                \
    M(principal, PRINCIPAL)                                                                        \
    M(event_reference, EVENT_REFERENCE)                                                            \
    M(request_reference, REQUEST_REFERENCE)                                                        \
    M(link_workflow_event, LINK_WORKFLOW_EVENT)                                                    \
    M(link_batch_job, LINK_BATCH_JOB)                                                              \
    M(link_activity, LINK_ACTIVITY)                                                                \
    M(link_nexus_operation, LINK_NEXUS_OPERATION)                                                  \
    M(link_workflow, LINK_WORKFLOW)                                                                \
    M(link, LINK)                                                                                  \
    M(marker_label, MARKER_LABEL)                                                                  \
    M(marker_event, MARKER_EVENT)                                                                  \
    M(marker_update, MARKER_UPDATE)                                                                \
    M(event_group_marker, EVENT_GROUP_MARKER)                                                      \
    M(reset_point, RESET_POINT)                                                                    \
    M(reset_points, RESET_POINTS)                                                                  \
    M(version_stamp, VERSION_STAMP)                                                                \
    M(callback_nexus, CALLBACK_NEXUS)                                                              \
    M(callback_internal, CALLBACK_INTERNAL)                                                        \
    M(callback, CALLBACK)                                                                          \
    M(deployment, DEPLOYMENT)                                                                      \
    M(deployment_version, DEPLOYMENT_VERSION)                                                      \
    M(pinned_override, PINNED_OVERRIDE)                                                            \
    M(one_time_override, ONE_TIME_OVERRIDE)                                                        \
    M(versioning_override, VERSIONING_OVERRIDE)                                                    \
    M(auto_upgrade_info, AUTO_UPGRADE_INFO)                                                        \
    M(declined_upgrade, DECLINED_UPGRADE)                                                          \
    M(time_skipping, TIME_SKIPPING)                                                                \
    M(time_skipping_state, TIME_SKIPPING_STATE)                                                    \
    M(metering, METERING)                                                                          \
    M(update_options_item, UPDATE_OPTIONS_ITEM)

#define WIRES_NAME(W)                                                                              \
    W(STR, name, 1, none)

#define WIRES_EXTERNAL_PAYLOAD(W)                                                                  \
    W(I64, sizeBytes, 1, none)

#define WIRES_PAYLOAD(W)                                                                           \
    W(BYTES_MAP, metadata, 1, none)                                                                \
    W(BYTES, data, 2, none)                                                                        \
    W(RAWS, externalPayloads, 3, external_payload)

#define WIRES_PAYLOADS(W)                                                                          \
    W(RAWS, payloads, 1, payload)

#define WIRES_FIELDS(W)                                                                            \
    W(MSG_MAP, fields, 1, payload)

#define WIRES_INDEXED_FIELDS(W)                                                                    \
    W(MSG_MAP, indexedFields, 1, payload)

#define WIRES_USER_METADATA(W)                                                                     \
    W(MSG, summary, 1, payload)                                                                    \
    W(MSG, details, 2, payload)

#define WIRES_PRINCIPAL(W)                                                                         \
    W(STR, type, 1, none)                                                                          \
    W(STR, name, 2, none)

#define WIRES_EVENT_REFERENCE(W)                                                                   \
    W(I64, eventId, 1, none)                                                                       \
    W(EVENT_TYPE, eventType, 2, none)

#define WIRES_REQUEST_REFERENCE(W)                                                                 \
    W(STR, requestId, 1, none)                                                                     \
    W(EVENT_TYPE, eventType, 2, none)

#define WIRES_LINK_WORKFLOW_EVENT(W)                                                               \
    W(STR, namespace, 1, none)                                                                     \
    W(STR, workflowId, 2, none)                                                                    \
    W(STR, runId, 3, none)                                                                         \
    W(MSG, eventRef, 100, event_reference)                                                         \
    W(MSG, requestIdRef, 101, request_reference)

#define WIRES_LINK_BATCH_JOB(W)                                                                    \
    W(STR, jobId, 1, none)

#define WIRES_LINK_ACTIVITY(W)                                                                     \
    W(STR, namespace, 1, none)                                                                     \
    W(STR, activityId, 2, none)                                                                    \
    W(STR, runId, 3, none)

#define WIRES_LINK_NEXUS_OPERATION(W)                                                              \
    W(STR, namespace, 1, none)                                                                     \
    W(STR, operationId, 2, none)                                                                   \
    W(STR, runId, 3, none)

#define WIRES_LINK_WORKFLOW(W)                                                                     \
    W(STR, namespace, 1, none)                                                                     \
    W(STR, workflowId, 2, none)                                                                    \
    W(STR, runId, 3, none)                                                                         \
    W(STR, reason, 4, none)

#define WIRES_LINK(W)                                                                              \
    W(MSG, workflowEvent, 1, link_workflow_event)                                                  \
    W(MSG, batchJob, 2, link_batch_job)                                                            \
    W(MSG, activity, 3, link_activity)                                                             \
    W(MSG, nexusOperation, 4, link_nexus_operation)                                                \
    W(MSG, workflow, 5, link_workflow)

#define WIRES_MARKER_LABEL(W)                                                                      \
    W(STR, id, 1, none)                                                                            \
    W(MSG, label, 2, payload)

#define WIRES_MARKER_EVENT(W)                                                                      \
    W(I64, inboundEventId, 1, none)

#define WIRES_MARKER_UPDATE(W)                                                                     \
    W(STR, inboundUpdateId, 1, none)

#define WIRES_EVENT_GROUP_MARKER(W)                                                                \
    W(MSG, label, 1, marker_label)                                                                 \
    W(MSG, inboundEvent, 2, marker_event)                                                          \
    W(MSG, inboundUpdate, 3, marker_update)

#define WIRES_RESET_POINT(W)                                                                       \
    W(STR, binaryChecksum, 1, none)                                                                \
    W(STR, runId, 2, none)                                                                         \
    W(I64, firstWorkflowTaskCompletedId, 3, none)                                                  \
    W(TIME, createTime, 4, none)                                                                   \
    W(TIME, expireTime, 5, none)                                                                   \
    W(BOOL, resettable, 6, none)                                                                   \
    W(STR, buildId, 7, none)

#define WIRES_RESET_POINTS(W)                                                                      \
    W(RAWS, points, 1, reset_point)

#define WIRES_VERSION_STAMP(W)                                                                     \
    W(STR, buildId, 1, none)                                                                       \
    W(BOOL, useVersioning, 3, none)

#define WIRES_CALLBACK_NEXUS(W)                                                                    \
    W(STR, url, 1, none)                                                                           \
    W(STR_MAP, header, 2, none)

#define WIRES_CALLBACK_INTERNAL(W)                                                                 \
    W(BYTES, data, 1, none)

#define WIRES_CALLBACK(W)                                                                          \
    W(MSG, nexus, 2, callback_nexus)                                                               \
    W(MSG, internal, 3, callback_internal)                                                         \
    W(RAWS, links, 100, link)

#define WIRES_DEPLOYMENT(W)                                                                        \
    W(STR, seriesName, 1, none)                                                                    \
    W(STR, buildId, 2, none)

#define WIRES_DEPLOYMENT_VERSION(W)                                                                \
    W(STR, buildId, 1, none)                                                                       \
    W(STR, deploymentName, 2, none)

#define WIRES_PINNED_OVERRIDE(W)                                                                   \
    W(ENUM, behavior, 1, pinned_override_behavior)                                                 \
    W(MSG, version, 2, deployment_version)

#define WIRES_ONE_TIME_OVERRIDE(W)                                                                 \
    W(MSG, targetDeploymentVersion, 1, deployment_version)

#define WIRES_VERSIONING_OVERRIDE(W)                                                               \
    W(ENUM, behavior, 1, versioning_behavior)                                                      \
    W(MSG, deployment, 2, deployment)                                                              \
    W(MSG, pinned, 3, pinned_override)                                                             \
    W(BOOL, autoUpgrade, 4, none)                                                                  \
    W(MSG, oneTime, 5, one_time_override)                                                          \
    W(STR, pinnedVersion, 9, none)

#define WIRES_AUTO_UPGRADE_INFO(W)                                                                 \
    W(MSG, sourceDeploymentVersion, 1, deployment_version)                                         \
    W(I64, sourceDeploymentRevisionNumber, 2, none)                                                \
    W(ENUM, continueAsNewInitialVersioningBehavior, 3, continue_as_new_versioning_behavior)

#define WIRES_DECLINED_UPGRADE(W)                                                                  \
    W(MSG, deploymentVersion, 1, deployment_version)                                               \
    W(I64, revisionNumber, 2, none)

#define WIRES_TIME_SKIPPING(W)                                                                     \
    W(BOOL, enabled, 1, none)                                                                      \
    W(DUR, fastForward, 2, none)                                                                   \
    W(BOOL, disablePropagation, 3, none)

#define WIRES_TIME_SKIPPING_STATE(W)                                                               \
    W(DUR, initialSkippedDuration, 1, none)                                                        \
    W(TIME, fastForwardTargetTime, 2, none)

#define WIRES_METERING(W)                                                                          \
    W(U32, nonfirstLocalActivityExecutionAttempts, 13, none)

#define WIRES_UPDATE_OPTIONS_ITEM(W)                                                               \
    W(STR, updateId, 1, none)                                                                      \
    W(STR, attachedRequestId, 2, none)                                                             \
    W(RAWS, attachedCompletionCallbacks, 3, callback)

/* HistoryEvent without its attributes. */
#define WIRES_EVENT(W)                                                                             \
    W(I64, eventId, 1, none)                                                                       \
    W(TIME, eventTime, 2, none)                                                                    \
    W(EVENT_TYPE, eventType, 3, none)                                                              \
    W(I64, version, 4, none)                                                                       \
    W(I64, taskId, 5, none)                                                                        \
    W(BOOL, workerMayIgnore, 300, none)                                                            \
    W(MSG, userMetadata, 301, user_metadata)                                                       \
    W(RAWS, links, 302, link)                                                                      \
    W(MSG, principal, 303, principal)                                                              \
    W(RAWS, eventGroupMarkers, 304, event_group_marker)
/* clang-format on */

#endif
