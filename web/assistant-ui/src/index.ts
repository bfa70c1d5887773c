// The package's own surface: types of the wire, the converter, the connection.

export * from "./types.js";
export {
  approvalCommand,
  toQueueItems,
  toThreadMessages,
  type ConvertOptions,
  type HarnessArtifact,
  type HarnessCustom,
} from "./convert.js";
export {
  connectHarness,
  type ConnectOptions,
  type HarnessConnection,
  type SocketLike,
} from "./connect.js";
